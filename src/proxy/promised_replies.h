// Replies that leave when they are known, in order (guard/promised_reply.h).
//
// Threads: its worker's. Limits: bytes() is what they take until then; the session stops answering
// at its limits.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "guard/promised_reply.h"
#include "io/consumed_front.h"

namespace cuckooguard::proxy {

class PromisedReplies {
 public:
  void add(guard::PromisedReply reply) {
    bytes_ += reply.bytes();
    replies_.push_back(std::move(reply));
  }
  bool is_empty() const { return head_ == replies_.size(); }
  std::size_t bytes() const { return bytes_; }

  bool is_next_known() const { return replies_[head_].is_known(); }
  // Of the next, which is known: the reply, valid until the next call.
  std::string_view take() {
    text_.clear();
    replies_[head_].append_to(text_);
    bytes_ -= replies_[head_].bytes();
    ++head_;
    io::forget_consumed(replies_, head_);
    return text_;
  }

 private:
  std::vector<guard::PromisedReply> replies_;
  std::size_t head_ = 0;
  std::size_t bytes_ = 0;
  std::string text_;
};

}  // namespace cuckooguard::proxy
