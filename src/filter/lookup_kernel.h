// Which instructions a batch of look-ups uses. All give the same answers.
//
// Threads:   pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuckooguard::filter {

inline constexpr std::size_t kBatchMax = 64;

enum class LookupKernel : std::uint8_t { scalar, avx2, avx512 };

const char* kernel_name(LookupKernel kernel) noexcept;

// Whether this build and this machine have it. `scalar` always.
bool kernel_supported(LookupKernel kernel) noexcept;

LookupKernel best_kernel() noexcept;

}  // namespace cuckooguard::filter
