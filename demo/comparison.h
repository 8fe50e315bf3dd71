// The course of the demo: the same look-ups twice, first straight at Redis, then through the guard,
// and what came of it.
//
// Threads: the main thread's. Lifetimes: keeps references. Errors: std::runtime_error; Interrupted.
#pragma once

#include <vector>

#include "endpoint.h"
#include "phase.h"
#include "progress_line.h"
#include "report.h"
#include "users_database.h"

namespace cuckooguard::demo {

class Comparison {
 public:
  // `changes`: of a cluster, in each phase.
  Comparison(const UsersDatabase& database,
             Endpoint redis,
             const Mix& mix,
             ProgressLine& progress,
             std::vector<Change> changes = {});

  void run_without_guard();
  // Waits until the guard's filter is in force.
  void wait_for_filter(const Endpoint& guard) const;
  void run_with_guard(const Endpoint& guard);

  const Verdict& verdict() const { return verdict_; }
  // The table and what else is to be said of it. True: no existing key was hidden, and at least
  // kStoppedShareMin of the attack was stopped.
  bool conclude() const;

 private:
  const UsersDatabase& database_;
  Endpoint redis_;
  const Mix& mix_;
  ProgressLine& progress_;
  std::vector<Change> changes_;
  Verdict verdict_;
};

}  // namespace cuckooguard::demo
