#include "attack/attack_grammar.h"

#include <algorithm>
#include <array>
#include <utility>

#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::attack {
namespace {

using harness::ReportedCommand;

constexpr std::size_t kLargeBytes = 100'000;
constexpr std::array<std::string_view, 56> kWords{
    "0",           "1",          "-1",    "2",     "3",          "10",     "100",      "4096",
    "0.01",        "x",          "value", "ON",    "OFF",        "SKIP",   "YES",      "NO",
    "NX",          "XX",         "GT",    "LT",    "EX",         "PX",     "COUNT",    "MATCH",
    "*",           "LIMIT",      "GET",   "SET",   "WITHSCORES", "BCAST",  "REDIRECT", "PREFIX",
    "NOLOOP",      "WRITE",      "ALL",   "ID",    "TYPE",       "normal", "default",  "AUTH",
    "SETNAME",     "SETUSER",    "reset", "+@all", "-@all",      "nopass", "on",       "off",
    "requirepass", "maxclients", "LEFT",  "RIGHT", "STREAMS",    "TTL",    "86400",    "users"};
constexpr std::array<std::string_view, 12> kOwn{"CHECK",
                                                "EXPLAIN",
                                                "ADD",
                                                "ADD",
                                                "WAIT",
                                                "INFO",
                                                "MODE",
                                                "REBUILD",
                                                "RELOAD",
                                                "CLEAR",
                                                "HELP",
                                                "NOSUCH"};

std::string encoded(const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  return harness::command(std::span(views));
}

}  // namespace

AttackGrammar::AttackGrammar(std::vector<ReportedCommand> commands,
                             Attacker attacker,
                             std::uint32_t seed)
    : commands_(std::move(commands)), attacker_(std::move(attacker)), random_(seed) {
  std::erase_if(commands_, [](const ReportedCommand& command) {
    return command.name == kBystanders || command.has_subcommands;
  });
  for (const ReportedCommand& command : commands_) {
    if (command.is_in("@connection") || command.is_in("@transaction") || command.is_in("@pubsub")) {
      states_.push_back(command);
    }
  }
}

std::string AttackGrammar::login() {
  if (attacker_.user.empty() || choose(20) == 0) {
    return {};
  }
  return choose(3) == 0 ? encoded({"HELLO",
                                   choose(2) == 0 ? "3" : "2",
                                   "AUTH",
                                   attacker_.user,
                                   attacker_.password})
                        : encoded({"AUTH", attacker_.user, attacker_.password});
}

std::string AttackGrammar::key() {
  switch (choose(6)) {
    case 0:
      return harness::user(1 + choose(harness::kUsers));
    case 1:
      return "free:" + std::to_string(choose(50));
    case 2:
      return "tag:" + std::to_string(choose(1000));
    default:
      if (!attacker_.key_prefix.empty()) {
        return attacker_.key_prefix + std::to_string(choose(1000));
      }
      return harness::absent_user(choose(1'000'000'000));
  }
}

std::string AttackGrammar::word() {
  switch (choose(12)) {
    case 0:
      return key();
    case 1:
      return std::string(choose(300), 'w');
    case 2:
      return attacker_.user.empty() ? "nobody" : attacker_.user;
    case 3:
      return choose(2) == 0 ? attacker_.password : "wrong";
    default:
      return std::string(kWords[choose(kWords.size())]);
  }
}

std::string AttackGrammar::of(const ReportedCommand& command) {
  std::vector<std::string> words;
  const std::size_t bar = command.name.find('|');
  words.push_back(command.name.substr(0, bar));
  if (bar != std::string::npos) {
    words.push_back(command.name.substr(bar + 1));
  }
  auto count = static_cast<std::size_t>(std::abs(command.arity));
  if (command.arity < 0) {
    count += choose(5);
  }
  if (choose(30) == 0) {
    count = words.size() + choose(4);
  }
  while (words.size() < count) {
    const auto at = static_cast<int>(words.size());
    const int last =
        command.last_key < 0 ? static_cast<int>(count) + command.last_key : command.last_key;
    const bool is_key = command.first_key > 0 && at >= command.first_key && at <= last &&
                        (at - command.first_key) % std::max(command.key_step, 1) == 0;
    words.push_back(is_key ? key() : word());
  }
  if (choose(3000) == 0) {
    words.back() = std::string(kLargeBytes, 'l');
  }
  return encoded(words);
}

std::string AttackGrammar::own() {
  std::vector<std::string> words{"GUARD." + std::string(kOwn[choose(kOwn.size())])};
  for (std::size_t left = choose(20) == 0 ? 200 : choose(4); left > 0; --left) {
    words.push_back(choose(4) == 0 ? word() : key());
  }
  return encoded(words);
}

std::string AttackGrammar::one() {
  const std::size_t kind = choose(100);
  if (kind < 8) {
    return own();
  }
  if (kind < 28) {
    return of(states_[choose(states_.size())]);
  }
  if (kind < 30) {  // a login, again
    return login();
  }
  if (kind < 32) {
    return encoded({word(), word()});
  }
  if (kind == 32 && choose(10) == 0) {
    return std::string(choose(2) == 0 ? "*x\r\n" : "$5\r\n") + word() + "\r\n";
  }
  return of(commands_[choose(commands_.size())]);
}

std::string AttackGrammar::burst() {
  std::string bytes;
  if (choose(8) == 0) {  // of one kind
    const ReportedCommand& command = commands_[choose(commands_.size())];
    for (std::size_t left = 1 + choose(kBurstMax); left > 0; --left) {
      bytes += of(command);
    }
    return bytes;
  }
  for (std::size_t left = 1 + choose(20); left > 0; --left) {
    bytes += one();
  }
  return bytes;
}

std::string AttackGrammar::half() {
  std::string bytes = burst();
  bytes.resize(choose(bytes.size() + 1));
  return bytes;
}

}  // namespace cuckooguard::attack
