#include "guard/client.h"

namespace cuckooguard::guard {

using redis::ChangeKind;

void Client::replied(const redis::StateChange& change, char reply_type) {
  if (writes_ == nullptr) {
    ClientState::replied(change, reply_type);
    return;
  }
  // DISCARD replies +OK, an EXEC that did nothing a nil. One that is refused has not ended what it
  // did not begin.
  const bool ends_multi = change.kind == ChangeKind::end_multi || change.kind == ChangeKind::reset;
  if (ends_multi && reply_type != '-') {
    writes_->end_transaction(reply_type == '*');
  }
  const std::uint32_t before = user_changes();
  ClientState::replied(change, reply_type);
  if (before != user_changes()) {
    writes_->user = WritesInFlight::kNone;
  }
}

WritesInFlight& Client::remember_writes(std::size_t& worker_keys) {
  if (writes_ == nullptr) {
    writes_ = std::make_unique<WritesInFlight>(worker_keys);
  }
  return *writes_;
}

}  // namespace cuckooguard::guard
