// The followers that ask a builder: their questions, how far they are, and what they have compared.
// Nobody has signed what they say: it decides only who is answered, and when a trial ends.
//
// Threads:   the builder's. Lifetimes: none. Errors: what is no ask is one of those that are gone.
// Limits:    kNameMax bytes of a name; as many followers as it is given.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fleet/publisher.h"
#include "fleet/questions.h"
#include "fleet/replica.h"
#include "resp/value.h"
#include "source/source.h"

namespace cuckooguard::fleet {

class Asks {
 public:
  static constexpr std::size_t kNameMax = 300;
  static constexpr std::chrono::seconds kStays{10};  // one that asks nothing new
  static constexpr std::size_t kTryingShare = 100;   // one of so many tries what is on trial

  struct News {
    std::vector<Question> questions{};
    std::vector<std::string> gone{};  // names
    std::set<TableId> lacks{};        // Ask::lacks
    std::size_t waiting = 0;          // of the questions: a reader waits
  };
  // The whole of the hash of asks, as HGETALL has it.
  News see(const resp::Value& asked, source::TimePoint now);

  std::size_t size() const { return all_.size(); }
  // Those whose keys pass, by the longest lag; a line each. `seq`: of the log.
  std::vector<std::string> behind(std::uint64_t seq) const;
  // Such that one of kTryingShare has a smaller trial_number(), and at least one; 0: there is none.
  std::uint64_t trial_below() const;
  std::uint64_t compared() const;
  std::uint64_t hidden() const;

 private:
  struct Seen {
    Ask ask;
    source::TimePoint at;
  };
  std::map<std::string, Seen> all_;  // by their names
};

// What is on trial since a table was changed, and when it is promoted: some followers try it, and
// have compared enough keys for long enough, and have found no row that it hides.
//
// Threads: the builder's. Lifetimes: none. Errors: none. Limits: as many tables as there are.
class Trials {
 public:
  static constexpr std::uint64_t kComparedMin = 100;  // keys

  // `canary`: so long each trial lasts at least; 0: all are promoted.
  explicit Trials(std::chrono::nanoseconds canary) : canary_(canary) {}

  // Says in the log who tries, and promotes. True: rows are hidden, which was not so before.
  bool judge(Publisher& publisher, const Asks& asks, TimePoint now);

 private:
  struct Trial {
    TimePoint began_at{};
    std::uint64_t compared_before = 0;
  };

  std::chrono::nanoseconds canary_;
  std::map<TableId, Trial> all_;
  bool is_hiding_ = false;
};

}  // namespace cuckooguard::fleet
