// One call of a command on filters that applications fill, and the server of them: what its key is,
// and the ways to a reply. commands.cpp has the commands of filters and sets, keys.cpp those of
// keys.
//
// Threads: a worker's. Lifetimes: a call is over when it returns; what it promises has copies.
// Errors: replies. Limits: kKeyBytesMax of a key that may be a filter's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "filled/store.h"
#include "guard/redisbloom.h"
#include "served/filled.h"
#include "served/replies.h"

namespace cuckooguard::guard {

enum class Family : std::uint8_t { filter, set, key, flush };

inline Family family_of(const CommandRow& row) {
  return static_cast<Family>(row.kind);
}

inline constexpr std::size_t kKeyBytesMax = 512;

class FilledCommands final : public CommandServer {
 public:
  FilledCommands(Guard& guard, std::span<const CommandRow> rows, Filled& all)
      : CommandServer(guard, rows), filled(all) {}

  bool takes(const CommandRow& row, Arguments arguments, TimePoint now) override {
    if (family_of(row) == Family::flush) {
      return true;
    }
    if (arguments.size() < 2) {
      return family_of(row) == Family::filter;  // no filter of Redis's, either
    }
    const auto keys = arguments.subspan(1, std::min(row.keys, arguments.size() - 1));
    const bool may_be = family_of(row) != Family::key || !parts().store.is_current(now);
    return std::ranges::any_of(keys, [&](std::string_view key) {
      return key.size() <= kKeyBytesMax && ((may_be && may_be_filter(row, key)) || is_filter(key));
    });
  }
  bool is_of_another_db(const Call& call) const override {
    return !call.client.has_changes_in_flight() && call.client.db() != 0 && call.name != "flushall";
  }
  bool trusts(std::string_view user) const override {
    const std::vector<std::string>& users = parts().settings.users;
    return std::ranges::find(users, user) != users.end();
  }
  std::string_view trusted() const override { return "filters.users"; }
  bool must_see_key() const override { return true; }
  bool may_take_large(const CommandRow& row,
                      Arguments front,
                      const Client& client,
                      TimePoint now) override {
    return front.size() > 1 && family_of(row) != Family::flush && takes(row, front, now) &&
           (!client.is_settled() || client.db() == 0);
  }

  const Filled::Parts& parts() const { return filled.parts(); }
  const std::shared_ptr<const filled::Directory>& directory() {
    const std::uint64_t version = parts().filters.version();
    if (!directory_ || version != version_) {
      directory_ = parts().filters.directory();
      version_ = version;
    }
    return directory_;
  }
  // All that was acknowledged is in what directory() has returned.
  bool is_current(TimePoint now) const {
    return parts().store.is_current(now) && parts().filters.version() == version_;
  }
  // Counts what is done to a filter as a whole; false: it is for the worker's next turn, which has
  // another time.
  bool has_turn(TimePoint now) {
    if (turn_ != now) {
      turn_ = now;
      whole_in_turn_ = 0;
    }
    return ++whole_in_turn_ <= Filled::kWholePerTurn;
  }

  Filled& filled;

 private:
  bool is_filter(std::string_view key) {
    const filled::Directory& all = *directory();
    const auto* const found = all.find(key);
    return found != nullptr && found->second.is_there(parts().wall_time());
  }
  // Also if there is none.
  bool may_be_filter(const CommandRow& row, std::string_view key) const {
    const Family family = family_of(row);
    const bool is_of_set = family == Family::set || family == Family::key;
    return (is_of_set && filled.set_of(key).has_value()) ||
           (family != Family::set && filled.may_be_filter(key));
  }

  std::shared_ptr<const filled::Directory> directory_;
  std::uint64_t version_ = 0;
  TimePoint turn_{};
  std::size_t whole_in_turn_ = 0;
};

struct FilledCall : Call {
  explicit FilledCall(const Call& call)
      : Call(call),
        worker(static_cast<FilledCommands&>(call.server)),
        filled(worker.filled),
        parts(filled.parts()),
        now(parts.wall_time()),
        directory(worker.directory()) {
    const auto* const found = directory->find(key());
    if (found != nullptr) {
      (found->second.is_there(now) ? named : expired) = &found->second;
    }
  }

  FilledCommands& worker;
  Filled& filled;
  const Filled::Parts& parts;
  std::uint64_t now;  // milliseconds since 1970
  std::shared_ptr<const filled::Directory> directory;
  const filled::Named* named = nullptr;    // in it; null: there is no filter
  const filled::Named* expired = nullptr;  // the same, of one that is past its time

  Family family() const { return family_of(row); }
  filled::Kind kind() const {
    return family() == Family::set ? filled::Kind::set
           : is_cuckoo(name)       ? filled::Kind::cuckoo
                                   : filled::Kind::bloom;
  }
  bool is_of_another_kind() const {
    return named != nullptr && named->filter->shape().kind != kind();
  }
  OwnDecision wrong_kind() const { return error(filled_reply::kWrongKind); }
  OwnDecision refuse() const;  // what cannot be done with a filter
  // What Redis has of it is not known.
  std::optional<OwnDecision> refusal_if_stale() const;

  // The reply to one operation, of this key.
  OwnDecision submit(filled::Operation operation, filled_reply::Write write) const;
  // No filter has the key. If Redis has it, that is RedisBloom's error; else what `then` writes, or
  // promises. A Redis that replies with an error is none to say so.
  using Then = std::function<std::unique_ptr<PromisedReply>(std::string& out)>;
  OwnDecision unless_redis_has_key(Then then) const;
  // Null: `reply` has it.
  OwnDecision decided(std::unique_ptr<PromisedReply> promised) const;

 private:
  bool is_whole(const filled::Operation& operation) const;
  bool needs_free_key(const filled::Operation& operation) const;
};

// Commands of Redis's on keys of which one is a filter, or may be (keys.cpp).
namespace key_commands {

OwnDecision drop(const Call& call);     // DEL, UNLINK
OwnDecision has_key(const Call& call);  // EXISTS, TOUCH
OwnDecision type(const Call& call);
OwnDecision expire(const Call& call);
OwnDecision persist(const Call& call);
OwnDecision time_left(const Call& call);
OwnDecision refuse(const Call& call);
OwnDecision flush(const Call& call);  // Redis's OK, when the filters are gone, too

}  // namespace key_commands
}  // namespace cuckooguard::guard
