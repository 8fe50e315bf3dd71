#!/usr/bin/env python3
"""`./dev demo --fleet [N]`: N guards (default 20) that follow one, a builder, which alone reads MariaDB; and a second builder beside it.

An attack goes through all of them; rows are inserted and read everywhere; in the middle the builder is killed with -9. Arguments: the
guard's program, N.

Exit code 1 if anything that exists was hidden for longer than max_lag, if attacks came to Redis, if the other builder has not taken over
within 5 s, or if MariaDB has other connections than those of two guards."""

import os
import signal
import subprocess
import sys
import tempfile
import time

from filters import Client, free_port, is_listening, running

GUARD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
FOLLOWERS = int(sys.argv[2]) if len(sys.argv) > 2 and __name__ == "__main__" else 20
ROWS, ABSENT, INSERTED = 100_000, 20_000, 200
PATIENCE = 60
MAX_LAG = 1.0
TAKES_OVER_WITHIN = 5.0


class Database:
    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        subprocess.run(["mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={folder}/mariadb", "--skip-test-db",
                        "--auth-root-authentication-method=normal"], check=True, stdout=subprocess.DEVNULL)
        self.words = ["mariadbd", "--no-defaults", "--user=root", f"--datadir={folder}/mariadb", f"--port={self.port}",
                      "--bind-address=127.0.0.1", f"--socket={folder}/mariadb.sock", "--server-id=1", "--log-bin=binlog",
                      "--binlog-format=ROW", "--innodb-flush-log-at-trx-commit=2", "--sync-binlog=0",
                      "--innodb-buffer-pool-size=64M"]

    def run(self, sql):
        words = ["mariadb", "--no-defaults", f"--socket={self.folder}/mariadb.sock", "-uroot", "-N", "-B"]
        return subprocess.run(words, input=sql, text=True, check=True, capture_output=True).stdout.split()

    def fill(self):
        self.run(f"""CREATE DATABASE shop; USE shop;
            CREATE TABLE users (id BIGINT UNSIGNED PRIMARY KEY);
            INSERT INTO users SELECT seq * 2 FROM seq_1_to_{ROWS};
            CREATE USER guard@'%' IDENTIFIED BY 'guard'; GRANT SELECT ON shop.* TO guard@'%';
            GRANT REPLICATION SLAVE, BINLOG MONITOR, SLAVE MONITOR ON *.* TO guard@'%'""")

    def connections(self):
        return int(self.run("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'guard'")[0])


def configuration(folder, name, port, redis_port, source, more=""):
    path = f"{folder}/{name}.yaml"
    with open(path, "w") as file:
        file.write(f"""
listen: 127.0.0.1:{port}
upstream: 127.0.0.1:{redis_port}
workers: 1
sources:
  {source}
namespaces:
  users: {{ keys: "user:{{id:uint64}}", source: {{ from: shop, table: users }}, mode: enforce, absent_reply: nil, verify_sample: 0%,
            overlay: {{ pass_at_start: false }}, fresh_ids: 0, consistency: max_lag }}
fleet: {{ signing_key_file: {folder}/fleet.key, public_key_files: {folder}/fleet.pub }}
storage: {{ secret_file: {folder}/fleet.secret{more} }}
""")
    return path


