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
    // Redis 8.0, Valkey 9:
    "HSETEX {k} EXAT 4102444800 FIELDS 1 {f} {v}",
    "HEXPIREAT {k} 4102444801 FIELDS 2 {f} {f}",
    "HPERSIST {k} FIELDS 1 {f}",
    "HEXPIRETIME {r} FIELDS 2 {f} none",
    "HTTL {a} FIELDS 1 {f}",
    "HGETEX {r} FIELDS 2 {f} none",
    "HGETEX {k} EXAT 4102444802 FIELDS 1 {f}",
    "HGETDEL {k} FIELDS 1 {f}",
    "HRANDFIELD {a}",
    "HRANDFIELD {a} 5 WITHVALUES",
};

}  // namespace

std::span<const std::string_view> hash_forms() {
  return kHash;
}

}  // namespace cuckooguard::harness
