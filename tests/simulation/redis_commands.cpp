// The commands of the simulated Redis.
#include <charconv>
#include <cstdlib>
#include <limits>

#include "simulation/redis_connection.h"
#include "simulation/resp_text.h"

namespace cuckooguard::simulation {
namespace {

const std::string kWrongType =
    error("WRONGTYPE Operation against a key holding the wrong kind of value");
const std::string kOk = simple("OK");
const std::string kNoInteger = error("ERR value is not an integer or out of range");

bool parse_integer(const std::string& text, long long& value) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc{} && end == text.data() + text.size();
}

bool is_word(const std::string& text, std::string_view upper) {
  return text.size() == upper.size() &&
         std::equal(text.begin(), text.end(), upper.begin(), [](char a, char b) {
           return (a >= 'a' && a <= 'z' ? static_cast<char>(a - 'a' + 'A') : a) == b;
         });
}

}  // namespace

const std::map<std::string, RedisConnection::Entry>& RedisConnection::commands() {
  using Self = RedisConnection;
  static const std::map<std::string, Entry> kTable{
      {"get", {.run = &Self::get, .arity = 2, .first_key = 1, .right = kReadRight}},
      {"set",
       {.run = &Self::set, .arity = -3, .first_key = 1, .writes = true, .right = kWriteRight}},
      {"del",
       {.run = &Self::del,
        .arity = -2,
        .first_key = 1,
        .many_keys = true,
        .writes = true,
        .right = kWriteRight}},
      {"mget",
       {.run = &Self::mget, .arity = -2, .first_key = 1, .many_keys = true, .right = kReadRight}},
      {"exists",
       {.run = &Self::exists, .arity = -2, .first_key = 1, .many_keys = true, .right = kReadRight}},
      {"incr",
       {.run = &Self::incr, .arity = 2, .first_key = 1, .writes = true, .right = kWriteRight}},
      {"append",
       {.run = &Self::append, .arity = 3, .first_key = 1, .writes = true, .right = kWriteRight}},
      {"ping", {.run = &Self::ping, .arity = -1}},
      {"echo", {.run = &Self::echo, .arity = 2}},
      {"select", {.run = &Self::select, .arity = 2, .right = kSelectRight}},
      {"multi",
       {.run = &Self::multi, .arity = 1, .runs_in_multi = true, .right = kTransactionRight}},
      {"exec", {.run = &Self::exec, .arity = 1, .runs_in_multi = true, .right = kTransactionRight}},
      {"discard",
       {.run = &Self::discard, .arity = 1, .runs_in_multi = true, .right = kTransactionRight}},
      {"watch",
       {.run = &Self::watch,
        .arity = -2,
        .runs_in_multi = true,
        .first_key = 1,
        .many_keys = true,
        .right = kTransactionRight}},
      {"unwatch", {.run = &Self::unwatch, .arity = 1, .right = kTransactionRight}},
      {"auth", {.run = &Self::auth, .arity = -2, .needs_no_auth = true}},
      {"hello", {.run = &Self::hello, .arity = -1, .needs_no_auth = true}},
      {"reset", {.run = &Self::reset, .arity = 1, .runs_in_multi = true, .needs_no_auth = true}},
      {"client", {.run = &Self::client, .arity = -2}},
      {"subscribe", {.run = &Self::subscribe, .arity = -2, .right = kPubsubRight}},
      {"unsubscribe", {.run = &Self::unsubscribe, .arity = -1, .right = kPubsubRight}},
      {"blpop",
       {.run = &Self::blpop, .arity = -3, .first_key = 1, .writes = true, .right = kWriteRight}},
      {"strlen", {.run = &Self::strlen, .arity = 2, .first_key = 1, .right = kReadRight}},
      {"publish", {.run = &Self::publish, .arity = 3, .writes = true, .right = kPubsubRight}},
      {"eval", {.run = &Self::eval, .arity = -3, .right = kScriptRight}},
      {"acl", {.run = &Self::acl, .arity = -2}},
      {"config", {.run = &Self::config, .arity = -2, .right = kAdminRight}},
      {"script", {.run = &Self::confirm, .arity = -2, .right = kScriptRight}},
      {"replconf", {.run = &Self::confirm, .arity = -1, .right = kAdminRight}},
      {"quit", {.run = &Self::quit, .arity = -1, .runs_in_multi = true, .needs_no_auth = true}},
  };
  return kTable;
}

Value* RedisConnection::find(const std::string& name) {
  const auto found = store_.values.find(key(name));
  return found == store_.values.end() ? nullptr : &found->second;
}

std::string RedisConnection::get(const Words& words) {
  const Value* const value = find(words[1]);
  if (value == nullptr) {
    return nil(standing_.version);
  }
  return value->is_list ? kWrongType : bulk(value->text);
}

