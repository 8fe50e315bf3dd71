// The first and the last bytes of a reply that is relayed in pieces: what tells pub/sub frames and
// errors apart, without holding a reply.
//
// Threads: its worker's. Limits: kPubSubHeadBytes and kPubSubTailBytes.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "redis/subscriptions.h"

namespace cuckooguard::proxy {

class ReplyEnds {
 public:
  void add(std::string_view piece) {
    const std::string_view first = piece.substr(0, head_.size() - head_size_);
    std::ranges::copy(first, head_.data() + head_size_);
    head_size_ += first.size();
    const std::string_view last = piece.substr(piece.size() - std::min(piece.size(), tail_.size()));
    const std::size_t kept = std::min(tail_size_, tail_.size() - last.size());
    std::copy_n(tail_.data() + tail_size_ - kept, kept, tail_.data());
    std::ranges::copy(last, tail_.data() + kept);
    tail_size_ = kept + last.size();
  }

  std::string_view head() const { return {head_.data(), head_size_}; }
  std::string_view tail() const { return {tail_.data(), tail_size_}; }

 private:
  std::array<char, redis::kPubSubHeadBytes> head_{};
  std::array<char, redis::kPubSubTailBytes> tail_{};
  std::size_t head_size_ = 0;
  std::size_t tail_size_ = 0;
};

}  // namespace cuckooguard::proxy
