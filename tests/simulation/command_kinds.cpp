#include "simulation/command_kinds.h"

#include <algorithm>

namespace cuckooguard::simulation {

std::string lower(std::string text) {
  for (char& byte : text) {
    byte = byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
  }
  return text;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

std::string reply_mode(const Words& words) {
  const bool is_it = words.size() == 3 && lower(words[0]) == "client" && lower(words[1]) == "reply";
  return is_it ? lower(words[2]) : std::string{};
}

bool may_end_reading(const Words& words) {
  return words.empty() || !reply_mode(words).empty() ||
         is_one_of(lower(words[0]),
                   {"subscribe",
                    "unsubscribe",
                    "psubscribe",
                    "punsubscribe",
                    "ssubscribe",
                    "sunsubscribe",
                    "quit",
                    "monitor",
                    "sync",
                    "psync",
                    "replconf",
                    "shutdown",
                    "script"});
}

bool may_be_too_large(const Words& words) {
  constexpr std::size_t kWordsMax = 10;
  constexpr std::size_t kWordBytesMax = 16384;
  return words.size() > kWordsMax || std::ranges::any_of(words, [](const std::string& word) {
           return word.size() > kWordBytesMax;
         });
}

bool is_subscription(const Words& words) {
  return !words.empty() && is_one_of(lower(words[0]), {"subscribe", "unsubscribe"});
}

bool is_name(const Words& words) {
  return words.size() == 3 && lower(words[0]) == "client" && lower(words[1]) == "setname";
}

bool is_change(const Words& words) {
  if (words.empty()) {
    return true;
  }
  const std::string name = lower(words[0]);
  return (name == "hello" && words.size() > 1) || is_one_of(name,
                                                            {"select",
                                                             "auth",
                                                             "multi",
                                                             "exec",
                                                             "discard",
                                                             "watch",
                                                             "unwatch",
                                                             "reset",
                                                             "subscribe",
                                                             "unsubscribe",
                                                             "quit"});
}

bool is_read_of_many(std::string_view name) {
  return name == "mget" || name == "exists";
}

bool is_of_filter(std::string_view name) {
  return name.ends_with("bf.mexists") || name.ends_with("bf.madd");
}

bool is_in_other_bytes(std::string_view name) {
  return is_read_of_many(name) || is_of_filter(name);
}

bool is_answerable_read(const std::vector<std::string>& words) {
  if (words.empty()) {
    return false;
  }
  const std::string name = lower(words[0]);
  return (name == "get" && words.size() == 2) ||
         (is_one_of(name, {"mget", "exists"}) && words.size() >= 2);
}

}  // namespace cuckooguard::simulation
