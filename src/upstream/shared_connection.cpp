#include "upstream/shared_connection.h"

#include <utility>

#include "io/consumed_front.h"

namespace cuckooguard::upstream {

void SharedConnection::open(bool pings) {
  if (connection_) {
    return;
  }
  framer_ = {};
  reply_bytes_ = 0;
  is_up_ = has_answered_ = false;
  opened_at_ = moved_at_ = loop_.now();
  GreetedConnection::Owner& owner = *this;
  connection_ = std::make_unique<GreetedConnection>(loop_, settings_, told_, owner, &probe_);
  if (pings) {
    connection_->touch();
  }
}

void SharedConnection::drop() {
  is_up_ = false;
  if (connection_) {
    connection_->close();
    loop_.dispose(std::move(connection_));
  }
}

std::vector<SharedConnection::Run> SharedConnection::take_runs() {
  std::vector<Run> runs(runs_.begin() + static_cast<std::ptrdiff_t>(first_run_), runs_.end());
  runs_.clear();
  first_run_ = 0;
  return runs;
}

void SharedConnection::send(std::uint32_t slot, std::string_view command) {
  open();
  if (!owes()) {
    moved_at_ = loop_.now();
  }
  if (owes() && runs_.back().slot == slot) {
    ++runs_.back().replies;
  } else {
    runs_.push_back({.slot = slot, .replies = 1});
    update_reading();
  }
  connection_->send(command);
}

bool SharedConnection::is_held_up() const {
  if (!is_up_) {
    return is_open() && loop_.now() - opened_at_ > kIsUpWithin;
  }
  return owes() && (reply_bytes_ + framer_.payload_to_come() > kLargeReply ||
                    loop_.now() - moved_at_ > kStandsStill);
}

bool SharedConnection::stands_still_for(std::chrono::milliseconds time) const {
  return is_up_ && owes() && loop_.now() - moved_at_ >= time && connection_->is_heard();
}

// It is paused for a client that does not read while nobody else waits for replies: none are kept
// from others.
void SharedConnection::update_reading() {
  if (connection_) {
    const bool is_one_run = first_run_ + 1 == runs_.size();
    connection_->set_reading(!is_one_run || owner_.wants_replies(runs_[first_run_].slot));
  }
}

void SharedConnection::on_upstream_up() {
  is_up_ = true;
  owner_.on_progress(*this);
}

void SharedConnection::on_upstream_progress() {
  if (connection_->unsent() <= kUnsentMax / 2) {
    owner_.on_progress(*this);
  }
}

void SharedConnection::on_upstream_bytes(std::string_view bytes) {
  moved_at_ = loop_.now();
  take(bytes);
  io::forget_consumed(runs_, first_run_);
  owner_.on_progress(*this);
}

void SharedConnection::take(std::string_view bytes) {
  std::size_t size = 0;       // at the front, of one run: whole replies that are not handed on yet
  std::uint32_t replies = 0;  // and how many
  const auto hand_on_front = [&](std::uint32_t slot) {
    const std::string_view front = bytes.substr(0, size);
    bytes.remove_prefix(std::exchange(size, 0));
    owner_.on_replies(slot, front, std::exchange(replies, 0));
  };
  while (size < bytes.size() && connection_) {
    const resp::ReplyFramer::Piece piece = framer_.next(bytes.substr(size));
    const bool is_push = framer_.type() == '>';
    if (piece.malformed || (!is_push && !owes())) {
      lose();
      return;
    }
    const bool is_usual = piece.begins && piece.ends && framer_.type() != '-' && !is_push;
    if (!is_usual && replies > 0) {
      hand_on_front(runs_[first_run_].slot);
    }
    if (is_push) {
      bytes.remove_prefix(piece.bytes);
      continue;
    }
    const std::uint32_t slot = runs_[first_run_].slot;
    size += piece.bytes;
    replies += is_usual ? 1 : 0;
    reply_bytes_ += piece.bytes;
    const bool ends_run = piece.ends && reply_has_ended();
    if (!is_usual || ends_run || size == bytes.size()) {
      hand_on_front(slot);
    }
  }
}

// Of the run at the head. Before it is handed on: the client may send more, or leave. Whether it
// was the run's last.
bool SharedConnection::reply_has_ended() {
  Run& run = runs_[first_run_];
  has_answered_ = true;
  owner_.on_reply_end(run.slot, std::exchange(reply_bytes_, 0));
  if (--run.replies > 0) {
    return false;
  }
  ++first_run_;
  return true;
}

void SharedConnection::lose() {
  const bool was_up = is_up_;
  const std::string refusal = connection_->refusal();
  drop();
  owner_.on_lost(*this, was_up, refusal);
}

}  // namespace cuckooguard::upstream
