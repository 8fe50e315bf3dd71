"""RedisBloom's classes of python-redis, unmodified, on filters that applications fill. Argument: the port of the guard.

Prints how many checks there were."""

import sys

import redis

import checks
from checks import check, refused

r = redis.Redis(port=int(sys.argv[1]))
bf, cf = r.bf(), r.cf()
check(bf.create("bf:a", 0.01, 1000), True)
refused(lambda: bf.create("bf:a", 0.01, 1000), "item exists")
check(bf.add("bf:a", "x"), 1)
check(bf.add("bf:a", "x"), 0)
check(bf.madd("bf:a", "x", "y", "z"), [0, 1, 1])
check(bf.exists("bf:a", "z"), 1)
check(bf.mexists("bf:a", "x", "nobody"), [1, 0])
check(bf.insert("bf:b", ["1", "2"], capacity=500, error=0.001, expansion=4), [1, 1])
refused(lambda: bf.insert("bf:c", ["1"], noCreate=True), "not found")
check(bf.info("bf:a").insertedNum, 3)
check(bf.info("bf:b").expansionRate, 4)
check(cf.create("cf:a", 1000), True)
check(cf.add("cf:a", "x"), 1)
check(cf.addnx("cf:a", "x"), 0)
check(cf.insert("cf:a", ["x", "y"]), [1, 1])
check(cf.insertnx("cf:a", ["x", "w"]), [0, 1])
check(cf.count("cf:a", "x"), 2)
check(cf.delete("cf:a", "x"), 1)
check(cf.count("cf:a", "x"), 1)
check(cf.mexists("cf:a", "x", "nobody"), [1, 0])
check(cf.info("cf:a").deletedNum, 1)
for filter, source, copy in ((bf, "bf:a", "bf:copy"), (cf, "cf:a", "cf:copy")):
    position, pieces = 0, []
    while True:
        position, piece = filter.scandump(source, position)
        if position == 0:
            break
        pieces.append((position, piece))
    for position, piece in pieces:
        check(filter.loadchunk(copy, position, piece), b"OK")
    check(filter.exists(copy, "y"), 1)
    check(filter.exists(copy, "nobody"), 0)
check(r.sadd("books:dupefilter", "a", "b", "a"), 2)
check(r.sadd("books:dupefilter", "a"), 0)
check(r.sismember("books:dupefilter", "b"), 1)
check(r.scard("books:dupefilter"), 2)
check(r.type("bf:a"), b"MBbloom--")
check(r.expire("bf:b", 1000), True)
check(r.ttl("bf:b"), 1000)
check(r.delete("bf:b"), 1)
check(r.exists("bf:b"), 0)
check(bf.exists("bf:b", "1"), 0)
check(bf.create("bf:p", 0.000001, 1000), True)
pipeline = r.pipeline(transaction=False)
for n in range(500):
    pipeline.execute_command("BF.ADD", "bf:p", n).execute_command("BF.EXISTS", "bf:p", n).set("other:%d" % n, n).get("other:%d" % n)
check(pipeline.execute(), [reply for n in range(500) for reply in (1, 1, True, b"%d" % n)])
check(r.keys("bf:*"), [])
print(checks.count)
