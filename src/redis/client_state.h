// What the guard knows of one client connection: db, RESP version, user, and whether that knowledge
// is certain.
//
// Redis alone decides what a command changes; the guard learns it from the reply. Until that reply
// has come the state is not settled and nothing is answered locally, so the guard never has to
// guess:
//
//   client:  SELECT 1      GET a           <- settled again after "+OK"
//            sent()        forwarded         replied(change, '+')
//
// MULTI is a change too: it is settled by the reply of EXEC or DISCARD. SELECT, AUTH or HELLO sent
// where the client may be inside MULTI takes effect at EXEC, or never: if Redis accepts it, nothing
// is answered until RESET.
//
// Threads: its worker's. Limits: 128 bytes, and the user's name if it is longer than 15 bytes; at
// most 2^32 - 1 changes in flight.
// Source: Redis 7.0.15 (server.c processCommand, multi.c, networking.c helloCommand and
// resetCommand), asked by hand.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "redis/reading.h"
#include "redis/state_change.h"
#include "resp/connection_state.h"
#include "resp/version.h"

namespace cuckooguard::redis {

class Facts;
struct Snapshot;

class ClientState {
 public:
  // The command has been forwarded: until its reply nothing is answered locally. In the order of
  // the commands.
  void sent(const StateChange& change);
  // Redis has replied; `reply_type` is the first byte of the reply ('-' and '!' mean refused). In
  // the same order.
  void replied(const StateChange& change, char reply_type);

  // EXEC's reply has begun, and its first elements may leave before its end: all of it is done.
  void exec_replies();

  // For the rest of the connection, which stays of this kind:
  //   scanned only   replies cannot be matched to commands any more: they are relayed unread, and
  //                  nothing is answered here. Commands are still scanned: their writes are
  //                  learned, and changes for all clients are noticed
  //   raw            no longer RESP, or no longer this client's: relayed unread in both directions
  void stop_reading_replies() { scanned_ = std::max(scanned_, Scanned::commands); }
  void become_raw() { scanned_ = Scanned::nothing; }
  bool has_unread_replies() const { return scanned_ != Scanned::all; }
  bool is_raw() const { return scanned_ == Scanned::nothing; }

  // Redis has confirmed a subscription or its end.
  void confirmed(const PubSubFrame& frame);
  const Subscriptions& subscriptions() const { return subscriptions_; }

  // Whether CLIENT REPLY or SUBSCRIBE does here exactly what it does on a connection in its plain
  // state, so that the guard can follow. Else the connection is scanned only.
  bool can_set_reply_mode() const;
  bool can_subscribe() const;

  // CLIENT REPLY has been scanned; then asked once for every command that is forwarded, this one
  // included.
  void set_reply_mode(ReplyMode mode);
  bool next_has_reply();
  bool has_replies_off() const { return silence_ == Silence::off; }
  bool is_silent() const { return silence_ != Silence::none; }

  // db(), version() and the user are what Redis holds for the next command, and it would run that
  // command at once: no change in flight, not inside MULTI, not after WATCH or ASKING, not
  // tracking, not subscribed in RESP2, with replies, nothing uncertain.
  bool is_settled() const { return unsettled_ == 0 && changes_in_flight_ == 0; }
  // What is in flight will tell; until then nobody knows which reply is whose, or what the client
  // is.
  bool has_changes_in_flight() const { return changes_in_flight_ != 0; }
  // Redis would run the guard's own commands if it had them, and reply: not so inside MULTI,
  // subscribed in RESP2 ...
  bool can_be_answered() const {
    return (unsettled_ & ~(kWatching | kTracking | kAsked | kLasting)) == 0;
  }
  // Why nothing else is answered to it, in a sentence for people; empty: it is settled.
  std::string_view why_unsettled() const;
  // Neither inside MULTI nor after WATCH, and nothing is in flight that could lead there.
  bool is_between_transactions() const {
    return (unsettled_ & (kInMulti | kWatching)) == 0 && changes_in_flight_ == 0;
  }
  // As far as replies tell; or a MULTI is in flight.
  bool is_in_multi() const { return (unsettled_ & kInMulti) != 0; }
  bool may_be_in_multi() const { return is_in_multi() || multis_in_flight_ != 0; }

