// How far the loads are that go on now, and how often sources had trouble, for whoever looks.
//
// Threads: any; a lock is held for no longer than a few numbers are copied. Limits: an entry per
// table that is being loaded; what nobody has written for kShownFor has ended in another way than
// with its last row, and is not told. A number per source that ever had trouble.
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

  // A checkpoint that could not be written or used, and the like: event=source_trouble.
  void count_trouble(std::string_view source);
  std::uint64_t troubles(std::string_view source) const;

 private:
  struct Entry {
    Load load;
    io::TimePoint written;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> loads_;
  std::map<std::string, std::uint64_t, std::less<>> troubles_;  // by source
};

}  // namespace cuckooguard::views
