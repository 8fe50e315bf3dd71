// What the clients of a soak share: the guard with its Redis, another Redis that is told the same
// without a guard, and what has been found so far.
//
// Threads: any; the shop and the servers are only connected to. Errors: as RawClient's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attack/attackers.h"
#include "harness/shop.h"

namespace cuckooguard::soak {

inline constexpr std::size_t kCheckedClients = 8;
inline constexpr std::size_t kLoadClients = 4;
inline constexpr std::size_t kLeavers = 2;
inline constexpr std::size_t kHostileConnections = 8;  // of each kind
inline constexpr std::string_view kPassword =
    "open";  // of "soak", who may do everything, and all other users

class SoakWorld {
 public:
  SoakWorld(const std::string& mode, std::uint32_t seconds);

  // Nobody has logged in there, and Redis wants a password.
  harness::RawClient guarded() const { return shop_.client(); }
  harness::RawClient straight() const { return harness::RawClient::to_port(straight_.port()); }
  // As "soak".
  harness::RawClient guarded_soak() const;

  // Many connections that do anything (attack/attack_grammar.h) to keys that nobody compares:
  // without login, without rights, and with all but those to administer. They may not redirect the
  // pushes of CLIENT TRACKING: where a client has a connection of its own Redis itself would send
  // it those (tests/simulation/attack_world.h is about them).
  std::vector<std::unique_ptr<attack::Attackers>> hostile(std::uint32_t seed) const;

  bool is_over() const { return is_over_; }
  void begin() { is_over_ = false; }
  void end() { is_over_ = true; }

  // What the guard holds when everybody has left.
  struct Rest {
    std::size_t descriptors = 0;
    std::size_t bytes = 0;
  };
  Rest rest();

  void count(std::uint64_t commands) { commands_ += commands; }
  std::uint64_t commands() const { return commands_; }
  // The first few are told at once, to standard error.
  void mismatch(const std::string& who, std::string_view what);
  std::uint64_t mismatches() const { return mismatches_; }

  // Of the checked clients' commands, those that Redis has run on a connection that a client had
  // for itself.
  std::uint64_t on_leases() const;
  // Of all commands, those that the guard has answered.
  std::uint64_t answered() const;
  // All that the two servers hold is the same, but for what only neighbours have written. Of
  // clients that have left.
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
