// How far the loads are that go on now, for whoever looks.
//
// Threads: any; a lock is held for no longer than a few numbers are copied. Limits: an entry per
// table that is being loaded; what nobody has written for kShownFor has ended in another way than
// with its last row, and is not told.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "io/clock.h"

namespace cuckooguard::views {

struct Load {
  std::uint64_t rows = 0;
  std::uint64_t rows_expected = 0;
  double rows_per_second = 0;
  double fraction = 0;  // 0 to 1
  std::optional<std::chrono::nanoseconds> remaining{};
};

class LoadBoard {
 public:
  static constexpr std::chrono::seconds kShownFor{10};

  // `what`: a namespace's name, or with several tables "users/user_3".
  void put(std::string_view what, const Load& load, io::TimePoint now);
  void remove(std::string_view what);

  // Of all tables of a namespace together, as if it were one; nothing if none of them is being
  // loaded.
  std::optional<Load> of(std::string_view ns, io::TimePoint now) const;

 private:
  struct Entry {
    Load load;
    io::TimePoint written;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> loads_;
};

}  // namespace cuckooguard::views
