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
      return 5;
    case State::refused:
      break;
  }
  return 6;
}

}  // namespace

LiveParts::LiveParts(Epochs& epochs, const HashSecret& secret)
    : epochs_(epochs), bond_(secret), set_(nullptr), set_owned_(std::make_unique<const PartSet>()) {
  set_.store(set_owned_.get(), std::memory_order_seq_cst);
}

LiveParts::~LiveParts() = default;

void LiveParts::prefetch(std::uint64_t hash) const noexcept {
  constexpr std::size_t kAtMost = 4;
  const PartSet* const set = set_.load(std::memory_order_seq_cst);  // see epochs.h
  for (const Part* const part : set->parts | std::views::take(kAtMost)) {
    if (const CuckooFilter* const filter = part->live.current()) {
      filter->prefetch(hash);
    }
  }
}

State LiveParts::state() const noexcept {
  const PartSet* const set = set_.load(std::memory_order_seq_cst);
  if (!set->is_complete || set->parts.empty()) {
    return state_without_tables_.get();
  }
  return std::ranges::max(
      set->parts | std::views::transform([](const Part* part) { return part->live.state(); }),
      {},
      severity);
}

std::string LiveParts::why() const {
  const PartSet* const set = set_.load(std::memory_order_seq_cst);
  if (!set->is_complete || set->parts.empty()) {
    return state_without_tables_.why();
  }
  const Part* const gravest = *std::ranges::max_element(
      set->parts, {}, [](const Part* part) { return severity(part->live.state()); });
  std::string why = gravest->live.why();
  return set->parts.size() == 1 || why.empty() ? why : gravest->name + ": " + why;
}

TimePoint LiveParts::fresh_until() const noexcept {
  const PartSet* const set = set_.load(std::memory_order_seq_cst);
  if (!set->is_complete || set->parts.empty()) {
    return TimePoint::min();
  }
  TimePoint earliest = TimePoint::max();
  for (const Part* const part : set->parts) {
    earliest = std::min(earliest, part->live.fresh_until());
  }
  return earliest;
}

std::vector<std::unique_ptr<Part>>::iterator LiveParts::find_part(std::string_view name) noexcept {
  return std::ranges::find_if(owned_, [name](const auto& part) { return part->name == name; });
}

// Whatever needs memory comes first: a part that is made is in the set, one that is in the set
// lives.
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
  std::unique_ptr<PartSet> next = copy_of_set();
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
  std::unique_ptr<PartSet> next = copy_of_set();
  std::erase(next->parts, found->get());
  std::unique_ptr<Part> removed = std::move(*found);
  owned_.erase(found);
  replace_set(std::move(next), std::move(removed));
}

void LiveParts::set_complete(bool is_complete) {
  if (is_complete != set_owned_->is_complete) {
    std::unique_ptr<PartSet> next = copy_of_set();
    next->is_complete = is_complete;
    replace_set(std::move(next), nullptr);
  }
}

// With room for what replace_set() keeps of the old one.
std::unique_ptr<PartSet> LiveParts::copy_of_set() {
  withdrawn_.reserve(withdrawn_.size() + 1);
  return std::make_unique<PartSet>(*set_owned_);
}

void LiveParts::replace_set(std::unique_ptr<PartSet> next, std::unique_ptr<Part> removed) noexcept {
  next->sole = next->is_complete && next->parts.size() == 1 ? next->parts.front() : nullptr;
  std::unique_ptr<const PartSet> old = std::exchange(set_owned_, std::move(next));
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
