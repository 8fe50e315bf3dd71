// What a kind of source is to the rest: one entry, by which it is checked, made and asked for its
// size. Each kind has a room of its own (source/file, source/sqlite, source/mysql) that knows this
// one and no other kind; src/guests/guests.cmake lists them.
//
// Threads: entries are constant. check() and count_rows() block the caller.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <expected>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "filter/questions.h"
#include "filter/sizing.h"
#include "keyspace/key_template.h"
#include "resp/value.h"
#include "source/follower.h"
#include "source/row_lookup.h"
#include "source/source.h"
#include "text/words.h"

namespace cuckooguard::source {

// A connection to the guard's own Redis, for sources that read what the application keeps there:
// logged in as upstream.control says, over TLS where upstream is. Who makes one (app/) knows where
// that Redis is: behind Sentinels, or which node of a cluster.
//
// Threads: one at a time. Lifetimes: closed by its destructor.
// Errors: a sentence; the session is then of no use any more. What Redis itself refuses is a value.
// Limits: ask() waits for a few seconds at most, and holds one reply.
class RedisSession : boost::noncopyable {
 public:
  using Answer = std::expected<resp::Value, std::string>;

  virtual ~RedisSession() = default;

  // An error, too, as soon as `upstream` leads elsewhere: what was read here is another Redis's.
  virtual Answer ask(std::span<const std::string_view> command) = 0;
  Answer ask(std::initializer_list<std::string_view> command) {
    return ask(std::span(command.begin(), command.size()));
  }
};

// To the Redis that has this key; any thread.
using OpenRedis = std::function<std::expected<std::unique_ptr<RedisSession>, std::string>(
    const std::string& key)>;

// A table of a database, and the keys that would suit it, for who begins with a guard.
struct KeyedTable {
  std::string name;
  std::vector<std::string> primary_key;  // as placeholders: `{id:uint64}`; empty: none fits

  // Its placeholders, with ':' between them; empty: there is no key that could be suggested.
  std::string placeholders() const {
    return std::ranges::count(primary_key, "") > 0 ? "" : text::joined(primary_key, ":");
  }
};

// The first of these types (":uint64", "|ci", "": bytes) by which SQL finds no other row than the
// filter. Whether it does says ambiguous(), of a kind's own columns.
template <typename Column>
std::string placeholder_for(const Column& column, std::initializer_list<std::string_view> types) {
  for (const std::string_view type : types) {
    std::string text = "{" + column.name + std::string(type) + "}";
    const auto key = keyspace::KeyTemplate::parse("key:" + text);
    if (key && !ambiguous(column, key->placeholders().front())) {
      return text;
    }
  }
  return {};
}

// Of rows (table, column, …) in the order of tables and of their primary keys; no column: the table
// has none. `placeholder_of(row)`: of the row's column, or empty.
template <class Rows, class PlaceholderOf>
std::vector<KeyedTable> keyed_tables(const Rows& rows, const PlaceholderOf& placeholder_of) {
  std::vector<KeyedTable> tables;
  for (const auto& row : rows) {
    if (tables.empty() || tables.back().name != row[0]) {
      tables.push_back({.name = row[0].value_or(""), .primary_key = {}});
    }
    if (row[1]) {
      tables.back().primary_key.push_back(placeholder_of(row));
    }
  }
  return tables;
}

// A Source that is one thread taking a Follower's steps until it is told to stop. A pause between
// two of them ends early when a reader wants a question that the next step would answer.
//
// Threads: the follower's steps run on the thread alone, look_up_row() on its caller's; stop()
// wakes it from its pause and joins it. Lifetimes: the questions outlive it.
class SourceThread final : public Source {
 public:
  // `rows` and `questions` may be null.
  SourceThread(std::unique_ptr<Follower> follower,
               std::unique_ptr<RowLookup> rows,
               filter::Questions* questions = nullptr);
  SourceThread(const SourceThread&) = delete;
  SourceThread& operator=(const SourceThread&) = delete;
  ~SourceThread() override;

  void start() override;
  void stop() override;
  void let_go() override { follower_->let_go(); }
  SourceStatus status() const override { return follower_->status(); }
  // Who waits for a position wants to hear soon how far the log is.
  Reached reached(std::string_view position) const override {
    const Reached reached = follower_->reached(position);
    if (reached == Reached::not_yet && questions_ != nullptr) {
      questions_->want();
    }
    return reached;
  }
  RowAnswer look_up_row(std::uint32_t ns,
                        std::string_view identity,
                        const std::stop_token& stop) override {
    return rows_ ? rows_->ask(ns, identity, stop) : Source::look_up_row(ns, identity, stop);
  }

