#include "upstream/shared_upstream.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cuckooguard::upstream {
namespace {

using namespace std::chrono_literals;

// A timer that comes so much later than asked for has waited for a process that was suspended.
constexpr std::chrono::milliseconds kLate = 250ms;

// How long after the last one another spare may be opened, of so many that are.
std::chrono::milliseconds pause_behind(unsigned open, std::chrono::milliseconds most) {
  return open < 2 ? 0ms
                  : std::min<std::chrono::milliseconds>(
                        SharedConnection::kStandsStill * (1U << (open - 1)), most);
}

// Null: none is up.
template <class Pipes>
SharedConnection* newest_up(const Pipes& pipes) {
  SharedConnection* newest = nullptr;
  for (const auto& pipe : pipes) {
    const bool is_newer = newest == nullptr || pipe->opened_at() > newest->opened_at();
    newest = pipe->is_up() && is_newer ? pipe.get() : newest;
  }
  return newest;
}

constexpr Access other_than(Access access) {
  return access == Access::read ? Access::write : Access::read;
}

}  // namespace

SharedUpstream::SharedUpstream(io::Loop& loop,
                               const config::Upstream& settings,
                               resp::ConnectionState told,
                               LoginProbe& probe,
                               OnLoss on_loss)
    : loop_(loop),
      settings_(settings),
      probe_(probe),
      told_(std::move(told)),
      on_loss_(std::move(on_loss)),
      is_proven_(told_ == resp::ConnectionState{}) {
  for (Pipes& pipes : pipes_) {
    add_pipe(pipes);
  }
}

SharedConnection& SharedUpstream::add_pipe(Pipes& pipes) {
  SharedConnection::Owner& owner = *this;
  pipes.push_back(std::make_unique<SharedConnection>(loop_, settings_, told_, probe_, owner));
  return *pipes.back();
}

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
    pipes_of(Access::read).front()->open();
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
  SharedConnection* connection = nullptr;
  if (slot.in_flight == 0) {
    connection = connection_for(access);
  } else if (access == Access::read || slot.access == Access::write) {
    connection = slot.connection;
    access = slot.access;
  }
  if (connection != nullptr && connection->has_room()) {
    slot.connection = connection;
    slot.access = access;
    return true;
  }
  slot.waits = true;
  anybody_waits_ = true;
  return false;
}

void SharedUpstream::send(Member& member, std::string_view command) {
  Slot& slot = slots_[member.slot_];
  ++slot.in_flight;
  slot.connection->send(member.slot_, command);
}

// For somebody who is owed nothing, and of which access it is; null: wait. Without a login a
// connection that is opened now may be worth less than one that there is, as Redis may want one by
// now: it is asked first, and what there is serves for both if so, or if no reply comes.
SharedConnection* SharedUpstream::connection_for(Access& access) {
  if (told_.login || any_is_up(access) || !any_is_up(other_than(access))) {
    return unless_held_up(access);
  }
  SharedConnection& usual = *pipes_of(access).front();
  const bool is_silent = usual.is_open() && loop_.now() - usual.opened_at() > settings_.silence;
  if (!takes_newcomers_ || loop_.now() < refused_at_ + kRefusedFor || is_silent) {
    access = other_than(access);
    return unless_held_up(access);
  }
  usual.open(true);
  ask_again_after(settings_.silence);
  return nullptr;
}

SharedConnection* SharedUpstream::unless_held_up(Access access) {
  Pipes& pipes = pipes_of(access);
  const auto free = std::ranges::find_if(
      pipes, [](const auto& pipe) { return pipe->is_up() && !pipe->is_held_up(); });
  if (free != pipes.end()) {
    return free->get();
  }
  SharedConnection& usual = *pipes.front();
  const bool is_worth_as_much = told_.login || !any_is_up();
  return is_worth_as_much && !usual.is_held_up() ? &usual : spare_for(pipes);
}

// All that are up are held up. One at a time is opened, and another in its place if no reply comes.
SharedConnection* SharedUpstream::spare_for(Pipes& pipes) {
  const io::TimePoint now = loop_.now();
  SharedConnection* closed = nullptr;
  io::TimePoint opened_last{};
  unsigned open = 0;
  for (const auto& pipe : pipes) {
    if (!pipe->is_open()) {
      closed = closed == nullptr ? pipe.get() : closed;
      continue;
    }
    if (!pipe->is_up() && !pipe->owes()) {
      if (now - pipe->opened_at() > settings_.silence) {
        pipe->drop();
        pipe->open(true);
      }
      ask_again_after(settings_.silence);
      return nullptr;
    }
    ++open;
    opened_last = std::max(opened_last, pipe->opened_at());
  }
  if (now < no_spare_before_ || open == kPipesMax) {
    SharedConnection* const newest = newest_up(pipes);
    return newest == nullptr ? pipes.front().get() : newest;
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      opened_last + pause_behind(open, settings_.silence) - now);
  if (left > 0ms) {
    ask_again_after(left);
    return nullptr;
  }
  (closed != nullptr ? *closed : add_pipe(pipes)).open(true);
  ask_again_after(settings_.silence);
  tend_later();
  return nullptr;
}

