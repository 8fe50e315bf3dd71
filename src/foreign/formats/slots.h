// The slots of a cuckoo filter of other libraries: a byte each, buckets one after the other, 0
// where nothing is.
//
// Threads: any. Lifetimes: nothing is kept. Errors: none. Limits: none.
// Source: Fan et al., "Cuckoo Filter: Practically Better Than Bloom", CoNEXT 2014, section 5.1, for
// the rate: each taken slot of an item's two buckets is one chance of 255.
#pragma once

#include <cstdint>
#include <string_view>

namespace cuckooguard::foreign {

// A fingerprint is 1 to 255.
std::uint8_t fingerprint_of(std::uint64_t hash) noexcept;

bool bucket_has(std::string_view slots,
                std::uint64_t bucket,
                std::uint32_t slots_per_bucket,
                std::uint8_t fingerprint) noexcept;

std::uint64_t count_taken(std::string_view slots) noexcept;

double cuckoo_false_positive_rate(std::uint64_t taken,
                                  std::string_view slots,
                                  std::uint32_t per_bucket);

}  // namespace cuckooguard::foreign
