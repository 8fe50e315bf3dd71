#include "filter/before_image.h"

#include <algorithm>
#include <new>
#include <ranges>

namespace cuckooguard::filter {

void BeforeImage::keep(std::uint64_t index) noexcept {
  if (index < forgotten_ || is_lost_) {
    return;
  }
  try {
    const std::uint64_t number = index / kBlockWords;
    Block& block = blocks_[number];
    if (!block.words.empty()) {
      return;
    }
    if (block.changes.size() < kChangesMax) {
      block.changes.push_back({.index = index, .before = words_[index]});
      return;
    }
    const std::uint64_t from = number * kBlockWords;
    std::vector<std::uint64_t> words(std::min(kBlockWords, words_.size() - from));
    read_block(number, from, words);
    block.words = std::move(words);
    block.changes = {};
  } catch (const std::bad_alloc&) {
    is_lost_ = true;
  }
}

void BeforeImage::read(std::uint64_t from, std::span<std::uint64_t> out) const {
  while (!out.empty()) {
    const std::uint64_t number = from / kBlockWords;
    const std::uint64_t end = (number + 1) * kBlockWords;
    const auto part = out.first(std::min<std::uint64_t>(out.size(), end - from));
    read_block(number, from, part);
    from += part.size();
    out = out.subspan(part.size());
  }
}

void BeforeImage::read_block(std::uint64_t number,
                             std::uint64_t from,
                             std::span<std::uint64_t> out) const {
  const auto found = blocks_.find(number);
  if (found != blocks_.end() && !found->second.words.empty()) {
    const std::uint64_t at = from - number * kBlockWords;
    std::ranges::copy(std::span(found->second.words).subspan(at, out.size()), out.begin());
    return;
  }
  std::ranges::copy(words_.subspan(from, out.size()), out.begin());
  if (found == blocks_.end()) {
    return;
  }
  // The first change of a word is the last one to be undone.
  for (const Change& change : found->second.changes | std::views::reverse) {
    if (change.index >= from && change.index - from < out.size()) {
      out[change.index - from] = change.before;
    }
  }
}

void BeforeImage::forget(std::uint64_t to) {
  for (std::uint64_t number = forgotten_ / kBlockWords; (number + 1) * kBlockWords <= to;
       ++number) {
    blocks_.erase(number);
  }
  forgotten_ = std::max(forgotten_, to);
}

}  // namespace cuckooguard::filter
