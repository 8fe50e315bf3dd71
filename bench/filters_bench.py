#!/usr/bin/env python3
"""`./dev bench filters`: commands on filters that applications fill, through the guard, beside a plain GET of Redis itself.

Rounds of all cells, one after the other; told is the median of requests per second, as a ratio to the GET of the same round, and of the
guard's CPU per request. Then what a filter has become at ten times its capacity. Argument: the guard's program [ROUNDS]."""

import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "demo"))
from filters import Client, free_port, is_listening, running  # noqa: E402

GUARD = os.path.abspath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
SECONDS_EACH, CLIENTS, ITEMS = 2.0, 50, 1_000_000
TICKS = os.sysconf("SC_CLK_TCK")

COMMANDS = {
    "BF.EXISTS": ["BF.EXISTS", "bloom", "__rand_int__"],
    "CF.EXISTS": ["CF.EXISTS", "cuckoo", "__rand_int__"],
    "BF.ADD": ["BF.ADD", "bloom", "__rand_int__"],
    "CF.ADD": ["CF.ADD", "cuckoo", "__rand_int__"],
}


def configuration(folder, redis_port, port, durability):
    return f"""
listen: 127.0.0.1:{port}
upstream: 127.0.0.1:{redis_port}
workers: 1
filters:
  named: {{ bloom: {{ capacity: 10M }}, cuckoo: {{ kind: cuckoo, capacity: 10M }}, small: {{ capacity: 100k, false_positive_rate: 1% }} }}
  durability: {durability}
  log: bench:{durability}
  secret_file: {folder}/secret
"""


def cpu_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def run(port, command, depth, requests):
    words = ["redis-benchmark", "-p", str(port), "-c", str(CLIENTS), "-P", str(depth), "-n", str(requests), "-r", str(ITEMS), "--csv", *command]
    out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return float(out.strip().splitlines()[-1].rsplit('","')[1].strip('"').split('"')[0])


def pid_of(process_port):
    out = subprocess.run(["ss", "-Hltnp", f"sport = :{process_port}"], capture_output=True, text=True).stdout
    return int(out.split("pid=")[1].split(",")[0])


def main():
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        redis_port = free_port()
        with open(f"{folder}/secret", "w") as file:
            file.write("a secret of this benchmark alone\n")
        server = ["redis-server", "--port", str(redis_port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        with running(server, lambda: is_listening(redis_port)):
            for durability in ("local", "redis"):
                port = free_port()
                path = f"{folder}/{durability}.yaml"
                with open(path, "w") as file:
                    file.write(configuration(folder, redis_port, port, durability))
                with running([GUARD, "--config", path], lambda: is_listening(port)):
                    client = Client(port)
                    deadline = time.monotonic() + 30
                    while client.call("CF.EXISTS", "cuckoo", "none") != 0:
                        if time.monotonic() > deadline:
                            raise SystemExit("the guard does not answer")
                        time.sleep(0.05)
                    measure(redis_port, port, durability, results)
                    if durability == "local":
                        grown(client)
    print("bench-filters: " + " ".join(f"{name}={value}" for name, value in results.items()))


def measure(redis_port, port, durability, results):
    guard = pid_of(port)
    print(f"\n  durability: {durability}; {CLIENTS} clients, {ROUNDS} rounds, medians\n")
    print(f"  {'':<12}{'P':>4}{'requests/s':>14}{'to a GET':>10}{'guard us':>10}")
    for depth in (1, 16):
        cells = {name: [] for name in COMMANDS}
        gets = []
        for _ in range(ROUNDS):
            probe = run(redis_port, ["GET", "key:__rand_int__"], depth, 20_000 * depth)
            requests = int(max(probe * SECONDS_EACH, 1000))
            get = run(redis_port, ["GET", "key:__rand_int__"], depth, requests)
            gets.append(get)
            for name, command in COMMANDS.items():
                before = cpu_of(guard)
                rate = run(port, command, depth, requests)
                cells[name].append((rate, rate / get, (cpu_of(guard) - before) / requests * 1e6))
        print(f"  {'GET, direct':<12}{depth:>4}{statistics.median(gets):>14,.0f}{1:>10.2f}")
        for name, cell in cells.items():
            rate, ratio, micros = (statistics.median(column) for column in zip(*cell))
            print(f"  {name:<12}{depth:>4}{rate:>14,.0f}{ratio:>10.2f}{micros:>10.2f}")
            results[f"{durability}_{name.replace('.', '_').lower()}_p{depth}"] = f"{ratio:.2f}"


def grown(client):
    """A filter for 100,000 items at 1 %, with a million."""
    for begin in range(0, 1_000_000, 5000):
        client.call("BF.MADD", "small", *range(begin, begin + 5000))
    there = sum(sum(client.call("BF.MEXISTS", "small", *range(begin, begin + 5000))) for begin in range(0, 1_000_000, 5000))
    wrong = sum(sum(client.call("BF.MEXISTS", "small", *(f"x{n}" for n in range(begin, begin + 4000)))) for begin in range(0, 400_000, 4000))
    info = client.call("BF.INFO", "small")
    facts = dict(zip(info[::2], info[1::2]))
    print(f"\n  at 10 times its capacity: {there:,} of 1,000,000 found, false positives {wrong / 4000:.3f} % (promised 1 %), "
          f"{facts['Size'] * 8 / 1_000_000:.1f} bits an item, {facts['Number of filters']} layers")


if __name__ == "__main__":
    main()
