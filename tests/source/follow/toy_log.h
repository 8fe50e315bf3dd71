// A database in memory with a transaction log, unlike any real one: what follow/ asks of a log, in
// as few lines as it takes. Numbers are the log's positions, one for each transaction.
//
//   commit(changes) ─▶ in the log ── show() ─▶ visible to all who read
//
// Threads: any, for ToyServer; the rest is as follow/ has it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "follow/checkpoint.h"
#include "follow/log.h"
#include "follow/table_changes.h"
#include "follow/table_set.h"
#include "keyspace/row_condition.h"
#include "source/source.h"
#include "text/number.h"

namespace cuckooguard::source {

struct ToyId {
  std::uint64_t number = 0;
};

class ToyPosition {
 public:
  enum class Flavor : bool { toy };

  ToyPosition() = default;
  explicit ToyPosition(std::uint64_t number) : number_(number) {}
  static std::optional<ToyPosition> parse(std::string_view text, std::optional<Flavor> /*flavor*/) {
    const auto number = text::take_number<std::uint64_t>(text);
    return number ? std::optional(ToyPosition(*number)) : std::nullopt;
  }

  std::string text() const { return std::to_string(number_); }
  Flavor flavor() const { return Flavor::toy; }
  std::uint64_t number() const { return number_; }
  bool covers(ToyId id) const { return id.number <= number_; }
  bool covers(const ToyPosition& other) const { return other.number_ <= number_; }
  bool operator==(const ToyPosition&) const = default;

 private:
  std::uint64_t number_ = 0;
};

struct ToyGroup {
  ToyId number;
  std::uint64_t contents = 0;

  ToyId id() const { return number; }
  bool is_same_as(const ToyGroup& other) const {
    return number.number == other.number.number && contents == other.contents;
  }
};

struct ToyMark {
  ToyId number;

  ToyId id() const { return number; }
};

struct ToyReach {
  ToyPosition position;
};

class ToyApplier;
struct ToyCommitted;

struct ToyView {
  ToyPosition covered;
  ToyPosition window_end;

  Visibility shows(const ToyMark& mark) const {
    return covered.covers(mark.number)      ? Visibility::visible
           : window_end.covers(mark.number) ? Visibility::perhaps
                                            : Visibility::not_yet;
  }
  bool is_passed_by(const ToyReach& applied) const { return applied.position.covers(window_end); }
  bool may_lack(const ToyCommitted&, const ToyApplier&) const { return false; }
  bool is_good_for_now() const { return false; }
};

struct ToyCommitted {
  ToyPosition position;

  bool covers(const ToyMark& mark) const { return position.covers(mark.number); }
  bool covers(const ToyReach& all) const { return position.covers(all.position); }
  bool covers_later(const ToyMark& mark) const { return covers(mark); }
};

// A table of one column, which is its key.
struct ToyPlan {
  std::string name;
  std::uint64_t definition = 0;
  std::vector<std::size_t> identity{0};
  keyspace::RowCondition condition{};
  std::vector<std::size_t> condition_columns{};
  std::vector<std::size_t> primary_key{0};
  bool key_is_readable = true;
  bool identity_is_unique = true;
  bool grows = false;

  std::vector<std::size_t> needed() const { return {0}; }
  bool operator==(const ToyPlan& other) const {
    return name == other.name && definition == other.definition;
  }
};

struct ToyChange {
  std::string table;
  std::optional<std::string> before;
  std::optional<std::string> after;
};

struct ToyEvent {
  ToyGroup group;
  std::vector<ToyChange> changes;
  std::string defined;  // a table, instead of changes
};

struct ToyError {
  std::string what;
  bool is_ours = false;  // the server does not let us in

  bool is_refusal() const { return is_ours; }
  static bool is_lost() { return false; }
  static ToyError refusal(std::string why) { return {.what = std::move(why), .is_ours = true}; }
};

class ToyConnection;
class ToyKindFollower;
class ToyProbe;
class ToyReader;
class ToyStream;
struct ToyFollowerSettings;
struct ToyLogin;
struct ToyReaderSettings;

struct ToyLog {
  using Id = ToyId;
  using Position = ToyPosition;
  using Place = std::monostate;
  using Group = ToyGroup;
  using Mark = ToyMark;
  using Reach = ToyReach;
  using View = ToyView;
  using Committed = ToyCommitted;
  using Plan = ToyPlan;
  using Table = TableChanges<ToyLog>;
  using Applier = ToyApplier;
  using Event = ToyEvent;
  struct Format {};
  using Reader = ToyReader;
  using Error = ToyError;

  using Connection = ToyConnection;
  using Login = ToyLogin;
  using ReaderSettings = ToyReaderSettings;
  using Stream = ToyStream;
  using Probe = ToyProbe;
  using Follower = ToyKindFollower;
  using FollowerSettings = ToyFollowerSettings;
  static constexpr bool kIsWoken = false;

  static std::uint64_t definition_hash(const Target& target, const ToyPlan& plan) {
    Definition definition;
    definition << "toy" << plan.name << plan.definition;
    definition.add_templates(target);
    return definition.hash();
  }
  static std::string resume_text(const ToyPosition& position, const ToyGroup& last) {
    return "toy\n" + position.text() + '\n' + std::to_string(last.contents);
  }
  static std::optional<std::pair<ToyPosition, ToyGroup>> parse_resume(
      std::span<const std::string> lines) {
    const auto position = ToyPosition::parse(lines[1], std::nullopt);
    const auto contents = ToyPosition::parse(lines[2], std::nullopt);
    if (!position || !contents) {
      return std::nullopt;
    }
    return std::pair(*position,
                     ToyGroup{.number = {position->number()}, .contents = contents->number()});
  }
};

}  // namespace cuckooguard::source
