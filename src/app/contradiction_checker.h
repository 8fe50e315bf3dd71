// What a contradiction comes to: the guard said that a key is absent, and Redis has a value. One
// step at a time, so that a test can take the steps itself.
//
//   asked ─ no row ──────────────────────────────────────────────────────────────▶ hidden_value
//     └─ a row, at T1 ─ max_lag ─▶ the filter at T2: fresh, and absent ─▶ asked again
//                                   ├─ it may exist ─▶ late_row             ├─ gone ─▶ late_row
//                                   │                                       └─ there ─▶ hidden_row
//                                   └─ not fresh: again, up to kFilterPatience, then unknown
//
// Must: hidden_row is said of no row but one that the filter should have had. Proof: the row was
// committed before T1, when the query saw it, so more than max_lag before T2; a filter that is
// fresh at T2 has all rows that were committed by then, and it is still there afterwards, so it was
// not deleted in between. (Deleted and inserted again between the two questions, it would be
// reported wrongly; nobody but an operator could tell.) And a row that a filter does not have is
// found: it stays so until it is loaded anew, and then it is late_row.
// What cannot be told apart from here: a row that came a moment after the verdict, which is
// nobody's fault, and one that the filter did not find for a moment only. Both are late_row.
//
// Threads: one. Errors: a question without an answer is asked kAttemptsMax times, then unknown.
// Limits: one question per kAskEvery; kSuspectsMax keys at a time, the others wait in
// guard::Contradictions. All are forgotten every kForgetEvery, so that a key that was explained can
// be reported again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string_view>

#include "filter/live_parts.h"
#include "guard/contradictions.h"
#include "keyspace/keyspace.h"
#include "source/source.h"

namespace cuckooguard::app {

class ContradictionChecker {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::seconds kAskEvery{1};
  static constexpr std::chrono::seconds kFilterPatience{60};
  static constexpr std::chrono::hours kForgetEvery{1};
  static constexpr int kAttemptsMax = 5;
  static constexpr std::size_t kSuspectsMax = 64;

  struct Parts {
    guard::Contradictions& contradictions;
    const keyspace::Keyspace& keyspace;
    std::function<TimePoint()> clock;
    // The namespace's filter, now; the source itself; how long the filter may lag behind it.
    std::function<filter::Finding(std::uint32_t ns, const keyspace::Lookup& found)> look_up;
    std::function<source::RowPresence(std::uint32_t ns, std::string_view identity)> ask;
    std::function<std::chrono::nanoseconds(std::uint32_t ns)> max_lag;
    std::function<void(const guard::Contradictions::Key& key, guard::Cause cause)> told;
  };

  explicit ContradictionChecker(Parts parts);

  // Asks one question at most.
  void step();

 private:
  enum class Phase : std::uint8_t { to_ask, waiting, to_confirm };
  struct Suspect {
    guard::Contradictions::Key key;
    Phase phase = Phase::to_ask;
    TimePoint due_at{};  // waiting
    int attempts = 0;
  };
  using Suspects = std::list<Suspect>;

  void look_again(TimePoint now);
  Suspects::iterator next_to_ask();
  bool ask_one();
  void hear(Suspects::iterator suspect, source::RowPresence presence);
  keyspace::Lookup match(const Suspect& suspect);
  Suspects::iterator close(Suspects::iterator suspect, guard::Cause cause);

  Parts parts_;
  Suspects suspects_;
  TimePoint ask_at_;
  TimePoint forget_at_;
  keyspace::IdentityBuffer scratch_;
};

}  // namespace cuckooguard::app
