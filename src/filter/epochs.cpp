#include "filter/epochs.h"

#include <algorithm>

namespace cuckooguard::filter {

Epochs::Epochs(std::size_t readers) : readers_(readers) {
  for (Reader& reader : readers_) {
    reader.now_ = &now_;
  }
}

std::uint64_t Epochs::advance() noexcept {
  return now_.fetch_add(1, std::memory_order_seq_cst) + 1;
}

bool Epochs::passed(std::uint64_t epoch) const noexcept {
  return std::ranges::all_of(readers_, [epoch](const Reader& reader) {
    const std::uint64_t since = reader.inside_since_.load(std::memory_order_seq_cst);
    return since == Reader::kOutside || since >= epoch;
  });
}

}  // namespace cuckooguard::filter
