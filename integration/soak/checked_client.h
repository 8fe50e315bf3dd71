// A client that is there twice: through the guard, and straight to another Redis. It sends the same
// random commands both ways and compares every byte: pipelines of any length cut anywhere,
// transactions that are refused, aborted or spread over several pipelines, other users, dbs and
// protocol versions, subscriptions, scripts, commands that block, large values; and it leaves in
// the middle of things.
//
// Threads: one each. Errors: a mismatch of its world, which names the seed that its commands came
//   from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "harness/command_mix.h"
#include "soak/soak_world.h"

namespace cuckooguard::soak {

class CheckedClient {
 public:
  // `number` from 1 on.
  CheckedClient(SoakWorld& world, std::size_t number, std::uint32_t seed);

  void run();  // until the world is over

 private:
  struct Both {
    harness::RawClient guarded;
    harness::RawClient straight;
  };

  void live();  // one connection, from its beginning to its end
  void log_in(Both& both);
  static void log_in_instead_of_reset(std::string& request);
  void pipeline(Both& both);
  void interlude(Both& both);
  void broken_watch(Both& both);
  void transaction_in_pieces(Both& both);
  void leave_in_the_middle(Both& both);
  void same(Both& both, std::string_view request, std::size_t replies);
  void compare(std::string_view request, const std::string& is, const std::string& should_be);

  std::size_t choose(std::size_t below) { return random_() % below; }
  std::string own_key(std::string_view name) const;

  SoakWorld& world_;
  std::size_t number_;
  std::uint32_t seed_;
  std::mt19937 random_;
  harness::CommandMix mix_;
  std::size_t counted_ = 0;  // of the mix's commands
  std::size_t pipelines_ = 0;
  std::string asked_;  // the last
};

}  // namespace cuckooguard::soak
