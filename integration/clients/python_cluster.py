"""A cluster's client as users have it, with writes that it reads again. Arguments: port of a node, the absent text, seconds.

Prints as JSON how many operations there were, how many reads were wrong, and how many absent keys were answered with the absent text."""

import json
import random
import sys
import time

import redis
from redis.cluster import RedisCluster
from redis.exceptions import ClusterDownError, ConnectionError, RedisClusterException, TimeoutError

PORT, ABSENT, SECONDS = int(sys.argv[1]), sys.argv[2].encode(), float(sys.argv[3])


def connect():
    return RedisCluster("127.0.0.1", PORT, cluster_error_retry_attempts=20)


counts = {"operations": 0, "wrong": 0, "lost": 0, "absent_asked": 0, "absent_answered": 0, "errors": 0}
written = {}
client = connect()
nodes = sorted({node.port for node in client.get_nodes()})
end = time.monotonic() + SECONDS
number = random.Random(7)
while time.monotonic() < end:
    key = f"user:{number.randrange(1, 1001)}"
    value = str(number.random()).encode()
    try:
        client.set(key, value)
        written[key] = value
        other = number.choice(list(written))
        found = client.get(other)
        if found == ABSENT:
            counts["wrong"] += 1
        elif found is None:
            counts["lost"] += 1  # a failover may lose it
        absent = client.get(f"user:{1_000_000 + number.randrange(100_000)}")
        counts["absent_asked"] += 1
        counts["absent_answered"] += absent == ABSENT
        with client.pipeline() as pipeline:
            pipeline.set("{tag}:1", 1).get("{tag}:1")
            counts["wrong"] += pipeline.execute()[1] != b"1"
        counts["operations"] += 1
    except (ClusterDownError, ConnectionError, TimeoutError, RedisClusterException):
        counts["errors"] += 1  # a failover
        time.sleep(0.05)
counts["ports"] = nodes
print(json.dumps(counts))
