#include "filter/live_parts.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace cuckooguard::filter {
namespace {

// Of the parts' states an operator should hear of the one with the most.
int severity(State state) noexcept {
  switch (state) {
    case State::ready:
      return 0;
    case State::lagging:
      return 1;
    case State::loading:
      return 2;
    case State::full:
      return 3;
    case State::unsynced:
      return 4;
    case State::down:
      break;
  }
  return 5;
}

}  // namespace

LiveParts::LiveParts(Epochs& epochs, const HashSecret& secret)
    : epochs_(epochs), bond_(secret), set_(nullptr), set_owned_(std::make_unique<const Set>()) {
  set_.store(set_owned_.get(), std::memory_order_seq_cst);
}

LiveParts::~LiveParts() = default;

template <typename Step>
bool LiveParts::Set::is_fresh(TimePoint now, const Step& step) const noexcept {
  return is_complete && !parts.empty() && std::ranges::all_of(parts, [&](const Part* part) {
           step();
           return part->live.is_fresh(now);
         });
}

template <typename Step>
const LiveParts::Set* LiveParts::trusted(TimePoint now, const Step& step) const noexcept {
  const Set* const set = set_.load(std::memory_order_seq_cst);  // see epochs.h
  if (!set->is_fresh(now, step)) {
    return nullptr;
  }
  step();
  // Behind the proofs it is to confirm: they are acquires.
  return set_.load(std::memory_order_relaxed) == set ? set : nullptr;
}

template <typename Step>
Finding LiveParts::look_up(std::string_view identity,
                           std::optional<std::uint64_t> number,
                           TimePoint now,
                           const Step& step) const noexcept {
  const std::uint64_t removals = bond_.removals.load(std::memory_order_acquire);
  step();
  const Set* const set = trusted(now, step);
  if (set == nullptr) {
    return Finding::not_fresh;
  }
  const std::uint64_t key = bond_.hash(identity);
  for (const Part* const part : set->parts) {
    step();
    const CuckooFilter* const filter = part->live.current();
    if (filter == nullptr) {
      return Finding::not_fresh;
    }
    step();
    if (number && part->live.is_fresh_id(*number)) {
      return Finding::fresh_id;
    }
    step();
    if (filter->may_contain(key)) {
      return Finding::may_exist;
    }
  }
  step();
  // Behind the loads it is to confirm: they are acquires. One part is right by itself.
  const bool undisturbed =
      set->parts.size() == 1 || bond_.removals.load(std::memory_order_relaxed) == removals;
  return undisturbed ? Finding::absent : Finding::may_exist;
}

Finding LiveParts::find(std::string_view identity,
                        std::optional<std::uint64_t> number,
                        TimePoint now) const noexcept {
  return look_up(identity, number, now, [] {});
}

Finding LiveParts::find_in_steps(std::string_view identity,
                                 std::optional<std::uint64_t> number,
                                 TimePoint now,
                                 const std::function<void()>& step) const noexcept {
  return look_up(identity, number, now, step);
}

bool LiveParts::is_fresh(TimePoint now) const noexcept {
  const Set* const set = trusted(now, [] {});
  return set != nullptr && std::ranges::all_of(set->parts, [](const Part* part) {
           return part->live.current() != nullptr;
         });
}

State LiveParts::state() const noexcept {
  const Set* const set = set_.load(std::memory_order_seq_cst);
  if (!set->is_complete || set->parts.empty()) {
    return State::loading;
  }
  return std::ranges::max(
      set->parts | std::views::transform([](const Part* part) { return part->live.state(); }),
      {},
      severity);
}

TimePoint LiveParts::fresh_until() const noexcept {
  const Set* const set = set_.load(std::memory_order_seq_cst);
  if (!set->is_complete || set->parts.empty()) {
    return TimePoint::min();
  }
  TimePoint earliest = TimePoint::max();
  for (const Part* const part : set->parts) {
    earliest = std::min(earliest, part->live.fresh_until());
  }
  return earliest;
}

std::vector<std::unique_ptr<LiveParts::Part>>::iterator LiveParts::find_part(
    std::string_view name) noexcept {
  return std::ranges::find_if(owned_, [name](const auto& part) { return part->name == name; });
}

// Whatever needs memory comes first: a part that is made is in the set, one that is in the set lives.
LiveFilter* LiveParts::add(std::string_view name) {
  if (const auto known = find_part(name); known != owned_.end()) {
    return &(*known)->live;
  }
  if (owned_.size() == kPartsMax) {
    set_complete(false);
    return nullptr;
  }
  auto part = std::make_unique<Part>(name, epochs_, bond_);
  LiveFilter& live = part->live;
  std::unique_ptr<Set> next = copy_of_set();
  next->parts.push_back(part.get());
  owned_.push_back(std::move(part));
  replace_set(std::move(next), nullptr);
  return &live;
}

void LiveParts::remove(std::string_view name) {
  const auto found = find_part(name);
  if (found == owned_.end()) {
    return;
  }
  std::unique_ptr<Set> next = copy_of_set();
  std::erase(next->parts, found->get());
  std::unique_ptr<Part> removed = std::move(*found);
  owned_.erase(found);
  replace_set(std::move(next), std::move(removed));
}

void LiveParts::set_complete(bool is_complete) {
  if (is_complete != set_owned_->is_complete) {
    std::unique_ptr<Set> next = copy_of_set();
    next->is_complete = is_complete;
    replace_set(std::move(next), nullptr);
  }
}

// With room for what replace_set() keeps of the old one.
std::unique_ptr<LiveParts::Set> LiveParts::copy_of_set() {
  withdrawn_.reserve(withdrawn_.size() + 1);
  return std::make_unique<Set>(*set_owned_);
}

void LiveParts::replace_set(std::unique_ptr<Set> next, std::unique_ptr<Part> removed) noexcept {
  std::unique_ptr<const Set> old = std::exchange(set_owned_, std::move(next));
  set_.store(set_owned_.get(), std::memory_order_seq_cst);
  withdrawn_.push_back(
      {.set = std::move(old), .part = std::move(removed), .epoch = epochs_.advance()});
  reclaim();
}

bool LiveParts::reclaim() {
  std::erase_if(withdrawn_,
                [this](const Withdrawn& withdrawn) { return epochs_.passed(withdrawn.epoch); });
  return withdrawn_.empty();
}

}  // namespace cuckooguard::filter
