"""How large the house is: what src/README.md promises to keep small, as numbers.

    house.py [COMMIT]    of a commit, too, beside the tree as it is

A line counts if it has code. A header is of one unit if one at most includes it beside its own. The spine is what there is without any
guest (src/guests/guests.cmake).
"""

import pathlib
import re
import subprocess
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.MULTILINE)
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|R"\((?:.|\n)*?\)"|\'(?:\\.|[^\'\\\n])*\')', re.DOTALL)
GUEST_ROOMS = re.compile(r"^\s*ROOMS (.*)$", re.MULTILINE)
SMALL = 40


def code_lines(text):
    """Without comments and blanks; what stands in quotes is no comment."""
    return sum(1 for line in COMMENT.sub(lambda found: found[1] or "", text).splitlines() if line.strip())


def unit_of(path):
    """A header and the source of its name."""
    return path.with_suffix("")


def guest_rooms(root):
    listed = root / "src/guests/guests.cmake"
    return set(" ".join(GUEST_ROOMS.findall(listed.read_text())).split()) if listed.exists() else set()


def counts_of(root):
    files = sorted(path for path in (root / "src").rglob("*") if path.suffix in (".h", ".cpp"))
    text_of = {path: path.read_text() for path in files}
    by_end = {}
    for path in files:
        for depth in (1, 2, 3):
            by_end.setdefault("/".join(path.parts[-depth:]), []).append(path)
    users = {path: set() for path in files if path.suffix == ".h"}
    for path, text in text_of.items():
        for included in INCLUDE.findall(text):
            near = [found for found in by_end.get(included, []) if found in users]
            for header in near[:1] if len({unit_of(each) for each in near}) == 1 else near:
                users[header].add(unit_of(path))
    of_one = [header for header, units in users.items() if len(units - {unit_of(header)}) <= 1]
    lines = {path: code_lines(text) for path, text in text_of.items()}
    of_guests = {root / "src" / room for room in guest_rooms(root)}
    return {
        "lines": sum(lines.values()),
        "spine": sum(count for path, count in lines.items() if path.parent not in of_guests),
        "files": len(files),
        "headers": len(users),
        "headers_of_one_unit": len(of_one),
        "small_files": sum(1 for path in files if text_of[path].count("\n") < SMALL),
        "largest_header": max(text_of[path].count("\n") for path in users),
        "largest_source": max(text_of[path].count("\n") for path in files if path not in users),
        "rooms": {
            str(room.relative_to(root / "src")): sum(count for path, count in lines.items() if path.parent == room)
            for room in sorted({path.parent for path in files})
        },
    }


def counts_at(commit):
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", commit, "src"], check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        return counts_of(pathlib.Path(folder))


def main():
    now = counts_of(pathlib.Path("."))
    before = counts_at(sys.argv[1]) if len(sys.argv) > 1 else None
    for name, count in now["rooms"].items():
        was = f" before={before['rooms'].get(name, 0)}" if before else ""
        print(f"room={name} lines={count}{was}")
    for name, count in now.items():
        if name != "rooms":
            print(f"{name}={count}" + (f" before={before[name]}" if before else ""))
    print("house: " + " ".join(f"{name}={count}" for name, count in now.items() if name != "rooms"))


if __name__ == "__main__":
    main()
