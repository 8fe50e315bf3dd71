#include "harness/command_mix/forms.h"

namespace cuckooguard::harness {
namespace {

constexpr std::string_view kList[] = {
    "LPUSH {k} {v} {n}",
    "RPUSH {k} {n} {n} {n}",
    "LPUSHX {k} {v}",
    "RPUSHX {k} {n}",
    "LPOP {k}",
    "RPOP {k}",
    "LPOP {k} {n}",
    "RPOP {k} 2",
    "LLEN {r}",
    "LRANGE {r} 0 -1",
    "LRANGE {r} 1 {n}",
    "LINDEX {r} {n}",
    "LINDEX {r} -1",
    "LSET {k} {n} {v}",
    "LINSERT {k} BEFORE {n} {v}",
    "LINSERT {k} AFTER {n} {v}",
    "LREM {k} 0 {n}",
    "LREM {k} -1 {n}",
    "LTRIM {k} 0 {n}",
    "LPOS {r} {n}",
    "LPOS {r} {n} COUNT 0",
    "LPOS {r} {n} RANK -1 MAXLEN 10",
    "LMOVE {k} {k} LEFT RIGHT",
    "RPOPLPUSH {k} {k}",
    "LMPOP 2 {k} {k} LEFT COUNT 3",
    "BLPOP {k} 0.001",
    "BLMPOP 0.001 1 {k} RIGHT",
    "BLMOVE {k} {k} RIGHT LEFT 0.001",
    "BRPOP {k} no-number",
    "SORT {r}",
    "SORT {r} ALPHA DESC",
    "SORT_RO {r} LIMIT 0 5",
    "SORT {r} STORE {k}",
    "SORT {r} BY nosort GET # GET user:*",
};

}  // namespace

std::span<const std::string_view> list_forms() {
  return kList;
}

}  // namespace cuckooguard::harness
