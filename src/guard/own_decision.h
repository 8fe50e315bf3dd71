// What becomes of a command that the guard itself takes: its own, GUARD.*, and those of a filter
// that a namespace stands for.
//
// Threads: plain values. Lifetimes: views are valid until the next call of who has decided.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "guard/client.h"
#include "guard/overlay.h"
#include "guard/promised_reply.h"

namespace cuckooguard::guard {

// Redis's words where it would surely refuse a GET, too.
inline constexpr std::string_view kKeyRefused =
    "NOPERM this user has no permissions to access one of the keys used as arguments";
inline constexpr std::string_view kCommandRefused =
    "NOPERM this user has no permissions to run the 'get' command";

struct OwnDecision {
  enum class Action : std::uint8_t {
    answer,           // `reply` holds the bytes
    forward,          // as any other command; `instead`, if there are any words
    hold_for_client,  // ask again: what is in flight will settle it
    hold_for_source,  // ask again: GUARD.WAIT
    promise,          // `promise` will say; nothing is sent to Redis before it has
  };
  Action action = Action::forward;
  std::string_view reply{};
  std::span<const std::string_view> instead{};
  std::optional<PromisedReply> promise{};
};

// For what a user may do, if it is not known: as a rule it is being asked for now.
inline constexpr std::chrono::milliseconds kKnowPatience{1000};

// The session asks about a command.
struct Attempt {
  TimePoint now;
  TimePoint since;            // when it was asked first
  bool has_room;              // for the reply
  bool has_promises = false;  // of commands before it
};

inline constexpr std::string_view kNotLoggedIn = "NOAUTH Authentication required.";

// As far as it can be relied upon; else `unknown`.
inline Client::Login known_login(const Client& client,
                                 const redis::Snapshot& redis,
                                 TimePoint now) {
  return client.may_rely_on(redis, now) || client.has_authenticated() ? client.login(redis)
                                                                      : Client::Login::unknown;
}

// It is forwarded, since what the guard said would not come in its place.
inline bool is_left_to_redis(const Client& client) {
  return client.has_unread_replies() || !client.can_be_answered() || client.may_be_in_multi();
}
inline bool must_be_held(const Client& client, const Attempt& attempt) {
  return client.has_changes_in_flight() || !attempt.has_room;
}

}  // namespace cuckooguard::guard
