"""Rows as Django's ORM writes them, each looked up at once by the shop, as it caches them; lines as those of lookups.py.

    orm.py PORT DATABASE EXISTING ABSENT

    created   ids that the database has given        found at once
    updated   and taken out of the cache             found at once, with the new name
    moved     to ids that nobody had                 found as soon as the guard knows; nobody has the old ones
    deleted   and taken out of the cache             never found, and in the end without a question to the database
    again     by the ids that were deleted           found as soon as the guard knows

Every SQL that Django sends for a look-up counts.
"""

import sys
import time
from pathlib import Path

from django.core.cache import cache
from django.db import connection

sys.path.append(str(Path(__file__).parent.parent))

import lookups
from shop import Shop, configure, database_at, redis_cache, users_in

ROWS = 50
MOVED_TO = 3_000_000
MISSING = object()


class CountingShop(Shop):
    """What it has asked the database is what Django has sent."""

    def load(self, number):
        with connection.execute_wrapper(self.count):
            return self.users.filter(pk=number).values_list("name", flat=True).first()

    def count(self, execute, *sql):
        self.database_queries += 1
        return execute(*sql)


def look_up(shop, number):
    """Not what was cached of it before."""
    shop.cache.delete(f"user:{number}")
    return shop.name_of_user(number)


def until(what, shop, number, is_so):
    deadline = time.monotonic() + lookups.PATIENCE
    while not is_so(shop, number):
        if time.monotonic() > deadline:
            sys.exit(f"{what}: user {number}")


def is_found(shop, number):
    return look_up(shop, number) == f"user {number}"


def is_answered_absent(shop, number):
    """A None that nobody has cached. To take it out of the cache again would be a write, behind which it passes for a while."""
    return shop.cache.get(f"user:{number}", MISSING) is None


def step(name, shop, ids, is_so):
    before = shop.database_queries
    found = sum(is_so(shop, number) for number in ids)
    print(f"step={name} lookups={len(ids)} found={found} database_queries={shop.database_queries - before}", flush=True)


def write(shop, users):
    ids = []
    hidden = 0
    for _ in range(ROWS):
        user = users.create(name="")
        users.filter(pk=user.pk).update(name=f"user {user.pk}")
        hidden += not is_found(shop, user.pk)
        ids.append(user.pk)
    print(f"step=created lookups={ROWS} found={ROWS - hidden} database_queries={shop.database_queries}")
    for user in users.filter(pk__in=ids):
        user.name = f"user {user.pk}, again"
        user.save()
    step("updated", shop, ids, lambda shop, number: look_up(shop, number) == f"user {number}, again")
    for number in ids[: ROWS // 2]:
        users.filter(pk=number).update(id=MOVED_TO + number, name=f"user {MOVED_TO + number}")
    moved = [MOVED_TO + number for number in ids[: ROWS // 2]]
    gone = ids[: ROWS // 2]
    for number in moved:
        until("it was moved, and is not found", shop, number, is_found)
    step("moved", shop, moved, is_found)
    for user in users.filter(pk__in=ids):
        gone.append(user.pk)
        user.delete()
    shop.cache.delete_many([f"user:{number}" for number in gone])
    for number in gone:
        until("nobody has it any more, and it is not answered", shop, number, is_answered_absent)
    lookups.step("deleted", gone, shop)
    for number in gone:
        users.create(pk=number, name=f"user {number}")
        until("it is there again, and not found", shop, number, is_found)
    step("again", shop, gone, is_found)


arguments = lookups.Arguments()
configure({"default": redis_cache(f"127.0.0.1:{arguments.port}")}, database_at(arguments.database))
shop = CountingShop(cache, users_in("user"))
write(shop, shop.users)
lookups.step("absent", arguments.absent, shop)
