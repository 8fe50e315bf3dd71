// What the guard knows of the Redis behind it: which commands it has, what its users may do, and
// whether it serves at all. Learned by the control connection, read by every worker.
//
//   control thread                      RedisFacts                     worker's Guard
//   epoch(), ask Redis, publish() ───▶ mutex, current Snapshot ──▶ version() differs? snapshot()
//            ▲                               │
//            └────── on_doubt ◀── sent, replied, note_error, ask_for ◀── commands, replies
//
// Before the first publish nothing is known and nothing is answered.
//
// Must: a command that changes what holds for all clients (ACL SETUSER, CONFIG SET, CLIENT PAUSE)
// is never overtaken by what was asked before it: all users are withdrawn when it is sent, and only
// an asking that began after its reply can be published. Proof: change_sent() and change_replied()
// both move epoch(); publish() takes only a reading whose epoch() stands and while no change is in
// flight; Redis executes commands one at a time, so that what it was asked after it has replied to
// the change comes after the change. After CLIENT PAUSE Redis does not answer the control connection
// either, so guarding is resumed when Redis itself resumes.
//   Not covered: a change by another way than through this guard (found by the next periodic
//   asking), and one whose connection ends before its reply (asked at once, and periodically).
//
// Called by: the control connection's owner (epoch, publish, lost, users_to_ask), Guard and
// ClientState (the rest). Threads: any; version() is one load, all else takes a lock for no longer
// than a few pointers are copied. `on_doubt` is called without the lock, on the thread that doubts.
// Errors: none. Limits: kUsersToAskMax names of users; who authenticates as one more is forwarded.
#pragma once

#include <atomic>
#include <bitset>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "guard/command_table.h"

namespace cuckooguard::guard {

// By command_index().
using CommandSet = std::bitset<kCommandsMax>;

enum class KeyAccess : std::uint8_t { none, read, read_write };

// What one user may be answered: a command on a namespace's keys.
struct UserAccess {
  bool is_unrestricted = false;         // the rest is then of no matter
  CommandSet on_readable{};             // where the user may only read the keys
  CommandSet on_writable{};             // where it may read and write them
  std::vector<KeyAccess> namespaces{};  // by their number; none for those that are not there
  std::uint64_t numbering = 0;          // Guard::Parts, of those numbers

  bool may(std::size_t command, std::uint32_t ns) const noexcept;
};

struct Users {
  std::set<std::string, std::less<>> unrestricted{};
  std::map<std::string, UserAccess, std::less<>> restricted{};
  // A new connection is the user "default", authenticated without AUTH.
  bool default_needs_no_password = false;
  // `acl: trust`: whoever Redis has accepted may do everything.
  bool trusts_everyone = false;

  const UserAccess* find(std::string_view name) const;  // null: nothing is known of it
};

// A longer name is not looked for.
inline constexpr std::size_t kLearnedNameBytesMax = 64;

struct Commands {
  // Those of the built-in table that Redis has under their names: not renamed, not switched off.
  CommandSet listed = CommandSet().set();
  // Those that the table lacks, by name in lower case; Command::name is empty.
  std::map<std::string, Command, std::less<>> learned{};

  const Command* find_learned(std::string_view name) const;  // any case; null: not there
};

enum class Availability : std::uint8_t { available, loading, master_link_down, busy };

struct Snapshot {
  std::uint64_t version = 0;
  std::shared_ptr<const Commands> commands;  // never null
  std::shared_ptr<const Users> users;        // never null
  Availability availability = Availability::available;
  bool is_master = false;
  std::chrono::seconds idle_timeout{0};  // Redis closes clients that were silent so long; 0: none
  // The control connection is gone. Redis may be gone, or be back with other users: only clients
  // that could not reach it either are answered.
  bool is_lost = false;
};

// One asking of Redis.
struct Reading {
  std::shared_ptr<const Commands> commands{};  // null: as before
  Users users{};
  Availability availability = Availability::available;
  bool is_master = true;
  std::chrono::seconds idle_timeout{0};
};

class RedisFacts {
 public:
  static constexpr std::size_t kUsersToAskMax = 1024;

  RedisFacts();
  // Redis is to be asked anew, at once. Set before there are workers.
  void set_on_doubt(std::function<void()> on_doubt) { on_doubt_ = std::move(on_doubt); }

  // The control connection: epoch() before Redis is asked, publish() with the answers. False: they
  // are overtaken and were not taken.
  std::uint64_t epoch() const;
  bool publish(std::uint64_t epoch, Reading reading);
  bool publish_users(std::uint64_t epoch, Users users) {
    return publish(epoch, {.users = std::move(users)});
  }
  // Nobody is known any more.
  void withdraw_users();
  // A connection of this user's was closed by Redis: it may be gone.
  void doubt_user(const std::string& user);
  void lost();
  // The user "default", and those that ask_for() was called with.
  std::vector<std::string> users_to_ask() const;

  // The workers. version() is never 0 and changes whenever the snapshot does.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
  std::shared_ptr<const Snapshot> snapshot() const;

  // A client has authenticated as this user, of whom nothing is known.
  void ask_for(const std::string& user);
  // A command that changes what holds for all clients: before its bytes leave, and when its reply
  // has come or cannot come any more.
  void change_sent();
  void change_replied();
  // The beginning of an error of Redis, '-' included: 16 bytes tell all there is.
  void note_error(std::string_view first_bytes);

 private:
  void replace(Snapshot next);  // the lock is held
  void doubt() const;

  std::function<void()> on_doubt_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::set<std::string, std::less<>> asked_for_;
  std::uint64_t epoch_ = 0;
  std::uint32_t changes_in_flight_ = 0;
  std::atomic<std::uint64_t> version_{0};
};

}  // namespace cuckooguard::guard
