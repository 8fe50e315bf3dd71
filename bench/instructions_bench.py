#!/usr/bin/env python3
"""`./dev bench instructions`: how many instructions of its own a request costs the guard, Redis, and other proxies.

Counted by valgrind's callgrind, whose counts repeat within a percent on any machine with the same compiler and libc, however busy. The kernel's
are not in them. Under valgrind the program is so slow that each wake-up finds all clients ready: 50 of redis-benchmark's.

Arguments: the guard's program [--only TEXT] [--predixy PROGRAM] [--requests N] [--check FILE | --record FILE]
  --check   compare the cells in FILE with what is measured now: above + 3 % is a failure; other compiler or libc: nothing is compared
  --record  write that FILE"""

import argparse
import contextlib
import glob
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(ROOT, "demo"), os.path.join(ROOT, "tests", "reliability")]
from filters import free_port, is_listening, running  # noqa: E402
from servers import PROGRAMS, haproxy_configuration, twemproxy_configuration  # noqa: E402

CLIENTS, ROWS, VALUE = 50, 1000, "v" * 32
MOST = 1.03  # of what is recorded
PRESENT, ABSENT, EITHER = "user:__rand_int__", "user:a__rand_int__", "half:__rand_int__"

# name: command, depth. Of the keys of EITHER every second has a row.
CELLS = {
    "hit P=1": (["GET", PRESENT], 1),
    "hit P=16": (["GET", PRESENT], 16),
    "hit P=64": (["GET", PRESENT], 64),
    "absent P=1": (["GET", ABSENT], 1),
    "absent P=16": (["GET", ABSENT], 16),
    "absent P=64": (["GET", ABSENT], 64),
    "half P=64": (["GET", EITHER], 64),
    "SET P=1": (["SET", PRESENT, VALUE], 1),
    "SET P=16": (["SET", PRESENT, VALUE], 16),
    "MGET P=16": (["MGET", *[PRESENT] * 5, *[ABSENT] * 5], 16),
}
CHECKED = ("absent P=64", "hit P=16")


def guard_yaml(folder, redis_port, port, consistency, mode):
    return f"""
listen: 127.0.0.1:{port}
upstream: {{ address: 127.0.0.1:{redis_port}, mode: {mode} }}
workers: 1
sources:
  users: {{ type: file, path: {folder}/users }}
  halves: {{ type: file, path: {folder}/halves }}
namespaces:
  users: {{ keys: "user:{{id}}", source: {{ from: users }}, mode: enforce, absent_reply: nil, tolerate: 0, consistency: {consistency} }}
  halves: {{ keys: "half:{{id}}", source: {{ from: halves }}, mode: enforce, absent_reply: nil, tolerate: 0, consistency: {consistency} }}
"""


def predixy_conf(redis_port, port):
    return f"""Bind 127.0.0.1:{port}
WorkerThreads 1
StandaloneServerPool {{
    Databases 1
    RefreshMethod fixed
    Hash crc16
    Distribution modula
    Group one {{
        + 127.0.0.1:{redis_port}
    }}
}}
"""


