#!/usr/bin/env python3
"""`./dev demo --filters`: five ways in which applications filter today, each with the guard in front of a real Redis.

Each application does what it did before: it asks 20,000 times for what does not exist, and 2,000 times for what does. Told is how
many of those Redis saw, and whether anything that exists was taken for absent. Argument: the guard's program.

Exit code 1 if anything that exists was hidden, or more than 5 % of what does not exist came to Redis."""

import contextlib
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

GUARD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
MEMBERS, ABSENT, ASKED = 2000, 20_000, 500
PATIENCE = 30


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Client:
    """RESP2, as much as is needed here."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.file = self.socket.makefile("rb")

    def send(self, commands):
        words = []
        for command in commands:
            words.append(b"*%d\r\n" % len(command))
            for word in command:
                word = word if isinstance(word, bytes) else str(word).encode()
                words.append(b"$%d\r\n%s\r\n" % (len(word), word))
        self.socket.sendall(b"".join(words))

    def reply(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind in b"+":
            return rest.decode()
        if kind == b":":
            return int(rest)
        if kind == b"-":
            return RuntimeError(rest.decode())
        if kind == b"$":
            if rest == b"-1":
                return None
            value = self.file.read(int(rest) + 2)[:-2]
            return value
        return [self.reply() for _ in range(int(rest))]

    def all(self, commands):
        replies = []
        for begin in range(0, len(commands), ASKED):
            batch = commands[begin : begin + ASKED]
            self.send(batch)
            replies += [self.reply() for _ in batch]
        return replies

    def call(self, *words):
        return self.all([words])[0]


@contextlib.contextmanager
def running(words, ready):
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + PATIENCE
        while not ready():
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{words[0]} did not start: {process.stderr.read() if process.poll() is not None else ''}")
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.wait()


def is_listening(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    except OSError:
        return False


def make_filter(path, items, *options):
    subprocess.run([GUARD, "filter", "create", path, *options], check=True, stdout=subprocess.DEVNULL)
    lines = "".join(f"{item}\n" for item in items)
    sized = ("--capacity", "--rate")  # only when it is made
    told = [word for i, word in enumerate(options) if word not in sized and (i == 0 or options[i - 1] not in sized)]
    subprocess.run([GUARD, "filter", "add", path, *told, "-"], input=lines, text=True, check=True, stdout=subprocess.DEVNULL)


def configuration(folder, redis_port, port):
    return f"""
listen: 127.0.0.1:{port}
upstream: 127.0.0.1:{redis_port}
sources:
  shop: {{ type: sqlite, path: {folder}/shop.db }}
  orders: {{ type: bloom, format: go-zero, key: "bloom:orders", bits: 100000 }}
  carts: {{ type: bloom, format: guava-bitmap, key: "bloom:carts", bits: 40000, hashes: 7, funnel: long }}
  coupons: {{ type: bloom, format: seiflotfy, path: {folder}/coupons.filter }}
namespaces:
  users: {{ keys: "user:{{id:uint64}}", source: {{ from: shop, table: user }}, mode: enforce, absent_reply: nil, verify_sample: 0%,
            overlay: {{ pass_at_start: false }}, fresh_ids: 0, commands: {{ key: users }} }}
  orders: {{ keys: "order:{{id}}", source: {{ from: orders }}, mode: enforce, absent_reply: nil, verify_sample: 0%,
            overlay: {{ pass_at_start: false }} }}
  carts: {{ keys: "cart:{{id}}", source: {{ from: carts }}, mode: enforce, absent_reply: nil, verify_sample: 0%,
            overlay: {{ pass_at_start: false }} }}
  coupons: {{ keys: "coupon:{{id}}", source: {{ from: coupons }}, mode: enforce, absent_reply: nil, verify_sample: 0%,
            overlay: {{ pass_at_start: false }} }}
filters:
  allow_reserve: "bf:{{name}}"
  dedupe: {{ keys: "{{spider}}:dupefilter", capacity: 100k }}
