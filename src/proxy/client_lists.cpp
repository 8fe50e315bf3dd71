#include "proxy/client_lists.h"

#include <algorithm>

namespace cuckooguard::proxy {
namespace {

// The first of a list, as the last of another one.
template <typename List>
auto& move_first(List& from, List& to) {
  to.splice(to.end(), from, from.begin());
  return to.back();
}

}  // namespace

void IdleClients::add(Member& member) {
  if (limits_.idle_timeout.count() == 0 || member.in_list_.is_linked()) {
    return;
  }
  member.active_ = loop_.now();
  order_.push_back(member);
  if (!timer_) {
    arm();
  }
}

void IdleClients::touch(Member& member) {
  if (member.in_list_.is_linked()) {
    member.active_ = loop_.now();
    order_.splice(order_.end(), order_, order_.iterator_to(member));
  }
}

void IdleClients::timeout_changed() {
  timer_.reset();
  if (limits_.idle_timeout.count() == 0) {
    order_.clear();
  } else if (!order_.empty()) {
    arm();
  }
}

void IdleClients::arm() {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      order_.front().active_ + limits_.idle_timeout - loop_.now());
  timer_ = loop_.after(std::max(left, kCoarse), [this] { look(); });
}

void IdleClients::look() {
  const io::TimePoint now = loop_.now();
  while (!order_.empty() && order_.front().active_ + limits_.idle_timeout <= now) {
    Member& silent = order_.front();
    touch(silent);  // it may be one that is allowed to be
    silent.on_idle();
  }
  if (order_.empty()) {
    timer_.reset();
  } else {
    arm();
  }
}

void HeldClients::add(Member& member) {
  if (member.in_list_.is_linked()) {
    return;
  }
  order_.push_back(member);
  if (!timer_) {
    timer_ = loop_.after(kTick, [this] { look(); });
  }
}

void HeldClients::look() {
  MemberList<Member, &Member::in_list_> unasked;
  unasked.swap(order_);
  for (std::size_t left = kPerTick; left > 0 && !unasked.empty(); --left) {
    move_first(unasked, order_).on_tick();
  }
  order_.splice(order_.begin(), unasked);
  timer_ = order_.empty() ? nullptr : loop_.after(kTick, [this] { look(); });
}

void ProofWaiters::add(Member& member, io::TimePoint until) {
  member.until_ = until;
  if (!member.in_list_.is_linked()) {
    order_.push_back(member);
  }
  hears_.exchange(true, std::memory_order_acq_rel);
  if (!deadlines_) {
    deadlines_ = loop_.after(kTick, [this] { tick(); });
  }
}

// Those who wait on hear of the next proof, too: from before they look whether this one is theirs.
void ProofWaiters::on_proven() {
  unasked_.splice(unasked_.end(), order_);
  hears_.exchange(!unasked_.empty(), std::memory_order_acq_rel);
  ask();
}

void ProofWaiters::ask() {
  next_batch_.reset();
  for (std::size_t left = kPerBatch; left > 0 && !unasked_.empty(); --left) {
    move_first(unasked_, order_).on_proof();
  }
  if (!unasked_.empty()) {
    next_batch_ = loop_.after(std::chrono::milliseconds(0), [this] { ask(); });
  }
}

void ProofWaiters::tick() {
  const io::TimePoint now = loop_.now();
  std::size_t due = kPerBatch;
  MemberList<Member, &Member::in_list_> waiting;
  for (waiting.swap(order_); !waiting.empty() && due > 0;) {
    Member& first = move_first(waiting, order_);
    if (now >= first.until_) {
      --due;
      first.on_proof();
    }
  }
  order_.splice(order_.begin(), waiting);
  deadlines_ =
      order_.empty() && unasked_.empty() ? nullptr : loop_.after(kTick, [this] { tick(); });
}

}  // namespace cuckooguard::proxy
