"""clang-tidy over many files, many at a time in one translation unit.

    tidy.py BUILD_FOLDER JOBS [--deep] FILE...

Nearly all of clang-tidy's time goes into the headers of the standard library, GoogleTest and Boost, which it parses and
matches anew for every file. So files with the same settings and flags are included, one after the other, by a file in
BUILD_FOLDER/together, and that one is checked; the folders with headers are then those of all of them, for which files
may include what is the compiler's business. Files that declare the same name in one namespace are kept apart; files that
do not compile together all the same are parted until they do.

With --deep every check that the settings ask for is made. Without it three things are left out, each of which costs as much as
all the rest: clang's analyzer, which follows paths through functions of the main file only and so sees each file alone; the check
of parameters that need not be copied, which for each of them goes through all that is read; and, in tests, the checks for bugs
and for speed: a test runs, under every sanitizer.

Findings of all files go to standard output, each once; the last line counts them. Exit code 1 if there are any.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from together import grouped

MOST_TOGETHER = 30
ANALYZER = "-clang-analyzer-*"
SLOW = ",-performance-unnecessary-value-param"
DEEP_IN_TESTS = ",-bugprone-*,-performance-*"
COMPILE_ERROR = "[clang-diagnostic-error"
FINDING = re.compile(r"^(/.*?):(\d+):(\d+): (?:error|warning): (.*)$", re.MULTILINE)


def read_flags(build):
    """Of each file the folder to compile in and the flags, as the first target that compiles it has them."""
    flags = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        command = entry["command"].replace("-isystem ", "-isystem")
        words = [word for word in shlex.split(command) if not word.endswith("ccache")]
        output = words.index("-o")
        del words[output : output + 2]
        flags.setdefault(pathlib.Path(entry["file"]), (entry["directory"], words[:-2]))  # without `-c FILE`
    return flags


def is_united(word):
    """A flag that files that go together have all of: folders with headers, and what is defined."""
    return word.startswith(("-I", "-D", "-isystem"))


def kind_of(file, flags):
    """What files must have in common to go together."""
    settings = next(folder for folder in file.parents if (folder / ".clang-tidy").exists())
    directory, words = flags[file]
    # GoogleTest is `testing` where the project's own namespace of that name is not in sight, else `::testing`.
    has_own_testing = '#include "testing/' in file.read_text()
    return settings, directory, has_own_testing, tuple(word for word in words if not is_united(word))


def groups_of(files, flags):
    """Pairs of (kind, files), the largest first, so that no core is left with one at the end."""
    kinds = collections.defaultdict(list)
    for file in files:
        kinds[kind_of(file, flags)].append(file)
    found = [(kind, members) for kind, alike in kinds.items() for members in grouped(alike, MOST_TOGETHER)]
    return sorted(found, key=lambda group: -sum(file.stat().st_size for file in group[1]))


def write_mains(folder, groups, flags):
    """A file per group, in the order of the groups, and how to compile them."""
    shutil.rmtree(folder, ignore_errors=True)
    commands, mains = [], []
    for number, ((settings, directory, _, words), files) in enumerate(groups):
        # clang-tidy looks for its settings in the folders above a file; those above BUILD_FOLDER are the project's.
        here = folder / settings.relative_to(pathlib.Path.cwd())
        here.mkdir(parents=True, exist_ok=True)
        if here != folder:
            shutil.copy(settings / ".clang-tidy", here)
        main = here / f"together_{number}.cpp"
        main.write_text("".join(f'#include "{file}"  // NOLINT(bugprone-suspicious-include)\n' for file in files))
        united = dict.fromkeys(word for file in files for word in flags[file][1] if is_united(word))
        arguments = [*words, *united, "-c", str(main)]
        commands.append({"directory": directory, "arguments": arguments, "file": str(main)})
        mains.append(main)
    (folder / "compile_commands.json").write_text(json.dumps(commands))
    return mains


def clang_tidy(database, file, checks):
    command = ["clang-tidy-19", "-p", database, "--quiet", f"--checks={checks}", file]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0 and not FINDING.search(run.stdout):
        return f"{run.stdout}{file}:1:1: error: clang-tidy ended with {run.returncode}\n{run.stderr}"
    return run.stdout


def is_product(file):
    return "src" in file.relative_to(pathlib.Path.cwd()).parts


def checks_of(file, is_deep):
    """What is added to the settings for a file that is checked with others."""
    if is_deep:
        return ANALYZER
    return ANALYZER + SLOW + ("" if is_product(file) else DEEP_IN_TESTS)


def analyzer_checks(file):
    """Those that the settings for the file ask for."""
    listed = subprocess.run(["clang-tidy-19", "--list-checks", file, "--"], capture_output=True, text=True, check=True)
    return ",".join(name for name in listed.stdout.split() if name.startswith("clang-analyzer-"))


def analyzed(files):
    """Pairs of (file, checks) for what clang's analyzer is asked about, the largest first."""
    checks = {folder: analyzer_checks(next(file for file in files if file.parent == folder))
              for folder in {file.parent for file in files}}
    wanted = [(file, "-*," + checks[file.parent]) for file in files if checks[file.parent]]
    return sorted(wanted, key=lambda pair: -pair[0].stat().st_size)


def findings_in(output):
    """The lines of each finding, by what makes it the same one where a header is seen twice."""
    found, lines = {}, []
    for line in output.splitlines():
        match = FINDING.match(line)
        if match:
            # Headers are found through links, those of a room's include view.
            file = os.path.relpath(os.path.realpath(match[1]))
            line = file + line[match.end(1) :]
            lines = found.setdefault((file, int(match[2]), int(match[3]), match[4]), [])
            lines.clear()
        lines.append(line)
    return found


def report(findings, known):
    for finding, lines in findings.items():
        if finding not in known:
            print("\n".join(lines), flush=True)
    known.update(findings)


def parted(files, output):
    """The files that do not compile with the others, and the others; where it is not clear which, two halves."""
    blamed = {file for file, _, _, message in findings_in(output) if COMPILE_ERROR in message}
    out = [file for file in files if os.path.relpath(file) in blamed]
    if len(out) in (0, len(files)):
        out = files[: len(files) // 2]
    return out, [file for file in files if file not in out]


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--deep"]
    is_deep = len(arguments) < len(sys.argv) - 1
    build, jobs = pathlib.Path(arguments[0]).resolve(), int(arguments[1])
    together = build / "together"
    flags = read_flags(build)
    files = [pathlib.Path.cwd() / name for name in arguments[2:]]
    unknown = [file for file in files if file not in flags]
    report(findings_in("".join(f"{file}:1:1: error: no target compiles it\n" for file in unknown)), known := set())
    files = [file for file in files if file in flags]
    groups = groups_of(files, flags)
    runs = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        while groups:
            runs += len(groups)
            checks = [checks_of(members[0], is_deep) for _, members in groups]
            outputs = pool.map(lambda main, left: clang_tidy(together, main, left), write_mains(together, groups, flags), checks)
            apart = []
            for output, (kind, members) in zip(outputs, groups):
                if COMPILE_ERROR in output and len(members) > 1:
                    apart += [(kind, part) for part in parted(members, output)]
                else:
                    report(findings_in(output), known)
            groups = apart
        alone = analyzed(files) if is_deep else []
        for output in pool.map(lambda pair: clang_tidy(build, *pair), alone):
            report(findings_in(output), known)
    print(f"clang-tidy: files={len(files)} together={runs} analyzed={len(alone)} findings={len(known)}")
    return 1 if known else 0


if __name__ == "__main__":
    sys.exit(main())
