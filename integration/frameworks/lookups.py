"""What each of the Python applications is asked, and the line that it prints about it.

    PROGRAM PORT DATABASE EXISTING ABSENT [LATER]

PORT is Redis's, or the guard's; EXISTING and ABSENT are ids of users, "1,2,3"; LATER is one whose row comes while the program
runs. A line per step: step=NAME lookups=N found=N database_queries=N
"""

import sys
import time

PATIENCE = 30  # seconds; for a busy machine


class Arguments:
    def __init__(self):
        self.port, self.database = int(sys.argv[1]), sys.argv[2]
        self.existing, self.absent = ([int(number) for number in text.split(",")] for text in sys.argv[3:5])
        self.later = [int(number) for number in sys.argv[5:6]]


def step(name, ids, shop):
    before = shop.database_queries
    names = [shop.name_of_user(number) for number in ids]
    found = sum(text == f"user {number}" for text, number in zip(names, ids))
    if found + names.count(None) != len(ids):
        sys.exit(f"neither the user nor None: {names}")
    print(f"step={name} lookups={len(ids)} found={found} database_queries={shop.database_queries - before}", flush=True)


def run(shop, arguments):
    step("first", arguments.existing, shop)
    step("again", arguments.existing, shop)
    step("absent", arguments.absent + arguments.later, shop)
    for number in arguments.later:
        before, deadline = shop.database_queries, time.monotonic() + PATIENCE
        while shop.name_of_user(number) is None:
            if time.monotonic() > deadline:
                sys.exit(f"user {number} has not come")
        print(f"step=later lookups=1 found=1 database_queries={shop.database_queries - before}")
