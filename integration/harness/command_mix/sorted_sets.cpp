#include "harness/command_mix/forms.h"

namespace cuckooguard::harness {
namespace {

constexpr std::string_view kSortedSet[] = {
    "ZADD {k} {s} {f}",
    "ZADD {k} {n} {n} {s} {f}",
    "ZADD {k} NX {s} {f}",
    "ZADD {k} XX CH {s} {f}",
    "ZADD {k} GT {s} {f}",
    "ZADD {k} LT CH {s} {f}",
    "ZADD {k} INCR {s} {f}",
    "ZINCRBY {k} {s} {f}",
    "ZREM {k} {f} {n}",
    "ZCARD {r}",
    "ZCOUNT {r} -inf {s}",
    "ZCOUNT {r} (1 {n}",
    "ZLEXCOUNT {r} - +",
    "ZSCORE {r} {f}",
    "ZMSCORE {r} {f} {f}",
    "ZRANK {r} {f}",
    "ZREVRANK {r} {f}",
    "ZRANGE {r} 0 -1",
    "ZRANGE {r} 0 -1 WITHSCORES",
    "ZRANGE {r} 0 {n} REV WITHSCORES",
    "ZRANGE {r} -inf {s} BYSCORE LIMIT 0 5",
    "ZRANGE {r} [a [g BYLEX",
    "ZREVRANGE {r} 0 3 WITHSCORES",
    "ZRANGEBYSCORE {r} 0 {n} WITHSCORES",
    "ZREVRANGEBYSCORE {r} {n} 0",
    "ZRANGEBYLEX {r} - [f5",
    "ZREVRANGEBYLEX {r} + -",
    "ZRANGESTORE {k} {r} 0 5",
    "ZREMRANGEBYRANK {k} 0 1",
    "ZREMRANGEBYSCORE {k} {n} {n}",
    "ZREMRANGEBYLEX {k} [a [b",
    "ZPOPMIN {k}",
    "ZPOPMAX {k} 2",
    "ZMPOP 2 {k} {k} MIN COUNT 2",
    "BZPOPMIN {k} 0.001",
    "BZMPOP 0.001 1 {k} MAX",
    "ZUNION 2 {r} {r} WITHSCORES",
    "ZINTER 2 {r} {r} WEIGHTS 2 3 AGGREGATE MAX WITHSCORES",
    "ZDIFF 2 {r} {r} WITHSCORES",
    "ZUNIONSTORE {k} 2 {r} {r}",
    "ZINTERSTORE {k} 2 {r} {r}",
    "ZDIFFSTORE {k} 2 {r} {r}",
    "ZINTERCARD 2 {r} {r}",
    "ZSCAN {r} 0",
    "ZRANDMEMBER {a}",
    "ZRANDMEMBER {a} 3 WITHSCORES",
};

}  // namespace

std::span<const std::string_view> sorted_set_forms() {
  return kSortedSet;
}

}  // namespace cuckooguard::harness
