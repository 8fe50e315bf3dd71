"""What README.md and docs/ name is there, and what is there is named: links and their headings, metrics, alerts, GUARD.* commands, subcommands,
settings, pages of the admin server, commands of ./dev, the version. A line per finding, `file:line: what` or `file: what`; exit code 1 if there are any.

Events and absent replies are compared by tests of the program (event_log_test.cpp, documented_settings_test.cpp).
"""

import pathlib
import re
import subprocess
import sys

README_LINES_MAX = 150
README_COLUMNS_MAX = 110
LINK = re.compile(r"\]\(([^()\s]+)\)")
# `limits.max_clients`, of a section that the configuration has.
DOTTED_SETTING = re.compile(r"`([a-z_]+(?:\.[a-z_]+)+)(?:: [^`]*)?`")
METRIC = re.compile(r"\bcuckooguard_[a-z_]+\b")
# Of a package, an image, or an image's label.
VERSION = re.compile(r"(?:\bcuckooguard[_:]|image\.version=\"|newTag: )(\d+\.\d+\.\d+)")
# Names that begin like a metric's and are none.
NO_METRICS = {"cuckooguard_log"}


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", *patterns], capture_output=True, text=True, check=True)
    return [pathlib.Path(line) for line in listed.stdout.splitlines()]


def text_of(name):
    return pathlib.Path(name).read_text()


def numbered_lines(file):
    """Those outside of ``` blocks."""
    is_block = False
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if line.startswith("```"):
            is_block = not is_block
        elif not is_block:
            yield number, line


# What stands in a block: commands, which integration/documents_test.cpp runs, unless the block says why it cannot; a configuration, which
# documented_settings_test.cpp loads; or neither.
COMMANDS = {"sh", "sql", "postgresql", "redis", "http"}
LANGUAGES = COMMANDS | {"yaml", "ini", "text"}


def blocks_that_nobody_tries(file):
    """Of which it is not said what they are: no language, another one, indented instead of fenced."""
    is_block = False
    above = ""
    for number, line in enumerate(file.read_text().splitlines(), 1):
        fence = re.match(r" *```(\w*)(.*)", line)
        if fence and not is_block and fence[1] not in LANGUAGES:
            yield f"{file}:{number}: a block is one of {', '.join(sorted(LANGUAGES))}"
        elif fence and not is_block and fence[2] and not (fence[1] in COMMANDS and re.fullmatch(r" not run: \S.*", fence[2])):
            yield f"{file}:{number}: behind {fence[1]} stands nothing, or of commands `not run: ` and why"
        elif not fence and not is_block and not above and re.match(r"    \s*[^\s*+-]", line):
            yield f"{file}:{number}: a block begins with ``` and what it is"
        is_block ^= bool(fence)
        above = line.strip()


def anchors(file):
    """As GitHub makes them of headings."""
    found = set()
    for _, line in numbered_lines(file):
        heading = re.match(r"#+ (.*)", line)
        if heading:
            words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
            found.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return found


def dead_links(file, files):
    for number, line in numbered_lines(file):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            named = pathlib.Path(file.parent / path).resolve() if path else file.resolve()
            if named not in files:
                yield f"{file}:{number}: {path} does not exist"
            elif anchor and anchor not in anchors(named):
                yield f"{file}:{number}: {path} has no heading #{anchor}"


def settings():
    """Every path in config/cuckooguard.yaml, with all of it switched on; of sources and namespaces what stands below their names."""
    paths = set()
    above = []
    for line in text_of("config/cuckooguard.yaml").splitlines():
        key = re.match(r"( *)#?([a-z_]+):(?: |$)", line)
        if key:
            depth = len(key[1])
            above = [(at, name) for at, name in above if at < depth] + [(depth, key[2])]
            names = [name for _, name in above]
            paths.update(".".join(names[begin:]) for begin in range(len(names)))
    return paths


def unknown_settings(file, known):
    sections = {path.split(".")[0] for path in known if "." in path}
    for number, line in numbered_lines(file):
        for name in DOTTED_SETTING.findall(line):
            if name.split(".")[0] in sections and name not in known and not name.endswith((".h", ".cpp")):
                yield f"{file}:{number}: there is no setting {name}"


def compare(what, there, named, page):
    for name in sorted(there - named):
        yield f"{page}: {what} {name} is missing"
    for name in sorted(named - there):
        yield f"{page}: there is no {what} {name}"


def first_cells(page):
    return re.findall(r"^\| `([^`]+)` \|", text_of(page), re.MULTILINE)


def half_alerts():
    """Each says what it is and what to do, and is seen to go off and not to."""
    for rule in text_of("packaging/prometheus/alerts.yaml").split("- alert: ")[1:]:
        for word in ("summary", "description"):
            if f"{word}: " not in rule:
                yield f"packaging/prometheus/alerts.yaml: {rule.split()[0]} has no {word}"
        tested = re.findall(rf"alertname: {rule.split()[0]}\b,?\s+exp_alerts:(.*)", text_of("packaging/prometheus/alerts_test.yaml"))
        for what, there in (("goes off", ""), ("does not go off", " [] }")):
            if there not in tested:
                yield f"packaging/prometheus/alerts_test.yaml: no test in which {rule.split()[0]} {what}"