void SharedUpstream::ask_again_after(std::chrono::milliseconds time) {
  const io::TimePoint at = loop_.now() + time;
  if (!ask_again_ || at < ask_again_at_) {
    ask_again_at_ = at;
    ask_again_ = loop_.after(time, [this] {
      ask_again_.reset();
      tell_who_waits();
    });
  }
}

void SharedUpstream::tend_later() {
  if (tending_) {
    return;
  }
  tending_ = loop_.after(kTendEvery, [this, due = loop_.now() + kTendEvery] {
    tending_.reset();
    if (loop_.now() > due + kLate) {
      tend_later();  // what has come meanwhile is read first
      return;
    }
    for (Pipes& pipes : pipes_) {
      tend(pipes);
    }
  });
}

// By index: whoever hears that one is given up may have another one opened.
void SharedUpstream::tend(Pipes& pipes) {
  for (std::size_t i = 0; i < pipes.size(); ++i) {
    SharedConnection& pipe = *pipes[i];
    const bool is_spare = i > 0 && pipe.is_open();
    if (is_spare && !pipe.owes() && loop_.now() - pipe.used_at() >= kSpareFor) {
      pipe.drop();
    } else if (pipe.stands_still_for(settings_.silence) &&
               std::ranges::any_of(pipes, [&](const auto& other) {
                 return other->opened_at() > pipe.used_at() && other->has_answered();
               })) {
      pipe.give_up();
    }
  }
  if (std::any_of(
          pipes.begin() + 1, pipes.end(), [](const auto& pipe) { return pipe->is_open(); })) {
    tend_later();
  }
}

void SharedUpstream::set_reading(Member& member, bool reading) {
  Slot& slot = slots_[member.slot_];
  if (slot.wants_replies != reading) {
    slot.wants_replies = reading;
    if (slot.connection != nullptr) {
      slot.connection->update_reading();
    }
  }
}

bool SharedUpstream::reads_large_values(const Member& member) const {
  const io::TimePoint large_reply = slots_[member.slot_].large_reply;
  return large_reply != io::TimePoint{} && loop_.now() - large_reply < kLargeReplyCounts;
}

bool SharedUpstream::is_proven() {
  if (!is_proven_ && loop_.now() >= refused_at_ + kRefusedFor) {
    pipes_of(Access::read).front()->open();
  }
  return is_proven_;
}

bool SharedUpstream::any_is_up(Access access) const {
  return std::ranges::any_of(pipes_[static_cast<std::size_t>(access)],
                             [](const auto& pipe) { return pipe->is_up(); });
}

bool SharedUpstream::is_unused() const {
  return members_ == 0 && !any_pipe([](const SharedConnection& pipe) { return pipe.owes(); });
}

// Of a member that has none yet: now.
io::TimePoint SharedUpstream::opened_at(const Member& member) const {
  const SharedConnection* const connection = slots_[member.slot_].connection;
  return connection == nullptr ? loop_.now() : connection->opened_at();
}

bool SharedUpstream::has_older_than(io::TimePoint time) const {
  return any_pipe(
      [time](const SharedConnection& pipe) { return pipe.is_open() && pipe.opened_at() < time; });
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
    for (const Pipes& pipes : pipes_) {
      for (const auto& pipe : pipes) {
        pipe->drop();
      }
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
  if (!was_up) {
    no_spare_before_ = refused_at_ + kRefusedFor;
  }
  if (is_of_redis_itself(refusal)) {
    refuse(runs, refusal);
  } else {
    lose(std::move(runs), !refusal.empty());
  }
  if (was_up && told_.login && members_ > 0) {
    pipes_of(Access::read).front()->open();
  }
  if (was_up && !any_is_up()) {
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
  for (const Pipes& pipes : pipes_) {
    for (std::size_t i = 0; all && i < pipes.size(); ++i) {
      pipes[i]->drop();
      std::ranges::copy(pipes[i]->take_runs(), std::back_inserter(runs));
    }
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
