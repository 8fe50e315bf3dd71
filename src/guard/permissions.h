// Which of Redis's users may be answered for: those known to be allowed every command on every key.
//
// The control connection publishes what Redis says of its users; the workers read it for each
// decision. Before the first publish, and after withdraw(), nobody is known and nothing is
// answered.
//
// Threads: publish() and withdraw() from any thread (the control thread), the questions from any.
//   version() is one load, for callers that keep an answer as long as the version stands
//   (guard/client_state.h); the others take a lock that is held for no longer than a look-up in the
//   set.
// Errors: none. Limits: none of its own; one string per unrestricted user.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace cuckooguard::guard {

struct KnownUsers {
  std::set<std::string, std::less<>> unrestricted{};
  // A new connection is the user "default", authenticated without AUTH.
  bool default_needs_no_password = false;
};

class Permissions {
 public:
  void publish(KnownUsers users);
  // Nobody is known any more.
  void withdraw() { publish({}); }

  // Changes whenever the answers below may have changed; never 0.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }

  // `name` has been accepted by Redis for this connection.
  bool is_unrestricted(std::string_view name) const;
  // A connection that has not authenticated: the user "default", if that needs no password.
  bool is_initial_user_unrestricted() const;

 private:
  mutable std::mutex mutex_;
  KnownUsers users_;
  std::atomic<std::uint64_t> version_{1};
};

}  // namespace cuckooguard::guard
