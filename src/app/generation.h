// Everything that one reading of the configuration makes for the guards: key templates, namespaces,
// sources and their reports. A reload makes the next one; workers, the admin server and the
// verification move to it, each on its own thread, and then the previous one ends. It never changes
// except for modes (guard::LiveMode).
//
//   what                    is kept if its                   else
//   a namespace's filter    definition is as it was          a new one, which passes until it is
//                           (generation.h)                   loaded
//   its source              definition, or that of another   a new one for the namespaces that
//                           of its namespaces, is            need it, beside those that go on
//   its overlay             key templates are as they were   a new one; overlay.pass_at_start, at
//                                                            the start not of a strict namespace
//   its misses that wait    key templates and `breakdown`    none wait any more
//                           are as they were
//   its counters            definition is as it was          they begin at 0
//   what was found to be    definition is as it was; values  nothing is known
//   hidden                  and what is yet to be asked:
//                           its absent reply, too
//   its mode                never: the file's is set, also
//                           over GUARD.MODE
//
// A source with a replica number of its own (server_id) runs only once: if one of its namespaces
// has changed, all of them are read again. A kept slot of PostgreSQL has one reader: a second
// source gets a slot of its own (SourceKind::beside), and when the reader ends without a successor
// its slot is dropped (Source::let_go).
//
// No write is forgotten in between (let_pass): a worker that has not moved yet puts a written key
// into the previous overlay. So a new overlay, or that of a namespace that was in bypass, holds all
// keys for a ttl after all have moved; a resized one as long as the old one held anything.
//
// Threads: made and ended on one (the main thread, then the reload's); what it gives to guards,
//   any.
// Lifetimes: Environment outlives it. Parts shared with the previous generation live as long as
// either. It ends when no guard has its Guard::Parts any more, with its sources unless shared.
// Errors: refusals, one line each: the configuration cannot work; nothing has been changed. An
// unreadable source is one at a reload, where the previous generation goes on; at the start only
// with `starts_strictly`, else its namespaces pass and it retries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "app/guests.h"
#include "app/kept_overlays.h"
#include "app/load_report.h"
#include "app/source_list.h"
#include "app/supervisor.h"
#include "config/config.h"
#include "filter/epochs.h"
#include "filter/live_parts.h"
#include "filter/questions.h"
#include "guard/contradictions.h"
#include "guard/guard.h"
#include "guard/overlay.h"
#include "guard/process.h"
#include "keyspace/keyspace.h"
#include "log/event_log.h"
#include "redis/facts.h"
#include "source/source.h"
#include "source/source_kind.h"
#include "source/storage_directory.h"

namespace cuckooguard::app {

// A source together with all that it refers to, so that it can outlive its configuration.
//
// It knows its namespaces by the numbers, key templates and settings of that configuration
// (Ground): those that a reload keeps are defined as they were, though their numbers
// may be others by now. A namespace that a reload removes or redefines is still read, unseen, while
// another of the same source goes on: its filter's memory is the price for keeping the other's.
//
// Threads: make, start, stop and destroy from one at a time; the source has its own.
// Lifetimes: shared by the generations that have one of its namespaces; `report` and the storage
// outlive it.
// Errors: make() says what is wrong with the configuration, and if asked what the operator must
// mend in the database (source::Refusal).

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
    const Guests& guests;
    log::EventLog& log;
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
    bool must_be_readable = false;      // else its refusals become its state, and it retries
    bool is_beside = false;             // another one of the same settings (source_kind.h)
  };

  static std::expected<std::shared_ptr<RunningSource>, std::vector<source::Refusal>> make(
      const Parts& parts);

  const std::string& name() const { return name_; }
  bool is_beside() const { return is_beside_; }
  void start() { source_->start(); }
  void stop() {
    source_->stop();
    publication().stop();
  }
  void let_go() { source_->let_go(); }
  source::Source& source() { return *source_; }
  source::Publication& publication() {
    return published_ ? *published_ : source::Publication::none();
  }
  filter::Questions& questions() { return questions_; }
  std::size_t size() const { return fed_.size(); }
  std::uint32_t number_of(std::string_view ns) const;
  // Stop reporting on this namespace.
  void abandon(std::string_view ns) { report_.abandon(ns); }

 private:
  // Passes reports on, except of abandoned ones; adds why a ready one's keys pass anyway.
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
  std::unique_ptr<source::Publication> published_;  // null: it is not
  std::unique_ptr<source::Source> source_;          // ends before what it refers to
};

