// go-zero's core/bloom: a bitmap in Redis, of `bits` bits that only the application's code states.
//
// An item has 14 bits: the i-th is the low half of MurmurHash3_x64_128, seed 0, of the item and one
// byte i behind it, modulo `bits`.
//
// Threads, lifetimes: as of Filter. Errors: a sentence. Limits: kRedisBitsMax.
// Source: go-zero, core/bloom/bloom.go and core/hash/hash.go.
#pragma once

#include <cstdint>
#include <string>

#include "foreign/filter.h"

namespace cuckooguard::foreign {

// `bitmap`: what GET gives, empty if there is no key.
FilterOrWhyNot read_go_zero(std::string bitmap, std::uint64_t bits);

}  // namespace cuckooguard::foreign
