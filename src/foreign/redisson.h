// Redisson's RBloomFilter: a bitmap in Redis, and a hash beside it with `size` and
// `hashIterations`.
//
// An item has `hashIterations` bits. With the two halves of its HighwayHash-128, Redisson's own
// key: h = low; bit 0 is h modulo `size`, each next one of h + high, + low, + high ... in turn,
// without the sign. Items are what StringCodec makes of a text, its UTF-8, or LongCodec of a
// number, its decimal text. Those of other codecs, and Kryo5Codec is what Redisson takes if none is
// named, are other bytes: a filter of theirs would say of each text that it is not in it.
//
// Threads, lifetimes: as of Filter. Errors: a sentence. Limits: kRedissonBitsMax, kHashesMax.
// Source: Redisson, RedissonBloomFilter.java and misc/Hash.java.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "foreign/bitmap_filter.h"
#include "foreign/filter.h"

namespace cuckooguard::foreign {

inline constexpr std::uint64_t kRedissonBitsMax = 4'294'967'294;  // twice Java's Integer.MAX_VALUE

// What tryInit(expectedInsertions, falseProbability) makes of them: to compare with the hash.
std::expected<Shape, std::string> redisson_shape(std::int64_t expected_insertions,
                                                 double false_probability);

// What Redisson has beside an object of this name, in its slot: `config` is the hash.
std::string redisson_key(std::string_view name, std::string_view suffix);

// `bitmap`: what GET gives, empty if there is no key. `shape`: of the hash.
FilterOrWhyNot read_redisson(std::string bitmap, Shape shape);

}  // namespace cuckooguard::foreign