 private:
  void run(const std::stop_token& stop);
  void pause(std::chrono::nanoseconds most, const std::stop_token& stop);

  std::unique_ptr<Follower> follower_;
  std::unique_ptr<RowLookup> rows_;
  filter::Questions* questions_;
  std::mutex mutex_;  // for the pause alone
  std::condition_variable_any woken_;
  std::jthread thread_;
};

// Follows an origin by reading all of it again whenever it has changed.
//
//            ┌─────────── look: same version ───────────┐  prove: fresh_until = t + max_lag
//            ▼                                          │
//   load ─▶ following ── look: another version ─▶ expire ─▶ changed ── quiet, and due ─▶ load
//              └── lost ─▶ expire ─▶ down ── backoff, look: there again ─▶ changed
//
// The proof. A snapshot has a version, taken inside its own transaction. A look at time >= t that
// gives the same version shows that nothing committed before t came after the snapshot (the
// Origin's promise). So all rows committed before t are in the published filter, and one committed
// at c > t can be answered absent only before t + max_lag < c + max_lag. t is read before the look;
// the filter is published before the first look. A look answers readers' questions
// (source/follower.h).
//
// When it loads. After a change everything passes until the next load is proven, so it loads soon:
// as soon as the origin has been quiet for a moment, waiting for that no longer than a load takes
// (one wasted load at most). But an origin that changes all the time must not be read all the time:
//   a snapshot that was in force is followed by the next one so that loads take a quarter of the
//   time at most; one that was outdated before its first proof doubles the pause: once, twice, four
//   times … the load's own time, up to kPauseMax or kPauseLoadsMax loads.
//
// Threads: the source's. Errors: none; what is wrong is reported by on_state, and passes. That goes
// for exceptions too (no memory): without a source the namespaces pass, without the process nobody
// has a Redis.
struct RescanTiming {
  std::chrono::nanoseconds max_lag;
  std::chrono::nanoseconds poll_every;
};

class Rescan final : public LookingFollower {
 public:
  static constexpr Duration kQuietMin = std::chrono::milliseconds(2);
  static constexpr Duration kQuietMax = std::chrono::milliseconds(50);
  static constexpr int kQuietShare = 8;     // of a load's time
  static constexpr int kPauseAfterUse = 3;  // loads' time: a quarter of the time is spent loading
  static constexpr Duration kPauseMax = std::chrono::seconds(30);
  static constexpr int kPauseLoadsMax = 10;
  static constexpr Duration kBackoffMin = std::chrono::milliseconds(50);
  static constexpr Duration kBackoffMax = std::chrono::seconds(5);

  // `serves_strict`: a look sees all that is committed, not what a file's stamp betrays.
  Rescan(std::unique_ptr<Origin> origin,
         Feeds feeds,
         Clock clock,
         RescanTiming timing,
         Asking asking = {},
         bool serves_strict = false);

  std::optional<std::chrono::nanoseconds> question_pace() const override {
    return phase_ == Phase::following ? std::optional(asking_.pace()) : std::nullopt;
  }

 private:
  enum class Phase : std::uint8_t { changed, following, down };

  Duration next(const std::stop_token& stop) override;
  Duration lose(std::string_view why) override;
  Duration follow();
  Duration wait_or_load(const std::stop_token& stop);
  Duration load(const std::stop_token& stop);
  Duration look_for_lost();
  void note_change(TimePoint now, Version version);
  void note_request(TimePoint now);
  Duration quiet_time() const;
  Duration pause_after_miss() const;

  std::unique_ptr<Origin> origin_;
  RescanTiming timing_;
  bool serves_strict_;

  Phase phase_ = Phase::changed;
  Version in_force_ = 0;  // of the last snapshot
  bool proven_ = false;   // it has been shown to be current at least once
  TimePoint proven_at_{};

  Version last_seen_ = 0;
  TimePoint quiet_since_{};
  TimePoint patient_until_{};  // then it loads even though the origin is not quiet
  TimePoint not_before_{};
  bool never_loaded_ = true;

