// Sources: where a namespace's rows come from. Each loads a consistent snapshot into a filter,
// publishes it, and keeps proving that nothing has changed since; from the moment it sees a change
// until the next publish, everything passes.
//
//   make_source() (source_kind.h) ─▶ Source ─ start() ─▶ one thread:
//       load ─▶ publish ─▶ poll ─▶ poll ─▶ a change ─▶ load ─▶ ...
//       every poll without a change: fresh_until = t + max_lag
//
// Must: a row committed more than max_lag ago is never answered absent. fresh_until moves only by
// proof: t is read before the poll that shows no change since the snapshot in force.
// (tests/source/rescan_test.cpp)
//
// Threads: start(), stop() and the destructor from the owner's thread. The observer is called on
// the source's threads, one at a time per namespace.
// Lifetimes: keyspace, settings, live filters and observer must outlive the source.
// Errors: nothing is fatal. What the operator must mend (a right, a password, a table) is refused:
// the namespaces pass, their state is `refused` and says why, and the source tries again with
// jittered, growing pauses, as it does when it has lost its database. SourceKind::check says the
// same beforehand, as Refusals. docs/states.md
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>

#include <boost/core/noncopyable.hpp>

#include "config/config.h"
#include "filter/live_parts.h"
#include "filter/reported_state.h"
#include "keyspace/keyspace.h"

namespace cuckooguard::source {

using TimePoint = std::chrono::steady_clock::time_point;
using Clock = std::function<TimePoint()>;  // any thread; io::now_since_boot in the product

// One namespace that this source feeds. `ns` is its number in `keyspace` and in Config::namespaces.
// The source adds its parts, one per table, and is their one writer.
struct Target {
  const keyspace::Keyspace& keyspace;
  std::uint32_t ns;
  const config::Namespace& settings;
  filter::LiveParts& parts;
};

// How far a load is. At most one per namespace and kProgressEvery, and one when its last row is in.
struct Progress {
  std::string_view ns;  // its name; of a namespace of several tables, as "users/user_3"
  std::uint64_t rows = 0;
  std::uint64_t rows_expected = 0;  // never less than rows
  double rows_per_second = 0;
  double fraction = 0;  // of the load, 0 to 1
  std::chrono::nanoseconds elapsed{0};
  std::optional<std::chrono::nanoseconds> remaining;  // nullopt: too early to tell
  bool complete = false;
};

inline constexpr std::chrono::milliseconds kProgressEvery{100};

class Observer : boost::noncopyable {
 public:
  virtual ~Observer() = default;

  virtual void on_progress(const Progress& progress) = 0;
  // Only when the state or the reason has changed. `ns` as in Progress. `why` is for people, and
  // empty for `ready`.
  virtual void on_state(std::string_view ns, filter::State state, std::string_view why) = 0;
  // What an operator should know although nothing passes for it: a checkpoint that could not be
  // written, or used.
  virtual void on_trouble(std::string_view source, std::string_view what) = 0;
  // All of its filters were taken up from checkpoints.
  virtual void on_restored(std::string_view /*ns*/) {}
  // And these are no older than max_lag.
  virtual void on_resumed(std::string_view /*ns*/) {}
};

using filter::Reached;
using filter::SourceStatus;

using filter::RowAnswer;
using filter::RowPresence;

class Source : boost::noncopyable {
 public:
  virtual ~Source() = default;  // stops and joins

  virtual void start() = 0;  // at once; the loading is done on the source's thread
  // Ends the thread, also in the middle of a load, and makes the namespaces pass. May be called
  // twice.
  virtual void stop() = 0;
  // Before it ends: nobody will go on from where it does, so it leaves nothing on its server that
  // is kept for that.
  virtual void let_go() {}

  // Any thread, at any time; neither waits for the source's work (source/follower.h).
  virtual SourceStatus status() const = 0;
  // Whether `position`, as its server writes it (MariaDB's @@last_gtid, MySQL's GTID set,
  // PostgreSQL's LSN), has been applied.
  virtual Reached reached(std::string_view position) const = 0;

  // Asks the database itself for the row with this identity (source/row_lookup.h): it blocks. One
  // thread at a time. Of a file it is unknown: that would be to read all of it.
  virtual RowAnswer look_up_row(std::uint32_t /*ns*/,
                                std::string_view /*identity*/,
                                const std::stop_token& /*stop*/) {
    return {.presence = RowPresence::unknown,
            .why = "this type of source does not support row look-ups"};
  }
};

// Why a source cannot be read, and what to do about it, in one sentence or two.
struct Refusal {
  std::string ns{};     // empty: the source as a whole
  std::string table{};  // empty: not one alone
  std::string what;
};

// Of what keeps a table from being read: a sentence, or what the database has said.
template <class Error>
std::string words_of(const std::variant<std::string, Error>& trouble) {
  const auto* const sentence = std::get_if<std::string>(&trouble);
  return sentence != nullptr ? *sentence : std::get<Error>(trouble).what;
}

// The same, its error in words.
template <class T, class Trouble>
std::expected<T, std::string> in_words(std::expected<T, Trouble> result) {
  if (result) {
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      return *std::move(result);
    }
  }
  if constexpr (requires { result.error().what; }) {
    return std::unexpected(std::move(result.error().what));
  } else {
    return std::unexpected(words_of(result.error()));
  }
}

class StorageDirectory;

// Where filters are kept between runs; without a directory they are not.
struct Storage {
  const StorageDirectory* directory = nullptr;
  std::chrono::nanoseconds checkpoint_every{};
};

}  // namespace cuckooguard::source
