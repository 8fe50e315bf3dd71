#include "guard/contradictions.h"

#include <functional>
#include <utility>

namespace cuckooguard::guard {
namespace {

constexpr unsigned kNamespaceShift = 48;

std::uint64_t hash_of(std::uint32_t ns, std::string_view key) {
  return std::hash<std::string_view>{}(key) ^ (std::uint64_t{ns} << kNamespaceShift);
}

}  // namespace

void Contradictions::add(std::uint32_t ns, std::string_view key) {
  const std::uint64_t hash = hash_of(ns, key);
  const std::lock_guard lock(mutex_);
  if (known_.contains(hash)) {
    return;
  }
  if (waiting_.size() == kWaitingMax) {
    ++counts_[ns].dropped;
    return;
  }
  if (known_.size() == kRememberedMax) {
    known_.clear();
  }
  known_.insert(hash);
  waiting_.push_back({.ns = ns, .key = std::string(key)});
  ++counts_[ns].open;
}

void Contradictions::take_over(Contradictions& before,
                               std::span<const std::optional<std::uint32_t>> number_of) {
  const std::scoped_lock lock(mutex_, before.mutex_);
  for (std::size_t ns = 0; ns < number_of.size(); ++ns) {
    const std::optional<std::uint32_t>& now = number_of[ns];
    if (!now) {
      continue;
    }
    Counts& to = counts_[*now];
    const Counts& from = before.counts_[ns];
    for (std::size_t cause = 0; cause < kCauses; ++cause) {
      to.found.at(cause) += from.found.at(cause);
    }
    to.dropped += from.dropped + from.open;
  }
  for (Key& key : before.waiting_) {
    const auto ns = number_of[key.ns];
    if (ns && waiting_.size() < kWaitingMax && known_.insert(hash_of(*ns, key.key)).second) {
      --counts_[*ns].dropped;
      ++counts_[*ns].open;
      waiting_.push_back({.ns = *ns, .key = std::move(key.key)});
    }
  }
  before.waiting_.clear();
}

Contradictions::Counts Contradictions::counts(std::uint32_t ns) const {
  const std::lock_guard lock(mutex_);
  return counts_[ns];
}

std::optional<Contradictions::Key> Contradictions::next() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) {
    return std::nullopt;
  }
  Key first = std::move(waiting_.front());
  waiting_.pop_front();
  return first;
}

void Contradictions::found(std::uint32_t ns, Cause cause) {
  const std::lock_guard lock(mutex_);
  ++counts_[ns].found[static_cast<std::size_t>(cause)];
  --counts_[ns].open;
}

void Contradictions::forget() {
  const std::lock_guard lock(mutex_);
  known_.clear();
}

}  // namespace cuckooguard::guard
