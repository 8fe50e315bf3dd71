"""A client of Sentinel as users have it, with writes that it reads again. Arguments: port of a Sentinel, the absent text, a file.

Works until the file is there. Prints as JSON how many operations there were since the last one that failed, how many reads were wrong, how
many absent keys were answered with the absent text, each address that the client was told, and what a subscriber of +switch-master heard."""

import json
import pathlib
import sys
import threading
import time

import redis
from redis.exceptions import ConnectionError, ReadOnlyError, TimeoutError
from redis.sentinel import MasterNotFoundError, Sentinel

PORT, ABSENT, END = int(sys.argv[1]), sys.argv[2].encode(), pathlib.Path(sys.argv[3])
MASTER = "shop"

counts = {"operations": 0, "since_failure": 0, "failures": 0, "wrong": 0, "not_replicated": 0, "absent_asked": 0, "absent_answered": 0}
heard = []
told = set()


def listen():
    subscriber = redis.Redis(port=PORT).pubsub(ignore_subscribe_messages=True)
    subscriber.psubscribe("*")
    while not END.exists():
        message = subscriber.get_message(timeout=0.1)
        if message:
            heard.append(f"{message['channel'].decode()} {message['data'].decode()}")


listener = threading.Thread(target=listen)
listener.start()
sentinel = Sentinel([("127.0.0.1", PORT)], socket_timeout=5)
master = sentinel.master_for(MASTER)
number = 0
while not END.exists():
    number += 1
    key, value = f"user:{number % 1000 + 1}", str(number).encode()
    try:
        told.add("%s:%s" % sentinel.discover_master(MASTER))
        told.update("%s:%s" % each for each in sentinel.discover_slaves(MASTER))
        told.update(f"{each['ip']}:{each['port']}" for each in sentinel.sentinels[0].sentinel_sentinels(MASTER))
        master.set(key, value)
        read = master.get(key)
        if read is None or (read != ABSENT and int(read) % 1000 == number % 1000):
            # What the key was before: another node's, who has not been told of the write.
            counts["not_replicated"] += read != value
        else:
            counts["wrong"] += 1
        counts["absent_asked"] += 1
        counts["absent_answered"] += master.get(f"user:{1_000_000 + number}") == ABSENT
        counts["operations"] += 1
        counts["since_failure"] += 1
        if counts["operations"] == 10:
            print("begun", flush=True)
    except (ConnectionError, TimeoutError, ReadOnlyError, MasterNotFoundError):
        counts["failures"] += 1  # a failover
        counts["since_failure"] = 0
        time.sleep(0.02)
listener.join()
print(json.dumps({**counts, "told": sorted(told), "heard": heard}))
