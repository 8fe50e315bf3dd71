// How RedisBloom's commands are written: names, options, and the replies of BF.INFO and CF.INFO.
//
// Threads: any. Lifetimes: nothing is kept. Errors: RedisBloom's words, and which comes first.
// Limits: each number's as there.
// Source: https://redis.io/docs/latest/commands/bf.insert, bf.reserve, bf.info, cf.insert,
// cf.reserve, cf.info; src/rebloom.c of RedisBloom 2.8.7.
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
inline constexpr std::uint32_t kExpansionMax = 32768;  // more is taken for this

struct FilterOptions {
  std::optional<std::uint64_t> capacity{};  // perhaps above kCapacityMax
  std::optional<double> error{};
  std::optional<std::uint32_t> expansion{};
  std::optional<std::uint32_t> bucket_size{};
  std::optional<std::uint32_t> iterations{};
  bool creates = true;
  bool scales = true;
  std::size_t items = 0;  // behind ITEMS; of INSERT
};

// Of a command with its name and its key: RESERVE takes its options where it finds them, and
// overlooks the rest; INSERT knows each by its first letters. Else the error; empty: there are too
// few arguments.
std::expected<FilterOptions, std::string_view> read_reserve(
    std::string_view command, std::span<const std::string_view> arguments);
std::expected<FilterOptions, std::string_view> read_insert(
    std::string_view command, std::span<const std::string_view> arguments);

// As RedisBloom reads one: no leading zero, no "-0".
std::optional<std::int64_t> read_integer(std::string_view text);

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
