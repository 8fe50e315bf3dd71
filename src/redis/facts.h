// What the guard knows of the Redis behind it: which commands it has, what its users may do, and
// whether it serves at all. The control connection learns it, every worker reads it.
//
//   control thread                        Facts                        worker's Guard
//   epoch(), ask Redis, publish() ───▶ mutex, current Snapshot ──▶ version() differs? snapshot()
//            ▲                               │
//            └────── on_doubt ◀── withdraw_users, doubt, note_error, ask_for ◀── commands, replies
//
// Before the first publish nothing is known and nothing is answered.
//
// Must: once a client has got OK to a command that changes something for all clients (ACL SETUSER,
//   CONFIG SET requirepass, CLIENT PAUSE), nothing is answered by the earlier rules. When Redis's
//   OK arrives, and before it leaves for the client, all users are withdrawn (withdraw_users), and
//   only an inquiry that begins after that can be published.
//   Why not when the command is sent? Redis carries it out at some moment between the sending and
//   its OK. Nobody can know that this moment is over before the OK has left: a read that is
//   answered by the old rules until then may as well have come before it. The client's own later
//   reads wait for its reply (ClientState::sent). And a client that is refused changes nothing this
//   way.
//   Redis executes commands one at a time: an inquiry sent after the OK comes after the change.
//   After CLIENT PAUSE Redis does not answer the control connection either, so that everything
//   passes until Redis itself resumes.
//
// Redis's OK may be among replies that are relayed unread (ClientState::has_unread_replies). Then
// anything relayed to a client after it has sent such a command counts as its OK
// (may_have_changed_all), during kUnseenAskings inquiries, if the client is known to be
// unrestricted.
//
// Must: a command that Redis refuses changes nothing in what others are answered by. An error
//   instead of OK (CONFIG SET of several settings may be half done), a reply that never comes or
//   that nobody can see, a user of whom nothing is known, an error that says that Redis does not
//   serve (a script may say so): each leads to an inquiry, together to no more than
//   upstream::Control allows, and until then the known facts stand.
// Not covered until the next inquiry: a change that was not made through this guard, and one whose
// reply was not seen, by a client that is restricted or not known, or after which nothing is
// relayed to it. Without an answered inquiry within kKnownFor nothing is answered, so that this is
// the longest it takes, unless Redis is known to be down.
//
// Threads: any; version() is one load, all else takes a lock for no longer than a few pointers are
// copied. `on_doubt` is called without the lock, on the thread that doubts.
// Limits: kUsersToAskMax user names; clients of any further user are forwarded. A user whose
//   clients have asked for nothing during kIdleAskings inquiries is no longer asked for until one
//   does. Nor is a user without connected clients, where each user costs Redis a command
//   (Users::are_listed), unless a client has asked for something since the last inquiry, like
//   clients that connect for each request.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/reading.h"

namespace cuckooguard::redis {

struct Snapshot {
  std::uint64_t version = 0;
  std::uint64_t epoch = 0;                   // of the asking
  TimePoint good_until = TimePoint::max();   // who may do what may have changed since
  std::shared_ptr<const Commands> commands;  // never null
  std::shared_ptr<const Users> users;        // never null
  std::shared_ptr<const Users> withdrawn{};  // null, or what `users` was until it was withdrawn
  Availability availability = Availability::available;
  std::optional<bool> is_master{};       // nullopt: it is not known
  std::shared_ptr<const Slots> slots{};  // as in Reading
  bool is_whole_cluster = false;
  bool takes_writes = false;  // none is refused for what Redis is: a replica, unable to save ...
  std::chrono::seconds idle_timeout{0};  // Redis closes clients that were silent so long; 0: none
  std::optional<std::chrono::nanoseconds> round_trip{};  // of the last asking
  // The control connection is gone. Redis may be gone, or be back with other users: only clients
  // that could not reach it either are answered.
  bool is_lost = false;
  std::string why_lost{};
  ControlReport control{};
};
// "master", "replica"; nullopt: it is not known.
std::optional<std::string_view> role_name(const Snapshot& redis);

// The loss of the control connection.
struct Loss {
  std::string why{};
  // Redis takes connections, but does not answer, or not the guard; otherwise it is down.
  bool is_up = false;
};

class Facts {
 public:
  static constexpr std::size_t kUsersToAskMax = 1024;
  // More than a minute, if nobody makes the guard ask more often.
  static constexpr std::uint64_t kIdleAskings = 250;
  static constexpr std::chrono::seconds kKnownFor{1};
  static constexpr std::uint64_t kUnseenAskings = 32;  // what one unseen change costs at most

