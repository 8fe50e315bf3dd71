#include "upstream/shared_upstream.h"

#include <utility>

#include "io/consumed_front.h"

namespace cuckooguard::upstream {

SharedUpstream::SharedUpstream(io::Loop& loop,
                               const config::Upstream& settings,
                               resp::ConnectionState told,
                               OnLoss on_loss)
    : loop_(loop), settings_(settings), told_(std::move(told)), on_loss_(std::move(on_loss)) {}

void SharedUpstream::join(Member& member) {
  if (free_slots_.empty()) {
    member.slot_ = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    member.slot_ = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_[member.slot_] = {.member = &member};
  ++members_;
  if (told_.login && !connection_) {
    open();
  }
}

void SharedUpstream::leave(Member& member) {
  slots_[member.slot_].member = nullptr;
  set_reading(member, true);
  --members_;
  // A slot is not given to another member while replies to the one before may come.
  if (slots_[member.slot_].in_flight == 0) {
    free_slots_.push_back(member.slot_);
  }
}

void SharedUpstream::send(Member& member, std::string_view command) {
  if (!connection_) {
    open();
  }
  ++slots_[member.slot_].in_flight;
  if (first_run_ < runs_.size() && runs_.back().slot == member.slot_) {
    ++runs_.back().replies;
  } else {
    runs_.push_back({.slot = member.slot_, .replies = 1});
    update_reading();
  }
  connection_->send(command);
}

bool SharedUpstream::has_room(Member& member) {
  const bool has_room = !connection_ || connection_->unsent() <= kUnsentMax;
  slots_[member.slot_].wants_room = !has_room;
  room_is_wanted_ = room_is_wanted_ || !has_room;
  return has_room;
}

void SharedUpstream::open() {
  framer_ = {};
  was_up_ = false;
  is_new_ = true;
  is_turned_away_ = false;
  opened_at_ = loop_.now();
  GreetedConnection::Owner& owner = *this;
  connection_ = std::make_unique<GreetedConnection>(loop_, settings_, told_, owner);
}

void SharedUpstream::on_upstream_bytes(std::string_view bytes) {
  std::size_t size = 0;       // at the front, of one run: whole replies that are not handed on yet
  std::uint32_t replies = 0;  // and how many
  const auto hand_on_front = [&](std::uint32_t slot) {
    const std::string_view front = bytes.substr(0, size);
    bytes.remove_prefix(std::exchange(size, 0));
    hand_on(slot, front, std::exchange(replies, 0));
  };
  while (size < bytes.size() && connection_) {
    if (first_run_ == runs_.size()) {
      return;  // unasked: a farewell, "-ERR max number of clients reached"
    }
    const std::uint32_t slot = runs_[first_run_].slot;
    const resp::ReplyFramer::Piece piece = framer_.next(bytes.substr(size));
    if (piece.malformed) {
      on_upstream_lost();  // what follows belongs to nobody
      return;
    }
    const bool is_usual =
        piece.begins && piece.ends && framer_.type() != '-' && framer_.type() != '>';
    if (!is_usual && replies > 0) {
      hand_on_front(slot);
    }
    size += piece.bytes;
    replies += is_usual ? 1 : 0;
    const bool ends_run = piece.ends && framer_.type() != '>' && reply_has_ended();
    if (!is_usual || ends_run || size == bytes.size()) {
      hand_on_front(slot);
    }
  }
  io::forget_consumed(runs_, first_run_);
  if (is_unused()) {
    drop_connection();  // the last member did not wait for this
  }
}

// Of the run at the head. Before it is handed on: the member may send more, or leave. Whether it was the run's last.
bool SharedUpstream::reply_has_ended() {
  Run& run = runs_[first_run_];
  Slot& slot = slots_[run.slot];
  is_turned_away_ = std::exchange(is_new_, false) && framer_.type() == '-';
  if (--slot.in_flight == 0 && slot.member == nullptr) {
    free_slots_.push_back(run.slot);
  }
  if (--run.replies > 0) {
    return false;
  }
  ++first_run_;
  return true;
}

void SharedUpstream::hand_on(std::uint32_t slot, std::string_view bytes, std::uint32_t replies) {
  if (Member* const member = slots_[slot].member) {
    member->on_shared_bytes(bytes, replies);
  }
}

void SharedUpstream::set_reading(Member& member, bool reading) {
  slots_[member.slot_].wants_replies = reading;
  update_reading();
}

// Replies for others are not kept from them.
void SharedUpstream::update_reading() {
  if (connection_) {
    const bool is_one_run = first_run_ + 1 == runs_.size();
    connection_->set_reading(!is_one_run || slots_[runs_[first_run_].slot].wants_replies);
  }
}

void SharedUpstream::on_upstream_progress() {
  if (!room_is_wanted_ || connection_->unsent() > kUnsentMax / 2) {
    return;
  }
  room_is_wanted_ = false;
  // By index: whoever is told may send, join and leave.
  // NOLINTNEXTLINE(modernize-loop-convert): see above
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (std::exchange(slots_[i].wants_room, false) && slots_[i].member != nullptr) {
      slots_[i].member->on_shared_room();
    }
  }
}

void SharedUpstream::on_upstream_lost() {
  const bool is_refused = connection_->was_refused() || is_turned_away_;
  const bool was_up = was_up_;
  drop_connection();
  runs_.clear();
  first_run_ = 0;
  if (was_up) {
    on_loss_(told_);
  }
  std::vector<Member*> losers;
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    const bool had_replies_to_come = std::exchange(slot.in_flight, 0) > 0;
    if (slot.member == nullptr) {
      if (had_replies_to_come) {
        free_slots_.push_back(i);
      }
    } else if (had_replies_to_come || is_refused) {
      losers.push_back(std::exchange(slot.member, nullptr));
      --members_;
      free_slots_.push_back(i);
    }
  }
  for (Member* const member : losers) {
    member->on_shared_lost();
  }
  if (was_up && told_.login && members_ > 0 && !connection_) {
    open();
  }
}

void SharedUpstream::drop_connection() {
  if (connection_) {
    connection_->close();
    loop_.bury(std::move(connection_));
  }
}

}  // namespace cuckooguard::upstream
