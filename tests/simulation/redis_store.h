// What a simulated Redis holds, and its users.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cuckooguard::simulation {

struct Value {
  std::string text;
  bool is_list = false;
};

// Kinds of commands, of which a user may run some.
inline constexpr unsigned kConnectionRight = 1;
inline constexpr unsigned kReadRight = 2;
inline constexpr unsigned kWriteRight = 4;
inline constexpr unsigned kTransactionRight = 8;
inline constexpr unsigned kPubsubRight = 16;
inline constexpr unsigned kScriptRight = 32;
inline constexpr unsigned kSelectRight = 64;
inline constexpr unsigned kAdminRight = 128;
inline constexpr unsigned kAllRights = 255;

struct RedisUser {
  std::string password{};    // empty: none is needed
  std::string key_prefix{};  // empty: every key
  unsigned rights = kAllRights;
};

struct RedisStore {
  static constexpr int kDbs = 16;
  using Key = std::pair<int, std::string>;

  std::chrono::nanoseconds now{};
  std::map<Key, Value> values{};
  std::map<Key, std::uint64_t> changes{};  // per key, for WATCH
  std::map<std::string, RedisUser> users{{"default", {}}};

  std::chrono::nanoseconds writes_paused_until{};  // CLIENT PAUSE WRITE
  std::set<std::uint64_t> connection_ids{};
  // What the command at hand has done, for whoever has to tell others.
  std::vector<Key> changed_keys{};
  std::vector<std::pair<std::string, std::string>> published{};  // channel, message

  void changed(const Key& key) {
    ++changes[key];
    changed_keys.push_back(key);
  }
  std::uint64_t change_of(const Key& key) const {
    const auto found = changes.find(key);
    return found == changes.end() ? 0 : found->second;
  }
};

}  // namespace cuckooguard::simulation
