// The operator's settings of filters that applications fill, as plain structs with their defaults.
//
// Threads: plain values. Units: sizes are bytes, rates are fractions of 1.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/key_template.h"

namespace cuckooguard::config {

enum class FilledKind : std::uint8_t { bloom, cuckoo };
inline constexpr std::array<std::string_view, 2> kFilledKindNames{"bloom", "cuckoo"};

// Effect of CF.DEL of an item that was never added: it may remove another one, or nothing.
enum class FilledDeletes : std::uint8_t { trusted, exact };
inline constexpr std::array<std::string_view, 2> kFilledDeletesNames{"trusted", "exact"};

// One that is there from the beginning.
struct FilledFilter {
  std::string name;
  std::string key;  // by which it is asked for; empty: its name
  FilledKind kind = FilledKind::bloom;
  std::uint64_t capacity = 100'000;
  double false_positive_rate = 0.001;
  FilledDeletes deletes = FilledDeletes::trusted;

  const std::string& redis_key() const { return key.empty() ? name : key; }
  bool operator==(const FilledFilter&) const = default;
};

// Sets of Redis in whose place there is a filter, made when the first member is added.
struct Dedupe {
  std::vector<keyspace::KeyTemplate> keys;
  std::uint64_t capacity = 1'000'000;
  double false_positive_rate = 0.000'01;

  bool operator==(const Dedupe&) const = default;
};

enum class Durability : std::uint8_t { local, redis };
inline constexpr std::array<std::string_view, 2> kDurabilityNames{"local", "redis"};
constexpr std::string_view name_of(Durability durability) {
  return kDurabilityNames.at(static_cast<std::size_t>(durability));
}

struct FilledFilters {
  std::vector<FilledFilter> named;
  std::vector<keyspace::KeyTemplate> allow_reserve;  // keys that clients may make filters of
  Dedupe dedupe;
  std::vector<std::string> users;  // who may use them, beside those who may do everything
  Durability durability = Durability::local;
  std::string log = "cuckooguard:filters";  // what Redis's keys for it begin with
  std::string secret_file;
  std::uint32_t max_filters = 1000;
  std::uint64_t max_memory = std::uint64_t{1024} * 1024 * 1024;

  bool is_used() const { return !named.empty() || !allow_reserve.empty() || !dedupe.keys.empty(); }
  bool operator==(const FilledFilters&) const = default;
};

}  // namespace cuckooguard::config
