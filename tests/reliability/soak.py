#!/usr/bin/env python3
"""Throughput and tail latency under 1,000 clients, round after round: soak.py GUARD [--seed N] [--seconds N] [--only PROXY]

redis-benchmark asks for random keys, of which 60 % are nobody's, with pipelines of 1, 16 and 64, of the guard, HAProxy, twemproxy and Redis
itself, which take turns. Between two rounds Redis cuts all connections of the proxies (CLIENT KILL). Reported per proxy: throughput as a
ratio to Redis's and to HAProxy's within the round, p99 as a ratio to Redis's (medians over the rounds), and how its memory grows. It checks
no replies: integration/soak does."""

import math
import random
import statistics
import subprocess
import sys
import time

from servers import FIRST_ROW, MIB, World, arguments, line

ROWS, KEYS, CLIENTS, PIPELINES, CELL = 40_000, 100_000, 1000, (1, 16, 64), 1.0


def bench(port, pipeline, requests):
    """Requests per second, and p99 in ms."""
    words = ["redis-benchmark", "-h", "127.0.0.1", "-p", str(port), "-c", str(CLIENTS), "-P", str(pipeline), "-n", str(requests), "-r", str(KEYS),
             "--csv", "GET", "user:1__rand_int__"]
    told = subprocess.run(words, capture_output=True, text=True, timeout=120)
    fields = [field.strip('"') for field in told.stdout.splitlines()[-1].split('","')] if told.returncode == 0 and told.stdout else []
    if len(fields) != 8:
        raise SystemExit(f"{' '.join(words)}: {told.stdout[-300:]}{told.stderr[-300:]}")
    return float(fields[1]), float(fields[6])


def slope(points):
    """MiB per minute, by least squares."""
    times = [at for at, _ in points]
    if len(points) < 3:
        return math.nan
    return 60 * statistics.linear_regression(times, [bytes_ / MIB for _, bytes_ in points]).slope


def main():
    chosen = arguments(("seconds", 120.0))
    rng = random.Random(chosen.seed)
    with World(chosen.guard) as world:
        world.write("rows", "".join(f"{FIRST_ROW + n}\n" for n in range(ROWS)))
        world.redis.client().all([("SET", f"user:{FIRST_ROW + n}", "v" * 64) for n in range(ROWS)])
        targets = {"redis": world.redis, **{name: world.proxy(name) for name in chosen.proxies}}
        if "guard" in targets:
            world.wait_until_absent_keys_are_answered(targets["guard"])
        pace = {(name, pipeline): bench(target.port, pipeline, 20_000)[0] for name, target in targets.items() for pipeline in PIPELINES}
        rates, tails, memory = {}, {}, {name: [] for name in targets}
        began, rounds = time.monotonic(), 0
        while time.monotonic() - began < chosen.seconds or rounds < 2:
            for pipeline in PIPELINES:
                names = list(targets)
                rng.shuffle(names)
                for name in names:
                    count = max(CLIENTS * pipeline, int(pace[name, pipeline] * CELL))
                    rate, p99 = bench(targets[name].port, pipeline, count)
                    pace[name, pipeline] = rate
                    rates[rounds, pipeline, name], tails[rounds, pipeline, name] = rate, p99
                    memory[name].append((time.monotonic() - began, targets[name].resident()))
            rounds += 1
            world.redis.client().call("CLIENT", "KILL", "TYPE", "normal")
        for name in chosen.proxies:
            cells = [(number, pipeline) for number in range(rounds) for pipeline in PIPELINES]

            def ratio(values, base):
                return statistics.median(values[*cell, name] / max(values[*cell, base], 1e-9) for cell in cells) if base in targets else 0.0

            line("load", proxy=name, rounds=rounds, clients=CLIENTS, requests=int(sum(rates[*cell, name] for cell in cells) * CELL),
                 over_redis=ratio(rates, "redis"), over_haproxy=ratio(rates, "haproxy"), p99_over_redis=ratio(tails, "redis"),
                 mib_per_minute=slope(memory[name][len(memory[name]) // 3:]), resident_mib=memory[name][-1][1] / MIB,
                 **{f"p{pipeline}_over_haproxy": statistics.median(rates[number, pipeline, name] / rates[number, pipeline, "haproxy"]
                                                                  for number in range(rounds)) for pipeline in PIPELINES if "haproxy" in targets})
    return 0


if __name__ == "__main__":
    sys.exit(main())
