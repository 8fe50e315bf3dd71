#!/usr/bin/env python3
"""Whether rooms can include what they may, and nothing that they may not.

    arrows.py COMPILER ARROWS

A line of ARROWS: room, MAY or MAY_NOT, header, the room's include directories separated by semicolons.
"""

import concurrent.futures
import os
import subprocess
import sys


def problem(compiler, line):
    room, word, header, folders = line.split(" ", 3)
    found = subprocess.run(
        [compiler, "-std=c++23", "-fsyntax-only", *(f"-I{folder}" for folder in folders.split(";")), "-x", "c++", "-"],
        input=f'#include "{header}"\n', stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if word == "MAY":
        return f"{room} cannot include {header}:\n{found.stdout}" if found.returncode else None
    is_unknown = f"{header}: No such file" in found.stdout or f"'{header}' file not found" in found.stdout
    return None if is_unknown else f"{room} can include {header}\n{found.stdout}"


def main():
    compiler, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        arrows = file.read().splitlines()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [found for found in pool.map(lambda line: problem(compiler, line), arrows) if found]
    print(*problems, f"arrows: checked={len(arrows)} wrong={len(problems)}", sep="\n")
    return 1 if problems or not arrows else 0


if __name__ == "__main__":
    sys.exit(main())
