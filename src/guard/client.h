// One client: its connection as Redis has it, and the guarded keys of its writes.
//
// Threads: its worker's. Limits: those of redis::ClientState and of WritesInFlight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "guard/writes_in_flight.h"
#include "redis/client_state.h"

namespace cuckooguard::guard {

class Client : public redis::ClientState {
 public:
  // As there, and its writes hear of it.
  void replied(const redis::StateChange& change, char reply_type);
  // Redis has replied to commands up to this one, which are no changes.
  void replied_to(std::uint64_t reply, bool is_refused) {
    if (writes_ != nullptr && writes_->is_in_flight()) {
      writes_->replied(reply, is_refused, is_in_multi());
    }
  }

  // Null: it has not written a guarded key yet.
  WritesInFlight* writes() const { return writes_.get(); }
  WritesInFlight& remember_writes(std::size_t& worker_keys);

 private:
  std::unique_ptr<WritesInFlight> writes_;
};
static_assert(sizeof(Client) <= 104 + sizeof(std::string), "one per client");

}  // namespace cuckooguard::guard
