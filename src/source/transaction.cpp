#include "source/transaction.h"

#include <utility>

namespace cuckooguard::source {
namespace {

constexpr std::size_t kSlotsMin = 64;
constexpr std::size_t kSlotsKept = 256;  // between transactions: clearing them costs each of them

}  // namespace

bool Transaction::add(const RowName& row, Image before, Image after) {
  if (slots_.empty() || (count_ + 1) * 4 > slots_.size() * 3) {
    grow();
  }
  Slot& slot = find(row);
  if (slot.used) {
    if (slot.image_after() != before) {
      return false;
    }
    slot.after = after.value_or(0);
    slot.is_there_after = after.has_value();
    return true;
  }
  if (count_ == rows_max_) {
    return false;
  }
  slot = {.row = row,
          .before = before.value_or(0),
          .after = after.value_or(0),
          .was_there_before = before.has_value(),
          .is_there_after = after.has_value(),
          .used = true};
  ++count_;
  return true;
}

Transaction::Slot& Transaction::find(const RowName& row) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = row.low & mask;
  while (slots_[at].used && slots_[at].row != row) {
    at = (at + 1) & mask;
  }
  return slots_[at];
}

void Transaction::grow() {
  std::vector<Slot> old(slots_.empty() ? kSlotsMin : slots_.size() * 2);
  std::swap(old, slots_);
  for (const Slot& slot : old) {
    if (slot.used) {
      find(slot.row) = slot;
    }
  }
}

void Transaction::clear() {
  if (slots_.size() > kSlotsKept) {
    std::vector<Slot>().swap(slots_);
  } else if (count_ > 0) {
    slots_.assign(slots_.size(), {});
  }
  count_ = 0;
}

}  // namespace cuckooguard::source
