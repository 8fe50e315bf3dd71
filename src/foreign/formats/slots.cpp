#include "formats/slots.h"

#include <algorithm>
#include <cmath>

namespace cuckooguard::foreign {

namespace {

constexpr std::uint64_t kFingerprints = 255;

}  // namespace

std::uint8_t fingerprint_of(std::uint64_t hash) noexcept {
  return static_cast<std::uint8_t>(hash % kFingerprints + 1);
}

bool bucket_has(std::string_view slots,
                std::uint64_t bucket,
                std::uint32_t slots_per_bucket,
                std::uint8_t fingerprint) noexcept {
  return slots.substr(bucket * slots_per_bucket, slots_per_bucket)
      .contains(static_cast<char>(fingerprint));
}

std::uint64_t count_taken(std::string_view slots) noexcept {
  return slots.size() - static_cast<std::uint64_t>(std::ranges::count(slots, '\0'));
}

double cuckoo_false_positive_rate(std::uint64_t taken,
                                  std::string_view slots,
                                  std::uint32_t per_bucket) {
  const double fill = static_cast<double>(taken) / static_cast<double>(slots.size());
  return 1 - std::pow(1 - 1.0 / kFingerprints, 2 * fill * per_bucket);
}

}  // namespace cuckooguard::foreign