def findings():
    files = {path.resolve() for path in tracked()}
    documents = tracked("*.md")
    for number, line in enumerate(text_of("README.md").splitlines(), 1):
        if len(line) > README_COLUMNS_MAX:
            yield f"README.md:{number}: {len(line)} columns, where {README_COLUMNS_MAX} are allowed"
        if number == README_LINES_MAX + 1:
            yield f"README.md:{number}: {README_LINES_MAX} lines are allowed; docs/ has room"
    known_settings = settings()
    for file in documents:
        yield from dead_links(file, files)
        yield from blocks_that_nobody_tries(file)
        yield from unknown_settings(file, known_settings)
    for name in set(re.findall(r"^\.BR? ([a-z]+[._][a-z._]*[a-z])(?=\W*$)", text_of("packaging/cuckooguard.8"), re.MULTILINE)):
        if name not in known_settings:
            yield f"packaging/cuckooguard.8: there is no setting {name}"
    for page in tracked("docs/*.md"):
        if f"({page})" not in text_of("README.md"):
            yield f"README.md: no link to {page}"

    sources = "".join(file.read_text() for file in tracked("src/*.cpp"))
    names = re.findall(r'\.(?:metric|state)(?: = |\(\s*(?:if_asked\()?)"([a-z_]+)"', sources)
    metrics = {name if name.startswith("process_") else "cuckooguard_" + name for name in names}
    cells = first_cells("docs/http.md")
    yield from compare("metric", metrics, {name for name in cells if "_" in name}, "docs/http.md")
    for file in documents:
        # The changelog names renamed metrics.
        if file.name == "CHANGELOG.md":
            continue
        for number, line in numbered_lines(file):
            for name in METRIC.findall(line):
                if name not in metrics | NO_METRICS:
                    yield f"{file}:{number}: there is no metric {name}"

    entries = re.findall(r'^    \{"guard\.([a-z]+)", ', text_of("src/guard/guard_commands.cpp") + text_of("src/traffic/commands.cpp"), re.MULTILINE)
    named = {cell.split()[0].removeprefix("GUARD.").lower() for cell in first_cells("docs/commands.md")}
    yield from compare("command", set(entries), named, "docs/commands.md")

    subcommands = set()
    for file in tracked("src/cli/*.cpp"):
        subcommands.update(re.findall(r'add_subcommand\(\s*(?:\w+,\s*)?"([a-z-]+)"', file.read_text()))
    groups = {"filter", "fleet", "slot"}  # of two more words
    subcommands -= groups
    named = {cell.split()[-1 if cell.split()[1] in groups else 1] for cell in
             (re.sub(r" [A-Z]+$", "", cell) for cell in first_cells("docs/configuration.md")) if cell.startswith("cuckooguard ")}
    yield from compare("subcommand", subcommands, named, "docs/configuration.md")

    alerts = set(re.findall(r"- alert: (\w+)", text_of("packaging/prometheus/alerts.yaml")))
    named = {cell for cell in first_cells("docs/operations.md") if cell.startswith("CuckooGuard")}
    yield from compare("alert", alerts, named, "docs/operations.md")
    yield from half_alerts()

    commands = set(re.findall(r"^  ([a-z]+)(?: \| [^)]*)?\) ", text_of("dev"), re.MULTILINE))
    for file in documents:
        for name in set(re.findall(r"\./dev ([a-z]+)", file.read_text())) - commands:
            yield f"{file}: there is no ./dev {name}"

    # What Redis's user needs, as the program asks for it.
    rights = {each for file in tracked("src/upstream/*.cpp", "src/upstream/*.h")
              for each in re.findall(r'"(\+acl\|getuser \+[^"]*)"', file.read_text())}
    for name in ("README.md", "docs/quick-start.md"):
        for each in rights:
            if f"-@all {each}\n" not in text_of(name):
                yield f"{name}: ACL SETUSER does not give {each}"

    version = re.search(r"project\(cuckooguard VERSION (\S+)", text_of("CMakeLists.txt"))[1]
    for file in tracked("README.md", "docs/*.md", "Dockerfile", "packaging/*.yaml"):
        for name in VERSION.findall(file.read_text()):
            if name != version:
                yield f"{file}: this is not version {name}, but {version}"

    paths = set(re.findall(r'\{\.path = "([^"]+)"', text_of("src/admin/pages.cpp")))
    pages = re.findall(r"^(?:GET|POST) (/\S*)", text_of("docs/http.md"), re.MULTILINE)
    with_more = [path for path in paths if path.endswith("/") and path != "/"]
    named = {next((path for path in with_more if page.startswith(path)), page) for page in pages}
    yield from compare("page", paths, named, "docs/http.md")


def main():
    found = list(findings())
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
