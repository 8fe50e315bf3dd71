// What BF.INFO and CF.INFO reply.
//
// Threads: any, on different `out`. Errors: none. Limits: none.
// Source: https://redis.io/docs/latest/commands/bf.info, cf.info.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "resp/version.h"

namespace cuckooguard::guard {

struct FilterInfo {
  std::uint64_t capacity = 0;
  std::uint64_t bytes = 0;
  std::uint64_t filters = 0;
  std::uint64_t items = 0;
  std::optional<std::uint64_t> expansion{};  // nothing: it does not grow
  // Of cuckoo filters.
  std::uint64_t deleted = 0;
  std::uint64_t buckets = 0;
  std::uint64_t bucket_size = 0;
  std::uint64_t iterations = 0;
};

// `asked`: one fact alone. False, and nothing is written: it has no such one.
bool append_bloom_info(std::string& out,
                       resp::Version version,
                       const FilterInfo& info,
                       std::optional<std::string_view> asked);
void append_cuckoo_info(std::string& out, resp::Version version, const FilterInfo& info);

}  // namespace cuckooguard::guard
