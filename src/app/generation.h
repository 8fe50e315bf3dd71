// What one reading of the configuration makes that the guards work with: key templates, namespaces,
// sources, and what is told of them. A reload makes the next one from another reading; workers, the
// admin server and the verification then move to it, each on its own thread, and when all have, the
// one of before ends. It is never changed but for modes (guard::LiveMode).
//
//   what                    is kept if its                   else
//   a namespace's filter    definition is as it was          a new one, which passes until it is
//                           (definition.h)                   loaded
//   its source              definition, or that of another   a new one for the namespaces that
//                           of its namespaces, is            need it, beside those that go on
//   its overlay             key templates are as they were   a new one; overlay.pass_at_start, at
//                                                            the start not of a strict namespace
//   its counters            definition is as it was          they begin at 0
//   what was found to be    definition is as it was; values  nothing is known
//   hidden                  and what is yet to be asked:
//                           its absent reply, too
//   its mode                never: the file's is set, also
//                           over GUARD.MODE
//
// One source that is a replica of a number of its own (server_id) is there once or not at all: if
// not all of its namespaces are as they were, all of them are read anew. A slot of PostgreSQL that
// is kept has one reader: who comes beside it has one of its own (SourceKind::beside), and when the
// reader ends and no other one begins in its place the slot is dropped (Source::let_go).
//
// What may not be forgotten in between, and how (let_pass): a key that is written through a worker
// that has not moved yet goes into the overlay of before. So an overlay that is new, or of a
// namespace that was in bypass, holds everything for a ttl from the moment at which all have moved;
// one that is larger or smaller than before as long as the old one held anything.
//
// Threads: made and ended on one (the main thread, then the reload's); what it gives to guards,
//   any.
// Lifetimes: Environment outlives it. What it shares with the generation of before lives as long as
// either. It ends when nobody has its Guard::Parts any more; its sources end with it, unless they
// are shared.
// Errors: refusals, one line each: the configuration cannot work; nothing has been changed. Sources
// that cannot be read are such a reason at a reload, where what was before goes on, and not at the
// start, but for `starts_strictly`: they pass, say why, and try again.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/definition.h"
#include "app/kept_overlays.h"
#include "app/load_report.h"
#include "app/running_source.h"
#include "app/source_list.h"
#include "app/supervisor.h"
#include "config/config.h"
#include "filter/epochs.h"
#include "guard/contradictions.h"
#include "guard/guard.h"
#include "guard/overlay.h"
#include "guard/process.h"
#include "log/event_log.h"
#include "redis/facts.h"
#include "source/redis_session.h"
#include "source/storage_directory.h"

namespace cuckooguard::app {

class Generation {
 public:
  struct Environment {
    log::EventLog& log;
    filter::Epochs& epochs;
    LoadReport& report;
    LoadStatus& status;                       // hears first
    const source::StorageDirectory* storage;  // null: none
    std::size_t workers;
    source::OpenRedis redis{};          // for sources that read what Redis has
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
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;
  ~Generation() = default;

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
  // When nobody is in `before` any more. What it was asked about goes on here.
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
    std::shared_ptr<RunningSource> source;
    guard::TimePoint since;
  };

  Generation(const Environment& environment, config::Config config, const Generation* before);

  const Space* find(std::string_view name) const;
  std::optional<std::uint32_t> number_of_kept(const Space& there) const;
  bool are_numbered_as(const Generation& before) const;
  void make_spaces(const Environment& environment, const Generation* before);
  bool must_be_read_anew(const config::Source& settings, const Generation& before) const;
  bool has_one_that_goes_on(std::string_view source) const;
  bool is_strict(const Space& space) const;
  void check_what_becomes_strict(const config::Source& settings,
                                 const Generation& before,
                                 std::vector<std::string>& refusals) const;
  void make_source(const Environment& environment,
                   const config::Source& settings,
                   bool is_first,
                   std::vector<std::string>& refusals);
  void describe(const Environment& environment);

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
