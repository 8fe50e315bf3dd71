"""What applications do with python-redis, through the guard or straight.

    python_redis.py PORT ABSENT_REPLY

Prints one line of JSON: how many checks have held, how many reads of absent keys were asked, and how many of them had the
guard's own reply. Ends with 1 at the first check that does not hold.
"""

import json
import queue
import sys
import threading

import redis

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


def text(reply):
    return reply.decode() if isinstance(reply, bytes) else reply


def count_absent(*replies):
    for reply in replies:
        counts["absent_asked"] += 1
        if reply is not None:
            check(text(reply), ABSENT_REPLY)
            counts["absent_answered"] += 1


def client(**options):
    return redis.Redis(port=PORT, socket_timeout=PATIENCE, **options)


def data_types(r):
    check(r.set("user:1", "Ann"), True)
    check(text(r.get("user:1")), "Ann")
    check(r.hset("user:2", mapping={"name": "Bob", "age": 7}), 2)
    check({text(k): text(v) for k, v in r.hgetall("user:2").items()}, {"name": "Bob", "age": "7"})
    check(r.rpush("user:3", "a", "b"), 2)
    check([text(v) for v in r.lrange("user:3", 0, -1)], ["a", "b"])
    check(r.zadd("user:4", {"one": 1, "two": 2.5}), 2)
    check([(text(m), s) for m, s in r.zrange("user:4", 0, -1, withscores=True)], [("one", 1.0), ("two", 2.5)])
    check(r.sadd("user:5", "x"), 1)
    check(text(r.xadd("stream", {"a": "b"}, id="1-1")), "1-1")
    check(r.pfadd("visitors", "a", "b"), 1)
    check(r.exists("user:1", "user:2", absent_key()), 2)
    check(r.expire("user:1", 1000), True)
    try:
        r.incr("user:1")
        check("no error", "an error")
    except redis.ResponseError as error:
        check(str(error), "value is not an integer or out of range")
    first, second, third = r.mget(absent_key(), "user:1", absent_key())
    count_absent(first, third)
    check(text(second), "Ann")
    for _ in range(10):
        count_absent(r.get(absent_key()))
    check(r.delete("user:1", "user:2", "user:3", "user:4", "user:5", "stream", "visitors"), 7)


def written_keys(r):
    key = absent_key()
    count_absent(r.get(key))
    r.set(key, "mine")
    check(text(r.get(key)), "mine")
    check(text(client().get(key)), "mine")
    r.delete(key)


def pipelines(r):
    for transaction in (False, True):
        pipe = r.pipeline(transaction=transaction)
        for i in range(100):
            pipe.set(f"user:{i + 1}", i)
            pipe.get(f"user:{i + 1}")
            pipe.get(absent_key())
        replies = pipe.execute()
        check([text(reply) for reply in replies[1::3]], [str(i) for i in range(100)])
        if transaction:  # Redis has run them all
            check(replies[2::3], [None] * 100)
        else:
            count_absent(*replies[2::3])


def transactions(r):
    r.set("counter", 1)

    def double(pipe):
        value = int(pipe.get("counter"))
        check(pipe.get(absent_key()), None)  # after WATCH
        pipe.multi()
        pipe.set("counter", value * 2)
        pipe.get("counter")

    check([text(reply) for reply in r.transaction(double, "counter")[1:]], ["2"])
    with r.pipeline() as pipe:
        pipe.watch("counter")
        r.set("counter", 10)
        pipe.multi()
        pipe.set("counter", 11)
        try:
            pipe.execute()
            check("executed", "refused")
        except redis.WatchError:
            check(text(r.get("counter")), "10")
    count_absent(r.get(absent_key()))


def publish_and_subscribe(r):
    messages = queue.Queue()
    subscription = r.pubsub()
    subscription.subscribe(news=messages.put)
    subscription.psubscribe(**{"w*": messages.put})
    thread = subscription.run_in_thread(sleep_time=0.01, daemon=True)
    while r.pubsub_numpat() < 1 or r.pubsub_numsub("news")[0][1] < 1:
        pass  # until Redis has both
    for i in range(20):
        check(r.publish("news" if i % 2 else "weather", i), 1)
        check(text(messages.get(timeout=PATIENCE)["data"]), str(i))
    thread.stop()
    thread.join(PATIENCE)
    check(thread.is_alive(), False)


def blocking(r):
    popped = queue.Queue()
    waiting = threading.Thread(target=lambda: popped.put(client().blpop("jobs", timeout=PATIENCE)))
    waiting.start()
    while r.info("clients")["blocked_clients"] < 1:
        pass
    count_absent(r.get(absent_key()))
    r.rpush("jobs", "job")
    check([text(part) for part in popped.get(timeout=PATIENCE)], ["jobs", "job"])
    waiting.join(PATIENCE)
    check(r.blpop("jobs", timeout=0.01), None)


def pools():
    pool = redis.BlockingConnectionPool(port=PORT, max_connections=4, timeout=PATIENCE, decode_responses=True)
    failures = queue.Queue()

    def work(number):
        try:
            r = redis.Redis(connection_pool=pool)
            for i in range(50):
                r.set(f"user:{number}", f"{number}.{i}")
                check(r.get(f"user:{number}"), f"{number}.{i}")
                count_absent(r.get(f"user:{5_000_000 + number * 100 + i}"))
        except Exception as error:  # to the main thread, which fails
            failures.put(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    if not failures.empty():
        raise failures.get()
    pool.disconnect()


def scans_and_scripts(r):
    r.flushall()
    r.mset({f"user:{i}": i for i in range(1, 501)})
    check(len(set(r.scan_iter(match="user:*", count=50))), 500)
    r.sadd("set", *range(1000))
    check(len(set(r.sscan_iter("set"))), 1000)
    put = r.register_script("redis.call('set', KEYS[1], ARGV[1]); return redis.call('get', KEYS[1])")
    key = absent_key()
    check(text(put(keys=[key], args=["by script"])), "by script")
    check(text(r.get(key)), "by script")
    r.script_flush()
    check(text(put(keys=[key], args=["again"])), "again")  # NOSCRIPT, SCRIPT LOAD, EVALSHA
    with r.lock("a lock", timeout=PATIENCE):
        check(r.exists("a lock"), 1)
    check(r.exists("a lock"), 0)


def connections():
    other_db = client(db=1, client_name="in_db_1")
    check(text(other_db.client_getname()), "in_db_1")
    check(other_db.get(absent_key()), None)
    other_db.set("user:1", "in_db_1")
    check(text(other_db.get("user:1")), "in_db_1")
    r = client(single_connection_client=True)
    before = r.client_id()
    count_absent(r.get(absent_key()))
    check(r.client_id(), before)
    with r.monitor() as monitor:
        client().set("seen", "x")
        # Redis may run commands of others in between: the guard asks it every second how it is.
        commands = (monitor.next_command()["command"] for _ in range(100))
        check("SET seen x" in commands, True)


def main():
    for decode in (False, True):
        r = client(decode_responses=decode)
        r.flushall()
        data_types(r)
        written_keys(r)
        pipelines(r)
        transactions(r)
        publish_and_subscribe(r)
        blocking(r)
        scans_and_scripts(r)
    pools()
    connections()
    print(json.dumps(counts))


main()
