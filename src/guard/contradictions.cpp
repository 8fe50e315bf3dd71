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

void Contradictions::take_over(Contradictions& before, std::span<const std::optional<Heir>> heirs) {
  const std::scoped_lock lock(mutex_, before.mutex_);
  for (std::size_t ns = 0; ns < heirs.size(); ++ns) {
    const std::optional<Heir>& heir = heirs[ns];
    if (!heir) {
      continue;
    }
    Counts& to = counts_[heir->ns];
    const Counts& from = before.counts_[ns];
    if (heir->forgets_values) {
      for (const Cause cause : {Cause::hidden_row, Cause::late_row}) {
        to.found.at(static_cast<std::size_t>(cause)) += from.of(cause);
      }
      continue;
    }
    for (std::size_t cause = 0; cause < kCauses; ++cause) {
      to.found.at(cause) += from.found.at(cause);
    }
    to.dropped += from.dropped + from.open;
  }
  for (Key& key : before.waiting_) {
    const auto& heir = heirs[key.ns];
    if (heir && !heir->forgets_values && waiting_.size() < kWaitingMax &&
        known_.insert(hash_of(heir->ns, key.key)).second) {
      --counts_[heir->ns].dropped;
      ++counts_[heir->ns].open;
      waiting_.push_back({.ns = heir->ns, .key = std::move(key.key)});
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
