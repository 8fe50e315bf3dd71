// The formats of other libraries that there are, each in a source of its name, and what is needed
// of them beside their foreign::Format.
//
// Threads, lifetimes: as of Filter. Errors: sentences.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "foreign/format.h"
#include "formats/bitmap_filter.h"

namespace cuckooguard::foreign {

// go-zero's core/bloom: a bitmap in Redis, of `bits` bits that only the application's code states.
//
// An item has 14 bits: the i-th is the low half of MurmurHash3_x64_128, seed 0, of the item and one
// byte i behind it, modulo `bits`.
//
// Limits: kRedisBitsMax.
// Source: go-zero, core/bloom/bloom.go and core/hash/hash.go.
extern const Format kGoZero;

// `bitmap`: what GET gives, empty if there is no key.
FilterOrWhyNot read_go_zero(std::string bitmap, std::uint64_t bits);

// Redisson's RBloomFilter: a bitmap in Redis, and a hash beside it with `size` and
// `hashIterations`.
//
// An item has `hashIterations` bits. With the two halves of its HighwayHash-128, Redisson's own
// key: h = low; bit 0 is h modulo `size`, each next one of h + high, + low, + high ... in turn,
// without the sign. Items are what StringCodec makes of a text, its UTF-8, or LongCodec of a
// number, its decimal text. Those of other codecs, and Kryo5Codec is what Redisson takes if none is
// named, are other bytes: a filter of theirs would say of each text that it is not in it.
//
// Limits: kRedissonBitsMax, kHashesMax.
// Source: Redisson, RedissonBloomFilter.java and misc/Hash.java.
extern const Format kRedisson;

inline constexpr std::uint64_t kRedissonBitsMax = 4'294'967'294;  // twice Java's Integer.MAX_VALUE

// What tryInit(expectedInsertions, falseProbability) makes of them: to compare with the hash.
std::expected<Shape, std::string> redisson_shape(std::int64_t expected_insertions,
                                                 double false_probability);

// What Redisson has beside an object of this name, in its slot: `config` is the hash.
std::string redisson_key(std::string_view name, std::string_view suffix);

// `bitmap`: what GET gives, empty if there is no key. `shape`: of the hash.
FilterOrWhyNot read_redisson(std::string bitmap, Shape shape);

// Guava's BloomFilter: what its writeTo() writes, and the same bits as a bitmap in Redis, where
// much code that is copied from page to page puts them.
//
//   offset 0   strategy: 0 is MURMUR128_MITZ_32, 1 is MURMUR128_MITZ_64
//          1   hashes: bits of an item, unsigned
//          2   number of longs, 32 bits
//          6   the longs; all numbers have their highest byte first
//
// Both hash with MurmurHash3_x64_128, seed 0. MITZ_32 makes two 32 bit numbers a, b of the low
// half: bit i of 1 ... is a + i * b, inverted if negative. MITZ_64 takes both halves: low + i *
// high for i of 0 ..., without the sign. Both modulo the number of bits.
//
// Limits: of a file 2^31 - 1 longs, 255
// hashes; of a bitmap kRedisBitsMax, kHashesMax.
// Source: Guava, BloomFilter.java, BloomFilterStrategies.java, Funnels.java.
extern const Format kGuava;
extern const Format kGuavaBitmap;

FilterOrWhyNot read_guava(std::string file, Funnel funnel);

// What optimalNumOfBits() and optimalNumOfHashFunctions() make of BloomFilter.create()'s arguments.
std::expected<Shape, std::string> guava_shape(std::int64_t expected_insertions,
                                              double false_probability);
// An empty file, as create() makes it today: of MURMUR128_MITZ_64, its bits whole longs.
FilterOrWhyNot make_guava(Shape shape, Funnel funnel);

struct GuavaBitmap {
  Shape shape;
  Strategy strategy = Strategy::murmur128_mitz_32;
  Funnel funnel = Funnel::utf8;
};
// `bitmap`: what GET gives, empty if there is no key.
FilterOrWhyNot read_guava_bitmap(std::string bitmap, GuavaBitmap made);

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
// Limits: kHashesMax; 65535 layers; less than
// 2^32 slots in a layer, where RedisBloom's own indices end. No filters with hashes of 32 bits,
// which early versions made.
// Source: RedisBloom's sources of sb, bloom, cf and cuckoo; for seeds, its tests of SCANDUMP. Only
//   facts are taken from them: the licence does not allow copying.
extern const Format kRedisBloom;
extern const Format kRedisCuckoo;

FilterOrWhyNot read_redisbloom_bloom(std::string_view header, std::string data);
FilterOrWhyNot read_redisbloom_cuckoo(std::string_view header, std::string data);

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
// Limits: 2^32 buckets, as only 32 bits
// choose one. Source: seiflotfy/cuckoofilter, util.go and cuckoofilter.go.
extern const Format kSeiflotfy;

FilterOrWhyNot read_seiflotfy(std::string encoded);

// An empty one, as NewFilter(capacity) makes it: the next power of two of slots. Of a capacity near
// a power of two the last few per cent of items may find no room.
FilterOrWhyNot make_seiflotfy(std::uint64_t capacity);

// All of them.
Formats all_formats();

}  // namespace cuckooguard::foreign
