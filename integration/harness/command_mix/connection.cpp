#include "harness/command_mix/forms.h"

namespace cuckooguard::harness {
namespace {

constexpr std::string_view kConnection[] = {
    "SELECT 1",
    "SELECT 0",
    "SELECT 0",
    "SELECT 99",
    "SELECT x",
    "HELLO 2",
    "HELLO 3",
    "HELLO 3",
    "HELLO",
    "CLIENT SETNAME name",
    "CLIENT GETNAME",
    "CLIENT GETREDIR",
    "CLIENT NO-EVICT off",
    "RESET",
    "PING",
    "PING {v}",
    "ECHO {v}",
    "AUTH default word",
    "UNWATCH",
    "ACL WHOAMI",
    "CONFIG GET maxmemory",
};

constexpr std::string_view kMistaken[] = {
    "GET",
    "GET {r} {r}",
    "MGET",
    "EXISTS",
    "NOSUCHCOMMAND {k} {v}",
    "INCRBY {k} word",
    "OBJECT NOSUCH {k}",
    "SET {k}",
    "EXPIRE {k} word",
    "ZADD {k} word {f}",
    "LRANGE {r} a b",
    "HSET {k} {f}",
    "XADD {k} bad {f} {v}",
    "SETRANGE {k} -1 x",
    "EXEC",
    "DISCARD",
    "LPOP {k} -1",
    "BITOP NOT {k} {r} {r}",
    "ZADD {k} NX GT 1 a",
    "SINTERCARD 0 {r}",
    "EVAL",
    "XREAD STREAMS {r}",
    "GETEX {k} EX",
    "COPY {r} {k} DB 99",
};

}  // namespace

std::span<const std::string_view> connection_forms() {
  return kConnection;
}

std::span<const std::string_view> mistaken_forms() {
  return kMistaken;
}

}  // namespace cuckooguard::harness
