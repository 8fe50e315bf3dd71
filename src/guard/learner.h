// Puts the keys of one worker's writes into the overlays, within the shares of the client and its
// user; also of a worker that has several guards.
//
//   Guard ── learn(client's writes, user, ns, hash) ──▶ LearnedKeys of the namespace ──▶ Overlay
//
// Threads: its worker's. Lifetimes: overlays outlive it, or the next adopt().
// Limits: those of LearnedKeys; of each user's clients a number for as many as there have been at
// once. kUsersMax names of users have a share each, all further ones one in common: Redis has
// accepted each of them once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "guard/guarded_namespace.h"
#include "guard/learned_keys.h"
#include "guard/writes_in_flight.h"

namespace cuckooguard::guard {

class Learner {
 public:
  static constexpr std::size_t kUsersMax = 1024;

  // From now on these. What was put into overlays that are still there keeps its owner.
  void adopt(std::span<const GuardedNamespace> namespaces);

  // Of the client whose writes these are, and that is this user.
  struct Key {
    std::uint32_t ns = 0;
    std::uint64_t hash = 0;
    std::optional<std::chrono::nanoseconds> ttl{};  // nothing: the overlay's
    Overlay::Origin origin = Overlay::Origin::written;
  };
  LearnedKeys::Learned learn(WritesInFlight& client,
                             std::string_view user,
                             const Key& key,
                             TimePoint now);
  // The client is gone: its number is somebody else's, its keys go on counting.
  void ended(WritesInFlight& client);
  // Keys that it has written were forgotten before the filter can have heard of them: until then
  // its reads pass.
  TimePoint reads_pass_until(const WritesInFlight& client) const {
    return client.writer == WritesInFlight::kNone ? TimePoint{}
                                                  : writers_[client.writer].reads_pass_until;
  }

  std::size_t& keys_in_flight() { return keys_in_flight_; }

 private:
  std::uint32_t number_of(std::string_view user);
  void give_number(WritesInFlight& client);

  std::span<const GuardedNamespace> namespaces_;
  std::vector<std::unique_ptr<LearnedKeys>> learned_;  // by namespace
  std::map<std::string, std::uint32_t, std::less<>> users_;
  struct Writer {
    std::uint32_t user = 0;
    TimePoint reads_pass_until{};
  };
  std::vector<Writer> writers_;                           // by number
  std::vector<std::vector<std::uint32_t>> free_writers_;  // by user
  std::size_t keys_in_flight_ = 0;
};

}  // namespace cuckooguard::guard
