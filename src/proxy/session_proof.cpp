// A session whose next read waits for a proof, in a strict namespace (guard/guard.h).
#include <algorithm>
#include <utility>

#include "proxy/session.h"

namespace cuckooguard::proxy {
namespace {

constexpr std::size_t kLookedAtOnce = 1024;  // of an incomplete command

}  // namespace

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
  if (held_ && held_->for_proof && worker_.loop.now() < held_->until &&
      !worker_.guard.is_proven(held_->ns, held_->read_at)) {
    return;
  }
  go_on();
}

}  // namespace cuckooguard::proxy
