#include "upstream/upstreams.h"

#include <iterator>
#include <utility>

#include "io/consumed_front.h"

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

template <typename All>
auto place_of(All& all, const SharedUpstream& shared) {
  return std::ranges::find(all, &shared, [](const auto& one) { return one.get(); });
}

}  // namespace

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

void SharedConnection::send(std::uint32_t slot, std::string_view bytes, std::uint32_t commands) {
  open();
  if (!owes()) {
    moved_at_ = loop_.now();
  }
  if (owes() && runs_.back().slot == slot) {
    runs_.back().replies += commands;
  } else {
    runs_.push_back({.slot = slot, .replies = commands});
    update_reading();
  }
  connection_->send(bytes);
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
  Front front{.bytes = bytes};
  while (front.size < front.bytes.size() && connection_) {
    if (!take_plain(front) && !take_piece(front)) {
      return;
    }
  }
}

void SharedConnection::hand_on(Front& front, std::uint32_t slot) {
  const std::string_view bytes = front.bytes.substr(0, front.size);
  front.bytes.remove_prefix(std::exchange(front.size, 0));
  owner_.on_replies(slot, bytes, std::exchange(front.replies, 0));
}

// False: what is next is none, or not whole.
bool SharedConnection::take_plain(Front& front) {
  if (!owes()) {
    return false;
  }
  const Run& run = runs_[first_run_];
  const auto plain = framer_.take_plain(front.bytes.substr(front.size), run.replies);
  if (plain.count == 0) {
    return false;
  }
  const std::uint32_t slot = run.slot;
  front.size += plain.bytes;
  front.replies += plain.count;
  if (replies_have_ended(plain.count, plain.longest) || front.size == front.bytes.size()) {
    hand_on(front, slot);
  }
  return true;
}

// False: it is lost.
bool SharedConnection::take_piece(Front& front) {
  const resp::ReplyFramer::Piece piece = framer_.next(front.bytes.substr(front.size));
  const bool is_push = framer_.type() == '>';
  if (piece.malformed || (!is_push && !owes())) {
    lose();
    return false;
  }
  const bool is_usual = piece.begins && piece.ends && framer_.type() != '-' && !is_push;
  if (!is_usual && front.replies > 0) {
    hand_on(front, runs_[first_run_].slot);
  }
  if (is_push) {
    front.bytes.remove_prefix(piece.bytes);
    return true;
  }
  const std::uint32_t slot = runs_[first_run_].slot;
  front.size += piece.bytes;
  front.replies += is_usual ? 1 : 0;
  reply_bytes_ += piece.bytes;
  const bool ends_run = piece.ends && replies_have_ended(1, std::exchange(reply_bytes_, 0));
  if (!is_usual || ends_run || front.size == front.bytes.size()) {
    hand_on(front, slot);
  }
  return true;
}

