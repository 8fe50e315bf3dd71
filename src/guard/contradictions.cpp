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