  resp::Version version() const { return version_; }
  int db() const { return db_; }
  // READONLY: a cluster's replica answers its reads.
  bool reads_replica() const { return reads_replica_; }
  // Redis refuses its reads where it is a replica.
  bool is_redirected() const { return is_redirected_ && !reads_replica_; }

  // From the beginning, if other connections may have to be told what this one was: secrets are
  // remembered.
  void remember_what_was_told() { remembers_ = true; }
  bool remembers_what_was_told() const { return remembers_; }
  // Another connection that has been told the same would do for the next command: settled, not
  // subscribed, nothing streaming, and what was told is known.
  bool is_transferable() const;
  resp::ConnectionState told() const;
  // How often RESET has made it a new client: what was known of it before counts no more.
  std::uint32_t beginnings() const { return beginnings_; }
  // How often its user has changed, or become uncertain.
  std::uint32_t user_changes() const { return user_changes_; }

  // What this client's user may do; null: nothing is known of it, or it has not authenticated.
  // Looks it up only after the snapshot or the user has changed; one comparison otherwise. Its user
  // goes on being asked for. Lifetime: as long as the snapshot; the facts outlive this, or ended().
  const UserAccess* access(const Snapshot& snapshot, Facts& facts);

  // Whether Redis would take it for authenticated: what the guard's own commands ask.
  enum class Login : std::uint8_t { yes, no, unknown };
  Login login(const Snapshot& snapshot) const;
  // Redis may refuse its next command for that, and no reply is to come that could change it.
  bool may_be_logged_out(const Snapshot& snapshot) const {
    return standing_ == Standing::initial && changes_in_flight_ == 0 &&
           login(snapshot) != Login::yes;
  }
  // Of a client that is known to be authenticated.
  std::string_view user() const {
    return standing_ == Standing::initial ? std::string_view("default") : std::string_view(user_);
  }

  // Whether what is known of Redis counts for it: kept up to date, and not of a Redis that was lost
  // since it could reach one (behind a control connection that is gone there may be another Redis).
  bool may_rely_on(const Snapshot& known, TimePoint now) const;
  bool has_authenticated() const { return standing_ == Standing::authenticated; }

  // AUTH, HELLO or RESET is on its way: its user may be about to change, or has changed unseen.
  void may_become_another() { may_be_another_ = true; }
  bool may_be_another() const { return may_be_another_ || standing_ == Standing::unknown; }
  // Redis has taken it for authenticated, without AUTH, and goes on doing so whatever `default`
  // needs by now.
  void was_let_in() { was_let_in_ = true; }
  bool has_been_let_in() const { return was_let_in_; }

  // Redis has told it that it does not serve: it is asked until then whether that is so.
  void be_wary_until(std::uint64_t epoch) { wary_until_ = epoch; }
  bool is_wary(const Snapshot& known) const;

  // It has, or had, a connection to Redis; not one that it shared and lost without losing anything.
  void upstream_is_up() { has_upstream_ = true; }
  void upstream_is_down() { has_upstream_ = false; }

  // It has sent a command that may change something for all clients; and Redis's reply to that may
  // be among replies that are relayed unread.
  void may_change_all() { may_change_all_ = true; }
  bool has_sent_change_for_all() const { return may_change_all_; }
  // Facts::yes_may_pass_until(), of one that may be unrestricted; 0: of nobody else.
  void yes_may_pass_until(std::uint32_t epoch) { yes_until_ = epoch; }
  std::uint32_t yes_may_pass_until() const { return yes_until_; }
  // Redis has let it in, and it is known to be unrestricted: now or, if that was withdrawn, before.
  bool may_be_unrestricted(const Snapshot& snapshot) const;
  bool may_have_changed_all_unseen() const { return may_change_all_ && has_unread_replies(); }

