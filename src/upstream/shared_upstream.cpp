#include "upstream/shared_upstream.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cuckooguard::upstream {
namespace {

constexpr auto kReads = static_cast<std::size_t>(Access::read);

}  // namespace

SharedUpstream::SharedUpstream(io::Loop& loop,
                               const config::Upstream& settings,
                               resp::ConnectionState told,
                               OnLoss on_loss)
    : loop_(loop),
      told_(std::move(told)),
      on_loss_(std::move(on_loss)),
      connections_{SharedConnection(loop, settings, told_, *this),
                   SharedConnection(loop, settings, told_, *this),
                   SharedConnection(loop, settings, told_, *this),
                   SharedConnection(loop, settings, told_, *this)},
      is_proven_(told_ == resp::ConnectionState{}) {}

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
  if (told_.login) {
    connections_[kReads].open();
  }
}

void SharedUpstream::leave(Member& member) {
  Slot& slot = slots_[member.slot_];
  slot.member = nullptr;
  set_reading(member, true);
  --members_;
  // A slot is not given to another member while replies to the one before may come.
  if (slot.in_flight == 0) {
    free_slots_.push_back(member.slot_);
  }
}

// In order: replies that are owed must have come before the client may be served by another
// connection. Reads may follow its writes; a write never goes where others read.
bool SharedUpstream::may_send(Member& member, Access access) {
  Slot& slot = slots_[member.slot_];
  std::optional<std::uint8_t> connection;
  if (slot.in_flight == 0) {
    connection = connection_for(access);
  } else if (access == Access::read || slot.connection % kSpare != kReads) {
    connection = slot.connection;
  }
  if (connection && connections_[*connection].has_room()) {
    slot.connection = *connection;
    return true;
  }
  slot.waits = true;
  anybody_waits_ = true;
  return false;
}

void SharedUpstream::send(Member& member, std::string_view command) {
  Slot& slot = slots_[member.slot_];
  ++slot.in_flight;
  connections_[slot.connection].send(member.slot_, command);
}

// For somebody who is owed nothing; nullopt: wait. Without a login a connection that is opened now
// may be worth less than one that there is, as Redis may want one by now: it is asked first, and
// what there is serves for both if so.
std::optional<std::uint8_t> SharedUpstream::connection_for(Access access) {
  const auto usual = static_cast<std::uint8_t>(access);
  const auto other = static_cast<std::uint8_t>(1 - usual);
  SharedConnection& connection = connections_[usual];
  if (told_.login || connection.is_up() || !connections_[other].is_up()) {
    return unless_held_up(usual);
  }
  if (!takes_newcomers_ || loop_.now() < refused_at_ + kRefusedFor) {
    return unless_held_up(other);
  }
  connection.open(true);
  return std::nullopt;
}

std::optional<std::uint8_t> SharedUpstream::unless_held_up(std::uint8_t first) {
  const auto second = static_cast<std::uint8_t>(first + kSpare);
  if (!connections_[first].is_held_up() || loop_.now() < no_spare_before_) {
    return first;
  }
  SharedConnection& spare = connections_[second];
  open_spare(spare);
  if (!spare.is_up()) {
    return std::nullopt;
  }
  return spare.is_held_up() ? first : second;
}

void SharedUpstream::open_spare(SharedConnection& spare) {
  spare.open(true);
  if (!spare_timer_) {
    spare_timer_ = loop_.after(kSpareFor, [this] {
      spare_timer_.reset();
      for (std::size_t i = kSpare; i < connections_.size(); ++i) {
        SharedConnection& old = connections_[i];
        if (!old.is_open()) {
          continue;
        }
        if (!old.owes() && loop_.now() - old.used_at() >= kSpareFor) {
          old.drop();
        } else {
          open_spare(old);  // looked at again
        }
      }
    });
  }
}

void SharedUpstream::set_reading(Member& member, bool reading) {
  Slot& slot = slots_[member.slot_];
  if (slot.wants_replies != reading) {
    slot.wants_replies = reading;
    connections_[slot.connection].update_reading();
  }
}

bool SharedUpstream::reads_large_values(const Member& member) const {
  const io::TimePoint large_reply = slots_[member.slot_].large_reply;
  return large_reply != io::TimePoint{} && loop_.now() - large_reply < kLargeReplyCounts;
}

bool SharedUpstream::is_proven() {
  if (!is_proven_ && loop_.now() >= refused_at_ + kRefusedFor) {
    connections_[kReads].open();
  }
  return is_proven_;
}

bool SharedUpstream::is_unused() const {
  return members_ == 0 && std::ranges::none_of(connections_, &SharedConnection::owes);
}

