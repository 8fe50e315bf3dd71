// Puts the keys of one worker's writes into the overlays, within the shares of the client and its
// user; also of a worker that has several guards.
//
//   Guard ── learn(client's writes, user, ns, hash) ──▶ LearnedKeys of the namespace ──▶ Overlay
//
// Threads: its worker's. Lifetimes: overlays outlive it, or the next adopt().
// Limits: those of LearnedKeys; as many writer numbers per user as it had clients at once.
// kUsersMax users have a share each, all others one in common.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "guard/client.h"
#include "guard/guarded_namespace.h"
#include "guard/overlay.h"

namespace cuckooguard::guard {

// What one worker's clients have put into a namespace's overlay: who may have how much of it there.
//
//   user ──▶ [oldest] ⇄ [key] ⇄ [key] ⇄ [newest]     two lists through the same entries: of a user,
//   writer ──▶ [oldest] ⇄ ───── [key]                 and of each writer, a client as this user
//
// Shares bound each client, so that a busy one leaves room for others of its user, and each user,
// so that more connections give no more room. A client with a full share loses its oldest key; when
// a user's share is full, its writer with the most keys does, so that quiet ones lose nothing. A
// lost key older than max_lag does no harm: the filter knows it by then. If it is younger, the
// reads of the client that wrote it pass for as long (Learned::young_loser), as it may rely on it.
//
// Threads: its worker's; other workers' clients have other shares of the same overlay.
// Limits: 40 bytes per key, `total` keys. When it is full, a client without keys takes from the
// user with the most.
class LearnedKeys : boost::noncopyable {
 public:
  struct Limits {
    std::size_t client;
    std::size_t user;
    std::size_t total;
  };
  // Of an overlay that `workers` have in common: a quarter for each user, a sixteenth for each
  // client.
  static Limits limits_for(std::uint64_t max_keys, std::size_t workers);

  LearnedKeys(Overlay& overlay, const Limits& limits) : overlay_(overlay), limits_(limits) {}

  struct Put {
    std::uint64_t hash = 0;
    std::uint32_t writer = 0;  // small numbers, both; a writer is always of the same user
    std::uint32_t user = 0;
    TimePoint now{};
    std::chrono::nanoseconds ttl{};
    std::chrono::nanoseconds max_lag{};
    Overlay::Origin origin = Overlay::Origin::written;
  };
  struct Learned {
    bool is_lost = false;                        // a key that had not expired
    std::optional<std::uint32_t> young_loser{};  // whose it was, if it was younger than max_lag
  };
  Learned put(const Put& key);

  Overlay& overlay() const { return overlay_; }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Links {
    std::uint32_t before = kNone;
    std::uint32_t behind = kNone;
  };
  struct Entry {
    std::uint64_t hash = 0;
    Overlay::Tick since = 0;
    Overlay::Tick until = 0;
    Links of_user;
    Links of_writer;
    std::uint32_t writer = 0;
    std::uint32_t user = 0;
  };
  static_assert(sizeof(Entry) == 40);
  struct List {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
    std::uint32_t size = 0;
  };

  struct User {
    List keys;
    std::uint32_t largest =
        kNone;  // the writer that had most when one of this user last put a key there
  };

  template <class Of>
  static Of& of(std::vector<Of>& all, std::uint32_t number);
  void append(List& list, Links Entry::* links, std::uint32_t at);
  void unlink(List& list, Links Entry::* links, std::uint32_t at);
  void drop(std::uint32_t at);
  std::uint32_t to_be_lost(const User& user) const;
  Learned lose(std::uint32_t at, Overlay::Tick young, Overlay::Tick now);

  Overlay& overlay_;
  Limits limits_;
  std::deque<Entry> entries_;
  std::uint32_t free_ = kNone;  // a list, by of_user.behind
  std::size_t size_ = 0;
  std::vector<User> users_;
  std::vector<List> writers_;
};

class Learner {
 public:
  static constexpr std::size_t kUsersMax = 1024;

  // Switches to these. Keys in overlays that stay keep their owners.
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
  // The client, which has written nothing here yet, comes from another worker.
  void let_reads_pass(WritesInFlight& client, std::string_view user, TimePoint until);
  // The client is gone: its number is reused, its keys still count.
  void ended(WritesInFlight& client);
  // Keys that it wrote were dropped before the filter can know them: until then its reads pass.
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
