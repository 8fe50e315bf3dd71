#!/usr/bin/env python3
"""A history of commits and reads, and its checker: history.py GUARD [--seed N] [--pairs N] [--consistency C]

The row of each key is a register with two values, there or not. Writers insert and delete rows of MariaDB, each its own keys, in
transactions of up to 500, and read all of a transaction's keys through a strict namespace as soon as its commit has returned; a reader of
all keys runs beside them, and an attacker asks for keys of nobody. An absent answer (a bytes:-reply, which Redis would not give) to a read
of a row that had been committed when the read was sent, and whose deletion had not been asked for when its reply came, is stale. Exit code
1 if there is one, or if attackers were not answered. With `--consistency max_lag` there are some: the checker sees them."""

import random
import subprocess
import sys
import tempfile
import threading
import time

from servers import World, arguments, line, percentile, until
from fleet import Database

WRITERS, KEYS, BATCH, ABSENT = 3, 20_000, 500, "__ABSENT__"


class Session:
    """One of the `mariadb` program. `run` returns when the server has."""

    def __init__(self, database):
        words = ["mariadb", "--no-defaults", f"--socket={database.folder}/mariadb.sock", "-uroot", "-N", "-B", "-n", "shop"]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def run(self, sql):
        self.process.stdin.write(sql + "; SELECT 'done';\n")
        self.process.stdin.flush()
        if self.process.stdout.readline() != "done\n":
            raise SystemExit(f"refused: {sql[:200]}")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class History:
    """Of each key when it was last committed, and when its deletion was begun (which counts from then on); times of one clock."""

    def __init__(self):
        self.there_since = {}  # key: when the commit had returned
        self.pairs = self.stale = self.reads = self.answered = self.there = 0
        self.first = ""
        self.lock = threading.Lock()

    def judge(self, keys, sent, replies, who):
        stale = 0
        with self.lock:
            for key, reply in zip(keys, replies):
                since = self.there_since.get(key)
                is_there = since is not None and since <= sent  # and no deletion was begun since: that would have removed it
                self.there += is_there
                self.answered += reply == ABSENT.encode()
                if is_there and reply == ABSENT.encode():
                    stale += 1
                    self.first = self.first or f"user:{key} read by {who}, committed {1000 * (sent - since):.3f} ms before"
            self.reads += len(keys)
            self.stale += stale


def write(database, guard, history, number, is_over, rng):
    session, client = Session(database), guard.client()
    mine = list(range(1 + number * KEYS, 1 + (number + 1) * KEYS))
    there = set()
    while not is_over.is_set():
        some = rng.sample(mine, rng.choice((1, 20, BATCH, BATCH)))
        gone = [key for key in some if key in there and rng.randrange(2) == 0]
        new = [key for key in some if key not in there]
        with history.lock:
            for key in gone:
                history.there_since.pop(key, None)
        statements = ["BEGIN"]
        if gone:
            statements.append(f"DELETE FROM users WHERE id IN ({', '.join(map(str, gone))})")
        if new:
            statements.append("INSERT INTO users VALUES " + ", ".join(f"({key})" for key in new))
        session.run("; ".join(statements) + "; COMMIT")
        committed = time.monotonic()
        with history.lock:
            history.there_since.update((key, committed) for key in new)
        there.difference_update(gone)
        there.update(new)
        kept = [key for key in some if key in there]
        sent = time.monotonic()
        history.judge(kept, sent, client.all([("GET", f"user:{key}") for key in kept]), "its writer")
        with history.lock:
            history.pairs += len(kept)
    session.close()


def read(guard, history, is_over, rng):
    client = guard.client()
    while not is_over.is_set():
        keys = [rng.randrange(1, 1 + WRITERS * KEYS) for _ in range(100)]
        # Judged by what was there before, and is when the replies have come.
        with history.lock:
            before = {key: history.there_since.get(key) for key in keys}
        sent = time.monotonic()
        replies = client.all([("GET", f"user:{key}") for key in keys])
        with history.lock:
            same = [at for at, key in enumerate(keys) if before[key] is not None and history.there_since.get(key) == before[key]]
        history.judge([keys[at] for at in same], sent, [replies[at] for at in same], "another")


def attack(guard, result, is_over, rng):
    client, waits = guard.client(), []
    while not is_over.is_set():
        began = time.monotonic()
        replies = client.all([("GET", f"user:{rng.randrange(10**12, 2 * 10**12)}") for _ in range(100)])
        waits.append(time.monotonic() - began)
        result["asked"] += len(replies)
        result["answered"] += sum(reply == ABSENT.encode() for reply in replies)
    result["p99_ms"] = 1000 * percentile(waits, 0.99)


def main():
    chosen = arguments(("pairs", 1_000_000), ("consistency", "strict"))
    rng = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as folder, World(chosen.guard) as world:
        database = Database(folder)
        world.started(database.words, "mariadb", database.port)
        database.fill()
        database.run("DELETE FROM shop.users")
        source = f"type: mysql, addresses: [127.0.0.1:{database.port}], user: guard, password: guard, database: shop"
        guard = world.proxy("guard", world.guard_yaml(source, absent_reply=f"bytes:{ABSENT}", consistency=chosen.consistency,
                                                      filter_settings="{ capacity: 1M, false_positive_rate: 0.0001% }"))
        world.wait_until_absent_keys_are_answered(guard, "user:999999999")
        history, is_over, attacked, began = History(), threading.Event(), {"asked": 0, "answered": 0}, time.monotonic()
        jobs = [(write, (database, guard, history, number, is_over, random.Random(rng.random()))) for number in range(WRITERS)]
        jobs += [(read, (guard, history, is_over, random.Random(rng.random()))), (attack, (guard, attacked, is_over, random.Random(rng.random())))]
        threads = [threading.Thread(target=job, args=words) for job, words in jobs]
        for thread in threads:
            thread.start()
        until(lambda: history.pairs >= chosen.pairs or not all(thread.is_alive() for thread in threads), "the pairs", 600)
        is_over.set()
        for thread in threads:
            thread.join()
    if history.first:
        print("  first stale: " + history.first)
    line("history", pairs=history.pairs, reads=history.reads, of_rows_there=history.there, stale=history.stale,
         absent_asked=attacked["asked"], absent_answered=attacked["answered"], absent_p99_ms=attacked["p99_ms"],
         seconds=time.monotonic() - began)
    return 0 if history.stale == 0 and history.pairs >= chosen.pairs and 2 * attacked["answered"] > attacked["asked"] else 1


if __name__ == "__main__":
    sys.exit(main())
