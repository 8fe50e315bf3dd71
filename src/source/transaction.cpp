#include "source/transaction.h"

#include <utility>

namespace cuckooguard::source {
namespace {

constexpr std::size_t kSlotsMin = 64;
constexpr std::size_t kSlotsKept = 256;  // between transactions: clearing them costs each of them

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
  if ((rows_.size() + 1) * 4 > slots_.size() * 3) {
    if (slots_.empty() && !rows_.empty()) {
      return false;  // sealed
    }
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
  if (rows_.size() == rows_max_) {
    return false;
  }
  rows_.push_back({.name = row,
                   .before = before.value_or(0),
                   .after = after.value_or(0),
                   .was_there_before = before.has_value(),
                   .is_there_after = after.has_value()});
  slot = {.number = static_cast<std::uint32_t>(rows_.size()), .tag = tag_of(row)};
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
  std::vector<Slot> old(slots_.empty() ? kSlotsMin : slots_.size() * 2);
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
  if (slots_.size() > kSlotsKept) {
    std::vector<Slot>().swap(slots_);
    std::deque<Row>().swap(rows_);
  } else if (!rows_.empty()) {
    slots_.assign(slots_.size(), {});
    rows_.clear();
  }
}

}  // namespace cuckooguard::source
