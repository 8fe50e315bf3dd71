#include "proxy/session.h"

#include <array>
#include <utility>

namespace cuckooguard::proxy {
namespace {

constexpr std::size_t kAbsentReplyBytesMax = 65 * 1024;  // config::kAbsentReplyBytesMax, in RESP

}  // namespace

Session::Session(const Worker& worker,
                 std::unique_ptr<io::Transport> client,
                 std::unique_ptr<RewrittenReplies> rewritten)
    : worker_(worker),
      client_(std::move(client)),
      output_(worker.loop.chunks()),
      order_(output_, state_, *this),
      heard_at_(worker.loop.now()),
      route_(worker.route, *this) {
  if (!route_.is_pinned()) {
    state_.remember_what_was_told();
  }
  order_.rewrite(std::move(rewritten));
  client_->bind(*this);
  worker_.idle.add(*this);
  update_watch();
}

void Session::end() {
  if (phase_ != Phase::ended) {
    phase_ = Phase::ended;
    if (silence_) {
      silence_->stop();
    }
    worker_.idle.remove(*this);
    worker_.held.remove(*this);
    worker_.proofs.remove(*this);
    worker_.guard.ended(state_, worker_.loop.now());
    state_.ended();
    client_->close();
    route_.close();
    worker_.owner.on_session_end(*this);
  }
}

bool Session::may_move() const {
  const bool is_quiet = phase_ == Phase::open && !is_draining_ && !held_ &&
                        (!miss_ || miss_->state == Miss::State::none) &&
                        input_.is_between_commands() && !input_.is_ahead() && output_.is_empty() &&
                        !order_.is_waiting() && !order_.is_within_reply();
  return is_quiet && state_.is_transferable() && !order_.rewrites() && route_.is_at_rest() &&
         (route_.is_shared() || contact_ == Contact::none) && client_->may_be_released();
}

std::optional<resp::ConnectionState> Session::told_by_sharing() const {
  return route_.is_shared() ? std::optional(state_.told()) : std::nullopt;
}

Session::Moved Session::move_out() {
  phase_ = Phase::ended;
  worker_.idle.remove(*this);
  const io::TimePoint reads_pass_until = worker_.guard.leaves(state_, worker_.loop.now());
  route_.close();
  return {.socket = client_->release(),
          .client = std::move(state_),
          .reads_pass_until = reads_pass_until};
}

void Session::move_in(Moved moved, std::unique_ptr<upstream::GreetedConnection> connection) {
  state_ = std::move(moved.client);
  worker_.guard.arrives(state_, moved.reads_pass_until, worker_.loop.now());
  state_.upstream_is_down();
  if (connection) {
    on_upstream_up();
    route_.begin_with(std::move(connection));
    route_.settle();  // there are spares where it joins others
  }
}

void Session::on_limits_changed() {
  if (phase_ != Phase::ended) {
    worker_.idle.add(*this);
    update_watch();
  }
}

void Session::on_upstream_changed(io::TimePoint before, bool keeps_subscribers) {
  if (phase_ >= Phase::ending) {
    return;  // what it is owed, it has had
  }
  if (keeps_subscribers && state_.subscriptions().any()) {
    return;
  }
  if (!route_.leave_redis(before)) {
    give_up_miss();
    end();
    return;
  }
  if (route_.has_own()) {
    return;
  }
  state_.upstream_is_down();
  go_on();
}

void Session::on_ready(io::Readiness readiness) {
  if (phase_ == Phase::farewell) {
    read_behind_farewell(readiness.hung_up);
    return;
  }
  if (readiness.writable) {
    flush();
  }
  if (readiness.readable) {
    read_client();
  } else if (readiness.hung_up) {
    end();
  } else if (readiness.has_finished && phase_ != Phase::ended) {
    note_gone();  // while it is not read, since Redis is not quick enough
  }
}

void Session::read_client() {
  const bool is_full = held_ && input_.size() >= kHeldBytesMax;
  if (phase_ >= Phase::client_finished || upstream_over_limit_ || is_full) {
    return;
  }
  const std::span<char> buffer = worker_.loop.read_buffer();
  // The scanner leaves at most one command of 64 KiB; the buffer is three times that.
  const std::size_t kept = held_ ? 0 : input_.copy_to(buffer);
  const io::Transfer transfer = client_->read(buffer.subspan(kept));
  const std::string_view bytes(buffer.data(), kept + transfer.bytes);
  switch (transfer.status) {
    case io::Status::ok:
      if (held_) {
        // Read all the same: a client that goes away is noticed, as Redis notices it behind BLPOP.
        take_more(*held_, bytes);
      } else {
        give_up_miss();
        begin_read();
        worker_.idle.touch(*this);
        work_ += kWorkPerRead + static_cast<std::uint32_t>(transfer.bytes);
        take(bytes);
        note_end_of_input(bytes.size() < buffer.size());
      }
      update_watch();
      return;
    case io::Status::would_block:
      note_end_of_input(true);
      return;
    case io::Status::closed:
      on_client_finished();
      return;
    case io::Status::failed:
      end();
      return;
  }
}

void Session::take(std::string_view input) {
  std::size_t consumed = 0;
  while (phase_ < Phase::ending && !input.empty() && take_one(input, consumed)) {
    input.remove_prefix(consumed);
  }
  input_.keep(input);
}

// False if what is left is an incomplete command, or is held.
bool Session::take_one(std::string_view input, std::size_t& consumed) {
  if (state_.is_raw()) {
    consumed = input.size();
    times_.consumed(consumed);
    forward(input);
    return true;
  }
  consumed = 0;
  const bool is_limited =
      !input_.is_ahead() && !route_.is_let_in() && worker_.guard.may_be_logged_out(state_);
  resp::RequestScanner& scanner = input_.scanner();
  scanner.set_authenticated(!is_limited);
  const resp::RequestScanner before = scanner;
  resp::Scan scan = scanner.next(input, worker_.arguments);
  if (is_limited && scan.outcome == resp::ScanOutcome::protocol_error) {
    scanner.set_authenticated(true);
    scan = scanner.next(input, worker_.arguments);
    if (scan.outcome == resp::ScanOutcome::incomplete) {
      if (may_travel(redis::Lane::for_good, {.ends_client = true})) {
        send_ahead(input);
      } else {
        scanner = before;
      }
      return false;
    }
  }
  const std::string_view raw = input.substr(0, scan.consumed);
  switch (scan.outcome) {
    case resp::ScanOutcome::incomplete:
      wait_for_more();
      if (input_.is_ahead()) {
        send_ahead(input);
      }
      return false;
    case resp::ScanOutcome::command:
      consumed = take_command(raw, input.substr(scan.consumed));
      times_.consumed(consumed);
      return consumed > 0;
    case resp::ScanOutcome::chunk:
      if (!may_take_chunk(scan, raw)) {
        scanner = before;
        return false;
      }
      take_chunk(scan, raw);
      break;
    case resp::ScanOutcome::nothing:
      take_nothing(raw);
      break;
    case resp::ScanOutcome::protocol_error:
      if (!may_go_to_redis(redis::Lane::for_good, {.ends_client = true})) {
        return false;
      }
      // Redis itself says what is wrong, in its own words, and closes.
      stop_reading_replies();
      state_.become_raw();
      return true;
  }
  consumed = scan.consumed;
  times_.consumed(consumed);
  return true;
}

// How many bytes: of more than one if what is behind it is taken with it, 0 if it is held, and all
// that is behind it.
std::size_t Session::take_command(std::string_view raw, std::string_view behind) {
  const auto arguments = worker_.arguments.views();
  const auto* const served = worker_.own_commands.find(arguments, now_);
  if (served != nullptr && !input_.is_ahead()) {
    return take_own_command(*served, raw) ? raw.size() : 0;
  }
  if (served != nullptr && !served->is_of_guard()) {
    end_when_written();  // Redis has its front: it must not have all of it
    return raw.size();
  }
  if (waits_for_promises()) {
    return 0;
  }
  guard::Question question = worker_.guard.ask(arguments, state_, now_);
  if (const std::size_t taken = take_run(question, raw, behind); taken > 0) {
    return taken;
  }
  if (guard::Guard::judges(question)) {
    return take_read(question, raw, behind);
  }
  if (!may_leave(question)) {
    return 0;
  }
  decide_and_carry_out(question, raw);
  return raw.size();
}

// Its size; 0 if it is held. What the guard answers itself needs no way to Redis.
std::size_t Session::take_read(guard::Question& question,
                               std::string_view raw,
                               std::string_view behind) {
  const guard::Decision decision = judge(question, raw, behind);
  const bool is_answered = decision.action == guard::Action::answer;
  if (decision.action == guard::Action::hold || (!is_answered && !may_leave(question))) {
    return 0;
  }
  const bool is_alone =
      decision.may_be_load && behind.empty() && !order_.is_waiting() && !input_.is_ahead();
  worker_.guard.carried_out(question);
  if (is_answered && held_) {
    let_go();
  }
  carry_out(question, decision, raw);
  if (is_alone) {
    watch_for_miss(raw);
  }
  return raw.size();
}

// To Redis. False: it is held.
bool Session::may_leave(const guard::Question& question) {
  if (route_.is_pinned()) {
    if (held_) {
      let_go();  // it was an own command, and is none any more; or it waited for a proof
    }
    return true;
  }
  const redis::Lane lane = question.lane();
  return may_travel(lane,
                    {.waits_for_writes =
                         lane == redis::Lane::own && redis::waits_for_writes(question.arguments)});
}

// Redis has no reply to an empty line.
void Session::take_nothing(std::string_view raw) {
  if (state_.is_silent()) {
    stop_reading_replies();  // Redis takes even an empty line for what CLIENT REPLY SKIP skips
  }
  if (route_.has_own()) {
    forward(raw);
  }
}

void Session::decide_and_carry_out(const guard::Question& question, std::string_view raw) {
  carry_out(question, worker_.guard.decide(question, room_for(question)), raw);
}

void Session::carry_out(const guard::Question& question,
                        const guard::Decision& decision,
                        std::string_view raw) {
  join_loads();
  switch (decision.action) {
    case guard::Action::answer:
      order_.answer(decision.reply);
      queue_flush();
      return;
    case guard::Action::rewrite:
      order_.expect_reply();
      forward(decision.request);
      return;
    case guard::Action::merge:
      order_.expect_merged_reply(decision.elements, decision.absent_keys);
      forward(decision.request);
      return;
    case guard::Action::unread:
      order_.expect_anything();
      forward(raw);
      return;
    case guard::Action::hold:  // it would not have come here
    case guard::Action::forward:
      break;
  }
  if (!state_.next_has_reply()) {
    forward(raw);
    return;
  }
  if (!decision.elements.empty()) {
    order_.expect_merged_reply(decision.elements, decision.absent_keys);
  } else if (!decision.absent_keys.empty()) {
    order_.expect_absent_key_reply(decision.absent_keys.front());
  } else if (decision.change == nullptr) {
    const redis::Role role = question.command.role;  // SENTINEL is known to no Redis
    const bool may_tell = role == redis::Role::plain || role == redis::Role::unknown;
    if (order_.rewrites() && may_tell) {
      order_.expect_reply_to(question.arguments);
    } else {
      order_.expect_reply();
    }
    if (decision.awaits_reply) {
      state_.writes()->await(order_.last_expected());
    }
    timed_reply_.expected(worker_.reply_clock, question.command, order_, now_);
  } else {
    state_.sent(*decision.change);  // also if nobody will see its reply: it is in flight for good
    if (may_observe(*decision.change)) {
      order_.expect_observed_reply(*decision.change);
    } else {
      stop_reading_replies();
    }
  }
  forward(raw);
}

void Session::stop_reading_replies() {
  worker_.guard.stop_reading_replies(state_, now_);
  order_.expect_anything();
}

bool Session::may_observe(const redis::StateChange& change) const {
  const std::size_t most = worker_.settings.limits.inflight_per_client;
  return ReplyOrder::is_kept_whole(change) ? order_.observed_whole() < most
                                           : order_.observed() < most * kObservedPerInflight;
}

void Session::forward(std::string_view raw, std::size_t commands) {
  raw = input_.unsent(raw);
  if (route_.is_lost()) {
    end_when_written();
    return;
  }
  if (miss_) {
    miss_->state = Miss::State::none;
  }
  contact_ = std::max(contact_, Contact::sent);
  open_lane_.reset();
  heard_at_ = now_;
  route_.send(raw, commands);
}

// Redis counts what it hears: its own `timeout` would close a client that asks for nothing but
// absent keys.
bool Session::must_be_heard(std::chrono::milliseconds timeout) const {
  return route_.has_own() && timeout.count() > 0 && contact_ == Contact::up &&
         now_ - heard_at_ > timeout / 2;
}

// How many bytes may be answered here.
std::size_t Session::room() const {
  const Settings& settings = worker_.settings;
  if (output_over_limit_ || order_.entries() >= settings.limits.inflight_per_client) {
    return 0;
  }
  const auto left = [](std::size_t limit, std::size_t used) {
    return limit > used ? limit - used : 0;
  };
  const std::size_t queued = output_.size() + order_.waiting_bytes();
  // One absent reply, however long, is never too much.
  const std::size_t of_client =
      queued == 0 ? std::max<std::size_t>(settings.limits.client_output_soft, kAbsentReplyBytesMax)
                  : left(settings.limits.client_output_soft, queued);
  return std::min(of_client,
                  std::max(left(settings.output_total, worker_.loop.chunks().bytes_in_use()),
                           left(io::Chunk::kBytes, queued)));
}

void Session::queue_flush() {
  if (writing_ == Writing::at_rest && !output_.is_empty()) {
    writing_ = Writing::queued;
    worker_.loop.flush_at_batch_end(*this, io::FlushOrder::client_last);
  }
}

void Session::flush() {
  writing_ = Writing::at_rest;
  if (phase_ == Phase::ended) {
    return;
  }
  std::array<std::string_view, io::OutputQueue::kPiecesAtOnce> pieces;
  while (!output_.is_empty()) {
    const io::Transfer transfer = client_->write(output_.front(pieces));
    if (transfer.status == io::Status::would_block) {
      writing_ = Writing::blocked;
      break;
    }
    if (transfer.status != io::Status::ok) {
      end();
      return;
    }
    output_.consume(transfer.bytes);
    worker_.idle.touch(*this);
    stir();
  }
  timed_reply_.written(worker_.reply_clock, order_);
  if (phase_ == Phase::ending && output_.is_empty()) {
    leave();
    return;
  }
  update_watch();
}

void Session::update_watch() {
  if (phase_ >= Phase::farewell) {
    return;
  }
  const auto crosses = [](bool over, std::size_t size, std::size_t max) {
    return over ? size > max / 2 : size > max;
  };
  output_over_limit_ =
      crosses(output_over_limit_, output_.size(), worker_.settings.limits.client_output_soft);
  upstream_over_limit_ = crosses(upstream_over_limit_, route_.unsent(), kUpstreamQueueBytesMax);
  const bool is_full = held_ && (is_draining_ || input_.size() >= kHeldBytesMax);
  // Who writes all before it reads would wait for ever behind a promise.
  const bool must_read = is_full && order_.has_promises() &&
                         output_.size() < worker_.settings.limits.client_output_hard / 2 &&
                         worker_.loop.chunks().bytes_in_use() < worker_.settings.output_total / 2;
  route_.set_reading(!output_over_limit_ || must_read, held_.has_value());
  const bool reads = phase_ == Phase::open && !upstream_over_limit_ && !is_full;
  const bool writes = writing_ == Writing::blocked;
  client_->watch(reads ? (writes ? io::Interest::both : io::Interest::read)
                       : (writes ? io::Interest::write : io::Interest::none));
}

// --- commands that are not held whole before Redis has some of them ---

// Whose key it is will be seen when a little more has come.
bool Session::may_take_chunk(const resp::Scan& scan, std::string_view raw) {
  const bool is_key_to_come = scan.begins && raw.size() < guard::OwnCommands::kKeyIsInFront &&
                              worker_.own_commands.must_see_key(worker_.arguments.views());
  if (is_key_to_come) {
    wait_for_more();
    return false;
  }
  return may_go_to_redis(redis::Lane::own);
}

void Session::take_chunk(const resp::Scan& scan, std::string_view raw) {
  const guard::Decision decision =
      worker_.guard.stream(scan, worker_.arguments.views(), state_, now_);
  if (decision.action == guard::Action::unread) {
    order_.expect_anything();
  } else if (scan.begins && state_.next_has_reply()) {
    order_.expect_reply();
  }
  if (decision.awaits_reply) {
    state_.writes()->await(order_.last_expected());
  }
  const auto front = worker_.arguments.views();
  if (!scan.begins || !worker_.own_commands.may_take_large(front, state_, now_)) {
    forward(raw);
  } else if (input_.is_ahead()) {
    end_when_written();  // Redis has its front: it must not have all of it
  } else {
    forward(worker_.own_commands.unknown_to_redis(front, raw));
  }
}

// A length too large for who has not logged in: Redis says so at once, in its own words, and
// closes. If it does not, since it has let everybody in meanwhile, the command is scanned like any
// other when the rest has come.
void Session::send_ahead(std::string_view input) {
  forward(input);
  input_.set_ahead(input.size());
}

// --- what comes from Redis ---

void Session::on_upstream_bytes(std::string_view bytes) {
  worker_.guard.relayed(state_);
  order_.take_unasked(route_.has_for_good() ? ReplyOrder::Unasked::all
                      : route_.has_new()    ? ReplyOrder::Unasked::replies
                                            : ReplyOrder::Unasked::none);
  if (!is_held_back(bytes)) {
    on_relayed(order_.relay(bytes));
  }
}

void Session::on_upstream_replies(std::string_view bytes, std::uint32_t replies) {
  if (!is_held_back(bytes)) {
    on_relayed(order_.relay_whole(bytes, replies) || order_.relay(bytes));
  }
}

void Session::on_relayed(bool well_formed) {
  if (!well_formed || holds_too_much()) {
    end();  // not RESP: what follows belongs to nobody
    return;
  }
  stir();
  if (state_.writes() != nullptr && state_.writes()->has_outcomes()) {
    worker_.guard.learn_replied(state_, worker_.loop.now());
  }
  queue_flush();
  update_watch();
  if (!order_.is_waiting() && !order_.is_within_reply()) {  // a push may have begun behind them
    on_all_replied();
  }
  go_on();
}

// Only what is shared is read for clients that do not read.
bool Session::holds_too_much() const {
  const config::Limits& limits = worker_.settings.limits;
  const std::size_t size = output_.size();
  return size > limits.client_output_hard ||
         (size > limits.client_output_soft &&
          worker_.loop.chunks().bytes_in_use() > worker_.settings.output_total);
}

void Session::on_redis_error(std::string_view first_bytes) {
  worker_.guard.note_error(first_bytes, state_);
  if (first_bytes.starts_with("-NOAUTH ")) {
    route_.on_login_wanted();
  }
  // There may be another one by now.
  if (first_bytes.starts_with("-READONLY ") || first_bytes.starts_with("-LOADING ")) {
    route_.retire();
  }
}

void Session::on_upstream_lost() {
  give_up_miss();
  // A Redis that could not be reached at all may be down: absent keys are still answered, the first
  // command that needs it ends the session. A connection that was up and is closed ends it at once,
  // as Redis's own close would.
  if (contact_ != Contact::none || phase_ == Phase::client_finished) {
    end_when_written();
  }
}

}  // namespace cuckooguard::proxy
