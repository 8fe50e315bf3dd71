#include "breakdown/addresses.h"

#include <algorithm>
#include <bit>
#include <span>

namespace cuckooguard::breakdown {
namespace {

constexpr int kStarvedLeast = 2;

}  // namespace

std::uint64_t Addresses::connect(text::Network network) {
  const std::uint64_t name = network.number();
  const std::lock_guard lock(mutex_);
  ++addresses_[name].connections;
  return name;
}

void Addresses::disconnect(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = addresses_.find(address);
  if (--found->second.connections == 0 && found->second.loads == 0) {
    addresses_.erase(found);
  }
}

bool Addresses::hold(std::uint64_t address, bool is_loaded_elsewhere, TimePoint now) {
  const std::lock_guard lock(mutex_);
  const Record* const starved = find(name_of(address, kStarved));
  Address& of = addresses_[address];
  const bool may_all_wait = is_loaded_elsewhere && of.loads == 0;
  if ((!may_all_wait && of.connections - of.held <= 1) ||
      (starved != nullptr && now < starved->off_until)) {
    return false;
  }
  ++of.held;
  return true;
}

void Addresses::let_go(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  --addresses_[address].held;
}

void Addresses::loads(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  ++addresses_[address].loads;
}

void Addresses::loads_no_more(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = addresses_.find(address);
  if (--found->second.loads == 0 && found->second.connections == 0) {
    addresses_.erase(found);
  }
}

bool Addresses::is_off(std::uint64_t address, std::uint64_t key, TimePoint now) {
  const std::lock_guard lock(mutex_);
  const Record* const record = find(name_of(address, key % kBuckets));
  return record != nullptr && now < record->off_until;
}

void Addresses::ended(std::uint64_t address, std::uint64_t key, bool in_set, TimePoint now) {
  const std::lock_guard lock(mutex_);
  Record& record = make(name_of(address, key % kBuckets), now);
  record.outcomes = static_cast<std::uint16_t>(record.outcomes << 1U | (in_set ? 1U : 0U));
  record.count = static_cast<std::uint8_t>(std::min(record.count + 1, kOutcomesMost));
  if (record.count >= kOutcomesLeast && 2 * std::popcount(record.outcomes) < record.count) {
    record = {.name = record.name, .seen = now, .off_until = now + kOffFor};
  }
}

void Addresses::starved(std::uint64_t address, TimePoint now) {
  const std::lock_guard lock(mutex_);
  Record& record = make(name_of(address, kStarved), now);
  if (++record.count >= kStarvedLeast) {
    record = {.name = record.name, .seen = now, .off_until = now + kOffFor};
  }
}

std::uint64_t Addresses::name_of(std::uint64_t address, std::uint64_t bucket) const {
  const std::array both{address, bucket};
  return hash_({reinterpret_cast<const char*>(both.data()), sizeof both}) | 1U;
}

Addresses::Record* Addresses::find(std::uint64_t name) {
  const auto set = std::span(records_).subspan(name / 2 % (kRecords / kWays) * kWays, kWays);
  const auto found = std::ranges::find(set, name, &Record::name);
  return found == set.end() ? nullptr : &*found;
}

Addresses::Record& Addresses::make(std::uint64_t name, TimePoint now) {
  Record* record = find(name);
  if (record == nullptr) {
    const auto set = std::span(records_).subspan(name / 2 % (kRecords / kWays) * kWays, kWays);
    record = &*std::ranges::min_element(set, {}, &Record::seen);
    *record = {.name = name};
  } else if (now - record->seen > kOffFor) {
    *record = {.name = name};  // what was so long ago says nothing of today
  }
  record->seen = now;
  return *record;
}

}  // namespace cuckooguard::breakdown