std::string RedisConnection::set(const Words& words) {
  if (words.size() != 3) {
    return error("ERR syntax error");
  }
  store_.values[key(words[1])] = {.text = words[2]};
  store_.changed(key(words[1]));
  return kOk;
}

std::string RedisConnection::del(const Words& words) {
  long long count = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (store_.values.erase(key(words[i])) > 0) {
      ++count;
      store_.changed(key(words[i]));
    }
  }
  return integer(count);
}

std::string RedisConnection::mget(const Words& words) {
  std::string reply = header('*', words.size() - 1);
  for (std::size_t i = 1; i < words.size(); ++i) {
    const Value* const value = find(words[i]);
    reply += value == nullptr || value->is_list ? nil(standing_.version) : bulk(value->text);
  }
  return reply;
}

std::string RedisConnection::exists(const Words& words) {
  long long count = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    count += find(words[i]) != nullptr ? 1 : 0;
  }
  return integer(count);
}

std::string RedisConnection::incr(const Words& words) {
  Value* const value = find(words[1]);
  if (value != nullptr && value->is_list) {
    return kWrongType;
  }
  long long number = 0;
  if (value != nullptr && !parse_integer(value->text, number)) {
    return kNoInteger;
  }
  if (number == std::numeric_limits<long long>::max()) {
    return error("ERR increment or decrement would overflow");
  }
  ++number;
  store_.values[key(words[1])] = {.text = std::to_string(number)};
  store_.changed(key(words[1]));
  return integer(number);
}

std::string RedisConnection::append(const Words& words) {
  Value* const value = find(words[1]);
  if (value != nullptr && value->is_list) {
    return kWrongType;
  }
  std::string& text = store_.values[key(words[1])].text;
  text += words[2];
  store_.changed(key(words[1]));
  return integer(static_cast<long long>(text.size()));
}

std::string RedisConnection::ping(const Words& words) {
  if (words.size() > 2) {
    return error("ERR wrong number of arguments for 'ping' command");
  }
  if (is_bound_to_channels()) {
    return header('*', 2) + bulk("pong") + bulk(words.size() > 1 ? words[1] : "");
  }
  return words.size() > 1 ? bulk(words[1]) : simple("PONG");
}

std::string RedisConnection::echo(const Words& words) {
  return bulk(words[1]);
}

std::string RedisConnection::select(const Words& words) {
  long long db = 0;
  if (!parse_integer(words[1], db)) {
    return kNoInteger;
  }
  if (db < 0 || db >= RedisStore::kDbs) {
    return error("ERR DB index is out of range");
  }
  standing_.db = static_cast<int>(db);
  return kOk;
}

std::string RedisConnection::multi(const Words&) {
  if (standing_.in_multi) {
    return error("ERR MULTI calls can not be nested");
  }
  standing_.in_multi = true;
  return kOk;
}

void RedisConnection::leave_multi() {
  standing_.in_multi = false;
  transaction_is_refused_ = false;
  queued_.clear();
}

void RedisConnection::forget_watches() {
  standing_.watching = false;
  watched_.clear();
}

std::string RedisConnection::exec(const Words&) {
  if (!standing_.in_multi) {
    return error("ERR EXEC without MULTI");
  }
  const std::vector<Words> commands_to_run = queued_;
  const bool is_refused = transaction_is_refused_;
  bool is_dirty = false;
  for (const auto& [watched, change] : watched_) {
    is_dirty = is_dirty || store_.change_of(watched) != change;
  }
  leave_multi();
  forget_watches();
  if (is_refused) {
    return error("EXECABORT Transaction discarded because of previous errors.");
  }
  if (is_dirty) {
    return standing_.version == 3 ? "_\r\n" : "*-1\r\n";
  }
  std::string reply = header('*', commands_to_run.size());
  for (const Words& words : commands_to_run) {
    std::string name = words[0];
    for (char& byte : name) {
      byte = byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
    }
    reply += (this->*commands().at(name).run)(words);
  }
  return reply;
}

std::string RedisConnection::discard(const Words&) {
  if (!standing_.in_multi) {
    return error("ERR DISCARD without MULTI");
  }
  leave_multi();
  forget_watches();
  return kOk;
}

std::string RedisConnection::watch(const Words& words) {
  if (standing_.in_multi) {
    return error("ERR WATCH inside MULTI is not allowed");
  }
  standing_.watching = true;
  for (std::size_t i = 1; i < words.size(); ++i) {
    watched_.emplace(key(words[i]), store_.change_of(key(words[i])));
  }
  return kOk;
}

