#include "harness/command_mix.h"

#include <algorithm>
#include <array>

#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

// What tells of others; and what has an order of Redis's own once a sorted set has become a hash
// table, which takes so many commands that only a mix that goes on and on meets it.
bool is_not_for_owners(std::string_view form) {
  return form == "DBSIZE" || form == "ZSCAN {r} 0";
}

std::string in_quotes(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

}  // namespace

std::string CommandMix::pipeline() {
  constexpr std::size_t kCommandsMax = 40;
  // While a change of the connection is in flight the guard answers nothing: every other pipeline
  // has none.
  const bool calm = choose(2) == 0;
  std::string bytes = is_plain_ ? followed_state() : "";
  is_plain_ = choose(6) == 0;
  for (std::size_t left = 1 + choose(kCommandsMax); left > 0; --left) {
    if (calm || choose(10) != 0) {
      bytes += any();
    } else if (choose(2) == 0) {
      bytes += transaction();
    } else {
      bytes += choose(8) == 0 ? watched_read() : one_of_forms(connection_forms(), any_type());
    }
  }
  return is_plain_ ? bytes + counted({"RESET"}) : bytes;
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
  constexpr std::size_t kLargeOnceIn = 12;
  switch (choose(28)) {
    case 0:
    case 1:
    case 2:
      return one_of_forms(key_forms(), any_type());
    case 3:
      return one_of_forms(mistaken_forms(), any_type());
    case 4:
    case 5:
      return inline_command();
    case 6:
    case 7:
      return one_of_forms(script_forms(), any_type());
    case 8:
      return choose(kLargeOnceIn) == 0 ? large() : reply_type();
    case 9:
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
    case 16:
    case 17:
    case 18:
      return of_some_type();
    default:
      return read();
  }
}

// What the guard may answer: alone, in part, or not at all.
std::string CommandMix::read() {
  std::vector<std::string> keys;
  for (std::size_t left = 1 + choose(6); left > 0; --left) {
    keys.push_back(choose(2) == 0 ? user_key() : readable_key(DataType::string));
  }
  constexpr std::array<std::string_view, 3> kGets{"GET", "get", "Get"};
  constexpr std::array<std::string_view, 4> kMany{"MGET", "EXISTS", "mget", "exists"};
  if (choose(3) != 0) {
    return counted({one_of(kGets), keys.front()});
  }
  std::vector<std::string_view> arguments{one_of(kMany)};
  arguments.insert(arguments.end(), keys.begin(), keys.end());
  ++commands_;
  return command(arguments);
}

std::string CommandMix::of_some_type() {
  const auto type = static_cast<DataType>(choose(kDataTypes));
  return one_of_forms(forms_of(type), type);
}

std::string CommandMix::one_of_forms(std::span<const std::string_view> forms, DataType type) {
  std::string_view form = one_of(forms);
  while (owner_ != 0 && is_not_for_owners(form)) {
    form = one_of(forms);
  }
  std::vector<std::string> words;
  while (!form.empty()) {
    const std::string_view word = form.substr(0, form.find(' '));
    form.remove_prefix(std::min(form.size(), word.size() + 1));
    words.push_back(filled_in(word, type));
  }
  const std::vector<std::string_view> arguments(words.begin(), words.end());
  ++commands_;
  return command(arguments);
}

std::string CommandMix::filled_in(std::string_view word, DataType type) {
  constexpr std::array<std::string_view, 8> kScores{"1", "2.5", "-3", "inf", "1e3", "0", "(1", "7"};
  constexpr std::size_t kOthersOnceIn = 10;
  constexpr std::size_t kPrefixBytes = 3;  // "{k}"
  if (word == "news") {
    return channel();
  }
  if (word.size() != kPrefixBytes || word.front() != '{') {
    return std::string(script_of(word));
  }
  if (type != DataType::words && choose(kOthersOnceIn) == 0) {
    type = any_type();
  }
  switch (word[1]) {
    case 'k':
      return key(type);
    case 'r':
      return readable_key(type);
    case 'a':
      return "user:" + std::to_string(1'500'000 + choose(3000));
    case 'n':
      return number();
    case 'f':
      return "f" + std::to_string(choose(10));
    case 's':
      return std::string(one_of(kScores));
    case 'i':
      return stream_id();
    default:
      return value();
  }
}

std::string CommandMix::inline_command() {
  constexpr std::array<std::string_view, 3> kNames{"GET ", "EXISTS ", "mget "};
  ++commands_;
  switch (choose(7)) {
    case 0:
      return "\r\n";
    case 1:
      return "*0\r\n";
    case 2:
      return "SET " + in_quotes(row(choose(50))) + " 'it\\'s \"quoted\"'\r\n";
    case 3:
      return "  echo   \"a\\x41\\n\\tb\"  \r\n";
    case 4:
      return "get " + in_quotes("\\x75" + row(choose(50)).substr(1)) + "\n";
    default:
      return std::string(one_of(kNames)) + user_key() + "\r\n";
  }
}

