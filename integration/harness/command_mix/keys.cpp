#include "harness/command_mix/forms.h"

namespace cuckooguard::harness {
namespace {

constexpr std::string_view kKeys[] = {
    "DEL {k} {k}",
    "UNLINK {k}",
    "TYPE {r}",
    "EXISTS {r} {r} {r}",
    "TOUCH {r} {r}",
    "EXPIREAT {k} 4102444800",
    "PEXPIREAT {k} 4102444800000 NX",
    "EXPIREAT {k} 4102444801 GT",
    "EXPIRE {k} -1",
    "PERSIST {k}",
    "EXPIRETIME {r}",
    "PEXPIRETIME {r}",
    "RENAME {k} {k}",
    "RENAMENX {k} {k}",
    "COPY {r} {k}",
    "COPY {r} {k} REPLACE",
    "COPY {r} {k} DB 1",
    "MOVE {k} 1",
    "DBSIZE",
    "OBJECT ENCODING {r}",
    "TTL {a}",
    "PTTL {a}",
    "DUMP {a}",
    "OBJECT IDLETIME {a}",
    "OBJECT REFCOUNT {a}",
    "OBJECT FREQ {a}",
    "MEMORY USAGE {a}",
    "KEYS {a}",
    "WAIT 0 0",
    "PUBLISH news {v}",
    "PUBSUB NUMSUB news",
};

}  // namespace

std::span<const std::string_view> key_forms() {
  return kKeys;
}

}  // namespace cuckooguard::harness
