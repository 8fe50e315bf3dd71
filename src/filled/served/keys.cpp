// DEL, EXISTS, EXPIRE and their like, of keys that are filters (served/call.h).
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "redis/word.h"
#include "resp/reply_writer.h"
#include "served/call.h"
#include "text/ascii.h"
#include "text/number.h"

namespace cuckooguard::guard {
namespace {

using filled::Operation;

constexpr std::int64_t kSecond = 1000;
constexpr std::size_t kFiltersAtOnce = 100;  // to be dropped by one command

struct KeyCall : FilledCall {
  using FilledCall::FilledCall;

  // Of all its keys; those that are no filters are Redis's.
  OwnDecision drop() const {
    if (arguments.size() == 2 && named != nullptr) {
      return drop_this();
    }
    const Keys keys = keys_here();
    if (keys.filters.size() > kFiltersAtOnce) {
      return refuse();
    }
    if (!worker.has_turn(attempt.now)) {
      return hold();
    }
    SeveralReply::Changes changes;
    for (const std::string_view each : keys.filters) {
      changes.push_back(std::make_shared<filled::Change>(
          Operation{.kind = Operation::Kind::drop, .filter = std::string(each)}));
    }
    return with_redis(keys,
                      [changes, &store = parts.store, &counts = filled.counts()](std::int64_t count,
                                                                                 std::string&) {
                        for (const auto& change : changes) {
                          store.submit(change);
                        }
                        return std::make_unique<SeveralReply>(changes, count, counts);
                      });
  }

  OwnDecision has_key() const {
    const Keys keys = keys_here();
    return with_redis(
        keys, [here = static_cast<std::int64_t>(keys.named)](std::int64_t count, std::string& out) {
          resp::append_integer(out, count + here);
          return std::unique_ptr<PromisedReply>();
        });
  }

  OwnDecision drop_this() const {
    return submit({.kind = Operation::Kind::drop}, filled_reply::of_key);
  }

  OwnDecision type() const {
    switch (named->filter->shape().kind) {
      case filled::Kind::bloom:
        return simple("MBbloom--");
      case filled::Kind::cuckoo:
        return simple("MBbloomCF");
      case filled::Kind::set:
        break;
    }
    return simple("set");
  }

  // A time that is over deletes it, as in Redis.
  OwnDecision expire() const {
    const std::string wrong = wrong_options();
    if (!wrong.empty()) {
      return error(wrong);
    }
    const auto given = text::number_of<std::int64_t>(arguments[2]);
    if (!given) {
      return error("ERR value is not an integer or out of range");
    }
    const bool is_in_seconds = name.front() == 'e';
    const bool is_absolute = name.ends_with("at");
    const std::int64_t base = is_absolute ? 0 : static_cast<std::int64_t>(now);
    const std::int64_t unit = is_in_seconds ? kSecond : 1;
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    if (*given > (kMost - base) / unit || *given < -(kMost / unit)) {
      return error("ERR invalid expire time in '" + std::string(name) + "' command");
    }
    const std::int64_t until = *given * unit + base;
    if (!may_end(static_cast<std::uint64_t>(std::max<std::int64_t>(until, 0)))) {
      return integer(0);
    }
    if (until <= static_cast<std::int64_t>(now)) {
      return drop_this();
    }
    return submit({.kind = Operation::Kind::expire, .until = static_cast<std::uint64_t>(until)},
                  filled_reply::of_key);
  }

  OwnDecision persist() const {
    return named->until == 0 ? integer(0)
                             : submit({.kind = Operation::Kind::expire}, filled_reply::of_key);
  }

  OwnDecision time_left() const {
    if (named->until == 0) {
      return integer(-1);
    }
    const bool is_in_seconds = name.front() != 'p';
    const bool is_absolute = name.ends_with("time");
    const auto time = static_cast<std::int64_t>(named->until - (is_absolute ? 0 : now));
    return integer(is_in_seconds ? (time + (is_absolute ? 0 : kSecond / 2)) / kSecond : time);
  }

