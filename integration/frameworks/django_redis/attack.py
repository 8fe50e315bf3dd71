"""`./dev demo --framework`: a penetration attack on a shop on Django, three times: its cache is Redis; the guard, which says nil for
keys that cannot exist; the guard, which says what Django takes for a cached None.

The database has the users 1 to --users in a table `users`, and each is called "user number ID". The guard has two namespaces of it:

    nil:1:user:{id:uint64}     absent_reply: nil
    shop:1:user:{id:uint64}    absent_reply: django

Ends with 0 if no existing user was hidden, and less than 1 % of the look-ups of absent ones asked the database.
"""

import argparse
import random
import sys
import time

import redis
from django.core.cache import caches

from shop import Shop, configure, database_at, redis_cache, users_in

ABSENT = range(10_000_000, 1_000_000_000)
HOT_USERS = 10_000  # those whose keys are asked for
EXISTING_SHARE = 0.2
ASKED_SHARE_MAX = 0.01
PATIENCE = 60  # seconds, for the guard's filter
# Key prefix, and what it is called in the table.
PHASES = {"plain": "without guard", "nil": "guard, nil", "shop": "guard, django"}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", required=True, help="SQLite file, or mysql://USER@HOST:PORT/NAME and DATABASE_PASSWORD")
    parser.add_argument("--redis", required=True, help="HOST:PORT")
    parser.add_argument("--guard", required=True, help="HOST:PORT")
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--lookups", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def client(address):
    host, port = address.rsplit(":", 1)
    return redis.Redis(host=host, port=int(port))


def wait_for_filter(guard):
    deadline = time.monotonic() + PATIENCE
    while guard.get(f"shop:1:user:{ABSENT[-1]}") is None:
        if time.monotonic() > deadline:
            sys.exit("the guard's filter is not in force after 60 s")


def gets(straight):
    return straight.info("commandstats").get("cmdstat_get", {}).get("calls", 0)


class Phase:
    """The look-ups, and what came of them. The same ones in every phase: the seed is."""

    def __init__(self, prefix, users, straight, arguments):
        self.shop = Shop(caches[prefix], users)
        for key in straight.scan_iter(f"{prefix}:1:user:*", count=1000):  # of an earlier run
            straight.delete(key)
        self.lookups = arguments.lookups
        self.absent = self.absent_queries = self.hidden = 0
        gets_before, begin = gets(straight), time.monotonic()
        dice = random.Random(arguments.seed)
        for _ in range(arguments.lookups):
            exists = dice.random() < EXISTING_SHARE
            hot = 1 + dice.randrange(HOT_USERS) * (arguments.users // HOT_USERS)
            self.look_up(hot if exists else dice.choice(ABSENT), exists)
        self.per_second = round(arguments.lookups / (time.monotonic() - begin))
        self.redis_gets = gets(straight) - gets_before

    def look_up(self, number, exists):
        before = self.shop.database_queries
        name = self.shop.name_of_user(number)
        if name not in (None, f"user number {number}"):
            sys.exit(f"user {number} came back as {name!r}")
        if exists:
            self.hidden += name is None
        else:
            self.absent += 1
            self.absent_queries += self.shop.database_queries - before


def table(phases):
    def row(what, cells):
        return f"  {what:<32}" + "".join(f"{cell:>16}" for cell in cells)

    def numbers(what, number_of):
        return row(what, [f"{number_of(phase):,}" for phase in phases.values()])

    return "\n".join(
        [
            row("", [PHASES[prefix] for prefix in phases]),
            numbers("look-ups by the application", lambda phase: phase.lookups),
            numbers("  of keys that do not exist", lambda phase: phase.absent),
            numbers("database queries", lambda phase: phase.shop.database_queries),
            numbers("  of keys that do not exist", lambda phase: phase.absent_queries),
            numbers("GETs that Redis saw", lambda phase: phase.redis_gets),
            numbers("look-ups per second", lambda phase: phase.per_second),
        ]
    )


def main():
    arguments = parse_arguments()
    address = {"plain": arguments.redis, "nil": arguments.guard, "shop": arguments.guard}
    configure(
        {"default": redis_cache(arguments.redis)} | {prefix: redis_cache(address[prefix], prefix) for prefix in PHASES},
        database_at(arguments.database),
    )
    straight, users = client(arguments.redis), users_in("users")
    wait_for_filter(client(arguments.guard))
    phases = {}
    for prefix, name in PHASES.items():
        print(f"A shop on Django, {name}: {arguments.lookups:,} look-ups, most of them of random absent ids", flush=True)
        phases[prefix] = Phase(prefix, users, straight, arguments)
    plain, nil, preset = phases.values()
    hidden = sum(phase.hidden for phase in phases.values())
    asked = preset.absent_queries / preset.absent
    print(f"\n{table(phases)}\n")
    print(f"  With `absent_reply: django`, {100 * asked:.2f} % of the look-ups of absent keys asked the database.")
    print(
        f"demo: framework=django lookups={arguments.lookups} absent={preset.absent} db_absent_without={plain.absent_queries} "
        f"db_absent_nil={nil.absent_queries} db_absent_preset={preset.absent_queries} hidden_existing_keys={hidden}"
    )
    return 0 if hidden == 0 and asked < ASKED_SHARE_MAX else 1


sys.exit(main())
