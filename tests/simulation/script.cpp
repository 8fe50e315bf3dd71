#include "simulation/script.h"

#include <array>
#include <utility>

#include "simulation/marks.h"
#include "simulation/resp_text.h"

namespace cuckooguard::simulation {
// The pattern of capitals counts the commands, so that two alike are told apart.
std::string Script::spell(std::string name) {
  std::uint64_t pattern = commands_++;
  for (char& byte : name) {
    if ((pattern & 1U) != 0) {
      byte = static_cast<char>(byte - 'A' + 'a');
    }
    pattern >>= 1U;
  }
  return name;
}

SentCommand Script::make(Words words) {
  words[0] = spell(std::move(words[0]));
  std::string raw = command(words);
  if (settings_.signs) {
    sign(raw, settings_.client);
  }
  return {std::move(raw), std::move(words)};
}

// What is left of it must tell whose it is.
SentCommand Script::make_read(Words words) {
  if (!settings_.signs) {
    return make(std::move(words));
  }
  if (random_.one_in(4)) {
    for (std::size_t i = 1; i < words.size(); ++i) {
      words[i] = own_absent_key();
    }
  } else {
    words.push_back(mark_key(settings_.client));
  }
  return make(std::move(words));
}

SentCommand Script::make_inline(Words words) {
  words[0] = spell(std::move(words[0]));
  std::string raw;
  for (const std::string& word : words) {
    raw += word + (random_.one_in(4) ? "  " : " ");
  }
  raw += "\r\n";
  if (settings_.signs) {
    sign(raw, settings_.client);
  }
  return {std::move(raw), std::move(words)};
}

std::string Script::absent_key() {
  const std::uint64_t id =
      kAttackIds + static_cast<std::uint64_t>(settings_.client) * kIdsPerClient + commands_;
  switch (random_.below(8)) {
    case 0:
      return "item:none-" + std::to_string(id);
    case 1:
      return "order:" + std::to_string(id);
    case 2:
      return "order:x" + std::to_string(id);  // no row can have it
    case 3:
      return "cart:none-" + std::to_string(id);
    case 4:
      return "user:" + std::to_string(kAttackIds + random_.below(30));  // many ask for the same
    default:
      return "user:" + std::to_string(id);
  }
}

std::string Script::own_absent_key() {
  if (!settings_.signs) {
    return absent_key();
  }
  const std::uint64_t id =
      kAttackIds + static_cast<std::uint64_t>(settings_.client) * kIdsPerClient + commands_;
  return (random_.one_in(2) ? "user:" : "item:none-") + std::to_string(id);
}

std::string Script::any_key() {
  switch (random_.below(16)) {
    case 0:
      return "free:" + std::to_string(random_.below(20));
    case 1:
      return "list:1";
    case 2:
      return "user:007";  // a spelling that SQL might take for 7
    case 3:
      return "draft:none";
    case 4:
      return shop_.key_just_above(random_.below(24));
    case 5:
    case 6:
      return shop_.existing_key(static_cast<std::uint32_t>(random_.below(SimShop::kNamespaces)));
    case 7:
    case 8:
      return shop_.existing_key(SimShop::kUsers);
    default:
      return absent_key();
  }
}

std::string Script::value() {
  switch (random_.below(24)) {
    case 0:
      return random_.text(random_.between(70'000, 200'000));
    case 1:
    case 2:
      return random_.text(random_.between(1000, 20'000));
    case 3:
      return std::string(SimShop::kItemAbsent);
    case 4:
      return "*2\r\n$-1\r\n>";
    default:
      return std::to_string(random_.below(1000));
  }
}

Script::Words Script::many(const std::string& name) {
  Words words{name};
  const std::uint64_t count =
      random_.one_in(30) ? random_.between(100, 3000) : random_.between(1, 8);
  for (std::uint64_t i = 0; i < count; ++i) {
    words.push_back(random_.one_in(8) && i > 0 ? words.back() : any_key());
  }
  return words;
}

std::vector<SentCommand> Script::next() {
  if (commands_ == 0) {
    return opening();
  }
  if (settings_.signs && random_.one_in(40)) {
    return waits();
  }
  if (random_.below(1000) < settings_.changes_per_mille) {
    switch (random_.below(12)) {
      case 0:
        return oddities();
      case 1:
      case 2:
      case 3:
        return transaction();
      default:
        return changes();
    }
  }
  switch (random_.below(20)) {
    case 0:
      return new_row();
    case 1:
    case 2:
    case 3:
      return writes();
    case 4:
      return errors();
    default:
      return reads();
  }
}

// What drivers send first.
std::vector<SentCommand> Script::opening() {
  std::vector<SentCommand> commands;
  if (!settings_.password.empty() && !random_.one_in(8)) {
    commands.push_back(make({"AUTH", settings_.password}));
  }
  if (random_.one_in(3)) {
    commands.push_back(make({"HELLO", "3"}));
  }
  commands.push_back(make({"PING"}));
  return commands;
}

std::vector<SentCommand> Script::reads() {
  switch (random_.below(12)) {
    case 0:
      return {make_read(many("MGET"))};
    case 1:
      return {make_read(many("EXISTS"))};
    case 2:
      return {make_inline({"GET", any_key()})};
    case 3:
    case 4:
    case 5:
      return {make({"GET", absent_key()})};
    default:
      return {make({"GET", any_key()})};
  }
}

std::vector<SentCommand> Script::writes() {
  switch (random_.below(8)) {
    case 0:
      return {make(many("DEL"))};
    case 1:
      return {make({"INCR", any_key()})};
    case 2:
      return {make({"APPEND", any_key(), value()})};
    case 3: {  // what a client has written it must find
      const std::string key = own_absent_key();
      return {
          make({"SET", key, value()}), make({"GET", key}), make({"EXISTS", key, own_absent_key()})};
    }
    default:
      return {make({"SET", any_key(), value()})};
  }
}

std::vector<SentCommand> Script::new_row() {
  const std::string key = shop_.commit_row(random_.one_in(2) ? SimShop::kUsers : SimShop::kItems);
  switch (random_.below(3)) {
    case 0:
      return {make({"GET", key})};
    case 1:
      return {make({"DEL", key}), make({"GET", key})};
    default:
      return {make({"SET", key, value()}), make_read({"MGET", absent_key(), key})};
  }
}

std::vector<SentCommand> Script::transaction() {
  std::vector<SentCommand> commands;
  if (random_.one_in(3)) {
    commands.push_back(make({"WATCH", any_key()}));
    commands.push_back(make({"GET", absent_key()}));
  }
  commands.push_back(make({"MULTI"}));
  for (std::uint64_t i = random_.below(5); i > 0; --i) {
    switch (random_.below(8)) {
      case 0:
        commands.push_back(make({"SELECT", random_.one_in(3) ? "2" : "0"}));
        break;
      case 1:
        commands.push_back(make({"NOSUCH", any_key()}));
        break;
      case 2:
        commands.push_back(make({"SET", any_key(), value()}));
        break;
      default:
        commands.push_back(make({"GET", absent_key()}));
    }
  }
  constexpr std::array<const char*, 4> kEnds{"EXEC", "EXEC", "EXEC", "DISCARD"};
  commands.push_back(make({random_.pick(kEnds)}));
  commands.push_back(make({"GET", absent_key()}));
  return commands;
}

std::vector<SentCommand> Script::changes() {
  switch (random_.below(14)) {
    case 0:
    case 1:
      return {make({"HELLO", "3"}), make({"GET", absent_key()})};
    case 2:
      return {make({"HELLO", "2"}), make({"GET", absent_key()})};
    case 3:
      return {make({"SELECT", "2"}), make({"GET", absent_key()})};
    case 4:
    case 5:
    case 6:
      return {make({"SELECT", "0"}), make({"GET", absent_key()})};
    case 7:
      return {make({"SELECT", random_.one_in(2) ? "99" : "zero"})};
    case 8:
      return {make({"AUTH", "app", random_.one_in(3) ? "wrong" : settings_.app_password}),
              make({"GET", absent_key()})};
    case 9:
      return {
          make({"HELLO", random_.one_in(2) ? "3" : "2", "AUTH", "app", settings_.app_password})};
    case 10:
      return {make({"AUTH", "limited", settings_.app_password}),
              make({"GET", absent_key()}),
              make({"AUTH", "app", settings_.app_password})};
    case 11:
      return {make({"AUTH", settings_.password})};
    case 12:
      return {make({"HELLO"}), make({"CLIENT", "SETNAME", "x"})};
    default:
      return {make({"UNWATCH"}), make({"EXEC"})};
  }
}

std::vector<SentCommand> Script::oddities() {
  switch (random_.below(9)) {
    case 0:
      return {make({"RESET"}), make({"GET", absent_key()})};
    case 1:
      return {make({"CLIENT", "REPLY", "SKIP"}), make({"GET", absent_key()}), make({"PING"})};
    case 2:
      return {make({"CLIENT", "REPLY", "OFF"}),
              make({"SET", "free:1", "x"}),
              make({"CLIENT", "REPLY", "ON"}),
              make({"GET", absent_key()})};
    case 3:
      return {make({"SUBSCRIBE", "news", "weather"}), make({"PING", "hello"})};
    case 4:
      return {make({"SUBSCRIBE", "news"}),
              make({"GET", absent_key()}),
              make({"UNSUBSCRIBE", "news"}),
              make({"GET", absent_key()})};
    case 5:
      return {make({"CLIENT", "REPLY", "SKIP"}),
              make({"CLIENT", "REPLY", "ON"}),
              make({"GET", absent_key()}),
              make({"UNSUBSCRIBE", "news", "weather"})};
    case 6:
      return {make({"CLIENT", "REPLY", "OFF"}), make({"RESET"}), make({"GET", absent_key()})};
    case 7:
      return {make({"HELLO", "4"}), make({"WATCH", "free:2"})};
    default:
      is_over_ = true;
      return {malformed()};
  }
}

std::vector<SentCommand> Script::errors() {
  switch (random_.below(4)) {
    case 0:
      return {make({"GET"}), make({"GET", absent_key(), "too", "many"}), make({"MGET"})};
    case 1:
      return {make({"NOSUCH", "a", "b"})};
    case 2:
      return {make({"GET", "list:1"}), make_read({"MGET", "list:1", absent_key()})};
    default:
      return {make({"PING"}), make({"ECHO", value()})};
  }
}

std::vector<SentCommand> Script::waits() {
  const std::string client = std::to_string(settings_.client);
  switch (random_.below(3)) {
    case 0:
      return {make({"BLPOP", "queue:" + client, "0.0" + std::to_string(random_.between(10, 99))}),
              make({"GET", absent_key()})};
    case 1:
      return {make({"CLIENT", "SETNAME", "name-" + client + "-" + std::to_string(commands_)}),
              make({"GET", any_key()})};
    default:
      return {make({"CLIENT", "GETNAME"}), make({"GET", any_key()})};
  }
}

SentCommand Script::malformed() {
  constexpr std::array<const char*, 3> kBytes{"*1\r\n!", "*many", "*1\r\n$many"};
  return {random_.pick(kBytes) + std::to_string(settings_.client) + "\r\n", {}};
}

}  // namespace cuckooguard::simulation
