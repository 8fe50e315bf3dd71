#include "proxy/held_clients.h"

#include <algorithm>

namespace cuckooguard::proxy {

void HeldClients::add(Member& member) {
  if (member.is_held_) {
    return;
  }
  member.place_ = order_.insert(order_.end(), &member);
  member.is_held_ = true;
  if (!timer_) {
    arm();
  }
}

void HeldClients::remove(Member& member) {
  if (member.is_held_) {
    member.is_held_ = false;
    order_.erase(member.place_);
  }
}

void HeldClients::arm() {
  timer_ = loop_.after(kTick, [this] { look(); });
}

void HeldClients::look() {
  for (std::size_t left = std::min(order_.size(), kPerTick); left > 0; --left) {
    Member& first = *order_.front();
    order_.splice(order_.end(), order_, order_.begin());
    first.on_tick();
  }
  if (order_.empty()) {
    timer_.reset();
  } else {
    arm();
  }
}

}  // namespace cuckooguard::proxy
