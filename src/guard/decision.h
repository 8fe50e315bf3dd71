// What becomes of one command: the guard's word to the session.
//
// Threads: plain values. Lifetimes: views are valid until the guard's next call (guard/guard.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "guard/absent_key.h"
#include "redis/state_change.h"

namespace cuckooguard::guard {

enum class Action : std::uint8_t {
  forward,  // send the command's own bytes, relay its one reply
  answer,   // `reply` holds the bytes, nothing is sent
  rewrite,  // send `request` instead, relay its one reply (EXISTS, TOUCH)
  merge,    // send `request`; its array reply is merged with `elements` (MGET), an error is all
  hold,     // nothing yet: judge it again when a proof has come, or at `hold_until`
  unread,   // send the bytes; from here on replies are relayed unread (the client's state says what
            // else is)
};

struct Decision {
  Action action = Action::forward;
  std::string_view reply{};
  std::string_view request{};
  // merge: for each element of the client's MGET the bytes of an absent one, or nullopt: the next
  // element of Redis's.
  std::span<const std::optional<std::string_view>> elements{};
  // With `forward` and `merge`: keys that the guard takes for absent, one, or of the `elements`.
  std::span<const AbsentKey> absent_keys{};
  // Not null (with `forward` only): pass it to Client::sent now and, with its reply, to
  // Client::replied.
  const redis::StateChange* change = nullptr;
  // With `hold`: until when, and for which namespace's proof.
  std::chrono::steady_clock::time_point hold_until{};
  std::uint32_t hold_ns = 0;
  // With `forward` only: Client::writes() is to be told which reply is this command's, now.
  bool awaits_reply = false;
};

}  // namespace cuckooguard::guard
