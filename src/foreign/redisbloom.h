// RedisBloom's filters, from what BF.SCANDUMP and CF.SCANDUMP give: the first chunk is a header,
// all others, one after the other, are data. Numbers are little-endian and not aligned.
//
//   Bloom   u64 items, u32 layers, u32 options, u32 growth; for each layer
//           u64 bytes, u64 bits, u64 items, f64 error, f64 bits per item, u32 hashes,
//           u64 capacity (u32 in old versions), u8 n2; with bit 31 of the options, u64 seed
//   cuckoo  u64 items, u64 buckets, u64 deleted, u64 layers, u16 slots of a bucket,
//           u16 iterations, u16 expansion; with bit 63 of the layers, u64 seed
//
// Bloom: a = MurmurHash64A of the item, with the seed or 0xc6a4a7935bd1e995; b = the same, with a
// for its seed. In each layer, bit i of 0 ... `hashes` is a + i * b, modulo 2^n2, or if n2 is 0,
// the layer's bits. An item is in any layer.
//
// Cuckoo: h = MurmurHash64A with the seed, or 0; the fingerprint is h modulo 255, plus 1; its
// buckets are h, and h XOR the fingerprint times 0x5bd1e995, both modulo the layer's buckets. Layer
// i has buckets * expansion^i, a power of two. An item is in any layer.
//
// A filter may change while it is dumped, and a cuckoo filter's dump can then lack an item that has
// been there all the time: read the header once more after the last chunk, and begin again if it
// differs. A count of items that does not fit is refused here. For an empty cuckoo filter
// CF.SCANDUMP returns nothing at all, unless it has a seed.
//
// Threads, lifetimes: as of Filter. Errors: a sentence. Limits: kHashesMax; 65535 layers; less than
// 2^32 slots in a layer, where RedisBloom's own indices end. No filters with hashes of 32 bits,
// which early versions made.
// Source: RedisBloom's sources of sb, bloom, cf and cuckoo; for seeds, its tests of SCANDUMP. Only
//   facts are taken from them: the licence does not allow copying.
#pragma once

#include <string>
#include <string_view>

#include "foreign/filter.h"

namespace cuckooguard::foreign {

FilterOrWhyNot read_redisbloom_bloom(std::string_view header, std::string data);
FilterOrWhyNot read_redisbloom_cuckoo(std::string_view header, std::string data);

}  // namespace cuckooguard::foreign
