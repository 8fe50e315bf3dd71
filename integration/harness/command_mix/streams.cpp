#include "harness/command_mix/forms.h"

namespace cuckooguard::harness {
namespace {

constexpr std::string_view kStream[] = {
    "XADD {k} {i} {f} {v}",
    "XADD {k} {i} {f} {n} {f} {v}",
    "XADD {k} NOMKSTREAM {i} {f} {v}",
    "XADD {k} MAXLEN 5 {i} {f} {n}",
    "XLEN {r}",
    "XRANGE {r} - +",
    "XRANGE {r} {i} + COUNT 3",
    "XREVRANGE {r} + -",
    "XREAD COUNT 5 STREAMS {r} 0",
    "XREAD STREAMS {r} {r} {i} 0",
    "XREAD BLOCK 1 STREAMS {r} $",
    "XDEL {k} {i}",
    "XTRIM {k} MAXLEN 10",
    "XTRIM {k} MINID {i}",
    "XSETID {k} {i}",
    "XGROUP CREATE {k} group 0",
    "XGROUP CREATE {k} group $ MKSTREAM",
    "XGROUP CREATECONSUMER {k} group ann",
    "XGROUP DELCONSUMER {k} group ann",
    "XGROUP SETID {k} group 0",
    "XGROUP DESTROY {k} group",
    "XREADGROUP GROUP group bob COUNT 2 STREAMS {k} >",
    "XREADGROUP GROUP group bob STREAMS {k} 0",
    "XACK {k} group {i}",
    "XPENDING {r} group",
    "XCLAIM {k} group ann 0 {i} JUSTID",
    "XAUTOCLAIM {k} group ann 0 0 JUSTID",
    "XINFO STREAM {r}",
    "XINFO GROUPS {r}",
    "XINFO CONSUMERS {a} group",
};

}  // namespace

std::span<const std::string_view> stream_forms() {
  return kStream;
}

}  // namespace cuckooguard::harness
