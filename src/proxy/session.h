// One client and its way to Redis (upstream/route.h).
//
//   client ──read──▶ scan ──▶ guard.decide ──forward──▶ upstream queue ──flush──▶ Redis
//     ▲                            └─answer─┐                                       │
//     └──flush── client queue ◀── ReplyOrder ◀──────────────relay──────────read─────┘
//
// Threads: its worker's. Lifetime: owned by Clients; ends by Owner::on_session_end() and is
// destroyed after the batch.
// Errors: end the session, as a Redis that closes the connection would.
//
// Limits, and what happens there:
//   queued to Redis > kUpstreamQueueBytesMax
//       the client is not read until half of it is written
//   queued to the client > client_output_soft
//       Redis is not read (it keeps the replies, which it does not bound either) and nothing is
//       answered here, until half of it is written. But up to half of client_output_hard and of
//       output_total it is read while the client's next commands wait for what was promised, and
//       no more of them is read
//   queued to the client, and answers that wait for replies before them, >= client_output_soft with
//   one answer more; or what all of the worker's connections have queued >= output_total with it
//       it is not made: the command is forwarded. (Small ones still are, of a client with less than
//       a chunk queued: else those who do not read could have everybody's look-ups sent to Redis.)
//   replies in order > inflight_per_client
//       nothing is answered here
//   replies that change the connection (MULTI, EXEC, SELECT ...) > kObservedPerInflight *
//   inflight_per_client, or those that more must be remembered of (AUTH, HELLO, SUBSCRIBE, CONFIG
//   SET ...) > inflight_per_client
//       one more is not observed: replies are relayed unread from there on, commands are scanned
//       (redis/client_state.h)
//   a command > 64 KiB
//       streamed, never held (resp/request_scanner.h)
//   an own command of the guard's is held (guard/own_commands.h)
//       what comes behind it is kept, and no more read once that is kHeldBytesMax (one read of the
//       worker's buffer more at most). If the client does not read its replies either, it is
//       forwarded, for Redis to refuse. A client that sends no more is let go from GUARD.WAIT
//       without a reply, as from BLPOP. Redis does not hear of own commands
//   a read is held for a proof (strict namespaces; guard/guard.h)
//       as above, no longer than strict_hold; with it wait those behind it that wait for a proof,
//       too, or are answered here. As soon as the client sends anything else, or if Redis owes it
//       replies, nothing waits: the reads go to Redis, whose nil is replaced if the proof has come
//   a miss is held for another client's load (session_miss.cpp)
//       no longer than the namespace's `breakdown.hold`, and only while the client sends nothing
//   nothing from the client or to it for idle_timeout
//       closed without a word, as by Redis's `timeout`; not while Redis owes it a reply (it may be
//       blocked) or it is held, not while it is subscribed, silent (CLIENT REPLY) or relayed unread
//       (MONITOR)
//   the client sends no more (FIN), has taken all there is, and Redis says nothing for
//   Silence::kMax
//       closed. It counts no more among max_clients, and is closed earlier if its place is wanted
//       (clients.h)
//   the process is to end (drain())
//       the client is let go where its commands end: session_drain.cpp
// So the client is never made to wait for reading its own replies: one that writes a long pipeline
// before it reads works here as it does with Redis.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "config/config.h"
#include "guard/client.h"
#include "guard/guard.h"
#include "guard/own_commands.h"
#include "io/clock.h"
#include "io/loop.h"
#include "io/output_queue.h"
#include "proxy/client_lists.h"
#include "proxy/reply_clock.h"
#include "proxy/reply_order.h"
#include "redis/command_table.h"
#include "resp/request_scanner.h"
#include "upstream/route.h"

namespace cuckooguard::proxy {

// How long nothing has been sent to a client that has sent FIN. While it awaits replies it may be
// gone, unnoticeably; but no command of a working Redis takes so long (blocking ones end with the
// FIN). While there is output that it does not read, writing will show whether it is gone.
//
// Threads: its worker's. Lifetime: its session's.
class Silence {
 public:
  // Twice Redis's busy-reply-threshold, its default.
  static constexpr std::chrono::seconds kMax{10};
  static constexpr std::chrono::seconds kVainAfter{5};

