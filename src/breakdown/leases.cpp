#include "breakdown/leases.h"

#include <algorithm>
#include <iterator>

namespace cuckooguard::breakdown {

Leases::Leases(config::Breakdown settings,
               std::shared_ptr<Addresses> addresses,
               const filter::HashSecret& secret,
               std::shared_ptr<SharedLeases> shared,
               int db)
    : settings_(settings),
      addresses_(std::move(addresses)),
      hash_(secret),
      db_(db),
      shared_(std::move(shared)) {
  if (shared_ && settings_.scope == config::BreakdownScope::redis) {
    number_ = shared_->join(*this);
  }
}

Leases::~Leases() {
  leave();
  for (const std::uint64_t key : leases_) {
    addresses_->loads_no_more(keys_.find(key)->second.address);
  }
}

void Leases::leave() {
  std::unique_lock lock(mutex_);
  const std::shared_ptr<SharedLeases> shared = std::exchange(shared_, nullptr);
  const std::uint64_t number = std::exchange(number_, 0);
  lock.unlock();  // it may be telling something
  if (number != 0) {
    shared->leave(number);
  }
}

std::shared_ptr<SharedLeases> Leases::shared() const {
  const std::lock_guard lock(mutex_);
  return shared_;
}

std::unique_ptr<guard::Misses> Leases::connect(text::Network network,
                                               std::shared_ptr<guard::KnownReplies> known,
                                               void* waiter) {
  return std::make_unique<Connection>(addresses_, network, std::move(known), waiter);
}

// --- a connection ---

bool Connection::missed(guard::Loads& of, const Key& key, May may, TimePoint now) {
  auto& leases = static_cast<Leases&>(of);
  if (waits_for_.get() != &leases) {
    end(End::let_go, now);
    waits_for_ = leases.shared_from_this();
  }
  return leases.missed(*this, key, may, now);
}

guard::Misses::Next Connection::next(TimePoint now) {
  return waits_for_ ? waits_for_->next(*this, now) : Next::take;
}

void Connection::end(End how, TimePoint now) {
  if (waits_for_) {
    waits_for_->end(*this, how, now);
  }
}

void Connection::gone(TimePoint now) {
  end(End::let_go, now);
  for (const auto& [leases, key] : leases_) {
    if (const auto of = leases.lock()) {
      of->gone(key, *this, now);
    }
  }
}

void Connection::wake(State state) {
  state_ = state;
  guard::KnownReplies::Waiters waiters{waiter_};
  known_->add(waiters);
}

// --- what they tell ---

bool Leases::missed(Connection& client,
                    const guard::Misses::Key& key,
                    guard::Misses::May may,
                    TimePoint now) {
  using May = guard::Misses::May;
  const std::lock_guard lock(mutex_);
  expire(now);
  if (client.state_ == Connection::State::idle) {
    client.since_ = now;
    client.deadline_ = now + settings_.hold;
  } else if (now >= client.deadline_) {
    counters_.timed_out.add();
    stop_waiting(client, now);
    return false;
  }
  const bool is_off = addresses_->is_off(client.address_, key.hash, now);
  auto at = keys_.find(key.hash);
  if (is_closed_ || is_off || (at == keys_.end() && keys_.size() >= kKeysMax)) {
    counters_.passed.add();
    stop_waiting(client, now);
    return false;
  }
  if (at == keys_.end()) {
    at = make(key);
  }
  Key& of = at->second;
  const bool is_free = of.owner == nullptr && of.elsewhere == Elsewhere::no;
  const bool may_take = is_free && (has_place() || may == May::be_observed);
  const bool is_asked = may_take && may == May::wait && ask(at, now);
  if (may_take && (!is_asked || !may_wait(client, of, now))) {
    stop_asking(of);  // there may be an answer, all the same
    stop_waiting(client, now);
    lease(client, at, now);
    client.remember(weak_from_this(), key.hash);
    return false;
  }
  if (may == May::be_observed) {
    counters_.would_be_held.add();
    ++of.would_be_held;
    return false;
  }
  if (may == May::pass || (!is_asked && !may_wait(client, of, now))) {
    counters_.passed.add();
    stop_waiting(client, now);
    drop_if_idle(at);
    return false;
  }
  wait(client, at);
  return true;
}

Leases::Keys::iterator Leases::make(const guard::Misses::Key& key) {
  const auto at = keys_.try_emplace(key.hash).first;
  Key& made = at->second;
  if (number_ != 0 && key.name.size() <= kNameMax) {
    made.name = key.name;
  }
  made.in_leases = leases_.end();
  made.in_late = late_.end();
  made.in_queue = queue_.end();
  size_.store(keys_.size(), std::memory_order_relaxed);
  return at;
}

// It waits already; or its address lets it.
bool Leases::may_wait(Connection& client, const Key& of, TimePoint now) {
  if (client.state_ != Connection::State::idle) {
    return true;
  }
  if (!addresses_->hold(client.address_, of.elsewhere != Elsewhere::no, now)) {
    return false;
  }
  counters_.held.add();
  ++held_;
  return true;
}

void Leases::wait(Connection& client, Keys::iterator at) {
  Key& of = at->second;
  client.state_ = Connection::State::waits;
  client.key_ = at->first;
  client.place_ = of.waiters.insert(of.waiters.end(), &client);
  if (of.owner == nullptr && of.elsewhere == Elsewhere::no) {
    enqueue(at);
  }
  wait_on(client);
}

void Leases::enqueue(Keys::iterator at) {
  if (at->second.in_queue == queue_.end()) {
    at->second.in_queue = queue_.insert(queue_.end(), at->first);
  }
}

// As long as it may; or until something is due that nobody else may notice.
void Leases::wait_on(Connection& client) const {
  client.until_ = client.deadline_;
  if (!leases_.empty()) {
    client.until_ = std::min(client.until_, keys_.find(leases_.front())->second.until);
  }
  if (settings_.max_concurrent_misses != 0 && !late_.empty()) {
    client.until_ =
        std::min(client.until_, keys_.find(late_.front())->second.past.front().ended + kLate);
  }
  if (const Key& of = keys_.find(client.key_)->second; of.elsewhere != Elsewhere::no) {
    client.until_ = std::min(client.until_, of.asks_at);
  }
}

guard::Misses::Next Leases::next(Connection& client, TimePoint now) {
  const std::lock_guard lock(mutex_);
  expire(now);
  if (client.state_ == Connection::State::waits && now < client.deadline_) {
    ask_if_due(client.key_, now);
  }
  if (client.state_ == Connection::State::ask) {
    return guard::Misses::Next::ask;
  }
  if (client.state_ == Connection::State::waits && now < client.deadline_) {
    wait_on(client);
    return guard::Misses::Next::wait;
  }
  if (client.state_ == Connection::State::waits) {
    Key& of = keys_.find(client.key_)->second;
    of.hold_ended = now;
    of.hold_address = client.address_;
    counters_.timed_out.add();
  }
  stop_waiting(client, now);
  return guard::Misses::Next::take;
}

void Leases::end(Connection& client, guard::Misses::End how, TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (client.state_ != Connection::State::idle) {
    (how == guard::Misses::End::value ? counters_.spared : counters_.let_go).add();
    stop_waiting(client, now);
  }
}

void Leases::gone(std::uint64_t key, const Connection& owner, TimePoint now) {
  const std::lock_guard lock(mutex_);
  const auto at = keys_.find(key);
  if (at != keys_.end() && at->second.owner == &owner) {
    end_lease(at, LeaseEnd::gone, now);
    hand_over(at, now);
  }
}

void Leases::written(std::uint64_t key, const guard::Misses* by, bool has_value, TimePoint now) {
  if (size_.load(std::memory_order_relaxed) == 0) {
    return;
  }
  const std::lock_guard lock(mutex_);
  expire(now);
  const auto at = keys_.find(key);
  if (at == keys_.end()) {
    return;
  }
  if (has_value) {
    credit(at, by != nullptr ? static_cast<const Connection*>(by)->address_ : 0, now);
  }
  if (at->second.owner != nullptr) {
    end_lease(at, LeaseEnd::write, now);
  }
  let_ask(at->second);
  drop_if_idle(at);
  admit_next(now);
}

void Leases::close() {
  leave();
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  for (auto& [key, of] : keys_) {
    let_ask(of);
  }
}

bool Leases::answered(std::uint64_t key,
                      std::uint64_t ticket,
                      SharedLeases::Answer answer,
                      TimePoint now) {
  using Answer = SharedLeases::Answer;
  const std::lock_guard lock(mutex_);
  const auto at = keys_.find(key);
  if (at == keys_.end() || at->second.ticket != ticket) {
    return false;
  }
  Key& of = at->second;
  of.ticket = 0;
  if (of.elsewhere != Elsewhere::asked) {  // it is being loaded already
    of.is_shared = answer == Answer::ours;
    return of.is_shared;
  }
  stop_asking(of);
  switch (answer) {
    case Answer::ours:
    case Answer::failed:
      grant(at, now);
      of.is_shared = answer == Answer::ours;
      return true;
    case Answer::elsewhere:
    case Answer::unwatched:
      of.elsewhere = Elsewhere::yes;
      of.asks_at = now + (answer == Answer::elsewhere ? lease_time() : kAskEvery);
      break;
    case Answer::ended:
      ask_again(at, now);
      return true;
    case Answer::there:
      let_ask(of);
      drop_if_idle(at);
      break;
  }
  admit_next(now);
  return true;
}

void Leases::pushed(std::string_view name, TimePoint now) {
  const std::lock_guard lock(mutex_);
  auto at = name.empty() ? keys_.begin() : keys_.find(hash_(name));
  const auto last = name.empty() || at == keys_.end() ? keys_.end() : std::next(at);
  while (at != last) {
    const auto here = at++;
    if (here->second.elsewhere == Elsewhere::yes) {
      let_ask(here->second);
      drop_if_idle(here);
    }
  }
  admit_next(now);
}

void Leases::ended_elsewhere(std::string_view name, TimePoint now) {
  const std::lock_guard lock(mutex_);
  const auto at = keys_.find(hash_(name));
  if (at != keys_.end() && at->second.elsewhere == Elsewhere::yes) {
    ask_again(at, now);
  }
}

guard::Loads::Now Leases::now() const {
  const std::lock_guard lock(mutex_);
  return {.loads = leased_, .held = held_, .usual = usual_};
}

// --- with the lock ---

void Leases::stop_waiting(Connection& client, TimePoint now) {
  if (client.state_ == Connection::State::idle) {
    return;
  }
  if (client.state_ == Connection::State::waits) {
    const auto at = keys_.find(client.key_);
    at->second.waiters.erase(client.place_);
    drop_if_idle(at);
    admit_next(now);
  } else if (client.state_ == Connection::State::take) {
    client.remember(weak_from_this(), client.key_);
  }
  if (client.state_ != Connection::State::take) {
    addresses_->let_go(client.address_);
  }
  client.state_ = Connection::State::idle;
  --held_;
  counters_.waited.add(now - client.since_);
}

void Leases::lease(Connection& client, Keys::iterator at, TimePoint now) {
  Key& of = at->second;
  of.owner = &client;
  of.address = client.address_;
  of.until = now + lease_time();
  if (of.since == TimePoint()) {
    of.since = now;
  }
  of.in_leases = leases_.insert(leases_.end(), at->first);
  ++leased_;
  addresses_->loads(of.address);
  counters_.leases.add();
}

void Leases::end_lease(Keys::iterator at, LeaseEnd how, TimePoint now) {
  Key& of = at->second;
  of.owner = nullptr;
  leases_.erase(std::exchange(of.in_leases, leases_.end()));
  --leased_;
  addresses_->loads_no_more(of.address);
  if (std::exchange(of.is_shared, false) && how != LeaseEnd::time && shared_) {
    shared_->release(of.name, db_);  // by its time it ends there, too
  }
  of.ticket = 0;
  (how == LeaseEnd::write ? counters_.leases_written : counters_.leases_lost).add();
  if (how == LeaseEnd::gone || (how == LeaseEnd::time && of.past.size() >= kPastMax)) {
    addresses_->ended(of.address, at->first, false, now);
  } else if (how == LeaseEnd::time) {
    of.past.push_back({.address = of.address, .ended = now});
    ++late_loads_;
    if (of.in_late == late_.end()) {
      of.in_late = late_.insert(late_.end(), at->first);
    }
  }
}

// To who has waited longest for it; else to who has waited longest for any.
void Leases::hand_over(Keys::iterator at, TimePoint now) {
  Key& of = at->second;
  if (of.waiters.empty()) {
    drop_if_idle(at);
    admit_next(now);
  } else if (!has_place()) {
    enqueue(at);
  } else if (!ask(at, now)) {
    grant(at, now);
  }
}

void Leases::grant(Keys::iterator at, TimePoint now) {
  // Where Redis is asked, the first one waits, too.
  if (number_ == 0 || at->second.since != TimePoint()) {
    counters_.taken_over.add();
  }
  Connection& next = *at->second.waiters.front();
  at->second.waiters.pop_front();
  lease(next, at, now);
  addresses_->let_go(next.address_);
  next.wake(Connection::State::take);
}

bool Leases::ask(Keys::iterator at, TimePoint now) {
  Key& of = at->second;
  if (number_ == 0 || of.name.empty() ||
      !shared_->ask({.by = number_,
                     .key = at->first,
                     .ticket = ++tickets_,
                     .name = of.name,
                     .db = db_,
                     .lasts = std::chrono::ceil<std::chrono::milliseconds>(lease_time())})) {
    return false;
  }
  of.ticket = tickets_;
  of.elsewhere = Elsewhere::asked;
  of.asks_at = now + kAskMost;
  ++asked_;
  return true;
}

// Another guard has no lease of it any more, as far as is known; clients here still wait.
void Leases::ask_again(Keys::iterator at, TimePoint now) {
  stop_asking(at->second);
  hand_over(at, now);
}

void Leases::ask_if_due(std::uint64_t key, TimePoint now) {
  const auto at = keys_.find(key);
  Key& of = at->second;
  if (of.elsewhere == Elsewhere::no || now < of.asks_at) {
    return;
  }
  if (of.elsewhere == Elsewhere::yes) {
    ask_again(at, now);
  } else {  // Redis has not answered: a lease of this guard's alone
    stop_asking(of);
    grant(at, now);
  }
}

void Leases::stop_asking(Key& of) {
  asked_ -= of.elsewhere == Elsewhere::asked ? 1 : 0;
  of.elsewhere = Elsewhere::no;
}

void Leases::let_ask(Key& of) {
  stop_asking(of);
  of.ticket = 0;
  for (Connection* const waiter : of.waiters) {
    waiter->wake(Connection::State::ask);
  }
  of.waiters.clear();
}

void Leases::admit_next(TimePoint now) {
  while (!queue_.empty() && has_place()) {
    const auto at = keys_.find(queue_.front());
    queue_.pop_front();
    at->second.in_queue = queue_.end();
    const Key& of = at->second;
    if (of.owner == nullptr && of.elsewhere == Elsewhere::no && !of.waiters.empty()) {
      hand_over(at, now);
    } else {
      drop_if_idle(at);
    }
  }
}

void Leases::expire(TimePoint now) {
  while (!leases_.empty()) {
    const auto at = keys_.find(leases_.front());
    if (now < at->second.until) {
      break;
    }
    end_lease(at, LeaseEnd::time, now);
    hand_over(at, now);
  }
  judge_past(now);
}

// Nobody has written the key for kLate.
void Leases::judge_past(TimePoint now) {
  while (!late_.empty()) {
    const auto at = keys_.find(late_.front());
    Key& of = at->second;
    if (now - of.past.front().ended < kLate) {
      return;
    }
    addresses_->ended(of.past.front().address, at->first, false, now);
    of.past.erase(of.past.begin());
    --late_loads_;
    late_.pop_front();
    of.in_late = of.past.empty() ? late_.end() : late_.insert(late_.end(), at->first);
    if (of.past.empty() && of.owner == nullptr) {
      of.since = {};
      drop_if_idle(at);
    }
    admit_next(now);
  }
}

// A SET: the leases of before count as ended by it only if it is their own address's, or one client
// that never sets would be credited with what others do.
void Leases::credit(Keys::iterator at, std::uint64_t writer, TimePoint now) {
  Key& of = at->second;
  const auto others = std::ranges::stable_partition(
      of.past, [writer](const Past& past) { return past.address != writer; });
  if (of.owner != nullptr) {
    addresses_->ended(of.address, at->first, true, now);
  }
  for (std::size_t i = 0; i < others.size(); ++i) {
    addresses_->ended(writer, at->first, true, now);
  }
  const bool was_leased = of.owner != nullptr || !others.empty();
  if (was_leased) {
    constexpr int kWeight = 8;
    const auto took = now - of.since;
    usual_ = usual_ == TimePoint::duration() ? took : usual_ + (took - usual_) / kWeight;
  }
  late_loads_ -= others.size();
  of.past.erase(others.begin(), others.end());
  if (of.past.empty() && of.in_late != late_.end()) {
    late_.erase(std::exchange(of.in_late, late_.end()));
  }
  // Sooner than it could have been loaded by the client that waited.
  if (now - of.hold_ended <= std::min<TimePoint::duration>(kSoon, usual_ / 2) &&
      of.hold_address == writer && was_leased) {
    addresses_->starved(writer, now);
  }
  counters_.would_be_spared.add(std::exchange(of.would_be_held, 0));
  of.hold_ended = {};
  of.since = {};
}

void Leases::drop_if_idle(Keys::iterator at) {
  Key& of = at->second;
  if (of.waiters.empty()) {
    stop_asking(of);
  }
  if (of.owner == nullptr && of.waiters.empty() && of.in_late == late_.end() &&
      of.in_queue == queue_.end()) {
    keys_.erase(at);
    size_.store(keys_.size(), std::memory_order_relaxed);
  }
}

TimePoint::duration Leases::lease_time() const {
  if (settings_.lease) {
    return *settings_.lease;
  }
  const TimePoint::duration most = kLeaseMost;
  return usual_ == TimePoint::duration()
             ? most
             : std::clamp<TimePoint::duration>(kUsualTimes * usual_, kLeaseLeast, most);
}

}  // namespace cuckooguard::breakdown
