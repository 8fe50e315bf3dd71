// The way of one client's commands to one Redis and of the replies back: a connection of its own,
// or those that it shares.
//
//   pinned   one of its own from beginning to end; the rest of this page is not about it
//   shared   ──▶ SharedUpstream, as long as its commands may travel there (redis/lane.h)
//            ──▶ a lease: its own until nothing of it is left there, or for good
//
//   SET x 1 ─shared─▶   MULTI  │waits for SET's reply│ ─lease─▶  GET x  EXEC  ─replies─▶
//   lease given back    GET x ─shared─▶
//
// A client changes from shared to a lease only when all earlier replies have come: otherwise the
// two connections would race. On a lease it stays until all replies have come, another connection
// in the same state would do as well (Owner::is_transferable), and Redis lets shared connections be
// in that state; a client that cannot be set up elsewhere keeps its lease. It stays a member of its
// SharedUpstream all the time.
//
// A client that has not logged in becomes a member only while Redis would let it in as a new client
// (login_probe.h); otherwise it has a connection that was opened for it alone, also after RESET. A
// member that has not logged in takes a connection for good only once Redis has answered there: if
// a password was set in the meantime, a new connection would lock the client out, although Redis
// would have kept the old one.
//
// Threads: its worker's. Lifetimes: its owner's, which the constructor already calls.
// Errors, as calls of the owner:
//   on_upstream_lost()      nothing more will come, and commands may have been lost
//   on_upstream_down()      a lease on which nothing was sent is lost: the client goes on
//   on_upstream_refused()   a lease was refused; nothing that was sent since choose() has run, and
//                           the client goes on
//   on_command_refused()    nor was one for good granted, for which the current command has waited
// Limits: a client has at most `inflight_per_client` replies to come on shared connections. One
//   that does not read its replies, or has been sent large ones, gets a lease, which is not read
//   for it either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "config/config.h"
#include "io/loop.h"
#include "redis/lane.h"
#include "resp/connection_state.h"
#include "upstream/greeted_connection.h"
#include "upstream/upstreams.h"

namespace cuckooguard::upstream {

class Route final : GreetedConnection::Owner, SharedUpstream::Member, LoginProbe::Waiter {
 public:
  // One client, as far as it tells.
  class Owner : public Connection::Owner {
   public:
    // The state that a replacement of the current connection must have.
    virtual resp::ConnectionState told() const = 0;
    // Another connection, told the same, would do for its next command.
    virtual bool is_transferable() const = 0;
    // Nobody can tell any more which reply is to what.
    virtual bool has_unread_replies() const = 0;
    // How often RESET has made it a new client.
    virtual std::uint32_t beginnings() const = 0;
    // Just so many whole replies, none of them an error, and nothing else.
    virtual void on_upstream_replies(std::string_view bytes, std::uint32_t replies) = 0;
    // There is no connection, and nothing of this client's is lost: it is as one that has not had
    // any.
    virtual void on_upstream_down() = 0;
    // `error`, CRLF included, is the reply to each command that is owed one.
    virtual void on_upstream_refused(std::string_view error) = 0;
    // `error` is what Redis has said to the connection as such; on_upstream_lost() follows.
    virtual void on_upstream_turned_away(std::string_view error) = 0;
    // `error`, CRLF included, is the reply to the command for which choose() said no. No other
    // reply is owed.
    virtual void on_command_refused(std::string_view error) = 0;

   protected:
    ~Owner() = default;
  };

  // The worker's, one for all routes, which it outlives.
  struct Worker {
    io::Loop& loop;
    Upstreams& upstreams;
    const config::Upstream& settings;
    const std::uint32_t& in_flight_max;
  };

  Route(const Worker& worker, Owner& owner);
  Route(const Route&) = delete;
  Route& operator=(const Route&) = delete;
  ~Route() { close(); }