 private:
  bool has_option(std::string_view word) const {
    return std::ranges::any_of(arguments.subspan(3),
                               [&](auto each) { return redis::is_word(each, word); });
  }
  // Empty: nothing is wrong.
  std::string wrong_options() const {
    for (const std::string_view each : arguments.subspan(3)) {
      if (!redis::is_any_of(text::lower_case(each), "nx xx gt lt")) {
        return "ERR Unsupported option " + std::string(each);
      }
    }
    if (has_option("nx") && (has_option("xx") || has_option("gt") || has_option("lt"))) {
      return "ERR NX and XX, GT or LT options at the same time are not compatible";
    }
    return has_option("gt") && has_option("lt")
               ? "ERR GT and LT options at the same time are not compatible"
               : "";
  }
  // By EXPIRE's options.
  bool may_end(std::uint64_t until) const {
    const bool ends = named->until != 0;
    const bool is_refused = (has_option("nx") && ends) || (has_option("xx") && !ends) ||
                            (has_option("gt") && (!ends || until <= named->until)) ||
                            (has_option("lt") && ends && until >= named->until);
    return !is_refused;
  }

  // A command's keys: filters, each once, and Redis's.
  struct Keys {
    std::vector<std::string_view> filters{};
    std::size_t named = 0;  // how often
    std::vector<std::string_view> others{};
  };
  Keys keys_here() const {
    Keys keys;
    for (const std::string_view each : arguments.subspan(1)) {
      const auto* const found = directory->find(each);
      if (found == nullptr || !found->second.is_there(now)) {
        keys.others.push_back(each);
        continue;
      }
      ++keys.named;
      if (std::ranges::find(keys.filters, each) == keys.filters.end()) {
        keys.filters.push_back(each);
      }
    }
    return keys;
  }

  // `then` gets how many of the others Redis counts.
  template <class Then>
  OwnDecision with_redis(const Keys& keys, Then then) const {
    if (keys.others.empty()) {
      reply.clear();
      return decided(then(0, reply));
    }
    std::vector<std::string_view> words{arguments[0]};
    words.insert(words.end(), keys.others.begin(), keys.others.end());
    return ask(words,
               {.reply = [then](std::string_view redis,
                                std::string& out) -> std::unique_ptr<PromisedReply> {
                 redis.remove_prefix(redis.starts_with(':') ? 1 : 0);
                 return then(text::take_number<std::int64_t>(redis).value_or(0), out);
               }});
  }
};

using Function = OwnDecision (KeyCall::*)() const;

OwnDecision run_on_keys(const Call& of, Function function) {
  const KeyCall call(of);
  auto refused = call.refusal_if_stale();
  return refused ? *std::move(refused) : (call.*function)();
}

// It has just expired: then it is a key of Redis's.
OwnDecision run_on_key(const Call& of, Function function) {
  const KeyCall call(of);
  auto refused = call.refusal_if_stale();
  return refused ? *std::move(refused) : call.named != nullptr ? (call.*function)() : OwnDecision();
}

}  // namespace

namespace key_commands {

OwnDecision drop(const Call& call) {
  return run_on_keys(call, &KeyCall::drop);
}
OwnDecision has_key(const Call& call) {
  return run_on_keys(call, &KeyCall::has_key);
}
OwnDecision type(const Call& call) {
  return run_on_key(call, &KeyCall::type);
}
OwnDecision expire(const Call& call) {
  return run_on_key(call, &KeyCall::expire);
}
OwnDecision persist(const Call& call) {
  return run_on_key(call, &KeyCall::persist);
}
OwnDecision time_left(const Call& call) {
  return run_on_key(call, &KeyCall::time_left);
}
OwnDecision refuse(const Call& call) {
  return run_on_keys(call, &KeyCall::refuse);
}

OwnDecision flush(const Call& call) {
  Filled& filled = static_cast<FilledCommands&>(call.server).filled;
  return call.ask(
      call.arguments,
      {.reply = [&store = filled.parts().store, &counts = filled.counts()](
                    std::string_view redis, std::string& out) -> std::unique_ptr<PromisedReply> {
        if (!redis.starts_with("+OK")) {
          out = redis;
          return nullptr;
        }
        const auto change = std::make_shared<filled::Change>(Operation());
        store.flushed(change);
        return std::make_unique<SeveralReply>(SeveralReply::Changes{change}, std::nullopt, counts);
      }});
}

}  // namespace key_commands
}  // namespace cuckooguard::guard