  // Starts now; `on_over` is called after kMax. Both outlive this.
  Silence(io::Loop& loop, const io::OutputQueue& output, std::function<void()> on_over)
      : loop_(loop), output_(output), since_(loop.now()) {
    look(std::move(on_over));
  }

  void stop() { timer_.reset(); }
  // Bytes have moved towards the client.
  void stir() { since_ = loop_.now(); }
  bool is_in_vain() const { return output_.is_empty() && loop_.now() - since_ >= kVainAfter; }

 private:
  void look(std::function<void()> on_over) {
    if (!output_.is_empty()) {
      since_ = loop_.now();
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(since_ + kMax - loop_.now());
    if (left.count() <= 0) {
      on_over();
      return;
    }
    timer_ = loop_.after(left, [this, on_over = std::move(on_over)] { look(on_over); });
  }

  io::Loop& loop_;
  const io::OutputQueue& output_;
  io::TimePoint since_;
  std::unique_ptr<io::Timer> timer_;
};

// When the bytes at hand had been received: of each command the time after which no more of it
// came. A strict absent verdict needs a proof that is newer (filter/questions.h).
//
// Bytes that come while their client is held have a later time. Of those that are held two times
// are kept: of the bytes that came first, so that a client that goes on sending is answered all the
// same, and the last one for all that are behind them: later than it was is safe.
//
//   held:  [ came first | came later … ]
//            first_        rest_
//
// Threads: values.
class ReadTimes {
 public:
  // All at hand has been received by now.
  void begin(io::TimePoint at) {
    first_bytes_ = 0;
    rest_ = at;
  }
  // More has been received, behind `before` bytes that are held.
  void more(std::size_t before, io::TimePoint at) {
    if (first_bytes_ == 0) {
      first_ = rest_;
      first_bytes_ = before;
    }
    rest_ = at;
  }
  // Of the command at the front.
  io::TimePoint of(std::size_t size) const { return size <= first_bytes_ ? first_ : rest_; }
  void consumed(std::size_t size) { first_bytes_ -= std::min(size, first_bytes_); }

 private:
  io::TimePoint first_{};
  io::TimePoint rest_{};
  std::size_t first_bytes_ = 0;
};

// What a client has sent and nobody has taken yet: a part of a command, between two reads; or one
// that is held, and all behind it.
//
//   client ──read──▶ [ kept | just read ] ──scan──▶ commands      what is left is kept
//                      └ Redis may have its front already: is_ahead()
//
// Ahead: of a command that has not come to its end a part is sent to Redis, for it to refuse. When
// the end has come it is taken like any other, but only the rest of it is sent.
//
// Threads: its worker's. Limits: the session's; while nothing is kept nothing
// is allocated.
class Input {
 public:
  resp::RequestScanner& scanner() { return scanner_; }
  bool is_between_commands() const { return kept_.empty() && scanner_.at_command_boundary(); }

  std::size_t size() const { return kept_.size(); }
  // To the front of `buffer`; it stays kept. Its size.
  std::size_t copy_to(std::span<char> buffer) const {
    return kept_.copy(buffer.data(), buffer.size());
  }
  std::string take() { return std::exchange(kept_, {}); }
  void give_back(std::string bytes) { kept_ = std::move(bytes); }
  // Instead of what was kept, of which they are no part.
  void keep(std::string_view bytes) {
    if (bytes.empty()) {
      std::string().swap(kept_);
    } else {
      kept_.assign(bytes);
    }
  }
  void append(std::string_view bytes) { kept_.append(bytes); }

  bool is_ahead() const { return ahead_ > 0; }
  // Redis has got the first `size` of the bytes at hand.
  void set_ahead(std::size_t size) { ahead_ = size; }
  // What Redis has not got of the first bytes at hand, which are taken.
  std::string_view unsent(std::string_view raw) {
    const std::size_t sent = std::min(ahead_, raw.size());
    ahead_ -= sent;
    raw.remove_prefix(sent);
    return raw;
  }

