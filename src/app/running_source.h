// A source together with all that it refers to, so that it can go on when the configuration that it
// was made by is gone.
//
// It knows its namespaces by the numbers, key templates and settings of that configuration
// (Ground): those that a reload keeps are defined as they were (definition.h), though their numbers
// may be others by now. A namespace that a reload takes away, or defines anew, is read along unseen
// for as long as another of the same source goes on: the memory of its filter is the price of the
// other's keeping its own.
//
// Threads: make, start, stop and destroy from one at a time; the source has its own.
// Lifetimes: shared by the generations that have one of its namespaces; `report` and the storage
// outlive it.
// Errors: make() says what is wrong with the configuration, and if asked what the operator must
// mend in the database (source::Refusal).
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "filter/live_parts.h"
#include "filter/questions.h"
#include "guard/overlay.h"
#include "keyspace/keyspace.h"
#include "source/redis_session.h"
#include "source/source.h"

namespace cuckooguard::app {

// What everything that is made by one configuration refers to. Immutable.
struct Ground {
  config::Config config;
  keyspace::Keyspace keyspace;
};

class RunningSource {
 public:
  struct Fed {
    std::uint32_t ns;  // in the ground's numbers
    std::shared_ptr<filter::LiveParts> filter;
    std::shared_ptr<guard::Overlay> overlay;
  };
  struct Parts {
    const config::Source& settings;
    std::shared_ptr<const Ground> ground;
    std::vector<Fed> fed;
    source::Observer& report;
    // At the start: a guard that goes on where another one ended a moment ago need not let
    // everything pass (on_resumed).
    bool lifts_holds = false;
    source::Storage storage;
    source::OpenRedis redis{};
    std::function<void()> on_proven{};  // filter::Questions
    bool must_be_readable = false;  // else what it refuses is told by its state, and tried again
    bool is_beside = false;         // another one of the same settings (source_kind.h)
  };

  static std::expected<std::shared_ptr<RunningSource>, std::vector<source::Refusal>> make(
      const Parts& parts);

  const std::string& name() const { return name_; }
  bool is_beside() const { return is_beside_; }
  void start() { source_->start(); }
  void stop() { source_->stop(); }
  void let_go() { source_->let_go(); }
  source::Source& source() { return *source_; }
  filter::Questions& questions() { return questions_; }
  std::size_t size() const { return fed_.size(); }
  std::uint32_t number_of(std::string_view ns) const;
  // No more is said of this namespace.
  void abandon(std::string_view ns) { report_.abandon(ns); }

 private:
  // Tells on, but for those that were abandoned; of those that are ready, why all of their keys
  // pass all the same.
  class Report final : public source::Observer {
   public:
    Report(const Parts& parts, const filter::Questions& questions)
        : report_(parts.report),
          ground_(parts.ground),
          questions_(questions),
          lifts_holds_(parts.lifts_holds) {
      for (const Fed& fed : parts.fed) {
        overlays_.emplace(parts.ground->config.namespaces[fed.ns].name, fed.overlay);
      }
    }
    void abandon(std::string_view ns);

    void on_progress(const source::Progress& progress) override;
    void on_state(std::string_view ns, filter::State state, std::string_view why) override;
    void on_trouble(std::string_view source, std::string_view what) override;
    void on_restored(std::string_view ns) override;
    void on_resumed(std::string_view ns) override;

   private:
    bool is_abandoned(std::string_view ns);
    bool is_strict(std::string_view ns) const;

    source::Observer& report_;
    std::shared_ptr<const Ground> ground_;
    const filter::Questions& questions_;
    std::map<std::string, std::shared_ptr<guard::Overlay>, std::less<>> overlays_;
    bool lifts_holds_;
    std::mutex mutex_;
    std::set<std::string, std::less<>> abandoned_;
  };

  explicit RunningSource(const Parts& parts)
      : name_(parts.settings.name),
        is_beside_(parts.is_beside),
        ground_(parts.ground),
        fed_(parts.fed),
        questions_(parts.on_proven),
        report_(parts, questions_) {}

  std::string name_;  // of the source
  bool is_beside_;
  std::shared_ptr<const Ground> ground_;
  std::vector<Fed> fed_;
  filter::Questions questions_;
  Report report_;
  std::unique_ptr<source::Source> source_;  // ends before what it refers to
};

}  // namespace cuckooguard::app
