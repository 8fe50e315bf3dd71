"""House rules that no tool of the language knows (CONTRIBUTING.md): sizes, names that say nothing, waiting by the clock, and files that
are named but not there. A line per finding, `file:line: what`; exit code 1 if there are any.

    house_rules.py      within a checkout; files that git has
"""

import pathlib
import re
import subprocess
import sys

LINES_MAX = {"header": 500, "source": 800, "test": 800}
COLUMNS_MAX = 100
SAYS_NOTHING = re.compile(
    r"^ *(?:class|struct|enum class) (?:[A-Z][A-Za-z]*)?"
    r"(?:Manager|Helper|Util|Utils|Common|Handler|Processor|Impl|Base|Context|Data)\b"
)
SLEEPS = re.compile(r"(?:\b(?:sleep_for|sleep_until)|(?<![_a-z])u?sleep)\(")
# With a folder, or in backquotes, or of one of our own kinds: `guard/guard.h`, reply_order.h.
NAMED_FILE = re.compile(r"(?<![\w/.*<{$-])((?:[\w-]+/)*[a-z][\w-]*\.(?:cpp|h|py|cmake|md))(?![\w*/(])")
# Of others, which the texts name.
FOREIGN = {"sysexits.h", "backends/redis.py", "commands.py"}


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", *patterns], capture_output=True, text=True, check=True)
    return [pathlib.Path(line) for line in listed.stdout.splitlines()]


def kind_of(file, lines):
    """A header that has the bodies of a class template is a source that others read."""
    if file.suffix == ".h" and not any(re.match(r"(?!class|struct).* \w+<\w+>::\w+\(", line) for line in lines):
        return "header"
    return "source" if file.parts[0] == "src" else "test"


def comment_of(line):
    """What is said in a line of C++; None if nothing is."""
    at = line.find("//")
    return None if at < 0 or line[max(at - 1, 0)] == ":" else line[at:]


def findings_in(file, is_there):
    lines = file.read_text().splitlines()
    most = LINES_MAX[kind_of(file, lines)]
    if len(lines) > most:
        yield 1, f"{len(lines)} lines, where {most} are allowed; split it by subject"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX and "NOLINT" not in line and '"' not in line:
            yield number, f"{len(line)} columns, where {COLUMNS_MAX} are allowed"
        if SAYS_NOTHING.search(line):
            yield number, "a name that says nothing"
        if SLEEPS.search(line):
            yield number, "no sleep: wait for a condition, with a deadline"
        for name in NAMED_FILE.findall(comment_of(line) or ""):
            if not is_there(name):
                yield number, f"{name} does not exist"


def main():
    everything = [f"/{path}" for path in tracked()]
    ends = {path[at:] for path in everything for at in range(len(path)) if path[at] == "/"}

    def is_there(name):
        return f"/{name}" in ends or name in FOREIGN

    count = 0
    for file in tracked("*.cpp", "*.h"):
        for number, what in findings_in(file, is_there):
            print(f"{file}:{number}: {what}")
            count += 1
    for file in tracked("*.md"):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            for name in NAMED_FILE.findall(line):
                if not is_there(name):
                    print(f"{file}:{number}: {name} does not exist")
                    count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