// Of the run at the head. Before it is handed on: the client may send more, or leave. Whether it
// was the run's last.
bool SharedConnection::replies_have_ended(std::uint32_t replies, std::size_t bytes) {
  Run& run = runs_[first_run_];
  has_answered_ = true;
  owner_.on_reply_end(run.slot, replies, bytes);
  run.replies -= replies;
  if (run.replies > 0) {
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

void SharedUpstream::send(Member& member, std::string_view bytes, std::uint32_t commands) {
  Slot& slot = slots_[member.slot_];
  slot.in_flight += commands;
  slot.connection->send(member.slot_, bytes, commands);
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

void SharedUpstream::on_reply_end(std::uint32_t number, std::uint32_t replies, std::size_t bytes) {
  Slot& slot = slots_[number];
  if (bytes > SharedConnection::kLargeReply) {
    slot.large_reply = loop_.now();
  }
  slot.in_flight -= replies;
  if (slot.in_flight == 0 && slot.member == nullptr) {
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
      on_reply_end(run.slot, 1, error.size());
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

Upstreams::Upstreams(io::Loop& loop,
                     const config::Upstream& settings,
                     SharedUpstream::OnLoss on_loss,
                     std::function<std::uint64_t()> version)
    : loop_(loop),
      settings_(settings),
      on_loss_(std::move(on_loss)),
      probe_(loop, settings, std::move(version), [this] { on_login_wanted(); }) {}

SharedUpstream& Upstreams::join(resp::ConnectionState told, SharedUpstream::Member& member) {
  dispose_unused();
  told.labels = {};
  auto found = std::ranges::find_if(
      shared_, [&](const auto& one) { return one->told() == told && one->takes_newcomers(); });
  if (found == shared_.end()) {
    shared_.push_back(
        std::make_unique<SharedUpstream>(loop_, settings_, std::move(told), probe_, on_loss_));
    found = std::prev(shared_.end());
  }
  (*found)->join(member);
  return **found;
}

void Upstreams::leave(SharedUpstream& shared, SharedUpstream::Member& member) {
  shared.leave(member);
  dispose_unused();
}

void Upstreams::dispose_unused() {
  for (auto* const all : {&shared_, &retired_}) {
    for (auto& shared : *all) {
      if (shared->is_unused()) {
        shared->close_if_unused();
        loop_.dispose(std::move(shared));
      }
    }
    std::erase(*all, nullptr);
  }
}

bool Upstreams::is_unused() {
  dispose_unused();
  return shared_.empty() && retired_.empty() && kept_.empty();
}

// What was opened before is worth more than what a new client would get. What is kept is lent to no
// newcomer anyway.
void Upstreams::on_login_wanted() {
  for (const auto& shared : shared_) {
    if (!shared->told().login) {
      shared->take_no_newcomers();
    }
  }
}

void Upstreams::retire(const SharedUpstream& shared, io::TimePoint opened_at) {
  const auto in_use = place_of(shared_, shared);
  if (in_use != shared_.end() && may_retire(opened_at)) {
    retired_.push_back(std::move(*in_use));
    shared_.erase(in_use);
    while (!kept_.empty()) {
      forget(kept_.front());
    }
  }
}

void Upstreams::forget_all(io::TimePoint before) {
  for (auto& shared : shared_) {
    if (shared->has_older_than(before)) {
      retired_.push_back(std::move(shared));
    }
  }
  std::erase(shared_, nullptr);
  std::vector<const Kept*> older;
  for (const Kept& kept : kept_) {
    if (kept.connection->opened_at() < before) {
      older.push_back(&kept);
    }
  }
  for (const Kept* const kept : older) {
    forget(*kept);
  }
  dispose_unused();
  probe_.ask_anew();
}

bool Upstreams::is_retired(const SharedUpstream& shared) const {
  return !retired_.empty() && place_of(retired_, shared) != retired_.end();
}

// The one that was used last, so that the others get a chance to grow old; but one of the same db
// needs not to be told.
std::unique_ptr<GreetedConnection> Upstreams::lease(const resp::ConnectionState& told,
                                                    GreetedConnection::Owner& owner) {
  auto best = kept_.rend();
  for (auto kept = kept_.rbegin(); kept != kept_.rend(); ++kept) {
    const resp::ConnectionState& known = kept->connection->told();
    // READWRITE may be forbidden to who may say READONLY.
    const bool is_bound = known.reads_replica && !told.reads_replica;
    if (known.version != told.version || known.login != told.login || is_bound) {
      continue;
    }
    if (known.db == told.db) {
      best = kept;
      break;
    }
    best = best == kept_.rend() ? kept : best;
  }
  if (best == kept_.rend()) {
    return open(told, owner);
  }
  std::unique_ptr<GreetedConnection> connection = std::move(best->connection);
  const bool is_proven = loop_.now() - best->since <= kProvenFor;
  kept_.erase(std::next(best).base());
  connection->belong_to(owner);
  (void)connection->greet(told);  // of the same version and user
  if (!is_proven) {
    connection->touch();
  }
  return connection;
}

std::unique_ptr<GreetedConnection> Upstreams::open(const resp::ConnectionState& told,
                                                   GreetedConnection::Owner& owner) {
  return std::make_unique<GreetedConnection>(loop_, settings_, told, owner, &probe_);
}

void Upstreams::give_back(std::unique_ptr<GreetedConnection> connection,
                          const resp::ConnectionState& told) {
  connection->was_told(told);
  connection->set_reading(true);
  if (kept_.size() == kKeptMax) {
    forget(kept_.front());
  }
  Kept& kept = kept_.emplace_back(*this);
  connection->belong_to(kept);
  kept.connection = std::move(connection);
  kept.since = loop_.now();
  kept.until = loop_.after(kKeptFor, [this, &kept] { forget(kept); });
}

void Upstreams::forget(const Kept& kept) {
  const auto place = std::ranges::find(kept_, &kept, [](const Kept& one) { return &one; });
  place->connection->close();
  loop_.dispose(std::move(place->connection));
  kept_.erase(place);
}

}  // namespace cuckooguard::upstream
