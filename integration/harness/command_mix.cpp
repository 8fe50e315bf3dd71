#include "harness/command_mix.h"

#include <algorithm>

#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

using Form = std::string (*)();

std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

}  // namespace

std::string CommandMix::pipeline() {
  constexpr std::size_t kCommandsMax = 40;
  // While a change of the connection is in flight the guard answers nothing: every other pipeline has none.
  const bool calm = choose(2) == 0;
  std::string bytes;
  for (std::size_t left = 1 + choose(kCommandsMax); left > 0; --left) {
    if (!calm && choose(10) == 0) {
      bytes += choose(2) == 0 ? transaction() : connection_command();
    } else {
      bytes += any();
    }
  }
  return bytes;
}

std::vector<std::size_t> CommandMix::cuts(std::size_t size) {
  std::vector<std::size_t> cuts;
  const std::size_t kind = choose(4);
  constexpr std::size_t kDenseBytesMax = 1000;
  if (kind == 1) {
    for (std::size_t i = 0; i < 10; ++i) {
      cuts.push_back(choose(size));
    }
    std::ranges::sort(cuts);
  } else if (kind == 2) {
    for (std::size_t at = 1 + choose(9); at < std::min(size, kDenseBytesMax); at += 1 + choose(9)) {
      cuts.push_back(at);
    }
  }
  return cuts;
}

std::string CommandMix::any() {
  switch (choose(28)) {
    case 0:
    case 1:
      return string_command();
    case 2:
      return list_command();
    case 3:
      return hash_command();
    case 4:
      return set_command();
    case 5:
      return sorted_set_command();
    case 6:
      return key_command();
    case 7:
      return mistake();
    case 8:
    case 9:
      return inline_command();
    case 10:
    case 11:
      return script();
    case 12:
      return choose(8) == 0 ? large() : reply_type();
    default:
      return read();
  }
}

// What the guard may answer: alone, in part, or not at all.
std::string CommandMix::read() {
  std::vector<std::string> keys;
  for (std::size_t left = 1 + choose(6); left > 0; --left) {
    keys.push_back(readable_key());
  }
  if (choose(3) != 0) {
    return command({one_of({"GET", "get", "Get"}), keys.front()});
  }
  std::vector<std::string_view> arguments{one_of({"MGET", "EXISTS", "mget", "exists"})};
  arguments.insert(arguments.end(), keys.begin(), keys.end());
  return command(arguments);
}

std::string CommandMix::string_command() {
  const std::string k = key();
  switch (choose(8)) {
    case 0:
      return command({"APPEND", k, value()});
    case 1:
      return command({"INCR", k});
    case 2:
      return command({"GETRANGE", readable_key(), "0", number()});
    case 3:
      return command({"SETRANGE", k, number(), value()});
    case 4:
      return command({"MSET", k, value(), key(), value()});
    case 5:
      return command({"GETSET", k, value()});
    case 6:
      return command({"SET", k, number(), one_of({"NX", "XX", "GET", "BAD"})});
    default:
      return command({"SET", k, choose(4) == 0 ? number() : value()});
  }
}

std::string CommandMix::list_command() {
  switch (choose(6)) {
    case 0:
      return command({"LPOP", key()});
    case 1:
      return command({"LRANGE", readable_key(), "0", "-1"});
    case 2:
      return command({"LPOP", readable_key(), number()});
    case 3:
      return command({"LLEN", readable_key()});
    case 4:
      return command({"BLPOP", "never:pushed", choose(10) == 0 ? "0.001" : "no number"});
    default:
      return command({one_of({"LPUSH", "RPUSH"}), key(), value(), number()});
  }
}

std::string CommandMix::hash_command() {
  switch (choose(6)) {
    case 0:
      return command({"HGETALL", readable_key()});
    case 1:
      return command({"HINCRBYFLOAT", key(), "field 1", "0.5"});
    case 2:
      return command({"HDEL", key(), "field " + std::to_string(choose(5))});
    case 3:
      return command({"HMGET", readable_key(), "field 1", "field 2", "no such"});
    default:
      return command({"HSET", key(), "field " + std::to_string(choose(5)), value()});
  }
}

// Integers only: Redis keeps them sorted.
std::string CommandMix::set_command() {
  switch (choose(5)) {
    case 0:
      return command({"SMEMBERS", readable_key()});
    case 1:
      return command({"SISMEMBER", readable_key(), number()});
    case 2:
      return command({"SCARD", readable_key()});
    default:
      return command({"SADD", key(), number(), number()});
  }
}

std::string CommandMix::sorted_set_command() {
  switch (choose(5)) {
    case 0:
      return command({"ZRANGE", readable_key(), "0", "-1", "WITHSCORES"});
    case 1:
      return command({"ZSCORE", readable_key(), number()});
    case 2:
      return command({"ZINCRBY", key(), "1.5", number()});
    default:
      return command({"ZADD", key(), number(), number()});
  }
}

std::string CommandMix::key_command() {
  switch (choose(9)) {
    case 0:
      return command({"TYPE", readable_key()});
    case 1:
      return command({"TTL", readable_key()});
    case 2:
      return command({"EXPIREAT", key(), "4102444800"});
    case 3:
      return command({"EXPIRETIME", readable_key()});
    case 4:
      return command({"RENAME", key(), key()});
    case 5:
      return command({"COPY", readable_key(), key(), "REPLACE"});
    case 6:
      return command({"DBSIZE"});
    case 7:
      return command({"OBJECT", "ENCODING", readable_key()});
    default:
      return command({one_of({"DEL", "UNLINK"}), key(), key()});
  }
}

