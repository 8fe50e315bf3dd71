// A filter of RedisBloom's by BF.SCANDUMP or CF.SCANDUMP, of a key that others change meanwhile.
//
// Behind the last chunk the header is asked for once more. A Bloom filter's bits are only set: what
// was in one of a single layer before the dump began is in the chunks, as long as both headers are
// of one shape; counts of items may differ. The same holds if it was replaced meanwhile by another
// one of that shape, for what is in both. With several layers an item of both may be in another
// layer of the one than of the other, and a cuckoo filter moves its items about
// (foreign/redisbloom.h): of these the chunks are one filter's only if it stood still, which the
// reading says of itself (BloomReading::must_have_stood_still).
//
// One that never does so is read by one transaction, in which Redis makes all chunks at once, if it
// is no larger than kAtOnceBytesMax (a few milliseconds).
//
// Threads: the source's. Errors: values. Limits: kDumpBytesMax, kAtOnceBytesMax.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "bloom/key_session.h"

namespace cuckooguard::source {

inline constexpr std::uint64_t kDumpBytesMax = std::uint64_t{4} << 30U;

inline constexpr std::uint64_t kAtOnceBytesMax = std::uint64_t{16} << 20U;

// Whether two headers of BF.SCANDUMP differ in counts of items at most.
bool have_same_layers(std::string_view header, std::string_view other);

BloomReading read_dump(BloomKeySession& session,
                       const std::string& key,
                       bool is_cuckoo,
                       const std::stop_token& stop);
BloomReading read_dump_at_once(BloomKeySession& session,
                               const std::string& key,
                               bool is_cuckoo,
                               const std::stop_token& stop);

}  // namespace cuckooguard::source
