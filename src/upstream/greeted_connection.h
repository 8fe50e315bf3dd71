// A connection to Redis that is brought into a state (version, user, db, labels) before its owner's
// bytes pass, and between two owners: by commands of our own, whose replies nobody else sees.
//
//   GreetedConnection ──▶ AUTH shop word | SELECT 2 |                 | the owner's bytes ...
//                     ◀──                           | (+OK)   (+OK)   | their replies ...
//
// The owner's bytes wait for the replies: after a refused AUTH, Redis would run them as its default
// user. So when Redis refuses, none of the owner's commands has run.
//
// If a greeting is not answered within `upstream.silence`, although a new connection is (the login
// probe's), it is repeated on another connection: a relay may acknowledge for a Redis that is gone.
// As long as no connection is answered (CLIENT PAUSE, a script that hangs), it waits. A connection
// that has been used before and turns out to be closed is replaced at once.
//
// If the default user's password has been removed since a client sent `AUTH word`, Redis refuses
// that command but accepts `AUTH default word`: that is then sent on another connection.
//
// Threads: its worker's. Lifetimes: as Connection; the owner may change between batches or from
//   within a call of its own.
// Errors: a greeting that Redis refuses loses the connection, as does a Redis that is full;
//   refusal() is its error then. Labels may be refused: who may not use CLIENT has them by HELLO.
//   on_upstream_up(): it is connected, and in that state.
// Limits: as Connection; kRefusalBytesMax of a refusal are kept.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "config/config.h"
#include "io/loop.h"
#include "resp/connection_state.h"
#include "resp/reply_framer.h"
#include "upstream/connection.h"
#include "upstream/login_probe.h"

namespace cuckooguard::upstream {

// Whether Redis refuses a client's own command with the same error. Anything else is about the
// login.
bool is_of_redis_itself(std::string_view refusal);

class GreetedConnection final : public io::Disposable, Connection::Owner, LoginProbe::Waiter {
 public:
  using Owner = Connection::Owner;
  using State = Connection::State;

  static constexpr std::size_t kRefusalBytesMax = 1024;

  // `probe` outlives it, or close() has been called; null: a greeting is waited for.
  GreetedConnection(io::Loop& loop,
                    const config::Upstream& settings,
                    const resp::ConnectionState& told,
                    Owner& owner,
                    LoginProbe* probe = nullptr);

  void belong_to(Owner& owner) { owner_ = &owner; }

  // While no reply is owed. False, and nothing is sent: only a new connection could be in that
  // state.
  [[nodiscard]] bool greet(const resp::ConnectionState& state);
  // A PING with a word by which MONITOR knows it, before the owner's next command
  // (redis::waits_for_writes), and behind what it was told.
  void touch();
  // The owner's own commands have made this of it.
  void was_told(const resp::ConnectionState& state) { told_ = state; }
  const resp::ConnectionState& told() const { return told_; }

  void send(std::string_view bytes);
  std::size_t unsent() const { return connection_->unsent() + waiting_.size(); }
  // Whether the peer's kernel has all that was sent.
  bool is_heard() const { return connection_->is_heard(); }
  // What greets is read all the same.
  void set_reading(bool reading) {
    reads_ = reading;
    connection_->set_reading(reads_ || owed_ > 0);
  }
  void finish_sending();
  void close();
  State state() const { return connection_->state(); }
  // Redis's error, CRLF included; empty: it has not refused.
  const std::string& refusal() const { return refusal_; }
  io::TimePoint opened_at() const { return opened_at_; }

 private:
  void on_upstream_up() override;
  void on_upstream_bytes(std::string_view bytes) override;
  void on_upstream_progress() override { owner_->on_upstream_progress(); }
  void on_upstream_lost() override;

  void on_entry_known() override;

  std::unique_ptr<Connection> connect();
  void await_greeting();
  void greet_anew();
  void send_what_waits();
  bool take_greeting(std::string_view& bytes);
  bool may_be_refused() const;
  bool is_turned_away(std::string_view bytes);
  resp::ConnectionState as_said(const resp::ConnectionState& state) const;
  bool must_name_user() const;

  io::Loop& loop_;
  const config::Upstream& settings_;
  Owner* owner_;
  LoginProbe* probe_;
  io::TimePoint opened_at_;
  resp::ConnectionState told_;
  resp::ReplyFramer framer_;
  std::size_t owed_ = 0;     // replies to the greeting, PING's included
  bool is_touched_ = false;  // the last of them is PING's
  std::size_t labels_ = 0;   // in front of PING's: to labels
  bool reads_ = true;        // as its owner wants
  std::string waiting_;      // for them
  bool finish_is_due_ = false;
  bool is_new_ = true;       // Redis has not said anything on it yet
  bool names_user_ = false;  // "default", where the client has not
  std::string refusal_;
  std::unique_ptr<io::Timer> greeting_deadline_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace cuckooguard::upstream
