// What the clients of a soak share: the guard with its Redis, another Redis that is told the same without a guard, and
// what has been found so far.
//
// Threads: any; the shop and the servers are only connected to. Errors: as RawClient's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "harness/shop.h"

namespace cuckooguard::soak {

inline constexpr std::size_t kCheckedClients = 8;
inline constexpr std::size_t kLoadClients = 4;
inline constexpr std::size_t kLeavers = 2;

class SoakWorld {
 public:
  SoakWorld();

  harness::RawClient guarded() const { return shop_.client(); }
  harness::RawClient straight() const { return straight_.client(); }

  bool is_over() const { return is_over_; }
  void end() { is_over_ = true; }

  void count(std::uint64_t commands) { commands_ += commands; }
  std::uint64_t commands() const { return commands_; }
  // The first few are told at once, to standard error.
  void mismatch(const std::string& who, std::string_view what);
  std::uint64_t mismatches() const { return mismatches_; }

  // Of the checked clients' commands, those that Redis has run on a connection that a client had for itself.
  std::uint64_t on_leases() const;
  // Of all commands, those that the guard has answered.
  std::uint64_t answered();
  // All that the two servers hold is the same, but for what only neighbours have written. Of clients that have left.
  bool holds_the_same();

 private:
  harness::Shop shop_;
  harness::RedisServer straight_;
  std::atomic<bool> is_over_{false};
  std::atomic<std::uint64_t> commands_{0};
  std::atomic<std::uint64_t> mismatches_{0};
};

// Keys of neighbours begin so; nobody compares them.
inline constexpr std::string_view kNeighboursKeys = "neighbour:";

}  // namespace cuckooguard::soak
