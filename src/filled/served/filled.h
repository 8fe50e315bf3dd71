// The filters that applications fill, shared by all workers' guards: which keys they have, and
// their limits.
//
// Threads: any; a dump that somebody takes in pieces is behind a mutex. Lifetimes: what it refers
// to outlives it, and it the guards. Errors: none. Limits: one dump at a time, of any filter, and
// no sooner than kDumpEvery after the one before. It is there until its last piece was taken, or
// for kDumpKept after any piece was, and then until somebody asks for one. The tag of one above
// kTaggedAtOnce is computed on a thread of its own, and so is its memory given back, which takes
// 0.1 s for 600 MB: ~Filled() waits for both.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "config/filled.h"
#include "filled/filters.h"
#include "filled/store.h"
#include "guard/fact_table.h"
#include "guard/own_commands.h"
#include "guard/process.h"
#include "guard/redisbloom.h"
#include "keyspace/keyspace.h"

namespace cuckooguard::guard {

// What became of the changes that clients have asked for.
//
// Threads: any. A change takes a lock, or goes to Redis: that several count the same costs nothing
// beside that.
class FilledCounts {
 public:
  enum class Outcome : std::uint8_t {
    done,
    refused,     // by what the filter is, or that there is one, or none
    no_room,     // a limit, or a filter that is full and does not grow
    not_logged,  // or it may have been
  };
  static constexpr std::array<std::string_view, 4> kNames{
      "done", "refused", "no_room", "not_logged"};

  void add(const filled::Change& change);  // that is done
  std::uint64_t of(std::size_t outcome) const noexcept {
    return counts_.at(outcome).load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kNames.size()> counts_{};
};

// A filter that clients make with these options.
filled::Shape shape_of(const FilterOptions& options, filled::Kind kind);

class Filled : boost::noncopyable {
 public:
  static constexpr std::chrono::seconds kDumpKept{60};
  static constexpr std::chrono::seconds kDumpEvery{1};
  // Commands that make, drop or load a filter, of one worker.
  static constexpr std::size_t kWholePerTurn = 20;
  static constexpr std::size_t kTaggedAtOnce = std::size_t{256} << 10U;  // bytes

  struct Parts {
    filled::Filters& filters;
    filled::Store& store;
    config::FilledFilters settings;
    std::function<std::uint64_t()> wall_time;  // milliseconds since 1970
  };

  explicit Filled(Parts parts);

  const Parts& parts() const { return parts_; }
  FilledCounts& counts() { return counts_; }
  const FilledCounts& counts() const { return counts_; }

  // One of them, for people.
  struct Shown {
    std::string key{};
    std::string name{};      // in filters.named; empty: it is not there
    bool is_unsure = false;  // there is no room for it here
    filled::Shape shape{};
    filled::FilledFilter::Facts facts{};  // of a named one that nobody has filled yet: no layers
    std::optional<std::chrono::milliseconds> expires_in{};
  };
  // The named ones, and then those that take most room, up to `most`. Goes through all of them:
  // nothing for a worker.
  std::vector<Shown> shown(std::size_t most) const;

  // What a key may become, if no filter is there: by BF.* or CF.*, or by SADD. Nothing: no filter.
  struct Template {
    bool is_named = false;  // else clients say what they want, where they can
    filled::Shape shape;    // of what is made if they do not
  };
  std::optional<Template> filter_of(std::string_view key, filled::Kind kind) const;
  bool may_be_filter(std::string_view key) const;  // of BF.* or CF.*
  std::optional<Template> set_of(std::string_view key) const;

  // The dump of this filter, made for who asks now or no more than kDumpEvery before. Null: it is
  // being made, or another one was made a moment ago; ask again.
  std::shared_ptr<const filled::Change> dump_for(std::string_view key,
                                                 filled::Kind kind,
                                                 const Attempt& attempt);
  // Of that one, from `offset` on; nothing: it is not there any more. With the last piece, which is
  // empty, it goes.
  std::optional<std::string> piece_of_dump(std::string_view key,
                                           std::uint64_t offset,
                                           std::size_t most,
                                           filled::TimePoint now);

 private:
  struct Dump {
    // With a tag, or there is none.
    bool is_ready() const noexcept { return is_tagged.load(std::memory_order_acquire); }

    std::shared_ptr<filled::Change> change;
    filled::TimePoint until{};
    std::string bytes{};  // if is_ready(); empty if there was no memory
    std::atomic<bool> is_tagged{false};
    std::jthread tagging{};
  };

  void tag(Dump& dump) const;
  void drop_dump();  // with the mutex

  const config::FilledFilter* named(std::string_view key) const;

  Parts parts_;
  FilledCounts counts_;
  keyspace::Keyspace reservable_;
  keyspace::Keyspace deduped_;
  std::mutex mutex_;  // for the dump
  std::unique_ptr<Dump> dump_;
  std::jthread dropping_;                        // the one before
  std::optional<filled::TimePoint> dump_begun_;  // of the last one
};

// The commands on them, of one guard. Both outlive it.
std::unique_ptr<CommandServer> filled_commands(Guard& guard, Filled& filled);

// What is shown of them, as a provider of guard/fact_table.h.
void filled_facts(FactTable& table, const Filled& filled);
// Of all filters, in /status.
inline constexpr std::size_t kFiltersShown = 100;
// What is wrong with their log; nullopt: nothing, or there is none.
std::optional<Complaint> complaint_of(const Filled& filled);

}  // namespace cuckooguard::guard