 private:
  resp::RequestScanner scanner_;
  std::string kept_;
  std::size_t ahead_ = 0;  // of the bytes at hand, at their front
};

class Session final : public io::Disposable,
                      io::Watcher,
                      io::Flushable,
                      upstream::Route::Owner,
                      ReplyOrder::Owner,
                      IdleClients::Member,
                      HeldClients::Member,
                      ProofWaiters::Member {
 public:
  static constexpr std::size_t kUpstreamQueueBytesMax = std::size_t{256} * 1024;
  static constexpr std::size_t kHeldBytesMax = resp::kWholeCommandBytesMax;
  static constexpr std::size_t kObservedPerInflight = 100;

  struct Settings {
    config::Upstream upstream;
    config::Limits limits;
    std::size_t output_total = config::Limits{}.output_total;  // of this worker's clients
  };

  class Owner {
   public:
    virtual void on_session_end(Session& session) = 0;
    // Its client sends no more, and it has something left to do. Once.
    virtual void on_client_gone(Session& session) = 0;

   protected:
    ~Owner() = default;
  };

  // Commands that differ in key, or key and value, alone. Made once: to clear it would take as long
  // as to judge them.
  struct RunScratch {
    std::array<resp::AlikeCommand, guard::KeyRun::kMax> commands;
    std::array<std::string_view, guard::KeyRun::kMax> keys;
  };

  // The worker's, one for all sessions, which it outlives.
  struct Worker {
    io::Loop& loop;
    guard::Guard& guard;
    guard::OwnCommands& own_commands;
    resp::Arguments& arguments;         // scratch
    resp::Arguments& arguments_behind;  // likewise
    RunScratch& run;                    // likewise
    const Settings& settings;
    IdleClients& idle;
    HeldClients& held;
    ProofWaiters& proofs;
    std::shared_ptr<guard::KnownReplies> known;
    ReplyClock& reply_clock;
    upstream::Route::Worker route;
    Owner& owner;
  };

  Session(const Worker& worker,
          std::unique_ptr<io::Transport> client,
          std::unique_ptr<RewrittenReplies> rewritten = nullptr);

  void end();  // from outside, too, for example at shutdown; harmless when repeated
  void came_from(text::Network network) { state_.came_from(network); }
  void drain();
  void keep_promises();  // a change that it waits for is done
  // Of a client that sends no more: Redis has owed it a reply in silence for Silence::kVainAfter.
  bool waits_in_vain() const { return silence_ && silence_->is_in_vain(); }
  void cut_off();            // ends a drained session whose time is over
  void on_limits_changed();  // settings have changed; within a batch
  // Clients::on_upstream_changed().
  void on_upstream_changed(io::TimePoint before, bool keeps_subscribers);

  // To another worker, as if it had been there from the beginning: only between two commands, when
  // all replies are written, and whatever Redis knows of it, it can be told again.
  struct Moved {
    int socket = -1;
    guard::Client client;
    io::TimePoint reads_pass_until;  // Guard::leaves()
  };
  bool may_move() const;
  // What the connection that it shares was told; nothing: it has had none.
  std::optional<resp::ConnectionState> told_by_sharing() const;
  Moved move_out();  // and ends
  // `connection`: as told_by_sharing(); null: it has had none, or that was lost on the way.
  void move_in(Moved moved, std::unique_ptr<upstream::GreetedConnection> connection);
  // What it has sent since it was asked last, roughly in bytes.
  std::uint32_t take_work() { return std::exchange(work_, 0); }
  std::uint32_t work() const { return work_; }

 private:
  static constexpr std::uint32_t kWorkPerRead = 1024;  // a read and a write cost as much as that

  // Its life, from above to below.
  //
  //   phase            comes from        when
  //   open                               commands are read and carried out
  //   input_over       open              it drains, and is between two commands: no more are read,
  //                                      replies are still written
  //   client_finished  open, input_over  the client sends no more (FIN), or is taken to: only Redis
  //                                      knows when it is done with a draining one, or nobody waits
  //                                      (cut_off()). Redis is told, replies are still written, and
  //                                      what has come behind a held command is still carried out
  //   ending           any of these      Redis is lost, or will not have it, or owes nothing to who
  //                                      has finished: what is queued is still written
  //   farewell         input_over,       it drains, and all is written: FIN is sent, what comes is
  //                    ending            thrown away
  //   ended            any               all is written, and it does not drain; or the farewell is
  //                                      over; an error, a limit, silence, end(): closed
  enum class Phase : std::uint8_t { open, input_over, client_finished, ending, farewell, ended };

  // Output to the client is written at the end of the batch, or when its socket takes more.
  enum class Writing : std::uint8_t { at_rest, queued, blocked };
  // With Redis, so far: something was sent, or a connection was even up.
  enum class Contact : std::uint8_t { none, sent, up };

  // The first command of the input: it waits for replies to those before it, or is an own command.
  struct HeldCommand {
    io::TimePoint since;
    bool for_source = false;  // GUARD.WAIT
    bool for_proof = false;   // then:
    std::uint32_t ns = 0;     // whose proof
    io::TimePoint read_at{};  // newer than this
    io::TimePoint until{};
    // Of the input what is known to wait with it: whole commands, of which none needs Redis.
    std::size_t looked_at = 0;
    std::size_t looked_again_at = 0;  // so much input before its incomplete end is looked at again
  };

  // A read whose reply may be a miss that waits for another client's load (session_miss.cpp).
  struct Miss {
    enum class State : std::uint8_t { none, watched, held, asked };  // asked: watched once more
    State state = State::none;
    std::string request;  // to be sent again
    std::string reply;    // what Redis has said, while it is held
  };

  void on_ready(io::Readiness readiness) override;
  void flush() override;
  void on_upstream_up() override {
    contact_ = Contact::up;
    state_.upstream_is_up();
  }
  resp::ConnectionState told() const override { return state_.told(); }
  bool is_transferable() const override { return state_.is_transferable(); }
  bool has_unread_replies() const override { return state_.has_unread_replies(); }
  std::uint32_t beginnings() const override { return state_.beginnings(); }
  void on_upstream_bytes(std::string_view bytes) override;
  void on_upstream_turned_away(std::string_view error) override { on_upstream_bytes(error); }
  void on_upstream_replies(std::string_view bytes, std::uint32_t replies) override;
  void on_upstream_down() override { state_.upstream_is_down(); }
  void on_upstream_refused(std::string_view error) override;
  void on_command_refused(std::string_view error) override { go_on(error); }
  void on_upstream_progress() override;
  void on_upstream_lost() override;
  void on_redis_error(std::string_view first_bytes) override;
  void on_absent_key_reply(const guard::AbsentKeyReply& reply) override {
    worker_.guard.compare(reply);
  }
  bool may_replace(const guard::AbsentKeyReply& reply) override {
    return worker_.guard.may_replace(reply, worker_.loop.now());
  }
  void on_idle() override;
  void on_tick() override;
  void on_proof() override;

  void read_client();
  void on_client_finished();
  void pass_on_the_end();
  void note_gone();
  void stir() {  // bytes move towards the client
    if (silence_) {
      silence_->stir();
    }
  }
  void begin_read() {  // of the socket, or of what was held
    now_ = worker_.loop.now();
    times_.begin(now_);
    open_lane_.reset();
    may_take_runs_ = true;
  }
  void take(std::string_view input);
  bool take_one(std::string_view input, std::size_t& consumed);
  std::size_t take_command(std::string_view raw, std::string_view behind);
  std::size_t take_read(guard::Question& question, std::string_view raw, std::string_view behind);
  std::size_t take_run(guard::Question& first, std::string_view raw, std::string_view behind);
  std::size_t take_reads(guard::Question& first, std::size_t size, std::string_view input);
  std::size_t answer_run(const guard::Question& first, std::string_view reply, std::size_t most);
  std::size_t forward_run(const guard::Question& first,
                          std::string_view input,
                          std::size_t begin,
                          std::span<const resp::AlikeCommand> commands);
  void take_nothing(std::string_view raw);
  bool may_leave(const guard::Question& question);
  void decide_and_carry_out(const guard::Question& question, std::string_view raw);
  void carry_out(const guard::Question& question,
                 const guard::Decision& decision,
                 std::string_view raw);
  guard::Decision judge(guard::Question& question, std::string_view raw, std::string_view behind);
  bool hold_for_proof(const guard::Question& question,
                      const guard::Decision& decision,
                      std::size_t size,
                      std::string_view behind);
  std::optional<std::size_t> absent_reads_in(std::string_view input, const redis::Snapshot* redis);
  void take_more(HeldCommand& held, std::string_view bytes);
  guard::Misses& misses_of(guard::Loads& loads);
  void join_loads();  // whom the write at hand concerns
  void watch_for_miss(std::string_view raw);
  bool is_miss_held() const { return miss_ && miss_->state == Miss::State::held; }
  // These bytes of Redis's are a miss that waits.
  bool is_held_back(std::string_view bytes) {
    if (!miss_ || miss_->state == Miss::State::none) {
      return false;
    }
    if (miss_->state == Miss::State::watched && bytes.starts_with('$') && bytes.size() > 1 &&
        bytes[1] != '-') {
      miss_->state = Miss::State::none;  // a value, as most are
      return false;
    }
    return holds_back(bytes);
  }
  bool holds_back(std::string_view bytes);
  void go_on_with_miss();
  void give_up_miss();
  void reply_to_miss();
  std::size_t room_for(const guard::Question& question) const {
    return !must_be_heard(question.redis.idle_timeout) && !input_.is_ahead() ? room() : 0;
  }
  bool may_travel(redis::Lane lane, upstream::Route::Needs needs = {});
  bool take_own_command(const guard::OwnCommands::Served& served, std::string_view raw);
  bool ask_redis(guard::OwnDecision decision);
  void go_on(std::string_view refusal = {});
  bool refuse_one(std::string_view input, std::size_t& consumed, std::string_view error);
  void on_relayed(bool well_formed);
  void on_all_replied();
  bool holds_too_much() const;
  void hold(bool for_source = false);
  bool waits_for_promises();
  bool may_go_to_redis(redis::Lane lane, upstream::Route::Needs needs = {}) {
    return !waits_for_promises() && may_travel(lane, needs);
  }
  void let_go();
  void wait_for_more();
  bool may_take_chunk(const resp::Scan& scan, std::string_view raw);
  void take_chunk(const resp::Scan& scan, std::string_view raw);
  void send_ahead(std::string_view input);
  void forward(std::string_view raw, std::size_t commands = 1);
  void stop_reading_replies();
  bool may_observe(const redis::StateChange& change) const;
  bool must_be_heard(std::chrono::milliseconds timeout) const;
  std::size_t room() const;
  void queue_flush();
  void update_watch();
  void end_when_written();
  bool is_between_commands() const;
  void note_end_of_input(bool has_read_all);
  void drain_on();
  void leave();
  void read_behind_farewell(bool hung_up);

  const Worker& worker_;
  std::unique_ptr<io::Transport> client_;
  io::OutputQueue output_;
  guard::Client state_;
  ReplyOrder order_;
  TimedReply timed_reply_;
  Input input_;
  io::TimePoint now_;  // when the bytes at hand were read
  ReadTimes times_;    // of them
  std::optional<HeldCommand> held_;
  std::unique_ptr<Miss> miss_;  // null: there was none to be watched
  // In this read of the socket commands of that lane may travel: nothing has been sent since it was
  // found out, but answers of the guard. Shared lanes only.
  std::optional<redis::Lane> open_lane_;
  Phase phase_ = Phase::open;
  bool may_wait_for_proof_ = true;
  bool may_take_runs_ = true;  // in this read of the socket none has been looked for in vain
  bool is_draining_ = false;   // to end where the client's commands do, by a farewell
  bool output_over_limit_ = false;
  bool upstream_over_limit_ = false;
  Writing writing_ = Writing::at_rest;
  Contact contact_ = Contact::none;
  std::uint32_t work_ = 0;            // modulo 2^32
  io::TimePoint heard_at_;            // when Redis was last sent something
  std::unique_ptr<Silence> silence_;  // null: it may still send
  std::unique_ptr<io::Timer> farewell_;
  upstream::Route route_;  // last: its callbacks need all of the above
};
static_assert(sizeof(Session) <= 936, "one per client");

}  // namespace cuckooguard::proxy
