"""Writes that are read again while the cluster changes, until SIGTERM, by python-redis.

    python_cluster_writes.py PORT ABSENT_REPLY FIRST_ID PROGRESS

The users FIRST_ID to FIRST_ID + 99 exist, and are nobody else's. Writes a byte to the file PROGRESS whenever some more commands
are done. Prints one line of JSON:
    operations                     commands that had a reply
    wrong                          replies that were never right: of another key or never written, or ABSENT_REPLY for what is there
    lost                           acknowledged writes that were gone when they were read, then or at the end
    errors                         commands that failed, by the error's name
    absent_asked, absent_answered  of keys that do not exist
    ports                          that the library knows of
"""

import collections
import json
import random
import signal
import sys
import time

from redis.cluster import RedisCluster

PORT, ABSENT_REPLY, FIRST_ID = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
KEYS = [f"user:{FIRST_ID + i}" for i in range(100)]

counts = {"operations": 0, "wrong": 0, "lost": 0, "absent_asked": 0, "absent_answered": 0}
errors = collections.Counter()
acknowledged = dict.fromkeys(KEYS, 0)  # versions; 0: never written
tried = dict.fromkeys(KEYS, 0)
asked_to_end = []


def write(client, key):
    tried[key] += 1
    if client.set(key, f"{key} {tried[key]}") is not True:
        counts["wrong"] += 1
    acknowledged[key] = tried[key]


def read(client, key):
    found = client.get(key)
    version = 0
    if found is not None:
        whose, _, number = found.partition(" ")
        version = int(number) if whose == key and number.isdigit() else -1
    if version < 0 or version > tried[key]:
        counts["wrong"] += 1
    elif version < acknowledged[key]:
        counts["lost"] += 1
        acknowledged[key] = version


def write_absent(client, key):
    """A key without a row: what is written there is read again all the same."""
    client.set(key, key)
    if client.get(key) not in (key, None):  # None: a failover may lose it
        counts["wrong"] += 1
    client.delete(key)


def main():
    client = RedisCluster("127.0.0.1", PORT, cluster_error_retry_attempts=5, decode_responses=True)
    dice = random.Random(FIRST_ID)

    def read_absent():
        counts["absent_asked"] += 1
        counts["absent_answered"] += client.get(f"user:{1_000_000 + dice.randrange(100_000)}") == ABSENT_REPLY

    def in_pipeline():
        key = "{user}:%d" % FIRST_ID
        with client.pipeline() as pipeline:
            replies = pipeline.set(key, 1).get(key).execute()
        if replies != [True, "1"]:
            counts["wrong"] += 1

    def attempt(operation):
        try:
            operation()
            counts["operations"] += 1
            return True
        except Exception as error:  # of any kind: the library stumbles over -ASK to a node that it does not know yet
            errors[type(error).__name__] += 1
            time.sleep(0.02)
        return False

    with open(sys.argv[4], "w", buffering=1) as progress:
        while not asked_to_end:
            key, other = dice.choice(KEYS), dice.choice(KEYS)
            done = [
                attempt(lambda: write(client, key)),
                attempt(lambda: read(client, other)),
                attempt(read_absent),
                attempt(lambda: write_absent(client, f"user:{2_000_000 + FIRST_ID + dice.randrange(100)}")),
                attempt(in_pipeline),
            ]
            if all(done):
                progress.write(".\n")
    for key in KEYS:
        end = time.monotonic() + 30
        while not attempt(lambda: read(client, key)) and time.monotonic() < end:
            pass
    counts["errors"] = errors
    counts["ports"] = sorted({node.port for node in client.get_nodes()})
    print(json.dumps(counts))


signal.signal(signal.SIGTERM, lambda *_: asked_to_end.append(True))
main()
