#!/usr/bin/env python3
"""How soon a guard passes when its database fails, and stops absent keys again when that is back: recovery.py GUARD [--seed N] [--rounds N]

In each round, in an order chosen by the seed: MariaDB is stopped (SIGSTOP, SIGCONT) and killed, Redis is killed, the guard is killed. A line
with the longest times in milliseconds: until the first read of an absent key passed after the database failed (0 for other faults), and from
when what had failed accepted connections again until absent keys were answered. The guard has `max_lag: 1s` and a checkpoint."""

import os
import random
import signal
import sys
import tempfile
import time

from servers import Client, World, arguments, line, until
from fleet import Database

ABSENT, KEY = b"__ABSENT__", "user:999999999"
DOWN = 2.0  # seconds for which something is gone


class Fleet:
    """A guard, its Redis and its MariaDB, each of which can fail."""

    def __init__(self, world, folder):
        self.world, self.data = world, Database(folder)
        self.database = world.started(self.data.words, "mariadb", self.data.port)
        self.data.fill()
        source = f"type: mysql, addresses: [127.0.0.1:{self.data.port}], user: guard, password: guard, database: shop, max_lag: 1s"
        os.mkdir(f"{folder}/storage", 0o700)
        self.guard = world.proxy("guard", world.guard_yaml(source, f"storage: {{ directory: {folder}/storage }}\n", absent_reply=f"bytes:{ABSENT.decode()}"))
        until(self.is_answered, "absent keys are answered")

    def is_answered(self):
        """Whether an absent key gets the guard's own reply, which Redis never gives."""
        try:
            return Client(self.guard.port).call("GET", KEY) == ABSENT
        except (OSError, ValueError):
            return False


def fail(fleet, what):
    """Milliseconds until it passes, and until it answers again."""
    process = {"database_stopped": fleet.database, "database_killed": fleet.database, "redis_killed": fleet.world.redis,
               "guard_killed": fleet.guard}[what]
    began = time.monotonic()
    os.kill(process.pid, signal.SIGSTOP if what == "database_stopped" else signal.SIGKILL)
    passed = 0.0
    if what.startswith("database"):
        until(lambda: not fleet.is_answered(), "it passes")
        passed = 1000 * (time.monotonic() - began)
    while time.monotonic() - began < DOWN and what != "guard_killed":
        time.sleep(0.01)
    if what == "database_stopped":
        os.kill(process.pid, signal.SIGCONT)
    else:
        process.start_again()
    back = time.monotonic()
    until(fleet.is_answered, f"absent keys are answered again: {what}")
    return passed, 1000 * (time.monotonic() - back)


def main():
    chosen = arguments(("rounds", 3))
    rng = random.Random(chosen.seed)
    faults = ["database_stopped", "database_killed", "redis_killed", "guard_killed"]
    passes, answers = 0.0, dict.fromkeys(faults, 0.0)
    with tempfile.TemporaryDirectory() as folder, World(chosen.guard) as world:
        fleet = Fleet(world, folder)
        for _ in range(chosen.rounds):
            for what in rng.sample(faults, len(faults)):
                passed, again = fail(fleet, what)
                passes, answers[what] = max(passes, passed), max(answers[what], again)
        line("recovery", faults=chosen.rounds * len(faults), passes_ms=passes, answers_ms=max(answers.values()), **{f"{what}_ms": value for what, value in answers.items()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
