// What a source is given by its surroundings in these tests: namespaces with their live filters, a
// clock that the test moves, and an observer that remembers.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"
#include "filter/epochs.h"
#include "filter/live_parts.h"
#include "keyspace/keyspace.h"
#include "source/feeds.h"
#include "source/source.h"

namespace cuckooguard::source {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

class ManualClock {
 public:
  TimePoint now() const { return TimePoint(nanoseconds(nanoseconds_.load())); }
  void advance(nanoseconds by) { nanoseconds_ += by.count(); }
  Clock clock() {
    return [this] { return now(); };
  }

 private:
  std::atomic<std::int64_t> nanoseconds_{seconds(1000).count() * 1'000'000'000};
};

class Witness final : public Observer {
 public:
  struct Report {
    std::string ns;
    filter::State state;
    std::string why;
  };

  void on_progress(const Progress& progress) override {
    const std::lock_guard lock(mutex_);
    progress_.push_back(progress);
  }
  void on_trouble(std::string_view source, std::string_view what) override {
    const std::lock_guard lock(mutex_);
    troubles_.push_back(std::string(source) + ": " + std::string(what));
  }
  void on_state(std::string_view ns, filter::State state, std::string_view why) override {
    const std::lock_guard lock(mutex_);
    reports_.push_back({std::string(ns), state, std::string(why)});
    reported_.notify_all();
  }

  // Whether the namespace is reported to be in this state so many times.
  bool wait_for(const std::string& ns, filter::State state, std::ptrdiff_t times = 1) {
    std::unique_lock lock(mutex_);
    return reported_.wait_for(lock, std::chrono::seconds(60), [&] {
      return std::ranges::count_if(reports_, [&](const Report& report) {
               return report.ns == ns && report.state == state;
             }) >= times;
    });
  }

  std::vector<Progress> progress() const {
    const std::lock_guard lock(mutex_);
    return progress_;
  }
  std::vector<std::string> troubles() const {
    const std::lock_guard lock(mutex_);
    return troubles_;
  }
  std::vector<Report> reports() const {
    const std::lock_guard lock(mutex_);
    return reports_;
  }
  Report last() const {
    const std::lock_guard lock(mutex_);
    return reports_.empty() ? Report{} : reports_.back();
  }
  Report last_of(const std::string& ns) const {
    Report found{};
    for (Report& report : reports()) {
      if (report.ns == ns) {
        found = std::move(report);
      }
    }
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable reported_;
  std::vector<Progress> progress_;
  std::vector<std::string> troubles_;
  std::vector<Report> reports_;
};

// One namespace as an operator would write it.
struct Wanted {
  std::string name = "users";
  std::vector<std::string> keys = {"user:{id:uint64}"};
  std::string table = "users";
  std::vector<std::string> tables = {};  // instead
  std::map<std::string, std::string> columns = {};
  config::FreshIds fresh_ids = {};
  std::string where = {};
  config::Filter filter = {};
};

// Of namespaces of one table: its part.
class Lives {
 public:
  void add(filter::LiveFilter* live) { lives_.push_back(live); }
  filter::LiveFilter& operator[](std::size_t ns) const { return *lives_.at(ns); }

 private:
  std::vector<filter::LiveFilter*> lives_;
};

class Bench {
 public:
  // `secret`: of all filters, if they are to be those of a bench before.
  explicit Bench(const std::vector<Wanted>& wanted = {Wanted{}},
                 const std::optional<filter::HashSecret>& secret = std::nullopt)
      : keyspace(build(wanted)) {
    for (const Wanted& one : wanted) {
      config::Namespace settings;
      settings.name = one.name;
      settings.source = {.from = "db", .tables = one.tables, .columns = one.columns, .where = {}};
      if (one.tables.empty()) {
        settings.source.tables = {one.table};
      }
      if (!one.where.empty()) {
        settings.source.where = keyspace::RowCondition::parse(one.where).value();
      }
      settings.fresh_ids = one.fresh_ids;
      settings.filter = one.filter;
      namespaces.push_back(std::move(settings));
      parts.emplace_back(epochs, secret ? *secret : filter::random_secret());
      lives.add(one.tables.empty() ? parts.back().add(one.table) : nullptr);
    }
  }

  std::vector<Target> targets() {
    std::vector<Target> result;
    result.reserve(namespaces.size());
    for (std::uint32_t ns = 0; ns < namespaces.size(); ++ns) {
      result.push_back({keyspace, ns, namespaces[ns], parts[ns]});
    }
    return result;
  }
  Feeds feeds(nanoseconds max_lag = seconds(1), Publication& publication = Publication::none()) {
    return {targets(), witness, clock.clock(), max_lag, publication};
  }

  // What a worker would do if all were fresh.
  bool has(const std::string& key) {
    const auto lookup = keyspace.match(key, scratch);
    const filter::EpochScope inside(epochs.reader(0));
    bool has_it = false;
    bool has_parts = false;
    parts[lookup.ns].for_each([&](std::string_view, const filter::LiveFilter& live) {
      has_parts = true;
      const filter::CuckooFilter* current = live.current();
      has_it = has_it || current == nullptr ||
               current->may_contain(current->hash(lookup.identity)) ||
               (live.isolated() != nullptr && live.isolated()->may_be(lookup.identity, *current));
    });
    return has_it || !has_parts;
  }
  bool is_fresh(std::uint32_t ns = 0) { return is_fresh(ns, clock.now()); }
  bool is_fresh(std::uint32_t ns, TimePoint now) {
    const filter::EpochScope inside(epochs.reader(0));
    return parts.at(ns).is_fresh(now);
  }

  filter::Epochs epochs{1};
  keyspace::Keyspace keyspace;
  std::deque<config::Namespace> namespaces;
  std::deque<filter::LiveParts> parts;
  Lives lives;
  ManualClock clock;
  Witness witness;
  std::stop_token never;
  keyspace::IdentityBuffer scratch;

 private:
  static keyspace::Keyspace build(const std::vector<Wanted>& wanted) {
    std::vector<keyspace::NamespaceTemplates> templates;
    for (const Wanted& one : wanted) {
      keyspace::NamespaceTemplates ns{.name = one.name, .templates = {}, .canonical_keys = false};
      for (const std::string& key : one.keys) {
        ns.templates.push_back(keyspace::KeyTemplate::parse(key).value());
      }
      templates.push_back(std::move(ns));
    }
    return keyspace::Keyspace::build(std::move(templates)).value();
  }
};

}  // namespace cuckooguard::source
