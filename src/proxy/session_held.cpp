// A session while a command is held, and how its client's end is taken.
#include <algorithm>
#include <utility>

#include "proxy/session.h"
#include "resp/reply_writer.h"

namespace cuckooguard::proxy {
namespace {

constexpr std::size_t kLookedAtOnce = 1024;  // of an incomplete command

}  // namespace

// False: it is held, and all that is behind it.
bool Session::take_own_command(const guard::OwnCommands::Served& served, std::string_view raw) {
  using Action = guard::OwnDecision::Action;
  if (order_.is_asking()) {
    hold();
    return false;
  }
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
  if (decision.action == Action::ask) {
    return ask_redis(std::move(decision));
  }
  if (decision.action == Action::promise) {
    let_go();
    decision.promise->await(worker_.known, this);
    order_.promise(std::move(decision.promise));
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

// False: what is at hand is held.
bool Session::ask_redis(guard::OwnDecision decision) {
  const guard::Question question = worker_.guard.ask(decision.instead, state_, now_);
  if (waits_for_promises() || !may_leave(question)) {
    return false;
  }
  let_go();
  // What it writes (DEL) is learned as of any other command.
  const bool awaits_reply =
      question.command.role == redis::Role::write && worker_.guard.decide(question, 0).awaits_reply;
  join_loads();
  order_.ask({.reply =
                  [this, reply = std::move(decision.asked.reply)](std::string_view redis,
                                                                  std::string& out) {
                    auto promise = reply(redis, out);
                    if (promise) {
                      promise->await(worker_.known, this);
                    }
                    return promise;
                  },
              .takes_errors = decision.asked.takes_errors});
  if (awaits_reply) {
    state_.writes()->await(order_.last_expected());
  }
  std::string bytes;
  resp::append_command(bytes, decision.instead);
  forward(bytes);
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
  if (is_miss_held()) {
    go_on_with_miss();
    return;
  }
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
  give_up_miss();
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
  give_up_miss();
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
  give_up_miss();
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

// --- a read that waits for a proof, in a strict namespace (guard/guard.h) ---

guard::Decision Session::judge(guard::Question& question,
                               std::string_view raw,
                               std::string_view behind) {
  const bool may_wait =
      may_wait_for_proof_ && !is_draining_ && !order_.is_waiting() && !input_.is_ahead();
  question.proof.read_at = times_.of(raw.size());
  question.proof.was_held = held_ && held_->for_proof;
  question.proof.unproven = may_wait ? guard::Unproven::hold : guard::Unproven::ask_redis;
  const std::size_t room = room_for(question);
  const guard::Decision decision = worker_.guard.judge(question, room);
  if (decision.action != guard::Action::hold) {
    return decision;
  }
  // Once more behind that: the proof may have come before anybody could be told of it.
  if (!hold_for_proof(question, decision, raw.size(), behind)) {
    question.proof.unproven = guard::Unproven::ask_redis;
  }
  return worker_.guard.judge(question, room);
}

// A read of keys that are absent, but not proven to be since it arrived. `decision`: to hold it.
// False: it does not wait.
bool Session::hold_for_proof(const guard::Question& question,
                             const guard::Decision& decision,
                             std::size_t size,
                             std::string_view behind) {
  // What was looked at while it waited so far need not be looked at again.
  const std::size_t known = held_ && held_->for_proof && held_->looked_at > size
                                ? std::min(held_->looked_at - size, behind.size())
                                : 0;
  const auto seen = absent_reads_in(behind.substr(known), &question.redis);
  if (!seen) {
    return false;
  }
  held_ = {.since = held_ ? held_->since : now_,
           .for_proof = true,
           .ns = decision.hold_ns,
           .read_at = question.proof.read_at,
           .until = decision.hold_until,
           .looked_at = size + known + *seen};
  worker_.proofs.add(*this, decision.hold_until);
  return true;
}

// How many bytes of whole commands there are, all of them reads that are answered here, or wait for
// a proof; nothing: there is another one, which must not wait with them. `redis`: what is known of
// it by the question that goes on after this; null: there is none.
std::optional<std::size_t> Session::absent_reads_in(std::string_view input,
                                                    const redis::Snapshot* redis) {
  resp::RequestScanner scanner;
  std::size_t seen = 0;
  for (;;) {
    const resp::Scan scan = scanner.next(input.substr(seen), worker_.arguments_behind);
    if (scan.outcome == resp::ScanOutcome::incomplete) {
      return seen;
    }
    const auto arguments = worker_.arguments_behind.views();
    if (scan.outcome != resp::ScanOutcome::command ||
        worker_.own_commands.find(arguments, now_) != nullptr) {
      return std::nullopt;
    }
    guard::Question question = redis != nullptr ? guard::Guard::ask(arguments, state_, now_, *redis)
                                                : worker_.guard.ask(arguments, state_, now_);
    question.proof.unproven = guard::Unproven::hold;
    if (!guard::Guard::judges(question)) {
      return std::nullopt;
    }
    const guard::Action action = worker_.guard.judge(question, room_for(question)).action;
    if (action != guard::Action::answer && action != guard::Action::hold) {
      return std::nullopt;
    }
    seen += scan.consumed;
  }
}

// Behind a command that is held.
void Session::take_more(HeldCommand& held, std::string_view bytes) {
  now_ = worker_.loop.now();
  times_.more(input_.size(), now_);
  input_.append(bytes);
  if (!held.for_proof || input_.size() < held.looked_again_at) {
    return;
  }
  std::string all = input_.take();
  const auto seen = absent_reads_in(std::string_view(all).substr(held.looked_at), nullptr);
  input_.give_back(std::move(all));
  if (seen) {
    held.looked_at += *seen;
    // So that a long command that comes byte by byte is not looked at once for each of them.
    const std::size_t left = input_.size() - held.looked_at;
    held.looked_again_at = left > kLookedAtOnce ? input_.size() + left : 0;
    return;
  }
  may_wait_for_proof_ = false;
  go_on();
  may_wait_for_proof_ = true;
}

// Something has been proven, of whatever source; or it has waited long enough.
void Session::on_proof() {
  if (is_miss_held()) {
    if (worker_.loop.now() >= state_.misses()->until()) {
      go_on_with_miss();
    }
    return;
  }
  if (held_ && held_->for_proof && worker_.loop.now() < held_->until &&
      !worker_.guard.is_proven(held_->ns, held_->read_at)) {
    return;
  }
  go_on();
}

}  // namespace cuckooguard::proxy
