// Replies to absent keys: told of, and replaced where they are nil.
#include "io/consumed_front.h"
#include "proxy/reply_order.h"

namespace cuckooguard::proxy {

using io::forget_consumed;

void ReplyOrder::expect_absent_key_reply(const guard::AbsentKey& key) {
  compared_.push_back({.ns = key.ns,
                       .is_string_read = key.is_string_read,
                       .kept_bytes = key.kept_bytes,
                       .key = std::string(key.key),
                       .missing = std::string(key.missing),
                       .replacement = std::string(key.replacement)});
  compared_bytes_ += compared_.back().bytes();
  entries_.push_back({Kind::compare, 1});
}

// A reply leaves as it comes, unless all that has come could still be the beginning of the one to be replaced.
void ReplyOrder::take_compared(std::string_view piece) {
  const Compared& compared = compared_[compared_head_];
  const std::size_t held_back = is_held_back_ ? reply_head_.size() : 0;
  reply_bytes_ += piece.size();
  reply_head_ += piece.substr(0, compared.kept_bytes - reply_head_.size());
  is_held_back_ = is_held_back_ && reply_bytes_ == reply_head_.size() &&
                  compared.missing.starts_with(reply_head_);
  if (!is_held_back_) {
    output_->append(std::string_view(reply_head_).substr(0, held_back));
    output_->append(piece);
  }
}

void ReplyOrder::end_compared(char type) {
  const Compared& compared = compared_[compared_head_];
  if (is_held_back_) {
    output_->append(compared.replacement);
  }
  comparison_->on_absent_key_reply({.ns = compared.ns,
                                    .key = compared.key,
                                    .missing = compared.missing,
                                    .is_string_read = compared.is_string_read,
                                    .reply = reply_head_,
                                    .is_whole = reply_bytes_ == reply_head_.size(),
                                    .is_error = type == '-' || type == '!'});
  drop_compared();
  pop();
}

void ReplyOrder::drop_compared() {
  is_compared_ = false;
  compared_bytes_ -= compared_[compared_head_].bytes();
  ++compared_head_;
  forget_consumed(compared_, compared_head_);
}

}  // namespace cuckooguard::proxy
