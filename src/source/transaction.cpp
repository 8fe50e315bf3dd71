#include "source/transaction.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace cuckooguard::source {
namespace {

constexpr std::size_t kSlotsMin = 64;
constexpr std::size_t kRowsKept = 192;  // whose memory stays for the next transaction
constexpr std::size_t kRowsAhead = 16;  // whose slots are on their way from memory

std::uint32_t tag_of(const RowName& name) {
  return static_cast<std::uint32_t>(name.low >> 32);
}

}  // namespace

std::size_t Transaction::bytes() const {
  constexpr std::size_t kBlockBytes =
      512;  // of libstdc++'s deque, and as much for the list of them
  const std::size_t blocks = 2 + rows_.size() * sizeof(Row) / kBlockBytes;
  return blocks * kBlockBytes + slots_.capacity() * sizeof(Slot);
}

bool Transaction::add(const RowName& row, Image before, Image after) {
  if (is_sealed_) {
    return false;
  }
  if (slots_.empty()) {
    if (!before && after) {
      return append(row, before, after);
    }
    if (!make_index()) {
      return false;
    }
  }
  if ((rows_.size() + 1) * 4 > slots_.size() * 3) {
    grow();
  }
  Slot& slot = find(row);
  if (slot.number != 0) {
    Row& known = rows_[slot.number - 1];
    if (known.image_after() != before) {
      return false;
    }
    known.after = after.value_or(0);
    known.is_there_after = after.has_value();
    return true;
  }
  if (!append(row, before, after)) {
    return false;
  }
  slot = {.number = static_cast<std::uint32_t>(rows_.size()), .tag = tag_of(row)};
  return true;
}

bool Transaction::append(const RowName& row, Image before, Image after) {
  if (rows_.size() == rows_max_) {
    return false;
  }
  rows_.push_back({.name = row,
                   .before = before.value_or(0),
                   .after = after.value_or(0),
                   .was_there_before = before.has_value(),
                   .is_there_after = after.has_value()});
  return true;
}

// Of rows that were inserted, and nothing else.
bool Transaction::make_index() {
  slots_.resize(std::bit_ceil(std::max(kSlotsMin, rows_.size() * 2)));
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (i + kRowsAhead < rows_.size()) {
      __builtin_prefetch(&slots_[place_of(tag_of(rows_[i + kRowsAhead].name))]);
    }
    const RowName& name = rows_[i].name;
    Slot& slot = find(name);
    if (slot.number != 0) {
      return false;
    }
    slot = {.number = static_cast<std::uint32_t>(i + 1), .tag = tag_of(name)};
  }
  return true;
}

// By the upper bits: then a larger table has its rows in the same order, and is filled from one end
// to the other.
std::size_t Transaction::place_of(std::uint32_t tag) const {
  return (std::uint64_t{tag} * slots_.size()) >> 32;
}

Transaction::Slot& Transaction::find(const RowName& name) {
  const std::size_t mask = slots_.size() - 1;
  const std::uint32_t tag = tag_of(name);
  std::size_t at = place_of(tag);
  while (slots_[at].number != 0 &&
         (slots_[at].tag != tag || rows_[slots_[at].number - 1].name != name)) {
    at = (at + 1) & mask;
  }
  return slots_[at];
}

void Transaction::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  std::swap(old, slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.number != 0) {
      std::size_t at = place_of(slot.tag);
      while (slots_[at].number != 0) {
        at = (at + 1) & mask;
      }
      slots_[at] = slot;
    }
  }
}

void Transaction::clear() {
  if (rows_.size() > kRowsKept) {
    std::vector<Slot>().swap(slots_);
    std::deque<Row>().swap(rows_);
  } else {
    slots_.clear();
    rows_.clear();
  }
  is_sealed_ = false;
}

}  // namespace cuckooguard::source
