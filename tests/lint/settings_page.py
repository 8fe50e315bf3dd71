"""docs/settings.md: config/cuckooguard.yaml as a page, each setting under its path.

    settings_page.py            the page is what the file says: a finding otherwise
    settings_page.py --write    makes it so
"""

import pathlib
import re
import sys

PAGE = pathlib.Path("docs/settings.md")
FILE = pathlib.Path("config/cuckooguard.yaml")
SECTION = re.compile(r"^# -{10,} (.*)$")
SETTING = re.compile(r"^( *)#?([a-z_]+|- [a-z_]+):(?: (.*))?$")
COMMENT = re.compile(r"^ *# ?(.*)$")


def paragraphs(lines):
    """Comment lines as Markdown; what is indented becomes a block."""
    page, block = [], []
    for line in [*lines, ""]:
        if line.startswith("  "):
            block.append(line.removeprefix("  "))
            continue
        if block:
            page += ["", "```text", *block, "```", ""]
            block = []
        page.append(re.sub(r"([*<])", r"\\\1", line))
    return page


def rendered(text):
    page = ["# All settings", "",
            f"This page is [{FILE}](../{FILE}) with a heading for each setting; [configuration](configuration.md) explains how they work",
            "together. Names like `shop` and `users` are of your choice.", ""]
    path, comment = [], []
    for line in text.splitlines():
        section, setting, remark = SECTION.match(line), SETTING.match(line), COMMENT.match(line)
        if section:
            page += ["", f"## {section[1]}"]
            comment = []
        elif setting:
            depth = len(setting[1]) // 2
            path = path[:depth] + [setting[2].removeprefix("- ")]
            default = (setting[3] or "").split("  #")[0].strip()
            if comment or default:
                page += ["", f"### {'.'.join(path)}", ""]
                page += [f"`{default}`", ""] if default else []
                page += paragraphs(comment)
            comment = []
        elif remark:
            comment.append(remark[1])
        elif comment:
            page += ["", *paragraphs(comment)]
            comment = []
    return re.sub(r"\n{3,}", "\n\n", "\n".join(page)).rstrip() + "\n"


def findings():
    if PAGE.read_text() != rendered(FILE.read_text()):
        yield f"{PAGE}: differs from {FILE}: run tests/lint/settings_page.py --write"


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(rendered(FILE.read_text()))
    for each in findings():
        print(each)
        sys.exit(1)
