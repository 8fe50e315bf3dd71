#include "harness/command_mix/forms.h"

namespace cuckooguard::harness {
namespace {

constexpr std::string_view kSet[] = {
    "SADD {k} {n} {n}",
    "SADD {k} {n}",
    "SREM {k} {n} {n}",
    "SMEMBERS {r}",
    "SISMEMBER {r} {n}",
    "SMISMEMBER {r} {n} {n}",
    "SCARD {r}",
    "SMOVE {k} {k} {n}",
    "SINTER {r} {r}",
    "SUNION {r} {r}",
    "SDIFF {r} {r}",
    "SINTERSTORE {k} {r} {r}",
    "SUNIONSTORE {k} {r} {r}",
    "SDIFFSTORE {k} {r} {r}",
    "SINTERCARD 2 {r} {r}",
    "SINTERCARD 2 {r} {r} LIMIT 3",
    "SSCAN {r} 0 COUNT 1000",
    "SPOP {a}",
    "SPOP {a} 3",
    "SRANDMEMBER {a}",
    "SRANDMEMBER {a} -3",
    "SORT {r} DESC",
};

// Their order is Redis's: asked for in one of their own, or not at all.
constexpr std::string_view kWords[] = {
    "SADD {k} {f} {f}",
    "SREM {k} {f}",
    "SCARD {r}",
    "SISMEMBER {r} {f}",
    "SMISMEMBER {r} {f} {f} {n}",
    "SORT {r} ALPHA",
    "SORT_RO {r} ALPHA DESC LIMIT 1 3",
    "SINTERCARD 2 {r} {r}",
    "SMOVE {k} {k} {f}",
    "DEL {k}",
};

}  // namespace

std::span<const std::string_view> set_forms() {
  return kSet;
}

std::span<const std::string_view> words_forms() {
  return kWords;
}

}  // namespace cuckooguard::harness