  bool is_pinned() const { return worker_.settings.mode == config::UpstreamMode::pinned; }
  // Of the next command.
  struct Needs {
    bool waits_for_writes = false;  // redis/lane.h
    bool ends_client = false;       // Redis closes the connection for it
  };
  // Whether the next command may be sent now. If not, the owner asks again when it gets bytes or
  // progress. `is_owed`: replies are to come.
  [[nodiscard]] bool choose(redis::Lane lane, bool is_owed, Needs needs);
  void send(std::string_view bytes, std::size_t commands = 1);
  // How many commands may be sent after choose(); nothing bounds those on a connection of its own.
  std::size_t room() const {
    return own_ || shared_ == nullptr ? SIZE_MAX
                                      : worker_.in_flight_max - shared_->in_flight(*this);
  }
  // All replies have come: a lease that has served is given back.
  void settle();
  // All replies have come, and what this client had is shared by others; or it has had nothing yet.
  bool is_at_rest() const;
  bool is_shared() const { return shared_ != nullptr; }
  // A client that has come from another worker has a lease first, told what it shared there.
  void begin_with(std::unique_ptr<GreetedConnection> own);
  void retire();  // for new work Redis is to be reached anew (Upstreams)
  void on_login_wanted() { is_retired_ = has_own(); }  // Redis has replied so
  // From now on commands go to another Redis than the one that connections made `before` lead to.
  // False: this client still has something there.
  [[nodiscard]] bool leave_redis(io::TimePoint before);

  bool has_own() const { return own_ != nullptr; }
  // Its connection is its own until the end; nobody else has had it before.
  bool has_for_good() const { return is_for_good_; }
  bool has_new() const { return is_new_; }
  bool is_lost() const { return is_lost_; }
  // It shares what Redis has let in.
  bool is_let_in() const { return shared_ != nullptr; }
  std::size_t unsent() const { return own_ ? own_->unsent() : 0; }
  // Whether the client takes its replies; `is_held`: its next command waits for them. A shared
  // connection is read for others all the same.
  void set_reading(bool reading, bool is_held);
  void finish_sending();
  void close();

 private:
  void on_upstream_up() override;
  void on_upstream_bytes(std::string_view bytes) override { owner_.on_upstream_bytes(bytes); }
  void on_upstream_progress() override { owner_.on_upstream_progress(); }
  void on_upstream_lost() override;
  void on_shared_bytes(std::string_view bytes, std::uint32_t replies) override;
  void on_shared_lost() override;
  void on_shared_down() override;
  void on_shared_progress() override { owner_.on_upstream_progress(); }
  void on_entry_known() override { owner_.on_upstream_progress(); }

  // Whether Redis has answered on `own_`, which may want a login by now.
  enum class Answered : std::uint8_t { not_asked, asked, yes };

  bool choose_shared(Access access, bool is_owed);
  bool take_lease(bool is_new, bool waits_for_writes = false);
  bool may_keep_for_good(bool is_owed);
  bool is_let_in(bool& is_known);
  bool is_member() const { return shared_ != nullptr && beginnings_ == owner_.beginnings(); }
  bool is_member_as_told(const resp::ConnectionState& told) const;
  void join(const resp::ConnectionState& told);
  void leave_shared();
  void drop_own();

  const Worker& worker_;
  Owner& owner_;
  std::unique_ptr<GreetedConnection> own_;
  SharedUpstream* shared_ = nullptr;
  std::uint32_t beginnings_ = 0;  // of the client, as of when it joined
  bool is_for_good_ = false;
  bool is_new_ = false;       // `own_`: nobody has had it before
  bool is_unused_ = false;    // `own_`: nothing was sent since it was taken
  bool is_retired_ = false;   // `own_`: nobody else is to have it
  bool was_in_vain_ = false;  // the last one was lost before Redis had answered
  Answered answered_ = Answered::not_asked;
  bool is_lost_ = false;
};

}  // namespace cuckooguard::upstream
