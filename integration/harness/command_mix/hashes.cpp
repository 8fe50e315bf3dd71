#include "harness/command_mix/forms.h"

namespace cuckooguard::harness {
namespace {

constexpr std::string_view kHash[] = {
    "HSET {k} {f} {v}",
    "HSET {k} {f} {n} {f} {v}",
    "HMSET {k} {f} {n}",
    "HSETNX {k} {f} {v}",
    "HGET {r} {f}",
    "HMGET {r} {f} {f} none",
    "HGETALL {r}",
    "HKEYS {r}",
    "HVALS {r}",
    "HLEN {r}",
    "HEXISTS {r} {f}",
    "HSTRLEN {r} {f}",
    "HDEL {k} {f} {f}",
    "HINCRBY {k} {f} {n}",
    "HINCRBYFLOAT {k} {f} 0.5",
    "HSCAN {r} 0",
    "HSCAN {r} 0 MATCH f* COUNT 5",
    "HRANDFIELD {a}",
    "HRANDFIELD {a} 5 WITHVALUES",
};

}  // namespace

std::span<const std::string_view> hash_forms() {
  return kHash;
}

}  // namespace cuckooguard::harness
