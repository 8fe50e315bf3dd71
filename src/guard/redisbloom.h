// How RedisBloom's commands are written: names, options, and the replies of BF.INFO and CF.INFO.
//
// Threads: any. Lifetimes: nothing is kept. Errors: RedisBloom's words. Limits: each number's as
// there.
// Source: https://redis.io/docs/latest/commands/bf.insert, bf.reserve, bf.info, cf.insert,
// cf.reserve, cf.info.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string_view>

#include "guard/own_commands.h"

namespace cuckooguard::guard {

// All of these names as RedisBloom spells them.
constexpr bool is_cuckoo(std::string_view command) {
  return command.starts_with("CF.");
}
// CF.ADDNX, CF.INSERTNX.
constexpr bool is_if_new(std::string_view command) {
  return command.ends_with("NX");
}

inline constexpr std::uint64_t kCapacityMax = std::uint64_t{1} << 33U;
inline constexpr std::uint32_t kExpansionMax = 32768;  // RedisBloom's

struct FilterOptions {
  std::optional<std::uint64_t> capacity{};
  std::optional<double> error{};
  std::optional<std::uint32_t> expansion{};
  std::optional<std::uint32_t> bucket_size{};
  std::optional<std::uint32_t> iterations{};
  bool creates = true;
  bool scales = true;
  std::size_t items = 0;  // behind ITEMS, which may be the end; of INSERT
};

// `arguments` from `first` on. What is no option of this command
// is an error.
std::expected<FilterOptions, std::string_view> read_filter_options(
    std::string_view command, std::span<const std::string_view> arguments, std::size_t first);

// Of BF.RESERVE and CF.RESERVE.
std::expected<double, std::string_view> read_error_rate(std::string_view text);
std::expected<std::uint64_t, std::string_view> read_capacity(std::string_view text, bool is_cuckoo);

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

// What a call of BF.INFO, of all or of one fact, or CF.INFO is answered.
OwnDecision answer_info(const Call& call, const FilterInfo& info);

}  // namespace cuckooguard::guard
