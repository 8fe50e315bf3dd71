// The cuckoo filter of Go's seiflotfy/cuckoofilter: what its Encode() gives, buckets of four bytes.
//
// With h = MetroHash64 of the item, seed 1337: the fingerprint is h modulo 255, plus 1; its buckets
// are the high half of h, and that XOR MetroHash64 of the fingerprint's one byte, both modulo the
// number of buckets, a power of two. So since its pull request 33, October 2020; before that hashes
// were others, which the bytes do not tell: such a filter would not know its items.
//
// An item that finds both buckets full moves others to their other buckets, up to 500; one that is
// added twice takes two slots, as Insert() has it.
//
// Threads, lifetimes: as of Filter. Errors: a sentence. Limits: 2^32 buckets, as only 32 bits
// choose one. Source: seiflotfy/cuckoofilter, util.go and cuckoofilter.go.
#pragma once

#include <cstdint>
#include <string>

#include "foreign/filter.h"

namespace cuckooguard::foreign {

FilterOrWhyNot read_seiflotfy(std::string encoded);

// An empty one, as NewFilter(capacity) makes it: the next power of two of slots. Of a capacity near
// a power of two the last few per cent of items may find no room.
FilterOrWhyNot make_seiflotfy(std::uint64_t capacity);

}  // namespace cuckooguard::foreign
