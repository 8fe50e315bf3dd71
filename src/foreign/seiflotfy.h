// The cuckoo filter of Go's seiflotfy/cuckoofilter: what its Encode() gives, buckets of four bytes.
//
// With h = MetroHash64 of the item, seed 1337: the fingerprint is h modulo 255, plus 1; its buckets
// are the high half of h, and that XOR MetroHash64 of the fingerprint's one byte, both modulo the
// number of buckets, a power of two. So since its pull request 33, October 2020; before that hashes
// were others, which the bytes do not tell: such a filter would not know its items.
//
// Threads, lifetimes: as of Filter. Errors: a sentence. Limits: 2^32 buckets, as only 32 bits
// choose one. Source: seiflotfy/cuckoofilter, util.go and cuckoofilter.go.
#pragma once

#include <string>

#include "foreign/filter.h"

namespace cuckooguard::foreign {

FilterOrWhyNot read_seiflotfy(std::string encoded);

}  // namespace cuckooguard::foreign