  TimePoint loaded_at_{};
  Duration load_time_{0};
  int misses_ = 0;  // snapshots in a row that were outdated before they were in force
};

struct SourceKind;

// What a source is made of. `targets` are valid for the call.
struct SourceSettings {
  const config::Source& settings;
  std::span<const Target> targets;
  Observer& observer;
  Clock clock;
  Storage storage;
  OpenRedis redis{};                       // of those that read what Redis has
  filter::Questions* questions = nullptr;  // null: nobody wants any; outlives the source
  Publication& publication = Publication::none();
  std::span<const SourceKind* const> kinds{};  // all that there are

  Feeds feeds() const { return {targets, observer, clock, settings.max_lag, publication}; }
  // `automatic`: the pace where the settings name none.
  Asking asking(std::chrono::milliseconds automatic) const {
    return {questions, settings.strict_every.value_or(automatic)};
  }
  std::vector<Target> copied_targets() const { return {targets.begin(), targets.end()}; }
};

struct SourceParts {
  std::unique_ptr<Follower> follower;
  std::unique_ptr<RowLookup> rows{};  // may be null: rows cannot be asked for
};

struct TableSize {
  std::string table;  // empty: a file
  std::uint64_t rows = 0;
  bool is_estimate = false;
  filter::DeleteMode deletes = filter::DeleteMode::deferred;
  std::optional<std::uint64_t> bytes{};  // of a filter that is there already
  std::string_view why_unknown{};        // nothing else is known of it; static
};

template <typename Settings>
bool is_of(const config::Source& source) {
  return std::holds_alternative<Settings>(source.kind);
}

struct SourceKind {
  std::string_view name;  // as the configuration's `type`
  bool (*is)(const config::Source& settings);
  // A server that others change meanwhile: a start asks for grants and settings, and tables are
  // read one after the other.
  bool is_server = false;
  // check() opens nothing: it judges the configuration alone.
  bool checks_settings_alone = false;
  // Two of these settings cannot run at once, not even while a reload replaces one by the other.
  bool (*runs_alone)(const config::Source& settings) = [](const config::Source& /*settings*/) {
    return false;
  };
  // What a source of these settings has beside another one of them, which goes on and has what
  // there can be once; it keeps nothing between runs. Null: as they are.
  config::Source (*beside)(config::Source settings) = nullptr;
  // Opens what `settings` names, and says why which targets cannot be read from it, with all
  // reasons at once. Reads no rows.
  std::vector<Refusal> (*check)(const config::Source& settings,
                                std::span<const Target> targets,
                                const Clock& clock);
  // Opens nothing yet. Refusals: the configuration itself is wrong, whatever the database is.
  std::expected<SourceParts, std::vector<Refusal>> (*make)(const SourceSettings& settings);
  // Whether a log that has been applied up to `position` has been up to `wanted`, if both are
  // positions of such a log.
  Reached (*reached)(std::string_view position, std::string_view wanted) =
      [](std::string_view /*position*/, std::string_view /*wanted*/) {
        return Reached::not_followed;
      };
  // How many rows a namespace's tables have, and which filters they would be given, asked of the
  // database; in no order that means anything. Or a sentence: it cannot be reached, or a table not
  // be read.
  std::expected<std::vector<TableSize>, std::string> (*count_rows)(const config::Source& settings,
                                                                   const Target& target);
  // For questions to a database that nobody follows yet; null: it is not asked for rows.
  std::unique_ptr<RowLookup> (*rows)(const config::Source& settings,
                                     std::span<const Target> targets) = nullptr;
  // Those of the database that may be read, whatever the namespaces are; of a file none. Or a
  // sentence: it cannot be opened, and the SQL for an account that could.
  std::expected<std::vector<KeyedTable>, std::string> (*list_tables)(
      const config::Source& settings);
  // The same of a kind whose tables the guard's own Redis tells of; null: list_tables.
  std::expected<std::vector<KeyedTable>, std::string> (*list_tables_in)(
      const config::Source& settings, RedisSession& redis) = nullptr;
};

// `settings` are copied.
std::expected<std::unique_ptr<Source>, std::vector<Refusal>> make_source(
    const SourceKind& kind, const SourceSettings& settings);

// The pace of questions on demand of what looks at a file or a database on this machine: a look
// costs some 5 us (notes on change following, 9), half a percent of a core at this pace.
inline constexpr std::chrono::milliseconds kLookPace{1};

// A follower that reads all rows again whenever `origin` says that they have changed.
// `serves_strict`: its looks see what is committed at that time.
std::unique_ptr<Follower> make_rescan(std::unique_ptr<Origin> origin,
                                      std::chrono::nanoseconds poll_every,
                                      bool serves_strict,
                                      const SourceSettings& settings);

}  // namespace cuckooguard::source