  // Before sent(), for changes for all clients: who hears of them. Outlives this, or ended().
  void tell(Facts& facts) { facts_ = &facts; }
  // The connection is gone: replies that have not come never will. Harmless when repeated.
  void ended();

  // The streamed command (Guard::stream) whose chunks are passing; null between them. `is_unseen`:
  // its reply will not be.
  const Command* streamed() const { return streamed_; }
  bool is_streamed_unseen() const { return is_streamed_unseen_; }
  void set_streamed(const Command* command, bool is_unseen = false) {
    streamed_ = command;
    is_streamed_unseen_ = is_unseen;
  }

 private:
  // Bits of unsettled_.
  static constexpr std::uint8_t kInMulti = 1;
  static constexpr std::uint8_t kWatching = 2;
  static constexpr std::uint8_t kUncertain = 4;  // until RESET
  static constexpr std::uint8_t kTracking = 8;
  static constexpr std::uint8_t kSubscribed = 16;  // and in RESP2: next to nothing is allowed
  static constexpr std::uint8_t kSilent = 32;
  static constexpr std::uint8_t kLasting = 64;  // uncertain beyond RESET
  static constexpr std::uint8_t kAsked = 128;   // ASKING holds for the next command

  // Of the connection's user. `initial` is Redis's default user, who may still have to give a
  // password.
  enum class Standing : std::uint8_t { initial, authenticated, unknown };

  enum class Scanned : std::uint8_t { all, commands, nothing };

  enum class Silence : std::uint8_t { none, this_one_and_next, next, off };

  struct Settings {
    resp::Login login;  // if authenticated
    resp::Labels labels;
  };

  void accepted(const StateChange& change);
  void refused(const StateChange& change);
  void replied_for_all(const StateChange& change, char reply_type);
  void set_user(const StateChange& change);
  void set_label(const StateChange& change);
  Settings& settings();
  void set(std::uint8_t bit, bool on);
  void update_subscribed();
  void on_user_changed();  // while `user_` is the one before
  void leave_user();
  void begin_again();

  const Command* streamed_ = nullptr;
  const UserAccess* access_ = nullptr;
  Facts* facts_ = nullptr;
  std::uint64_t facts_version_ = 0;  // of the snapshot that `access_` is of; 0: look it up again
  std::uint64_t wary_until_ = 0;
  std::uint32_t changes_in_flight_ = 0;
  std::uint32_t multis_in_flight_ = 0;
  std::uint32_t for_all_in_flight_ = 0;
  std::uint32_t beginnings_ = 0;
  std::uint32_t user_changes_ = 0;
  std::uint32_t yes_until_ = 0;
  int db_ = 0;
  resp::Version version_ = resp::Version::resp2;
  Standing standing_ = Standing::initial;
  std::uint8_t unsettled_ = 0;
  Silence silence_ = Silence::none;
  Scanned scanned_ = Scanned::all;
  bool has_upstream_ : 1 = false;
  bool queued_for_all_ : 1 = false;  // inside MULTI: EXEC is such a change, too
  bool remembers_ : 1 = false;
  bool is_streamed_unseen_ : 1 = false;
  bool may_be_another_ : 1 = false;
  bool was_let_in_ : 1 = false;
  bool may_change_all_ : 1 = false;
  bool reads_replica_ : 1 = false;
  bool is_redirected_ : 1 = false;
  bool is_last_asking_ : 1 = false;  // no command was sent behind it
  bool is_counted_ : 1 = false;      // by `facts_`, among its user's clients
  Subscriptions subscriptions_;
  std::string user_;                    // meaningful if authenticated
  std::unique_ptr<Settings> settings_;  // null: neither a login nor a label
};
static_assert(sizeof(ClientState) <= 96 + sizeof(std::string), "one per client");

}  // namespace cuckooguard::redis