io::TimePoint SharedUpstream::opened_at(const Member& member) const {
  return connections_[slots_[member.slot_].connection].opened_at();
}

bool SharedUpstream::has_older_than(io::TimePoint time) const {
  return std::ranges::any_of(connections_, [time](const SharedConnection& connection) {
    return connection.is_open() && connection.opened_at() < time;
  });
}

void SharedUpstream::on_replies(std::uint32_t slot, std::string_view bytes, std::uint32_t replies) {
  if (Member* const member = slots_[slot].member) {
    member->on_shared_bytes(bytes, replies);
  }
}

void SharedUpstream::on_reply_end(std::uint32_t number, std::size_t bytes) {
  Slot& slot = slots_[number];
  if (bytes > SharedConnection::kLargeReply) {
    slot.large_reply = loop_.now();
  }
  if (--slot.in_flight == 0 && slot.member == nullptr) {
    free_slots_.push_back(number);
  }
}

void SharedUpstream::on_progress(SharedConnection& connection) {
  if (connection.is_up() && !is_proven_) {
    is_proven_ = true;
    anybody_waits_ = true;
    for (Slot& slot : slots_) {
      slot.waits = true;
    }
  }
  tell_who_waits();
  close_if_unused();
}

// By index: whoever is told may send, join and leave.
template <class Whom>
void SharedUpstream::tell(const Whom& whom, void (Member::*what)()) {
  // NOLINTNEXTLINE(modernize-loop-convert): see above
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (whom(slots_[i]) && slots_[i].member != nullptr) {
      (slots_[i].member->*what)();
    }
  }
}

void SharedUpstream::tell_who_waits() {
  if (!std::exchange(anybody_waits_, false)) {
    return;
  }
  tell([](Slot& slot) { return std::exchange(slot.waits, false); }, &Member::on_shared_progress);
}

// The last member did not wait for what has come, or has gone with another connection.
void SharedUpstream::close_if_unused() {
  if (is_unused()) {
    for (SharedConnection& connection : connections_) {
      connection.drop();
    }
  }
}

void SharedUpstream::on_lost(SharedConnection& connection,
                             bool was_up,
                             const std::string& refusal) {
  std::vector<SharedConnection::Run> runs = connection.take_runs();
  if (was_up) {
    on_loss_(told_);
  }
  refused_at_ = loop_.now();
  takes_newcomers_ = takes_newcomers_ && !refusal.starts_with("-NOAUTH ");
  if (&connection >= &connections_[kSpare]) {
    no_spare_before_ = refused_at_ + kRefusedFor;
  }
  if (is_of_redis_itself(refusal)) {
    refuse(runs, refusal);
  } else {
    lose(std::move(runs), !refusal.empty());
  }
  if (was_up && told_.login && members_ > 0) {
    connections_[kReads].open();
  }
  if (was_up && std::ranges::none_of(connections_, &SharedConnection::is_up)) {
    tell([](const Slot&) { return true; }, &Member::on_shared_down);
  }
  tell_who_waits();
  close_if_unused();
}

// Nothing of these has been run: Redis's error to the greeting is its reply to each.
void SharedUpstream::refuse(const std::vector<SharedConnection::Run>& runs,
                            const std::string& error) {
  for (const SharedConnection::Run& run : runs) {
    for (std::uint32_t reply = 0; reply < run.replies; ++reply) {
      on_reply_end(run.slot, error.size());
      on_replies(run.slot, error, 0);
    }
  }
}

// All lose the other connections, too: what is owed there must not find the next members in their
// slots.
void SharedUpstream::lose(std::vector<SharedConnection::Run> runs, bool all) {
  for (std::size_t i = 0; all && i < connections_.size(); ++i) {
    connections_[i].drop();
    std::ranges::copy(connections_[i].take_runs(), std::back_inserter(runs));
  }
  std::vector<Member*> losers;
  const auto free = [&](std::uint32_t number) {
    slots_[number].in_flight = 0;
    free_slots_.push_back(number);
    if (Member* const member = std::exchange(slots_[number].member, nullptr)) {
      losers.push_back(member);
      --members_;
    }
  };
  for (const SharedConnection::Run& run : runs) {
    if (slots_[run.slot].in_flight > 0) {  // not freed by a run before
      free(run.slot);
    }
  }
  for (std::uint32_t i = 0; all && i < slots_.size(); ++i) {
    if (slots_[i].member != nullptr) {
      free(i);
    }
  }
  for (Member* const member : losers) {
    member->on_shared_lost();
  }
}

}  // namespace cuckooguard::upstream
