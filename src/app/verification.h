// The thread that looks into contradictions (contradiction_checker.h) and for attacks, and the log
// of what it finds.
//
//   event=hidden_row    each one, at most one per two seconds
//   event=hidden_value, event=contradiction_unknown, event=late_row
//                       the first, then at most one per namespace and kLogEvery, with their number
//                       so far
//   event=hidden_by_lag of a namespace, at most one per kLogEvery (filter/absent_reads.h)
//   event=attack_began, event=attack_ended
//                       of a namespace, within two seconds (guard/attack_watch.h)
//   event=advice        after kAdviseFirst, every kAdviseEvery, and at the end, if something was
//                       read (guard/advice.h)
//
// A key is logged as the hash by which GUARD.EXPLAIN knows it (guard/process.h), and as it is if
// the log may show keys.
//
// One for each configuration that is loaded: a reload ends it, and begins another one.
//
// Threads: its own; the constructor and stop() from the owner's. Lifetimes: all that it is given
// outlives it.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "app/contradiction_checker.h"
#include "app/source_list.h"
#include "filter/epochs.h"
#include "guard/guard.h"
#include "guard/process.h"
#include "log/event_log.h"

namespace cuckooguard::app {

class Verification {
 public:
  static constexpr std::chrono::milliseconds kStepEvery{200};
  static constexpr std::chrono::minutes kLogEvery{10};
  static constexpr std::chrono::minutes kAdviseFirst{5};  // after the start, or a reload
  static constexpr std::chrono::hours kAdviseEvery{1};

  struct Parts {
    log::EventLog& log;
    guard::Guard::Parts guarded;     // with its process
    filter::Epochs::Reader& reader;  // its own
    const SourceList& sources;
    guard::Contradictions& contradictions;
  };

  explicit Verification(const Parts& parts);
  Verification(const Verification&) = delete;
  Verification& operator=(const Verification&) = delete;
  ~Verification() { stop(); }

  void start();         // once the workers' guards are known
  void stop();          // ends the thread; may be called twice
  void advise() const;  // every namespace's sentence, to the log

 private:
  using TimePoint = ContradictionChecker::TimePoint;

  void run(const std::stop_token& stop);
  filter::Finding look_up(std::uint32_t ns, const keyspace::Lookup& found);
  source::RowPresence ask(std::uint32_t ns, std::string_view identity);
  void log(const guard::Contradictions::Key& key, guard::Cause cause);
  void look_for_attacks();
  void look_at_log();

  Parts parts_;
  ContradictionChecker checker_;
  std::stop_token stop_;
  std::string why_unknown_;  // the source's last words
  std::map<std::pair<std::uint32_t, guard::Cause>, TimePoint> logged_at_;
  struct Hidden {
    std::uint64_t rows;  // as of the last event, or the beginning
    TimePoint quiet_until{};
  };
  std::map<std::uint32_t, Hidden> hidden_;  // just behind their commit
  std::mutex mutex_;                        // for the pause alone
  std::condition_variable_any woken_;
  std::jthread thread_;
};

}  // namespace cuckooguard::app
