"""What applications do with python-redis and a cluster, through the guard or straight.

    python_cluster.py PORT ABSENT_REPLY

Prints one line of JSON, as python_redis.py does, and which ports the library knows of. Then it stays connected until SIGTERM.
"""

import json
import signal
import sys
import time

import redis
from redis.cluster import RedisCluster

PORT = int(sys.argv[1])
ABSENT_REPLY = sys.argv[2]
PATIENCE = 30  # seconds; for a busy machine

counts = {"checks": 0, "absent_asked": 0, "absent_answered": 0}
absent_ids = iter(range(3_000_000, 4_000_000))


def check(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r} instead of {expected!r}")
    counts["checks"] += 1


def absent_key():
    return f"user:{next(absent_ids)}"


def count_absent(*replies):
    for reply in replies:
        counts["absent_asked"] += 1
        if reply is not None:
            check(reply, ABSENT_REPLY)
            counts["absent_answered"] += 1


def connect(**options):
    return RedisCluster("127.0.0.1", PORT, socket_timeout=PATIENCE, decode_responses=True, **options)


def data_types(r):
    for i in range(1, 101):  # of all nodes
        check(r.set(f"user:{i}", i), True)
        check(r.get(f"user:{i}"), str(i))
        count_absent(r.get(absent_key()))
    check(r.hset("hash", mapping={"name": "Bob", "age": 7}), 2)
    check(r.hgetall("hash"), {"name": "Bob", "age": "7"})
    check(r.rpush("list", "a", "b"), 2)
    check(r.lrange("list", 0, -1), ["a", "b"])
    check(r.zadd("zset", {"one": 1, "two": 2.5}), 2)
    check(r.zrange("zset", 0, -1, withscores=True), [("one", 1.0), ("two", 2.5)])
    check(r.incr("counter"), 1)
    check(r.exists("user:1", "user:2", absent_key()), 2)  # the library asks each node for its own
    check(r.delete("user:1", "user:2", absent_key()), 2)
    try:
        r.incr("list")
        check("no error", "an error")
    except redis.ResponseError as error:
        check(str(error).startswith("WRONGTYPE"), True)


def several_keys(r):
    check(r.mset({"{user}:1": "one", "{user}:2": "two"}), True)
    first, second, third = r.mget("{user}:3000001", "{user}:1", "{user}:3000002")
    check(second, "one")
    count_absent(first, third)
    check(r.mset_nonatomic({f"user:{i}": i for i in range(1, 51)})[0], True)
    replies = r.mget_nonatomic([f"user:{i}" for i in range(1, 51)])
    check(replies, [str(i) for i in range(1, 51)])
    count_absent(*r.mget_nonatomic([absent_key() for _ in range(50)]))


def written_keys(r):
    for _ in range(20):
        key = absent_key()
        count_absent(r.get(key))
        check(r.set(key, "mine"), True)
        check(r.get(key), "mine")
        check(r.delete(key), 1)


def pipelines(r):
    with r.pipeline() as pipe:
        for i in range(100):
            pipe.set(f"user:{i + 1}", i)
            pipe.get(f"user:{i + 1}")
            pipe.get(absent_key())
        replies = pipe.execute()
    check(replies[1::3], [str(i) for i in range(100)])
    count_absent(*replies[2::3])


def publish_and_subscribe(r):
    subscription = r.pubsub()
    subscription.subscribe("news")
    check(subscription.get_message(timeout=PATIENCE)["type"], "subscribe")
    for i in range(20):
        r.publish("news", i)  # on any node; the cluster's bus carries it
        end = time.monotonic() + PATIENCE
        message = None
        while message is None and time.monotonic() < end:
            message = subscription.get_message(timeout=PATIENCE)
        check(message["data"], str(i))
    subscription.close()


def scripts(r):
    put = "redis.call('set', KEYS[1], ARGV[1]); return redis.call('get', KEYS[1])"
    for i in range(20):
        key = absent_key()
        check(r.eval(put, 1, key, i), str(i))
        check(r.get(key), str(i))


def replicas():
    r = connect(read_from_replicas=True)
    for _ in range(50):
        count_absent(r.get(absent_key()))
    r.close()


def main():
    r = connect()
    r.flushall()
    for part in (data_types, several_keys, written_keys, pipelines, publish_and_subscribe, scripts):
        part(r)
    replicas()
    counts["ports"] = sorted({node.port for node in r.get_nodes()})
    print(json.dumps(counts), flush=True)
    signal.sigwait({signal.SIGTERM})


signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
main()
