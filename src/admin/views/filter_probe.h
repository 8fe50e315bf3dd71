// The false positive rate that a namespace's filters have, measured: identities that nobody has, by
// chance, are looked up, and those that pass are counted. What clients ask for says nothing of it:
// of a key that passes and that Redis does not have, the row may exist all the same, and only not
// be cached.
//
// Some look-ups each time somebody asks for /status or /metrics, kEvery at most; older ones weigh
// less, so that the rate follows the filters as they fill. Nothing is counted while a namespace is
// not fresh.
//
// Threads: the admin thread's, between Epochs::Reader enter() and leave(). Limits: kLookups
// look-ups in filters per namespace and time, whatever its number of tables; some 100 ns each.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "guard/guard.h"

namespace cuckooguard::views {

class FilterProbe {
 public:
  static constexpr std::chrono::milliseconds kEvery{900};  // a page asks once a second
  static constexpr std::uint64_t kLookups = 4096;
  static constexpr std::uint64_t kRemembered = 1'000'000;  // then all that is known is halved

  struct Result {
    std::uint64_t asked = 0;
    std::uint64_t passed = 0;

    // Nothing before anything is known.
    std::optional<double> rate() const {
      return asked == 0 ? std::nullopt
                        : std::optional(static_cast<double>(passed) / static_cast<double>(asked));
    }
  };

  explicit FilterProbe(std::uint64_t seed = std::random_device{}()) : random_(seed) {}

  void look(std::span<const guard::GuardedNamespace> namespaces, guard::TimePoint now);
  Result result(std::uint32_t ns) const { return ns < results_.size() ? results_[ns] : Result{}; }

 private:
  void look_into(const filter::LiveParts& live, Result& result, guard::TimePoint now);

  std::mt19937_64 random_;
  std::vector<Result> results_;
  guard::TimePoint due_{};
};

}  // namespace cuckooguard::views