class Guard:
    def __init__(self, folder, name, redis_port, source, more=""):
        self.name = name
        self.port = free_port()
        self.log = open(f"{folder}/{name}.log", "w")
        self.config = configuration(folder, name, self.port, redis_port, source, more)
        self.process = None
        self.client = None

    def start(self):
        self.process = subprocess.Popen([GUARD, "--config", self.config], stdout=self.log, stderr=self.log)

    def connect(self):
        until(lambda: is_listening(self.port), f"{self.name} listens")
        self.client = Client(self.port)

    def is_ready(self):
        return self.client.call("GUARD.CHECK", "user:1") == [0]

    def end(self, how=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait()


def until(is_so, what, patience=PATIENCE):
    began = time.monotonic()
    while not is_so():
        if time.monotonic() - began > patience:
            raise SystemExit(f"not within {patience} s: {what}")
        time.sleep(0.01)
    return time.monotonic() - began


def gets(redis):
    for line in redis.call("INFO", "commandstats").decode().splitlines():
        if line.startswith("cmdstat_get:"):
            return int(line.split("calls=")[1].split(",")[0])
    return 0


def attack(followers, redis):
    """Keys that do not exist, through every follower. How many came to Redis."""
    before = gets(redis)
    each = max(ABSENT // len(followers), 1)
    for n, follower in enumerate(followers):
        follower.client.all([("GET", f"user:{2 * (n * each + i) + 1}") for i in range(each)])
    return each * len(followers), gets(redis) - before


def make_keys(folder):
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", f"{folder}/fleet.key"], check=True)
    subprocess.run(["openssl", "pkey", "-in", f"{folder}/fleet.key", "-pubout", "-out", f"{folder}/fleet.pub"], check=True)
    with open(os.open(f"{folder}/fleet.secret", os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
        file.write(os.urandom(192))


def insert_and_read(database, followers, first):
    """Each row is read everywhere once it is older than max_lag; told is the time until the last follower knew one, and what was hidden."""
    hidden, slowest = 0, 0.0
    for n in range(INSERTED // 20):
        ids = [first + 2 * (n * 20 + i) for i in range(20)]
        database.run("INSERT INTO shop.users VALUES " + ", ".join(f"({i})" for i in ids))
        committed = time.monotonic()
        for follower in followers:
            while follower.client.call("GUARD.CHECK", *[f"user:{i}" for i in ids]) != [1] * len(ids):
                late = time.monotonic() - committed
                if late > MAX_LAG:
                    hidden += 1
                    break
                time.sleep(0.005)
            slowest = max(slowest, time.monotonic() - committed)
    return hidden, slowest


def fleet_status(guard):
    """Its last line."""
    words = [GUARD, "fleet", "status", "--config", guard.config]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[-1]


def main():
    with tempfile.TemporaryDirectory() as folder:
        database, redis_port = Database(folder), free_port()
        make_keys(folder)
        server = ["redis-server", "--port", str(redis_port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        with running(database.words, lambda: is_listening(database.port)), running(server, lambda: is_listening(redis_port)):
            database.fill()
            guards = []
            try:
                return show(folder, database, redis_port, guards)
            finally:
                for guard in guards:
                    guard.end()


def show(folder, database, redis_port, guards):
    redis = Client(redis_port)
    mysql = (f"shop: {{ type: mysql, addresses: '127.0.0.1:{database.port}', user: guard, password: guard, database: shop, "
             "publish: redis, max_lag: 1s }")
    builders = [Guard(folder, f"builder-{n}", redis_port, mysql, f", directory: {folder}/kept-{n}") for n in range(2)]
    followers = [Guard(folder, f"follower-{n}", redis_port, "shop: { type: fleet, name: shop }") for n in range(FOLLOWERS)]
    guards += builders + followers
    for guard in guards:
        guard.start()
    for guard in guards:
        guard.connect()
    took = until(lambda: all(guard.is_ready() for guard in guards), "all guards know the table")
    print(f"  {len(followers)} followers and 2 builders know {ROWS:,} rows after {took:.1f} s")
    asked, reached = attack(followers, redis)
    print(f"  attack through all of them: {asked:,} keys that do not exist, {reached} came to Redis")
    hidden, slowest = insert_and_read(database, followers, 1_000_000)
    print(f"  {INSERTED} rows inserted, and read everywhere: the last follower knew them {slowest * 1000:.0f} ms after the commit at most")
    connections = database.connections()
    status = fleet_status(followers[0])
    print(f"  cuckooguard fleet status: {status}")

    publishing = next(b for b in builders if b"what=publishes" in open(f"{folder}/{b.name}.log", "rb").read())
    publishing.end(signal.SIGKILL)
    database.run("INSERT INTO shop.users VALUES (3000000)")
    taken = until(lambda: all(f.client.call("GUARD.CHECK", "user:3000000") == [1] and f.is_ready() for f in followers),
                  "another builder has taken over")
    print(f"  the builder was killed with -9: after {taken:.1f} s all followers enforce again, with the row that came meanwhile")
    publishing.start()
    publishing.connect()
    until(publishing.is_ready, "the builder is back")
    more_hidden, _ = insert_and_read(database, followers, 4_000_000)
    asked_again, reached_again = attack(followers, redis)
    after = database.connections()
    hidden += more_hidden
    reached += reached_again
    is_well = (hidden == 0 and reached <= (asked + asked_again) * 0.01 and taken <= TAKES_OVER_WITHIN and after == connections
               and status == f"fleet: publishes=yes followers={len(followers)} behind=0")
    print(f"demo-fleet: followers={len(followers)} db_connections={after} hidden={hidden} attacked={asked + asked_again} "
          f"reached_redis={reached} taken_over_s={taken:.1f} slowest_ms={slowest * 1000:.0f} failed={0 if is_well else 1}")
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
