#include "simulation/attack_script.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "simulation/resp_text.h"

namespace cuckooguard::simulation {
namespace {

// Above every row's, and not just above.
constexpr std::uint64_t kAbsentIds = 8'000'000'000;
constexpr std::uint64_t kWrittenIds = 9'000'000'000;
constexpr std::uint64_t kPerClient = 100'000;

using Commands = std::vector<SentCommand>;

void add(Commands& to, Commands more) {
  to.insert(to.end(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
}

}  // namespace

SentCommand AttackScript::make(Words words) {
  std::string raw = command(words);
  return {.raw = std::move(raw), .words = std::move(words)};
}

std::string AttackScript::pick(std::initializer_list<const char*> words) {
  return *(words.begin() + static_cast<std::ptrdiff_t>(random_.below(words.size())));
}

// Nobody ever writes them.
std::string AttackScript::absent_key() {
  return "user:" + std::to_string(kAbsentIds + random_.below(1'000'000));
}

std::string AttackScript::existing_key() {
  return random_.pick(*settings_.existing_keys);
}

// Not the row of anything, but written.
std::string AttackScript::own_key() {
  own_keys_ += random_.one_in(2) ? 1 : 0;
  return "user:" +
         std::to_string(kWrittenIds + static_cast<std::uint64_t>(settings_.client) * kPerClient +
                        own_keys_);
}

std::string AttackScript::any_key() {
  switch (random_.below(8)) {
    case 0:
      return existing_key();
    case 1:
      return "free:" + std::to_string(random_.below(20));
    case 2:  // of anybody's
      return "user:" +
             std::to_string(kWrittenIds + random_.below(40) * kPerClient + random_.below(5));
    case 3:
      return "item:none-" + std::to_string(random_.below(1000));
    case 4:
      return "free:\r\n$4\r\nevil\r\n";
    case 5:
      return "big:1";
    default:
      return random_.one_in(2) ? absent_key() : own_key();
  }
}

std::string AttackScript::value() {
  switch (random_.below(40)) {
    case 0:
      return random_.text(random_.between(66'000, 80'000));
    case 1:
      return random_.text(random_.between(1000, 9'000));
    case 2:
      return "+OK\r\n$4\r\nevil\r\n";
    default:
      return "of " + std::to_string(settings_.client) + "." + std::to_string(bursts_);
  }
}

Words AttackScript::hello() {
  Words words{"HELLO", random_.one_in(2) ? "3" : "2"};
  if (!settings_.user.empty() && random_.one_in(2)) {
    words.insert(words.end(), {"AUTH", settings_.user, kUsersPassword});
  }
  return words;
}

Commands AttackScript::opening() {
  Commands commands;
  if (!settings_.user.empty()) {
    commands.push_back(
        random_.one_in(3)
            ? make({"HELLO", random_.one_in(2) ? "3" : "2", "AUTH", settings_.user, kUsersPassword})
            : make({"AUTH", settings_.user, kUsersPassword}));
  }
  return commands;
}

Commands AttackScript::next() {
  const bool is_first = bursts_++ == 0;
  if (is_first && (settings_.conduct != Conduct::hostile || random_.percent(90))) {
    if (Commands commands = opening(); !commands.empty()) {
      return commands;
    }
  }
  switch (settings_.conduct) {
    case Conduct::reader:
      return {make({"GET", existing_key()})};
    case Conduct::good:
      return good();
    case Conduct::operates:
      return {};
    default:
      break;
  }
  if (!repeated_.empty()) {
    return repeated_;
  }
  Commands commands;
  for (std::uint64_t left = random_.one_in(3) ? random_.between(2, 12) : 1; left > 0; --left) {
    add(commands, anything());
  }
  if (settings_.repeats) {
    repeated_ = commands;
  }
  return commands;
}

Commands AttackScript::good() {
  const std::string key = own_key();
  switch (random_.below(16)) {
    case 0:
      return {make({"SET", key, value()})};
    case 1:
      return {make({"SET", key, value()}), make({"GET", key})};
    case 2:
    case 3:
      return {make({"GET", key})};
    case 4:
      return {make({"MULTI"}), make({"SET", key, value()}), make({"EXEC"}), make({"GET", key})};
    case 5:
      return {make({"GET", existing_key()}), make({"GET", absent_key()})};
    case 6:
      return {make({"ECHO", value()})};
    case 7:
      return {make({"MGET", absent_key(), existing_key(), absent_key()})};
    case 8:
      return {make({"PUBLISH", "news", value()})};
    default:
      return {make({"GET", absent_key()})};
  }
}

Commands AttackScript::anything() {
  switch (random_.below(9)) {
    case 0:
    case 1:
      return reads();
    case 2:
      return writes();
    case 3:
      return states();
    case 4:
      return logins();
    case 5:
      return of_clients();
    case 6:
      return administration();
    case 7:
      return own_commands();
    default:
      return oddities();
  }
}

// Of the filter `users`: what is behind "user:", or what is no item.
Commands AttackScript::filter_command(const std::string& name) {
  Words words{name, "users"};
  for (std::uint64_t left = random_.between(1, 6); left > 0; --left) {
    const std::string key = any_key();
    words.push_back(key.starts_with("user:") ? key.substr(5) : key);
  }
  return {make(words)};
}

Commands AttackScript::reads() {
  if (random_.one_in(5)) {
    return filter_command(pick({"BF.MEXISTS", "bf.mexists"}));
  }
  Words words{pick({"GET", "get", "STRLEN", "MGET", "EXISTS"})};
  const bool is_many = words[0] == "MGET" || words[0] == "EXISTS";
  for (std::uint64_t left = is_many ? random_.between(1, 6) : 1; left > 0; --left) {
    words.push_back(any_key());
  }
  return {make(words)};
}

Commands AttackScript::writes() {
  if (random_.one_in(12)) {  // many
    Commands commands;
    for (std::uint64_t left = random_.between(50, 400); left > 0; --left) {
      commands.push_back(
          make({"SET", "user:" + std::to_string(kWrittenIds + random_.next() % kWrittenIds), "x"}));
    }
    return commands;
  }
  switch (random_.below(5)) {
    case 0:
      return {make({"DEL", own_key()})};
    case 1:
      return {make({"APPEND", own_key(), value()})};
    case 2:
      return {make({"INCR", own_key()})};
    case 3:
      return {make({"BLPOP", "list:none", "0.03"})};
    default:
      return {make({"SET", own_key(), value()})};
  }
}

Commands AttackScript::states() {
  switch (random_.below(9)) {
    case 0:
      return {make({"MULTI"})};
    case 1:
      return {make({"EXEC"})};
    case 2:
      return {make({"DISCARD"})};
    case 3:
      return {make({"WATCH", any_key()})};
    case 4:
      return {make({"UNWATCH"})};
    case 5:
      return {make({"SUBSCRIBE", pick({"news", "__redis__:invalidate"})})};
    case 6:
      return {make({"UNSUBSCRIBE"})};
    case 7:
      return {make({"PUBLISH", "news", value()})};
    default:
      return {make({"SELECT", pick({"0", "0", "1", "2", "x", "99"})})};
  }
}

Commands AttackScript::logins() {
  switch (random_.below(5)) {
    case 0:
      return {make({"AUTH", pick({"app", "ordinary", "default", "nobody"}), "wrong"})};
    case 1:
      return {make({"RESET"})};
    case 2:
      return {make({"AUTH", "wrong"})};
    case 3:
      return {make(hello())};
    default:
      return settings_.user.empty() ? Commands{make({"PING"})}
                                    : Commands{make({"AUTH", settings_.user, kUsersPassword})};
  }
}

Commands AttackScript::of_clients() {
  const std::string id = std::to_string(random_.between(1, *settings_.connection_ids + 1));
  switch (random_.below(11)) {
    case 0:
      return {make({"CLIENT", "ID"})};
    case 1:
      return {make({"CLIENT", "REPLY", pick({"OFF", "ON", "ON", "SKIP"})})};
    case 2:
    case 3:
      return {make({"CLIENT", "TRACKING", "ON", "REDIRECT", id, "BCAST"})};
    case 4:
      return {make({"CLIENT", "TRACKING", "ON", "REDIRECT", id}), make({"GET", any_key()})};
    case 5:
      return {make({"CLIENT", "TRACKING", "ON"})};
    case 6:
      return {make({"CLIENT", "TRACKING", "OFF"})};
    case 7:
      return {make({"CLIENT", "SETNAME", "n" + id})};
    case 8:
      return {make({"CLIENT", pick({"PAUSE", "KILL"}), "1000"})};
    case 9:
      return {make({"CLIENT", "UNPAUSE"})};
    default:
      return {make({"CLIENT", "NO-EVICT", "ON"})};
  }
}

Commands AttackScript::administration() {
  switch (random_.below(8)) {
    case 0:
    case 1:
      return {make({"ACL", pick({"X", "LOAD", "WHOAMI"})})};
    case 2:
      return {make({"ACL", "SETUSER", pick({"app", "default", "x"}), pick({"-@all", "oops"})})};
    case 3:
      return {make({"ACL", "DELUSER", pick({"app", "default", "x"})})};
    case 4:
      return {make({"CONFIG", "SET", pick({"requirepass", "oops"}), "mine"})};
    case 5:
      return {make({"SCRIPT", "DEBUG", "NO"})};
    case 6:
      return {make({"REPLCONF", "listening-port", "1"})};
    default:
      return {make({"EVAL",
                    "return redis.error_reply('" +
                        pick({"BUSY ",
                              "LOADING ",
                              "MASTERDOWN ",
                              "NOAUTH ",
                              "NOPERM ",
                              "ERR ",
                              "READONLY "}) +
                        "said a script')",
                    "0"})};
  }
}

Commands AttackScript::own_commands() {
  switch (random_.below(7)) {
    case 6:
      return filter_command("BF.MADD");
    case 0:
    case 1: {
      Words words{"GUARD.ADD"};
      for (std::uint64_t left = random_.one_in(6) ? 300 : random_.between(1, 4); left > 0; --left) {
        words.push_back(random_.one_in(2) ? absent_key() : any_key());
      }
      if (random_.one_in(2)) {
        words.insert(words.end(), {"TTL", "86400"});
      }
      return {make(words)};
    }
    case 2:
      return {make({"GUARD.CHECK", absent_key(), any_key()})};
    case 3:
      return {make({"GUARD.MODE", "users", pick({"bypass", "observe"})})};
    case 4:
      return {make({"GUARD.CLEAR", "users"})};
    default:
      return {make({"guard.Explain", any_key()})};
  }
}

Commands AttackScript::oddities() {
  switch (random_.below(8)) {
    case 0:
      return {make({"NOSUCH", any_key(), value()})};
    case 1:
      return {make({"GET"})};
    case 2:
      return {{.raw = "PING t@@\r\n", .words = {"PING", "t@@"}}};
    case 3: {  // a long pipeline
      Commands commands;
      for (std::uint64_t left = random_.between(20, 150); left > 0; --left) {
        commands.push_back(make({"GET", existing_key()}));
      }
      return commands;
    }
    case 4:
      return {make({"MULTI"}), make({"CLIENT", "REPLY", "OFF"}), make({"SET", own_key(), value()})};
    case 5:
      if (random_.one_in(4)) {
        return {{.raw = "*many@@\r\n", .words = {}}};
      }
      return {make({"ECHO", value()})};
    case 6:
      if (random_.one_in(4)) {
        return {make({"QUIT"})};
      }
      return {make({"ECHO", value()})};
    default:
      return {make({"MULTI"}), make({"SUBSCRIBE", "news"}), make({"EXEC"})};
  }
}

std::string AttackScript::half_a_command() {
  std::string bytes;
  for (const SentCommand& sent : anything()) {
    bytes += sent.raw;
    if (bytes.size() > 1) {
      break;
    }
  }
  bytes.resize(random_.between(1, std::max<std::size_t>(bytes.size(), 2) - 1), ' ');
  return bytes;
}

}  // namespace cuckooguard::simulation
