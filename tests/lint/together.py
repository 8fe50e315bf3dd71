"""Which files can be compiled as one: those that declare no name twice in one namespace.

    together.py MOST FILE...    a line per group of MOST files at most, parted by ';'

Names are found by their lines at the margin, which is all that is needed where clang-format has been; what this misses, a
compiler tells.
"""

import pathlib
import re
import sys

WORD = re.compile(r"[A-Za-z_]\w*")
NAMESPACE = re.compile(r"^namespace ([\w:]+) ", re.MULTILINE)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
# A line at the margin that declares something, up to where its body, value or parameters begin.
DECLARATION = re.compile(r"^(?!INSTANTIATE|#include|namespace|using namespace)([#A-Za-z_][^({=;]*)(\((\w+)|[^\n]*)", re.MULTILINE)

# `class Name;`, which any number of files may say.
FORWARD = re.compile(r"^(class|struct|enum class) \w+;$")


def headers_of(file, of_headers_too=True):
    """Those that it includes of its own room and of its neighbours, and what these include."""
    found = []
    for included in INCLUDE.findall(file.read_text()):
        header = next((path / included for path in file.resolve().parents if (path / included).exists()), None)
        if header:
            found += [header, *(headers_of(header, False) if of_headers_too else [])]
    return found


def names_in(text, said_by):
    """What each name at the margin stands for, by its namespace: what is said alike in two files may be said in both."""
    namespace = NAMESPACE.search(text)
    names = {}
    for head, rest, suite in DECLARATION.findall(text):
        if FORWARD.match(head + rest):
            continue
        words = [suite] if head.startswith("TEST") else WORD.findall(head.split(" : ")[0].strip().removesuffix(" final"))  # not the base of a class
        is_using = head.startswith("using ")
        # `Type Class::member(`: the class is declared elsewhere, and its members are its own.
        if words and (is_using or "::" + words[-1] not in head):
            is_global = not namespace or words[-1] == "main" or 'extern "C"' in head
            names["" if is_global else namespace[1], words[-1]] = head + rest if is_using else said_by
    return names


def declared_names(file):
    text = file.read_text()
    headers = headers_of(file)
    # What a `using enum` brings is not said there, so that such a file is alone.
    names = {("", "using enum"): file.name if re.search(r"^using enum ", text, re.MULTILINE) else ""}
    for header in headers:
        names |= names_in(header.read_text(), header.name)
    if '#include "testing/' in text or any("::testing {" in header.read_text() for header in headers):
        names["", "testing"] = "the project's own"
    elif re.search(r"(?<![:\w])testing::", text):
        names["", "testing"] = "GoogleTest's"
    return names_in(text, file.name) | names  # what a header declares is the header's where it is defined, too


def agree(some, others):
    """Headers do, since any file may include both."""
    return all(others.get(name, by) == by or (by.endswith(".h") and others[name].endswith(".h")) for name, by in some.items())


def grouped(files, most):
    """Lists of files, each file in the first one that it fits into; those first that fit beside the fewest."""
    names_of = {file: declared_names(file) for file in files}
    strangers = {file: sum(not agree(names, others) for others in names_of.values()) for file, names in names_of.items()}
    groups = []
    for file in sorted(files, key=lambda file: -strangers[file]):
        names = names_of[file]
        for members, taken in groups:
            if len(members) < most and agree(names, taken):
                members.append(file)
                taken |= names
                break
        else:
            groups.append(([file], names))
    return [members for members, _ in groups]


if __name__ == "__main__":
    files = [pathlib.Path(name) for name in sys.argv[2:]]
    # What is generated, and not yet there, is compiled alone.
    for members in grouped([file for file in files if file.exists()], int(sys.argv[1])):
        print(";".join(map(str, members)))
