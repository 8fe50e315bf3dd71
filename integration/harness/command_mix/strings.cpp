#include "harness/command_mix/forms.h"

namespace cuckooguard::harness {
namespace {

constexpr std::string_view kString[] = {
    "SET {k} {v}",
    "SET {k} {n}",
    "SET {k} {n} NX",
    "SET {k} {n} XX",
    "SET {k} {v} GET",
    "SET {k} {v} EXAT 4102444800",
    "SET {k} {v} KEEPTTL",
    "SET {k} {n} BAD",
    // Valkey 8.1 and 9, Redis 8.4:
    "SET {k} {v} IFEQ {n}",
    "DELIFEQ {k} {n}",
    "MSETEX 2 {k} {v} {k} {n} EXAT 4102444800",
    "SETNX {k} {v}",
    "SETEX {k} 0 {v}",
    "PSETEX {k} word {v}",
    "GETSET {k} {v}",
    "APPEND {k} {v}",
    "INCR {k}",
    "DECR {k}",
    "INCRBY {k} {n}",
    "DECRBY {k} {n}",
    "INCRBYFLOAT {k} 1.5",
    "GETRANGE {r} 0 {n}",
    "SUBSTR {r} 0 -1",
    "SETRANGE {k} {n} {v}",
    "STRLEN {r}",
    "MSET {k} {v} {k} {v}",
    "MSETNX {k} {v} {k} {v}",
    "GETDEL {k}",
    "GETEX {k}",
    "GETEX {k} EXAT 4102444800",
    "GETEX {k} PERSIST",
    "GETEX {r}",
    "GETEX {r} PERSIST",
    "GETEX {r} EXAT 4102444800",
    "LCS {r} {r}",
    "LCS {r} {r} LEN",
    "LCS {r} {r} IDX MINMATCHLEN 2",
    "MGET {r} {r} {r}",
    "GET {r}",
};

}  // namespace

std::span<const std::string_view> string_forms() {
  return kString;
}

}  // namespace cuckooguard::harness
