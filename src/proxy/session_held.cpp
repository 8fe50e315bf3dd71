// A session while a command is held, and how its client's end is taken.
#include <utility>

#include "proxy/session.h"
#include "resp/reply_writer.h"

namespace cuckooguard::proxy {

// False: it is held, and all that is behind it.
bool Session::take_own_command(const guard::OwnCommands::Served& served, std::string_view raw) {
  using Action = guard::OwnDecision::Action;
  const auto arguments = worker_.arguments.views();
  const guard::Attempt attempt{.now = now_,
                               .since = held_ ? held_->since : now_,
                               .has_room = room() > 0,
                               .has_promises = order_.has_promises()};
  guard::OwnDecision decision = worker_.own_commands.serve(served, arguments, state_, attempt);
  const bool for_source = decision.action == Action::hold_for_source;
  // What would settle a client that does not read its replies may never come; promises are kept.
  const bool holds =
      decision.action == Action::hold_for_client && (!output_over_limit_ || order_.has_promises());
  if (for_source || holds) {
    hold(for_source);
    return false;
  }
  if (decision.action == Action::promise) {
    let_go();
    decision.promise->await(worker_.finished, this);
    order_.promise(*std::move(decision.promise));
    return true;
  }
  if (decision.action == Action::forward && waits_for_promises()) {
    return false;
  }
  let_go();
  if (decision.action == Action::answer) {
    order_.answer(decision.reply);
    queue_flush();
    return true;
  }
  if (!may_travel(redis::Lane::own)) {
    return false;
  }
  if (decision.instead.empty()) {
    decide_and_carry_out(worker_.guard.ask(arguments, state_, now_), raw);
  } else {
    std::string bytes;
    resp::append_command(bytes, decision.instead);
    decide_and_carry_out(worker_.guard.ask(decision.instead, state_, now_), bytes);
  }
  return true;
}

// False: the command at hand waits for replies to those before it.
bool Session::may_travel(redis::Lane lane, upstream::Route::Needs needs) {
  if (redis::is_shared(lane) && output_over_limit_) {
    lane = redis::Lane::own;  // where Redis need not be read
  }
  if (lane == open_lane_) {
    if (held_) {
      let_go();
    }
    return true;
  }
  if (!route_.choose(lane, order_.is_waiting(), needs)) {
    held_ = {.since = held_ ? held_->since : now_};
    worker_.proofs.remove(*this);
    return false;
  }
  open_lane_ = redis::is_shared(lane) ? std::optional(lane) : std::nullopt;
  if (held_) {
    let_go();
  }
  return true;
}

void Session::on_all_replied() {
  if (phase_ < Phase::client_finished) {
    route_.settle();
  } else if (phase_ == Phase::client_finished && !held_) {
    pass_on_the_end();
  }
}

void Session::keep_promises() {
  if (phase_ >= Phase::farewell || !order_.keep_promises()) {
    return;
  }
  queue_flush();
  if (!order_.is_waiting()) {
    on_all_replied();
  }
  go_on();
}

void Session::on_upstream_progress() {
  update_watch();
  if (!order_.is_waiting() && !order_.is_within_reply()) {
    on_all_replied();
  }
  go_on();
}

// Nothing of what it has sent since it asked for a connection has been run.
void Session::on_upstream_refused(std::string_view error) {
  bool well_formed = input_.scanner().at_command_boundary() && !state_.has_unread_replies();
  while (well_formed && order_.awaits_redis()) {
    well_formed = order_.relay(error);
  }
  if (!well_formed || !state_.is_transferable()) {
    end_when_written();  // what it has told Redis cannot be known any more
    return;
  }
  queue_flush();
  on_all_replied();
  go_on();
  update_watch();
}

// Behind promises nothing is asked for before they are kept.
void Session::hold(bool for_source) {
  held_ = {.since = held_ ? held_->since : now_, .for_source = for_source};
  if (!order_.has_promises()) {
    worker_.held.add(*this);
  }
}

// True: what is at hand is held, since Redis may reply to nothing before promises are kept.
bool Session::waits_for_promises() {
  if (order_.has_promises()) {
    hold();
  }
  return order_.has_promises();
}

void Session::let_go() {
  held_.reset();
  worker_.proofs.remove(*this);
  if (!is_draining_) {
    worker_.held.remove(*this);
  }
}

// The end of what is at hand has not come. Its front may have been held, for a length that is too
// large for who has not logged in: for others it is not, and nothing but its end would wake it.
void Session::wait_for_more() {
  if (held_) {
    let_go();
  }
}

// Asks again for what is held. `refusal`: Redis's error is its reply, unless it is empty.
void Session::go_on(std::string_view refusal) {
  if (!held_ || phase_ >= Phase::ending) {
    return;
  }
  const ReadTimes times = times_;
  const bool was_for_proof = held_->for_proof;
  begin_read();
  if (was_for_proof) {
    times_ = times;
  }
  std::string input = input_.take();
  std::size_t consumed = 0;
  if (refusal.empty() ? take_one(input, consumed) : refuse_one(input, consumed, refusal)) {
    take(std::string_view(input).substr(consumed));
  } else {
    input_.give_back(std::move(input));
  }
  if (phase_ == Phase::client_finished) {
    on_client_finished();
  }
  update_watch();
}

// A whole command: nothing else waits for a connection that Redis may refuse.
bool Session::refuse_one(std::string_view input, std::size_t& consumed, std::string_view error) {
  consumed = input_.scanner().next(input, worker_.arguments).consumed;
  times_.consumed(consumed);
  let_go();
  order_.answer(error);
  queue_flush();
  return true;
}

void Session::on_client_finished() {
  phase_ = Phase::client_finished;
  pass_on_the_end();
  if (phase_ < Phase::farewell) {
    note_gone();
  }
}

// It sends no more, and what it has sent is not done with.
void Session::note_gone() {
  if (!silence_) {
    worker_.owner.on_client_gone(*this);
    silence_ = std::make_unique<Silence>(worker_.loop, output_, [this] { end(); });
  }
}

// The client sends no more. Redis hears so after the last command, and decides which replies are
// still sent.
void Session::pass_on_the_end() {
  update_watch();
  if (order_.has_promises()) {
    return;  // it hears what was promised before Redis hears that it has gone
  }
  if (held_) {
    if (!held_->for_source) {
      return;  // what has come is still taken
    }
    let_go();
    input_.keep({});
  }
  if (route_.is_lost() || (!route_.has_own() && !order_.is_waiting())) {
    end_when_written();
  } else {
    route_.finish_sending();
  }
}

void Session::end_when_written() {
  if (phase_ >= Phase::ending) {
    return;
  }
  phase_ = Phase::ending;
  let_go();
  if (output_.is_empty()) {
    leave();
  } else {
    queue_flush();
    update_watch();
  }
}

void Session::on_idle() {
  // With replies that it does not read it is the client who holds things up, not Redis.
  const bool may_be_blocked = order_.is_waiting() && !output_over_limit_;
  if (!may_be_blocked && !held_ && !state_.subscriptions().any() && !state_.is_silent() &&
      !state_.has_unread_replies()) {
    end();
  }
}

}  // namespace cuckooguard::proxy