def written(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


def targets(options, folder, redis_port):
    """name: (command, port)"""
    found = {}
    for consistency in ("max_lag", "strict"):
        for mode in ("shared", "pinned"):
            name, port = f"guard {mode} {consistency}", free_port()
            path = written(f"{folder}/{mode}-{consistency}.yaml", guard_yaml(folder, redis_port, port, consistency, mode))
            found[name] = ([options.guard, "--config", path], port)
    port = free_port()
    found["redis"] = (["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder], port)
    if os.path.exists(program := PROGRAMS["haproxy"]):
        port = free_port()
        found["haproxy"] = ([program, "-db", "-f", written(f"{folder}/haproxy", haproxy_configuration(redis_port, port, 10 * CLIENTS))], port)
    if os.path.exists(program := PROGRAMS["twemproxy"]):
        port = free_port()
        conf = written(f"{folder}/nutcracker", twemproxy_configuration(redis_port, port))
        found["twemproxy"] = ([program, "-c", conf, "-a", "127.0.0.1", "-s", str(free_port()), "-o", f"{folder}/nutcracker.log"], port)
    if options.predixy:
        port = free_port()
        found["predixy"] = ([options.predixy, written(f"{folder}/predixy", predixy_conf(redis_port, port))], port)
    return {name: target for name, target in found.items() if options.only in name}


def cli(port, *words):
    return subprocess.run(["redis-cli", "-p", str(port), *words], capture_output=True, text=True).stdout.strip()


def fill(port):
    script = "".join(f"SET {space}:{number:012} {VALUE}\n" for space, step in (("user", 1), ("half", 2)) for number in range(0, ROWS, step))
    subprocess.run(["redis-cli", "-p", str(port)], input=script, text=True, stdout=subprocess.DEVNULL, check=True)


def load(port, command, depth, requests):
    words = ["redis-benchmark", "-p", str(port), "-c", str(CLIENTS), "-P", str(depth), "-n", str(requests), "-r", str(ROWS), "-q", *command]
    out = subprocess.run(words, capture_output=True, text=True)
    if out.returncode != 0 or "rror" in out.stdout + out.stderr:
        raise SystemExit(f"redis-benchmark: {out.stdout} {out.stderr}")


class Counted:
    """A process under callgrind."""

    def __init__(self, pid, folder):
        self.pid, self.pattern = pid, f"{folder}/callgrind.{pid}*"

    def control(self, what):
        subprocess.run(["callgrind_control", what, str(self.pid)], check=True, capture_output=True)

    def begin(self):
        self.control("-z")

    def end(self):
        before = set(glob.glob(self.pattern))
        self.control("-d")
        deadline = time.monotonic() + 30
        while True:
            for path in set(glob.glob(self.pattern)) - before:
                with open(path) as file:
                    text = file.read()
                if totals := re.findall(r"^(?:summary|totals): (\d+)", text, re.M):
                    return int(totals[-1])
            if time.monotonic() > deadline:
                raise SystemExit("callgrind has written nothing")
            time.sleep(0.05)


def answers_absent_keys(port):
    if "unknown command" in cli(port, "GUARD.CHECK", "user:none"):
        return True
    return all(cli(port, "GUARD.CHECK", f"{space}:none") == "0" for space in ("user", "half"))


def measure(name, command, port, folder, cells, requests):
    prefix = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind.%p", "--log-file=/dev/null"]
    row = {}
    with running([*prefix, *command], lambda: is_listening(port)) as process:
        deadline = time.monotonic() + 120
        while cli(port, "PING") != "PONG" or (name.startswith("guard") and not answers_absent_keys(port)):
            if time.monotonic() > deadline:
                raise SystemExit(f"{name} does not answer")
            time.sleep(0.1)
        if name == "redis":
            fill(port)
        counted = Counted(process.pid, folder)
        for cell in cells:
            words, depth = CELLS[cell]
            count = requests * (4 if depth > 1 else 1)
            load(port, words, depth, CLIENTS * depth * 2)
            counted.begin()
            load(port, words, depth, count)
            row[cell] = round(counted.end() / count)
            print(f"instructions: target={name.replace(' ', '_')} cell={cell.replace(' ', '_')} per_request={row[cell]}", flush=True)
    return row


def toolchain():
    compiler = subprocess.run([os.environ.get("CXX", "c++"), "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    return {"compiler": compiler, "libc": " ".join(platform.libc_ver()), "machine": platform.machine()}


def compare(path, rows):
    with open(path) as file:
        recorded = json.load(file)
    if recorded["toolchain"] != toolchain():
        print(f"instructions: not compared, recorded with {recorded['toolchain']}")
        return True
    is_good = True
    for name, cells in recorded["cells"].items():
        for cell, before in cells.items():
            now = rows[name][cell]
            is_good = is_good and now <= MOST * before
            print(f"instructions: target={name.replace(' ', '_')} cell={cell.replace(' ', '_')} recorded={before} now={now} ratio={now / before:.3f}")
    return is_good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("guard", type=os.path.abspath)
    parser.add_argument("--only", default="")
    parser.add_argument("--cells", default="")
    parser.add_argument("--predixy")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--check")
    parser.add_argument("--record")
    options = parser.parse_args()
    cells = [cell for cell in CELLS if options.cells in cell]
    if options.check or options.record:
        options.only, cells = "guard shared max_lag", list(CHECKED)
    rows = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        for space, step in (("users", 1), ("halves", 2)):
            written(f"{folder}/{space}", "".join(f"{number:012}\n" for number in range(0, ROWS, step)))
        redis_port = free_port()
        server = ["redis-server", "--port", str(redis_port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        stack.enter_context(running(server, lambda: is_listening(redis_port)))
        fill(redis_port)
        for name, (command, port) in targets(options, folder, redis_port).items():
            rows[name] = measure(name, command, port, folder, cells, options.requests)
    print("| per request | " + " | ".join(cells) + " |")
    print("|---" * (len(cells) + 1) + "|")
    for name, row in rows.items():
        print(f"| {name} | " + " | ".join(f"{row[cell]:,}" for cell in cells) + " |")
    if options.record:
        written(options.record, json.dumps({"toolchain": toolchain(), "cells": rows}, indent=2) + "\n")
    if options.check and not compare(options.check, rows):
        raise SystemExit("a request costs more instructions than recorded (bench/instructions_bench.py --record, if that is meant)")


if __name__ == "__main__":
    main()