  enum class Urgency : std::uint8_t { none, soon, at_once };

  Facts();
  // Redis is to be asked anew. Set before there are workers. Not called again for what the next
  // asking settles anyway.
  void set_on_doubt(std::function<void(Urgency)> on_doubt) { on_doubt_ = std::move(on_doubt); }

  // The control connection: epoch() before Redis is asked, another one each time, publish() with
  // the answers. False: they are overtaken and were not taken.
  std::uint64_t epoch();
  bool publish(std::uint64_t epoch, Reading reading);
  bool publish_users(std::uint64_t epoch, Users users) {
    return publish(epoch, {.users = std::move(users)});
  }
  void lost(Loss loss = {});
  // Stands until the next, whatever else is published or lost.
  void report(ControlReport control);
  // The user "default", and those that ask_for() was called with.
  std::vector<std::string> users_to_ask() const;

  // The workers. version() is never 0 and changes whenever the snapshot does.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
  std::shared_ptr<const Snapshot> snapshot() const;

  // Redis has said yes to what may change who may do what: nobody is known until it is asked anew,
  // at once.
  void withdraw_users();
  // How often, or an asking has found that a login is needed by now; for what else rests on that
  // (upstream::LoginProbe).
  std::uint64_t withdrawals() const noexcept {
    return withdrawals_.load(std::memory_order_acquire);
  }
  // A client that may be unrestricted has sent such a change. Until this epoch what is relayed to
  // it unread may be Redis's yes. The epoch's last 32 bits, and never 0: that is nobody's.
  std::uint32_t yes_may_pass_until() const;
  // Such a yes may pass now, unread. What rests on withdrawals() alone is asked for anew: that
  // changes nobody's answers. All others lose what is known as by withdraw_users(), unless `until`
  // is over, or nobody's: it may as well be a refusal.
  void may_have_changed_all(std::uint32_t until);
  // Something may have changed: Redis is asked anew, soon. The epoch from which on it is settled.
  std::uint64_t doubt() { return doubt(Urgency::soon); }
  // A client that has authenticated as this user asks for something; of whom nothing is known,
  // Redis is asked soon. `is_counted`: the client is, among the user's; whether it is from now on,
  // until leave().
  bool ask_for(const std::string& name, bool is_counted = false);
  void leave(const std::string& name);
  bool asks_for(std::string_view name) const;
  // The beginning of an error of Redis, '-' included: 16 bytes tell all there is. The epoch from
  // which on it is known whether Redis serves; 0: the error says nothing of that.
  std::uint64_t note_error(std::string_view first_bytes);

 private:
  // A user that has had clients.
  struct User {
    std::size_t clients = 0;  // that are connected
    std::uint64_t epoch = 0;  // at which one has asked for something last
    bool is_asked_for = false;
  };
  void replace(Snapshot next);  // the lock is held
  std::uint64_t doubt(Urgency urgency);

  std::function<void(Urgency)> on_doubt_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::map<std::string, User, std::less<>> users_;  // but for "default"
  std::size_t asked_for_ = 0;                       // of these
  std::uint64_t epoch_ = 0;                         // of the asking that began last
  std::uint64_t valid_from_ = 0;                    // askings before it are overtaken
  Urgency doubted_ = Urgency::none;                 // since then
  bool needed_no_password_ = false;                 // when last asked
  bool were_listed_ = false;                        // likewise
  std::atomic<std::uint64_t> version_{0};
  std::atomic<std::uint64_t> withdrawals_{0};
};

}  // namespace cuckooguard::redis
