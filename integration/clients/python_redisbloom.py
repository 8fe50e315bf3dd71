"""RedisBloom's classes of python-redis, unmodified, on a filter that the guard keeps. Argument: the port of the guard.

The filter `users` is of the rows user 1 to 1000. Prints how many checks there were."""

import sys

import redis

import checks
from checks import check, refused

r = redis.Redis(port=int(sys.argv[1]))

bf, cf = r.bf(), r.cf()
for filter in (bf, cf):
    check(filter.exists("users", 7), 1)
    check(filter.exists("users", 1_000_007), 0)
    check(filter.mexists("users", *range(1, 101)), [1] * 100)
    check(filter.mexists("users", *range(2_000_000, 2_000_100)).count(1) <= 2, True)
    refused(lambda: filter.scandump("users", 0), "follows a database")
check(bf.add("users", 1_000_100), 1)
check(bf.add("users", 1_000_100), 0)
check(bf.exists("users", 1_000_100), 1)
check(bf.madd("users", 1_000_101, 8), [1, 0])
check(bf.insert("users", [1_000_102, 9], capacity=1000, error=0.01, noCreate=True), [1, 0])
refused(lambda: bf.create("users", 0.01, 1000), "item exists")
check(bf.info("users").insertedNum, 1000)
check(cf.add("users", 1_000_103), 1)
check(cf.addnx("users", 1_000_103), 0)
check(cf.insert("users", [1_000_104, 1_000_104]), [1, 1])
check(cf.insertnx("users", [1_000_105, 1_000_105]), [1, 0])
check(cf.count("users", 10), 1)
check(cf.delete("users", 10), 1)
check(cf.exists("users", 10), 1)
refused(lambda: cf.create("users", 1000), "item exists")
check(cf.info("users").insertedNum, 1000)
pipeline = r.pipeline(transaction=False)
for n in range(200):
    pipeline.execute_command("BF.EXISTS", "users", n + 1).execute_command("GET", "user:%d" % (n + 1))
check(pipeline.execute(), [1, None] * 200)
print(checks.count)
