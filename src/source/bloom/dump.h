// A filter of RedisBloom's by BF.SCANDUMP or CF.SCANDUMP, of a key that others change meanwhile.
//
// Behind the last chunk the header is asked for once more. A Bloom filter's bits are only set: what
// was in it before the dump began is in the chunks, as long as both headers are of one shape;
// counts of items may differ. A cuckoo filter moves its items about: both headers must be the same,
// and it is begun anew if they are not (foreign/redisbloom.h).
//
// Threads: the source's. Errors: values. Limits: kDumpBytesMax; kAttemptsMax dumps, then unclear.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "bloom/key_session.h"

namespace cuckooguard::source {

inline constexpr std::uint64_t kDumpBytesMax = std::uint64_t{4} << 30U;

// Whether two headers of BF.SCANDUMP differ in counts of items at most.
bool have_same_layers(std::string_view header, std::string_view other);

BloomReading read_dump(BloomKeySession& session,
                       const std::string& key,
                       bool is_cuckoo,
                       const std::stop_token& stop);

}  // namespace cuckooguard::source
