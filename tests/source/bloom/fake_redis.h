// A Redis of two kinds of values, with whatever a test does to it between two commands: for what
// must happen in the middle of a reading, and for commands of a module that is not there.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "source/source_kind.h"

namespace cuckooguard::source {

struct FakeRedis {
  using Value = resp::Value;
  using Words = std::vector<std::string>;

  std::map<std::string, std::string> texts;
  std::map<std::string, std::map<std::string, std::string>> hashes;
  std::function<Value(const Words&)> more;                         // commands of modules
  std::function<void(const Words&)> before = [](const Words&) {};  // each command
  std::string role = "master";
  bool is_dirty = false;
  bool has_watch = true;
  bool is_up = true;
  int opened = 0;

  void change(const std::function<void()>& how) {
    how();
    is_dirty = true;
  }

  static Value text(std::string bytes) {
    return {.kind = Value::Kind::text, .text = std::move(bytes)};
  }
  static Value number(std::int64_t is) { return {.kind = Value::Kind::number, .number = is}; }
  static Value error(std::string words) {
    return {.kind = Value::Kind::error, .text = std::move(words)};
  }

  Value answer(const Words& words) {
    before(words);
    if (words.at(0) == "MULTI") {
      is_in_multi_ = true;
      return text("OK");
    }
    if (words.at(0) != "EXEC") {
      return is_in_multi_ ? queue(words) : run(words);
    }
    is_in_multi_ = false;
    Value all{.kind = Value::Kind::list};
    for (const Words& queued : std::exchange(queued_, {})) {
      all.list.push_back(run(queued));
    }
    return all;
  }

  Value run(const Words& words) {
    const std::string& name = words.at(0);
    if (name == "INFO") {
      return text("# Replication\r\nrole:" + role + "\r\n");
    }
    if (name == "UNWATCH") {
      is_dirty = false;
      return text("OK");
    }
    if (name == "WATCH") {
      return has_watch ? text("OK") : error("NOPERM no right");
    }
    if (name == "CLIENT") {
      return text(std::string("id=7 flags=") + (is_dirty ? "xd" : "N") + " db=0");
    }
    if (name == "STRLEN") {
      return number(static_cast<std::int64_t>(texts[words.at(1)].size()));
    }
    if (name == "GETRANGE") {
      const std::string& all = texts[words.at(1)];
      const std::size_t from = std::stoul(words.at(2));
      return text(from < all.size() ? all.substr(from, std::stoul(words.at(3)) - from + 1) : "");
    }
    if (name == "HGETALL") {
      Value list{.kind = Value::Kind::list};
      for (const auto& [field, value] : hashes[words.at(1)]) {
        list.list.push_back(text(field));
        list.list.push_back(text(value));
      }
      return list;
    }
    return more ? more(words) : error("ERR unknown command '" + name + "'");
  }

  OpenRedis open() {
    return [this](const std::string&) -> std::expected<std::unique_ptr<RedisSession>, std::string> {
      if (!is_up) {
        return std::unexpected("connection refused");
      }
      ++opened;
      return std::make_unique<Session>(*this);
    };
  }

 private:
  Value queue(const Words& words) {
    queued_.push_back(words);
    return text("QUEUED");
  }

  bool is_in_multi_ = false;
  std::vector<Words> queued_;

  class Session final : public RedisSession {
   public:
    explicit Session(FakeRedis& redis) : redis_(redis) {}
    using RedisSession::ask;
    Answer ask(std::span<const std::string_view> command) override {
      if (!redis_.is_up) {
        return std::unexpected("connection lost");
      }
      return redis_.answer(Words(command.begin(), command.end()));
    }

   private:
    FakeRedis& redis_;
  };
};

}  // namespace cuckooguard::source
