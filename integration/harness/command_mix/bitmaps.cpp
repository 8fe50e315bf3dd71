#include "harness/command_mix/forms.h"

namespace cuckooguard::harness {
namespace {

constexpr std::string_view kBitmap[] = {
    "SETBIT {k} {n} 1",
    "SETBIT {k} {n} 0",
    "SETBIT {k} -1 1",
    "GETBIT {r} {n}",
    "BITCOUNT {r}",
    "BITCOUNT {r} 0 -2",
    "BITCOUNT {r} 1 {n} BIT",
    "BITPOS {r} 1",
    "BITPOS {r} 0 0 -1 BIT",
    "BITOP AND {k} {r} {r}",
    "BITOP OR {k} {r} {r}",
    "BITOP XOR {k} {r} {r}",
    "BITOP NOT {k} {r}",
    "BITFIELD {k} SET u8 {n} 200 GET i5 0",
    "BITFIELD {k} OVERFLOW FAIL INCRBY u2 {n} 1",
    "BITFIELD_RO {r} GET u4 {n}",
    "GET {r}",
    "STRLEN {r}",
};

}  // namespace

std::span<const std::string_view> bitmap_forms() {
  return kBitmap;
}

}  // namespace cuckooguard::harness