std::string CommandMix::mistake() {
  switch (choose(9)) {
    case 0:
      return command({"GET"});
    case 1:
      return command({"GET", readable_key(), readable_key()});
    case 2:
      return command({"MGET"});
    case 3:
      return command({"EXISTS"});
    case 4:
      return command({"NOSUCHCOMMAND", key(), value()});
    case 5:
      return command({"INCRBY", key(), "not a number"});
    case 6:
      return command({""});
    case 7:
      return command({"OBJECT", "NOSUCH", key()});
    default:
      return command({"SET", key()});
  }
}

std::string CommandMix::inline_command() {
  switch (choose(7)) {
    case 0:
      return "\r\n";
    case 1:
      return "*0\r\n";
    case 2:
      return "SET " + quoted("user:" + number()) + " 'it\\'s \"quoted\"'\r\n";
    case 3:
      return "  echo   \"a\\x41\\n\\tb\"  \r\n";
    case 4:
      return "get " + quoted("\\x75ser:" + number()) + "\n";
    default:
      return std::string(one_of({"GET ", "EXISTS ", "mget "})) + user_key() + "\r\n";
  }
}

std::string CommandMix::connection_command() {
  switch (choose(9)) {
    case 0:
      return command({"SELECT", one_of({"1", "99", "x"})});
    case 1:
    case 2:
      return command({"SELECT", "0"});
    case 3:
      return command({"HELLO", one_of({"2", "3", "4"})});
    case 4:
      return command({"CLIENT", "SETNAME", "name" + number()});
    case 5:
      return command({"CLIENT", "GETNAME"});
    case 6:
      return command({"WATCH", readable_key()}) + read() + command({"UNWATCH"});
    case 7:
      return command({"RESET"});
    default:
      return command({"PING", value()});
  }
}

std::string CommandMix::script() {
  switch (choose(5)) {
    case 0:
      return command({"EVAL", "return redis.call('get', KEYS[1])", "1", readable_key()});
    case 1:
      return command({"EVAL", "return {1, 'two', {3, {}}, false, redis.status_reply('ok')}", "0"});
    case 2:
      return command(
          {"EVAL", "redis.setresp(3); return redis.call('hgetall', KEYS[1])", "1", readable_key()});
    case 3:
      return command({"EVAL", "return redis.error_reply('MY error')", "0"});
    default:
      return command({"EVAL", "return redis.call('set', KEYS[1], ARGV[1])", "1", key(), value()});
  }
}

// Commands above 64 KiB are streamed through; replies of any length are.
std::string CommandMix::large() {
  const std::string text(std::size_t{60} * 1024 + choose(std::size_t{300} * 1024),
                         static_cast<char>('a' + choose(26)));
  const std::string k = "plain:large" + number();
  switch (choose(4)) {
    case 0:
      return command({"MSET", key(), "small", k, text, key(), "behind"}) + command({"GET", k});
    case 1:
      return command({"GET", text});
    case 2: {
      std::vector<std::string> keys;
      for (std::size_t i = 0; i < 5000; ++i) {
        keys.push_back(user_key());
      }
      std::vector<std::string_view> arguments{"MGET"};
      arguments.insert(arguments.end(), keys.begin(), keys.end());
      return command(arguments);
    }
    default:
      return command({"SET", k, text}) + command({"GET", k}) + command({"STRLEN", k});
  }
}

std::string CommandMix::transaction() {
  std::string bytes = choose(3) == 0 ? command({"WATCH", readable_key()}) : std::string();
  bytes += command({"MULTI"});
  for (std::size_t left = choose(6); left > 0; --left) {
    bytes += choose(3) == 0 ? string_command() : read();
  }
  if (choose(8) == 0) {
    bytes += mistake();
  }
  return bytes + command({choose(4) == 0 ? "DISCARD" : "EXEC"}) + command({"UNWATCH"});
}

// Not "push": with it Redis gives a push and no reply.
std::string CommandMix::reply_type() {
  return command({"DEBUG",
                  "PROTOCOL",
                  one_of({"string",
                          "integer",
                          "double",
                          "null",
                          "array",
                          "set",
                          "map",
                          "attrib",
                          "verbatim",
                          "true",
                          "false",
                          "bignum"})});
}

std::string CommandMix::user_key() {
  return "user:" + std::to_string(choose(3) == 0 ? 1 + choose(30) : 1'000'000 + choose(3000));
}

std::string CommandMix::key() {
  switch (choose(6)) {
    case 0:
      return "user:" + std::to_string(2'000'000 + choose(10));
    case 1:
      return "plain:" + number();
    case 2:
      return std::string("bin\0\r\n:", 7) + static_cast<char>(choose(256));
    case 3:
      return choose(2) == 0 ? "tag:red" : "tag:written" + std::to_string(choose(3));
    default:
      return "user:" + std::to_string(1 + choose(30));
  }
}

std::string CommandMix::readable_key() {
  switch (choose(6)) {
    case 0:
    case 1:
    case 2:
      return user_key();
    case 3:
      return std::string(
          one_of({"tag:blue", "tag:", "tag:a:b", "user:", "user:01", "user:-1", "user:x"}));
    default:
      return key();
  }
}

std::string CommandMix::value() {
  std::string text(choose(60), ' ');
  for (char& byte : text) {
    byte = static_cast<char>(choose(256));
  }
  return text;
}

}  // namespace cuckooguard::harness
