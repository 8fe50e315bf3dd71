// What a simulated Redis holds, and its users.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace cuckooguard::simulation {

struct Value {
  std::string text;
  bool is_list = false;
};

struct RedisUser {
  std::string password;    // empty: none is needed
  std::string key_prefix;  // empty: every key
};

struct RedisStore {
  static constexpr int kDbs = 16;
  using Key = std::pair<int, std::string>;

  std::chrono::nanoseconds now{};
  std::map<Key, Value> values{};
  std::map<Key, std::uint64_t> changes{};  // per key, for WATCH
  std::map<std::string, RedisUser> users{{"default", {}}};

  void changed(const Key& key) { ++changes[key]; }
  std::uint64_t change_of(const Key& key) const {
    const auto found = changes.find(key);
    return found == changes.end() ? 0 : found->second;
  }
};

}  // namespace cuckooguard::simulation