std::string CommandMix::watched_read() {
  return counted({"WATCH", readable_key(any_type())}) + read() + counted({"UNWATCH"});
}

// Commands above 64 KiB are streamed through; replies of any length are.
std::string CommandMix::large() {
  const std::string text(std::size_t{60} * 1024 + choose(std::size_t{300} * 1024),
                         static_cast<char>('a' + choose(26)));
  const std::string k = owners("plain:large" + number());
  const DataType type = any_type();
  switch (choose(4)) {
    case 0:
      return counted({"MSET", key(type), "small", k, text, key(type), "behind"}) +
             counted({"GET", k});
    case 1:
      return counted({"GET", text});
    case 2: {
      std::vector<std::string> keys;
      keys.reserve(5000);
      for (std::size_t i = 0; i < 5000; ++i) {
        keys.push_back(user_key());
      }
      std::vector<std::string_view> arguments{"MGET"};
      arguments.insert(arguments.end(), keys.begin(), keys.end());
      ++commands_;
      return command(arguments);
    }
    default:
      return counted({"SET", k, text}) + counted({"GET", k}) + counted({"STRLEN", k});
  }
}

std::string CommandMix::transaction() {
  std::string bytes =
      choose(3) == 0 ? counted({"WATCH", readable_key(DataType::string)}) : std::string();
  bytes += counted({"MULTI"});
  for (std::size_t left = choose(6); left > 0; --left) {
    bytes += choose(2) == 0 ? of_some_type() : read();
  }
  if (choose(8) == 0) {
    bytes += one_of_forms(mistaken_forms(), DataType::string);
  }
  return bytes + counted({choose(4) == 0 ? "DISCARD" : "EXEC"}) + counted({"UNWATCH"});
}

// Not "push": with it Redis gives a push and no reply.
std::string CommandMix::reply_type() {
  constexpr std::array<std::string_view, 12> kTypes{"string",
                                                    "integer",
                                                    "double",
                                                    "null",
                                                    "array",
                                                    "set",
                                                    "map",
                                                    "attrib",
                                                    "true",
                                                    "false",
                                                    "verbatim",
                                                    "bignum"};
  return counted({"DEBUG", "PROTOCOL", one_of(kTypes)});
}

// Not words: their order is each Redis's own, and so must not come into another type's keys.
DataType CommandMix::any_type() {
  return static_cast<DataType>(choose(static_cast<std::size_t>(DataType::words)));
}

std::string CommandMix::user_key() {
  return choose(3) == 0 ? row(1 + choose(180)) : absent();
}

// The keys of scripts pass for a while, too: with few ids a mix that goes on and on would have none
// left to be answered.
std::string CommandMix::absent() {
  constexpr std::size_t kOfOwner = 1'000'000'000;
  return "user:" + std::to_string(owner_ == 0 ? 1'000'000 + choose(3000)
                                              : owner_ * kOfOwner + choose(kOfOwner));
}

std::string CommandMix::row(std::size_t number) const {
  return "user:" + std::to_string(owner_ * kRowsOfOwner + number);
}

std::string CommandMix::key(DataType type) {
  const auto number = static_cast<std::size_t>(type);
  switch (choose(6)) {
    case 0:
      return row(2'000'000 + number * 10 + choose(5));
    case 1:
      return owners("plain:" + std::to_string(number) + ":" + std::to_string(choose(5)));
    case 2:
      return owners(std::string("bin\0\r\n:", 7) + static_cast<char>(250 - number));
    case 3:
      return owners("tag:" + (number == 0 ? "red" : "written" + std::to_string(number)));
    default:
      return row(1 + number * 20 + choose(10));
  }
}

std::string CommandMix::readable_key(DataType type) {
  constexpr std::array<std::string_view, 7> kOdd{
      "tag:blue", "tag:", "tag:a:b", "user:", "user:01", "user:-1", "user:x"};
  switch (choose(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return absent();
    case 4:
      return std::string(one_of(kOdd));
    default:
      return key(type);
  }
}

// Mostly the next one: a stream takes only growing ids.
std::string CommandMix::stream_id() {
  const std::size_t id = choose(5) < 3 ? ++last_stream_id_ : choose(last_stream_id_ + 1);
  return std::to_string(id) + "-" + std::to_string(choose(2));
}

std::string CommandMix::value() {
  std::string text(choose(60), ' ');
  for (char& byte : text) {
    byte = static_cast<char>(choose(256));
  }
  return text;
}

std::string CommandMix::counted(std::initializer_list<std::string_view> arguments) {
  ++commands_;
  return command(arguments);
}

}  // namespace cuckooguard::harness