std::string RedisConnection::unwatch(const Words&) {
  forget_watches();
  return kOk;
}

std::string RedisConnection::authenticate(const std::string& user, const std::string& password) {
  const auto found = store_.users.find(user);
  if (found == store_.users.end() ||
      (!found->second.password.empty() && found->second.password != password)) {
    return error("WRONGPASS invalid username-password pair or user is disabled.");
  }
  standing_.user = user;
  standing_.authenticated = true;
  return kOk;
}

std::string RedisConnection::auth(const Words& words) {
  if (words.size() > 3) {
    return error("ERR syntax error");
  }
  if (words.size() == 2 && store_.users.at("default").password.empty()) {
    return error(
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?");
  }
  return words.size() == 2 ? authenticate("default", words[1]) : authenticate(words[1], words[2]);
}

// HELLO [version [AUTH user password]]
std::string RedisConnection::hello(const Words& words) {
  long long version = standing_.version;
  if (words.size() > 1 && !parse_integer(words[1], version)) {
    return error("ERR Protocol version is not an integer or out of range");
  }
  if (version != 2 && version != 3) {
    return error("NOPROTO unsupported protocol version");
  }
  if (words.size() > 2) {
    if (words.size() != 5 || !is_word(words[2], "AUTH")) {
      return error("ERR Syntax error in HELLO option '" + words[2] + "'");
    }
    if (const std::string said = authenticate(words[3], words[4]); said != kOk) {
      return said;
    }
  }
  if (!standing_.authenticated) {
    return error(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
        "<proto> AUTH <user> <pass> option can be used to authenticate the client and select the "
        "RESP protocol version at the same time");
  }
  standing_.version = static_cast<int>(version);
  constexpr std::size_t kPairs = 7;
  std::string reply = version == 3 ? header('%', kPairs) : header('*', 2 * kPairs);
  reply += bulk("server") + bulk("redis") + bulk("version") + bulk("7.0.15");
  reply += bulk("proto") + integer(version) + bulk("id") + integer(static_cast<long long>(id_));
  reply += bulk("mode") + bulk("standalone") + bulk("role") + bulk("master");
  return reply + bulk("modules") + header('*', 0);
}

std::string RedisConnection::reset(const Words&) {
  leave_multi();
  forget_watches();
  standing_ = {};
  standing_.authenticated = store_.users.at("default").password.empty();
  channels_.clear();
  name_.clear();
  tracking_ = {};
  replies_off_ = false;
  return simple("RESET");
}

std::string RedisConnection::client(const Words& words) {
  if (words.size() == 3 && is_word(words[1], "SETNAME")) {
    name_ = words[2];
    return kOk;
  }
  if (words.size() == 2 && is_word(words[1], "GETNAME")) {
    return name_.empty() ? nil(standing_.version) : bulk(name_);
  }
  if (words.size() != 3 || !is_word(words[1], "REPLY")) {
    return client_of_attackers(words);
  }
  if (is_word(words[2], "SKIP")) {
    skip_ = replies_off_ ? 0 : 2;
  } else if (is_word(words[2], "OFF") || is_word(words[2], "ON")) {
    replies_off_ = is_word(words[2], "OFF");
    skip_ = 0;
  } else {
    return error("ERR syntax error");
  }
  return kOk;
}

std::string RedisConnection::confirmation(const char* verb, const std::string& channel) const {
  return header(standing_.version == 3 ? '>' : '*', 3) + bulk(verb) + bulk(channel) +
         integer(static_cast<long long>(channels_.size()));
}

std::string RedisConnection::subscribe(const Words& words) {
  std::string reply;
  for (std::size_t i = 1; i < words.size(); ++i) {
    channels_.insert(words[i]);
    reply += confirmation("subscribe", words[i]);
  }
  return reply;
}

std::string RedisConnection::unsubscribe(const Words& words) {
  if (words.size() == 1 && channels_.empty()) {
    return header(standing_.version == 3 ? '>' : '*', 3) + bulk("unsubscribe") +
           nil(standing_.version) + integer(0);
  }
  const std::vector<std::string> left(channels_.begin(), channels_.end());
  std::string reply;
  for (const std::string& channel :
       words.size() == 1 ? left : Words(words.begin() + 1, words.end())) {
    channels_.erase(channel);
    reply += confirmation("unsubscribe", channel);
  }
  return reply;
}

// NOLINTNEXTLINE(readability-make-member-function-const): of the table's type
std::string RedisConnection::blpop(const Words&) {
  return standing_.version == 3 ? "_\r\n" : "*-1\r\n";
}

std::string RedisConnection::quit(const Words&) {
  quits_ = true;
  return kOk;
}

}  // namespace cuckooguard::simulation