// What the filter of a namespace is made of. As long as this is the same, the filter that is there
// is right, and a reload of the configuration keeps it. Everything else that can be set for a
// namespace is policy: mode, order, absent_reply, verify_sample, db, consistency, tolerate,
// overlay; and so is its source's strict_hold.
//
// Must: two namespaces with equal definitions have the same rows in their filters, under the same
// identities.
// Compared whole instead of by a hash: it is some hundred bytes, and no two can be mistaken for
// each other.
//
// Threads: values.
struct Definition {
  std::string name;               // progress and checkpoints go by it
  std::vector<std::string> keys;  // templates
  bool canonical_keys = false;
  // Templates of other namespaces that may win keys over its own, or claim keys of its rows: one
  // prefix goes on from the other.
  std::vector<std::string> rivals;
  config::SourceTable rows;
  config::Source source;  // its credentials, too: a running source does not hear of new ones
  config::FreshIds fresh_ids;
  config::Filter filter;

  bool operator==(const Definition&) const = default;
  // Each key is this namespace's, with the same identity, in both or in none.
  bool has_the_keys_of(const Definition& other) const {
    return keys == other.keys && canonical_keys == other.canonical_keys && rivals == other.rivals;
  }
};

Definition definition_of(const config::Config& config, std::size_t ns);

class Generation : boost::noncopyable {
 public:
  struct Environment {
    const Guests& guests;
    log::EventLog& log;
    filter::Epochs& epochs;
    LoadReport& report;
    LoadStatus& status;                       // hears first
    const source::StorageDirectory* storage;  // null: none
    std::size_t workers;
    source::OpenRedis redis{};  // for sources that read what Redis has
    std::function<std::optional<upstream::RedisPlace>(std::string_view key)> redis_of{};
    const io::TlsSlot* tls = nullptr;   // of connects to Redis
    std::function<void()> on_proven{};  // filter::Questions, of all sources
    bool starts_strictly = false;       // a source that cannot be read is a reason not to start
    // What all that is guarded is hashed with: an overlay may stay when its filter is made anew.
    filter::HashSecret secret = filter::random_secret();
    guard::Process process{};  // what is the same in all of them
  };
  using Result = std::expected<std::unique_ptr<Generation>, std::vector<std::string>>;

  // The first, if `before` is null. May open databases; starts nothing.
  static Result make(const Environment& environment,
                     config::Config config,
                     const Generation* before);

  const config::Config& config() const { return ground_->config; }
  const SourceList& sources() const { return source_list_; }
  guard::Contradictions& contradictions() const { return *contradictions_; }
  guard::Process& process() { return process_; }
  // guard::Guard::Parts: another one than before's if a number may mean another namespace.
  std::uint64_t numbering() const { return numbering_; }
  guard::Guard::Parts guarded(std::size_t worker, redis::Facts& facts) const;

  std::vector<KeptOverlays::Named> overlays() const;

  // The generation before had it already.
  bool has_kept_filter_of(std::string_view ns) const;

  // When its overlays begin to count; after a reload before anybody moves here, and again when all
  // have.
  void let_pass(const Generation* before);
  // After everything has moved from `before`. Its open questions go on here.
  void take_over(Generation& before);
  // Sources that no generation had before; the others hear whether readers insist on strict proofs.
  void start_sources();
  // All of them, also those that another generation has: nobody goes on.
  void stop_sources();

 private:
  struct Space {
    Definition definition;
    std::shared_ptr<filter::LiveParts> filter;
    std::shared_ptr<guard::Overlay> overlay;
    std::shared_ptr<guard::NamespaceCounts> counts;
    std::shared_ptr<guard::Tolerance> tolerance;
    std::shared_ptr<guard::Loads> loads;  // null: they are nobody's concern
    std::shared_ptr<RunningSource> source;
    guard::TimePoint since;
  };

  Generation(const Environment& environment, config::Config config, const Generation* before);

  const Space* find(std::string_view name) const;
  std::optional<std::uint32_t> number_of_kept(const Space& there) const;
  bool are_numbered_as(const Generation& before) const;
  void make_spaces(const Environment& environment, const Generation* before);
  std::shared_ptr<guard::Loads> loads_of(const Environment& environment,
                                         std::size_t ns,
                                         const Generation* before) const;
  bool must_be_read_anew(const config::Source& settings, const Generation& before) const;
  bool has_one_that_goes_on(std::string_view source) const;
  bool is_strict(const Space& space) const;
  void check_what_becomes_strict(const config::Source& settings,
                                 const Generation& before,
                                 RefusedSources& refused) const;
  void make_source(const Environment& environment,
                   const config::Source& settings,
                   bool is_first,
                   RefusedSources& refused);
  void describe(const Environment& environment);

  const Guests& guests_;
  std::shared_ptr<const Ground> ground_;
  std::uint64_t numbering_ = 1;
  std::vector<Space> spaces_;  // by number
  std::vector<std::shared_ptr<RunningSource>> new_sources_;
  std::vector<guard::GuardedNamespace> namespaces_;
  SourceList source_list_;
  std::unique_ptr<guard::Contradictions> contradictions_;
  guard::Process process_;
  LoadReport& report_;
  LoadStatus& status_;
  log::EventLog& log_;
};

}  // namespace cuckooguard::app
