// Clients of several guards that all add the same items at the same time, and look whether they are
// there; of one filter they remove them, too. Guards and Redis may die meanwhile: then they ask
// again until they are told 1 or 0, as docs/filters.md says.
//
//   RacingClients (a thread each) … stop() ─▶ take_history()
//   FilterClient, by itself: a test's own look at a guard
//
// Threads: a FilterClient has one; of RacingClients asked() and next_item() any, all else the
// test's. Lifetimes: none. Errors: what became of no request is no error; a client that nobody has
// answered for kPatience is one, failures().
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "filter_races/filter_history.h"
#include "harness/raw_client.h"

namespace cuckooguard::harness {

struct RacedFilter {
  std::string_view name;
  std::string_view add;
  std::string_view look;    // at several
  std::string_view remove;  // empty: nothing is removed
};
inline constexpr std::array<RacedFilter, 3> kRacedFilters{
    {{.name = "ids", .add = "CF.ADDNX", .look = "CF.MEXISTS", .remove = ""},
     {.name = "seen", .add = "BF.ADD", .look = "BF.MEXISTS", .remove = ""},
     {.name = "coupons", .add = "CF.ADDNX", .look = "CF.MEXISTS", .remove = "CF.DEL"}}};
inline std::uint32_t filter_of(std::uint32_t item) {
  return item % kRacedFilters.size();
}

class FilterClient {
 public:
  struct Counts {
    std::uint64_t unknown = 0;
    std::uint64_t refused = 0;  // surely not done
    std::map<std::string, std::uint64_t> errors;
  };

  FilterClient(std::uint32_t client, std::uint32_t guard, std::uint16_t port)
      : client_(client), guard_(guard), port_(port) {}

  // Nothing: it was surely not done, or nothing was told. What was, and what is unknown, is kept.
  std::optional<Request::Reply> change(Request::What what, std::uint32_t item);
  // Of one filter. False: the guard does not know, and tells that by finding what nobody adds.
  bool look(std::span<const std::uint32_t> items);

  std::vector<Request> take_history() { return std::exchange(history_, {}); }
  const Counts& counts() const { return counts_; }

 private:
  std::optional<std::string> exchange(std::span<const std::string_view> words, Request& request);

  std::uint32_t client_;
  std::uint32_t guard_;
  std::uint16_t port_;
  std::optional<RawClient> connection_;
  std::vector<Request> history_;
  Counts counts_;
};

class RacingClients {
 public:
  // `each` of every port. They begin with this item.
  RacingClients(std::span<const std::uint16_t> ports, std::size_t each, std::uint32_t first_item);
  ~RacingClients() { stop(); }
  RacingClients(const RacingClients&) = delete;
  RacingClients& operator=(const RacingClients&) = delete;

  std::uint64_t asked() const { return asked_; }  // tries to connect included
  std::uint32_t next_item() const {
    return first_item_ + static_cast<std::uint32_t>(tickets_ / kRacers);
  }

  // They finish what they have begun.
  void stop();
  const std::vector<std::string>& failures() const { return failures_; }
  const std::vector<std::unique_ptr<FilterClient>>& all() const { return clients_; }

 private:
  static constexpr std::uint64_t kRacers = 5;  // clients that add an item
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;

  void race(FilterClient& client);
  // What was added a moment ago, perhaps by way of another guard, and a while ago.
  void look_at_others(FilterClient& client, std::uint32_t filter);
  void change(FilterClient& client, Request::What what, std::uint32_t item);

  std::uint32_t first_item_;
  std::atomic<std::uint64_t> tickets_{0};
  std::atomic<std::uint64_t> asked_{0};
  std::atomic<bool> is_over_{false};
  std::array<std::atomic<std::uint32_t>, kRacedFilters.size()> last_added_{};
  std::vector<std::unique_ptr<FilterClient>> clients_;
  std::vector<std::string> failures_;  // of each client, or empty
  std::vector<std::thread> threads_;
};

}  // namespace cuckooguard::harness
