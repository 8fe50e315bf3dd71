#include "proxy/idle_clients.h"

#include <algorithm>

namespace cuckooguard::proxy {

void IdleClients::add(Member& member) {
  if (limits_.idle_timeout.count() == 0 || member.is_listed_) {
    return;
  }
  member.entry_ = order_.insert(order_.end(), {&member, loop_.now()});
  member.is_listed_ = true;
  if (!timer_) {
    arm();
  }
}

void IdleClients::touch(Member& member) {
  if (member.is_listed_) {
    member.entry_->active = loop_.now();
    order_.splice(order_.end(), order_, member.entry_);
  }
}

void IdleClients::remove(Member& member) {
  if (member.is_listed_) {
    member.is_listed_ = false;
    order_.erase(member.entry_);
  }
}

void IdleClients::timeout_changed() {
  timer_.reset();
  if (limits_.idle_timeout.count() == 0) {
    while (!order_.empty()) {
      remove(*order_.front().member);
    }
  } else if (!order_.empty()) {
    arm();
  }
}

void IdleClients::arm() {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      order_.front().active + limits_.idle_timeout - loop_.now());
  timer_ = loop_.after(std::max(left, kCoarse), [this] { look(); });
}

void IdleClients::look() {
  const io::TimePoint now = loop_.now();
  while (!order_.empty() && order_.front().active + limits_.idle_timeout <= now) {
    Member& silent = *order_.front().member;
    touch(silent);  // it may be one that is allowed to be
    silent.on_idle();
  }
  if (order_.empty()) {
    timer_.reset();
  } else {
    arm();
  }
}

}  // namespace cuckooguard::proxy
