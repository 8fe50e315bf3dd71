#include "guard/client.h"

#include <algorithm>

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

void WritesInFlight::scanned(const Key& key) {
  keys_.push_back(key);
  ++worker_keys_;
}

void WritesInFlight::await(std::uint64_t reply) {
  for (; awaiting_ < keys_.size(); ++awaiting_) {
    keys_[awaiting_].reply = static_cast<std::uint32_t>(reply);
  }
}

void WritesInFlight::replied(std::uint64_t reply, Said said) {
  const auto number = static_cast<std::uint32_t>(reply);
  for (; head_ < awaiting_; ++head_) {
    Key& key = keys_[head_];
    if (static_cast<std::int32_t>(key.reply - number) > 0) {
      break;
    }
    if (said.is_refused && !key.may_be_half_done) {
      release(1);
    } else if (said.is_queued && !said.is_refused) {
      queued_.push_back(key);
    } else {
      key.is_nil = said.is_nil && key.reply == number;
      decided(key, said.is_refused);
    }
  }
  if (head_ == keys_.size()) {
    keys_.clear();
    if (keys_.capacity() > kKept) {
      keys_.shrink_to_fit();
    }
    head_ = awaiting_ = 0;
  } else if (head_ >= kSearchedMax && head_ * 2 >= keys_.size()) {
    keys_.erase(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(head_));
    awaiting_ -= std::exchange(head_, 0);
  }
}

void WritesInFlight::decided(const Key& key, bool is_unseen) {
  release(1);
  outcomes_.push_back(key);
  outcomes_.back().is_unseen = is_unseen;
}

void WritesInFlight::end_transaction(bool is_carried_out) {
  for (const Key& key : std::exchange(queued_, {})) {
    if (is_carried_out) {
      decided(key, false);
    } else {
      release(1);
    }
  }
}

void WritesInFlight::give_up_transaction() {
  for (const Key& key : std::exchange(queued_, {})) {
    decided(key, true);
  }
}

void WritesInFlight::give_up() {
  give_up_transaction();
  for (; head_ < keys_.size(); ++head_) {
    decided(keys_[head_], true);
  }
  std::vector<Key>().swap(keys_);
  head_ = awaiting_ = 0;
}

void WritesInFlight::forget_all() {
  release(keys_.size() - head_ + queued_.size());
  std::vector<Key>().swap(keys_);
  std::vector<Key>().swap(queued_);
  head_ = awaiting_ = 0;
}

bool WritesInFlight::holds(std::uint64_t hash) const {
  const std::size_t count = keys_.size() - head_;
  return count > kSearchedMax || std::any_of(keys_.begin() + static_cast<std::ptrdiff_t>(head_),
                                             keys_.end(),
                                             [hash](const Key& key) { return key.hash == hash; });
}

}  // namespace cuckooguard::guard
