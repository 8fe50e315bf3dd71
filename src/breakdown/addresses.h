// Whom misses come from: how many connections of an address wait, and who takes leases and never
// sets.
//
//   bounds    of the connections of an address that have missed or written such keys, one at least
//             does not wait: a pool can always send the SET that frees the others. Where it loads
//             nothing itself, and another guard's client loads the key, that is not needed
//   adapts    an address whose leases ended without a SET more often than with one takes none, and
//             does not wait, for kOffFor: for keys of one bucket of kBuckets, so that one client
//             switches it off for itself alone, and for the keys that it never sets alone
//   starved   two SETs of an address's came just after waits of its connections had ended by time:
//             its pool has no connection for the SET. None of its connections waits for kOffFor
//
// Threads: any. Limits: an entry per address that has connections or leases; kRecords outcomes, of
// which the one seen longest ago gives way: then that address may wait again.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "filter/key_hash.h"
#include "text/network.h"

namespace cuckooguard::breakdown {

using TimePoint = std::chrono::steady_clock::time_point;

class Addresses : boost::noncopyable {
 public:
  static constexpr std::chrono::seconds kOffFor{60};
  static constexpr std::uint64_t kBuckets = 16;
  static constexpr std::size_t kRecords = 4096;
  static constexpr int kOutcomesLeast = 4;  // before they are judged
  static constexpr int kOutcomesMost = 16;

  // The secret: so that nobody can choose addresses that share a record with another one's.
  explicit Addresses(const filter::HashSecret& secret) : hash_(secret), records_(kRecords) {}

  // A connection of this address; its name here.
  std::uint64_t connect(text::Network network);
  void disconnect(std::uint64_t address);

  // One more of its connections waits. False: it must not. `is_loaded_elsewhere`: in all likelihood
  // by none of its own.
  bool hold(std::uint64_t address, bool is_loaded_elsewhere, TimePoint now);
  void let_go(std::uint64_t address);
  // A lease of its begins, and ends.
  void loads(std::uint64_t address);
  void loads_no_more(std::uint64_t address);

  // Whether it takes no leases of such keys, and does not wait.
  bool is_off(std::uint64_t address, std::uint64_t key, TimePoint now);
  // How a lease of its ended.
  void ended(std::uint64_t address, std::uint64_t key, bool in_set, TimePoint now);
  // A SET of its came just after a wait of one of its connections had ended by time.
  void starved(std::uint64_t address, TimePoint now);

 private:
  struct Address {
    std::size_t connections = 0;
    std::size_t held = 0;
    std::size_t loads = 0;  // leases; they may outlast its connections
  };
  struct Record {
    std::uint64_t name = 0;  // 0: none
    TimePoint seen{};
    TimePoint off_until{};
    std::uint16_t outcomes = 0;  // a bit each, the latest lowest: it ended in a SET
    std::uint8_t count = 0;
  };
  static constexpr std::size_t kWays = 4;
  static constexpr std::uint64_t kStarved = kBuckets;  // in place of a bucket

  std::uint64_t name_of(std::uint64_t address, std::uint64_t bucket) const;
  Record* find(std::uint64_t name);
  Record& make(std::uint64_t name, TimePoint now);

  std::mutex mutex_;
  filter::KeyHash hash_;
  std::unordered_map<std::uint64_t, Address> addresses_;
  std::vector<Record> records_;  // kWays each for those of one set
};

}  // namespace cuckooguard::breakdown