"""


def calls(redis, name):
    for line in redis.call("INFO", "commandstats").decode().splitlines():
        if line.startswith(f"cmdstat_{name}:"):
            return int(line.split("calls=")[1].split(",")[0])
    return 0


failed = []


def tell(way, asked, reached, hidden, more=""):
    print(f"  {way:<44}{asked:>10,}{reached:>14,}{hidden:>10}  {more}")
    if hidden or reached > asked / 20:
        failed.append(way)


def by_get(way, guard, redis, key):
    before = calls(redis, "get")
    guard.all([("GET", key % (1_000_000 + n)) for n in range(ABSENT)])
    reached = calls(redis, "get") - before
    replies = guard.all([("GET", key % n) for n in range(MEMBERS)])
    tell(way, ABSENT, reached, sum(reply is None for reply in replies))


def main():
    with tempfile.TemporaryDirectory() as folder:
        redis_port, port = free_port(), free_port()
        database = sqlite3.connect(f"{folder}/shop.db")
        database.execute("CREATE TABLE user (id INTEGER PRIMARY KEY)")
        database.executemany("INSERT INTO user VALUES (?)", [(n,) for n in range(MEMBERS)])
        database.commit()
        make_filter(f"{folder}/orders", range(MEMBERS), "--format", "go-zero", "--bits", "100000")
        make_filter(f"{folder}/carts", range(MEMBERS), "--format", "guava-bitmap", "--bits", "40000", "--hashes", "7", "--funnel", "long")
        make_filter(f"{folder}/coupons.filter", range(MEMBERS), "--format", "seiflotfy", "--capacity", "4000")
        with open(f"{folder}/guard.yaml", "w") as file:
            file.write(configuration(folder, redis_port, port))
        server = ["redis-server", "--port", str(redis_port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        with running(server, lambda: is_listening(redis_port)):
            redis = Client(redis_port)
            for name in ("orders", "carts"):
                with open(f"{folder}/{name}", "rb") as file:
                    redis.call("SET", f"bloom:{name}", file.read())
            redis.all([("SET", f"{kind}:{n}", n) for kind in ("user", "order", "cart", "coupon") for n in range(MEMBERS)])
            with running([GUARD, "--config", f"{folder}/guard.yaml"], lambda: is_listening(port)):
                guard = Client(port)
                deadline = time.monotonic() + PATIENCE
                while any(guard.call("GUARD.CHECK", f"{kind}:9999999") != [0] for kind in ("user", "order", "cart", "coupon")):
                    if time.monotonic() > deadline:
                        raise SystemExit(guard.call("GUARD.INFO").decode())
                    time.sleep(0.05)
                show(guard, redis, database)
    words = ", ".join(failed) or "none"
    print(f"demo-filters: ways=5 failed={len(failed)}" + (f" which={words}" if failed else ""))
    return 1 if failed else 0


def show(guard, redis, database):
    print("  Redis knows no BF.* and no CF.*; each application asks as it did before.\n")
    print(f"  {'':<44}{'absent':>10}{'came to Redis':>14}{'hidden':>10}")
    # 1. RedisBloom: of a table, and one that the application fills.
    before = calls(redis, "get")
    replies = guard.all([("BF.EXISTS", "users", 1_000_000 + n) for n in range(ABSENT)])
    existing = guard.all([("CF.EXISTS", "users", n) for n in range(MEMBERS)])
    database.execute("INSERT INTO user VALUES (500000)")
    database.commit()
    deadline = time.monotonic() + PATIENCE
    while guard.call("BF.EXISTS", "users", 500_000) != 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    follows = guard.call("BF.EXISTS", "users", 500_000) == 1
    tell("RedisBloom, of a table: BF.EXISTS", ABSENT, calls(redis, "get") - before, existing.count(0) + (not follows),
         f"said to exist: {sum(replies)}; a new row is seen")
    guard.call("BF.RESERVE", "bf:seen", "0.001", "1000")
    added = guard.all([("BF.ADD", "bf:seen", f"item {n}") for n in range(10 * MEMBERS)])
    there = guard.all([("BF.EXISTS", "bf:seen", f"item {n}") for n in range(10 * MEMBERS)])
    before = calls(redis, "get")
    absent = guard.all([("BF.EXISTS", "bf:seen", f"other {n}") for n in range(ABSENT)])
    tell("RedisBloom, filled by the application", ABSENT, calls(redis, "get") - before, there.count(0),
         f"said to exist: {sum(absent)}, at {sum(added) // 1000} times its capacity")
    # 2. to 4. Filters that libraries have made.
    by_get("go-zero: a bitmap in Redis", guard, redis, "order:%d")
    by_get("Guava, copied to a bitmap in Redis", guard, redis, "cart:%d")
    by_get("seiflotfy/cuckoofilter: a file", guard, redis, "coupon:%d")
    # 5. scrapy-redis.
    pages = [("SADD", "books:dupefilter", f"{n * 2654435761 % 2**32:08x}") for n in range(ABSENT)]
    before = int(redis.call("INFO", "memory").decode().split("used_memory:")[1].split()[0])
    new = guard.all(pages)
    seen = guard.all(pages)
    after = int(redis.call("INFO", "memory").decode().split("used_memory:")[1].split()[0])
    redis.all(pages)
    of_set = int(redis.call("MEMORY", "USAGE", "books:dupefilter", "SAMPLES", "0"))
    tell("scrapy-redis: SADD of what was seen", ABSENT, calls(redis, "sadd") - ABSENT, seen.count(1),
         f"taken for seen: {new.count(0)}; Redis's set has {of_set // ABSENT} bytes a page, here Redis has {max(after - before, 0) // ABSENT}")


if __name__ == "__main__":
    sys.exit(main())
