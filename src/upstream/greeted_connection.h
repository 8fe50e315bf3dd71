// A connection to Redis that is brought into a state (version, user, db, labels) before its owner's bytes pass, and
// between two owners: by commands of our own, whose replies nobody else sees.
//
//   GreetedConnection ──▶ AUTH shop word | SELECT 2 |                 | the owner's bytes ...
//                     ◀──                           | (+OK)   (+OK)   | their replies ...
//
// The owner's bytes wait for the replies: behind a refused AUTH Redis would run them as its default user.
//
// Called by: SharedUpstream and proxy::Route, which own one each, and Upstreams, which keeps those that nobody has. With a
// state like that of a new connection it is a plain Connection.
// Threads: its worker's. Lifetimes: as Connection; the owner may change between batches or from within a call of its.
// Errors: a greeting that Redis refuses loses the connection, and was_refused() says so. Limits: as Connection.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "config/config.h"
#include "io/loop.h"
#include "resp/connection_state.h"
#include "resp/reply_framer.h"
#include "upstream/connection.h"

namespace cuckooguard::upstream {

class GreetedConnection final : public io::Mortal, Connection::Owner {
 public:
  using Owner = Connection::Owner;
  using State = Connection::State;

  GreetedConnection(io::Loop& loop,
                    const config::Upstream& settings,
                    const resp::ConnectionState& told,
                    Owner& owner);

  void belong_to(Owner& owner) { owner_ = &owner; }

  // While no reply is owed. False, and nothing is sent: only a new connection could be in that state.
  [[nodiscard]] bool greet(const resp::ConnectionState& state);
  // A command that does nothing, before the owner's next one (guard::waits_for_writes).
  void touch();
  // The owner's own commands have made this of it.
  void was_told(const resp::ConnectionState& state) { told_ = state; }
  const resp::ConnectionState& told() const { return told_; }

  void send(std::string_view bytes);
  std::size_t unsent() const { return connection_.unsent() + waiting_.size(); }
  void set_reading(bool reading) { connection_.set_reading(reading); }
  void finish_sending();
  void close() { connection_.close(); }
  State state() const { return connection_.state(); }
  bool was_refused() const { return was_refused_; }
  io::TimePoint opened_at() const { return opened_at_; }

 private:
  void on_upstream_up() override { owner_->on_upstream_up(); }
  void on_upstream_bytes(std::string_view bytes) override;
  void on_upstream_progress() override { owner_->on_upstream_progress(); }
  void on_upstream_lost() override { owner_->on_upstream_lost(); }

  bool take_greeting(std::string_view& bytes);

  Owner* owner_;
  io::TimePoint opened_at_;
  resp::ConnectionState told_;
  resp::ReplyFramer framer_;
  std::size_t owed_ = 0;  // replies to the greeting
  std::string waiting_;   // for them
  bool finish_is_due_ = false;
  bool was_refused_ = false;
  Connection connection_;
};

}  // namespace cuckooguard::upstream
