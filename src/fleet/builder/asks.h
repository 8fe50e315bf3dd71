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

}  // namespace cuckooguard::fleet
