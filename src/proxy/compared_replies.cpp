#include "proxy/compared_replies.h"

#include "io/consumed_front.h"

namespace cuckooguard::proxy {

void ComparedReplies::expect(const guard::AbsentKey& key) {
  expected_.push_back({.numbering = key.numbering,
                       .ns = key.ns,
                       .is_string_read = key.is_string_read,
                       .kept_bytes = key.kept_bytes,
                       .key = std::string(key.key),
                       .missing = std::string(key.missing),
                       .replacement = std::string(key.replacement),
                       .read_at = key.read_at});
  bytes_ += expected_.back().bytes();
}

void ComparedReplies::begin() {
  is_held_back_ = !next().replacement.empty();
  reply_bytes_ = 0;
  reply_head_.clear();
}

// It leaves as it comes, unless all that has come could still be the beginning of the one to be
// replaced.
void ComparedReplies::take(std::string_view piece) {
  const std::size_t held_back = is_held_back_ ? reply_head_.size() : 0;
  reply_bytes_ += piece.size();
  reply_head_ += piece.substr(0, next().kept_bytes - reply_head_.size());
  is_held_back_ = is_held_back_ && reply_bytes_ == reply_head_.size() &&
                  next().missing.starts_with(reply_head_);
  if (!is_held_back_) {
    output_.append(std::string_view(reply_head_).substr(0, held_back));
    output_.append(piece);
  }
}

void ComparedReplies::end(char type) {
  const guard::AbsentKeyReply reply = heard(type);
  if (is_held_back_) {
    const bool is_replaced = !next().read_at || owner_.may_replace(reply);
    output_.append(is_replaced ? next().replacement : next().missing);
  }
  owner_.on_absent_key_reply(reply);
  pop();
}

guard::AbsentKeyReply ComparedReplies::heard(char type) const {
  return {.numbering = next().numbering,
          .ns = next().ns,
          .key = next().key,
          .read_at = next().read_at,
          .missing = next().missing,
          .is_string_read = next().is_string_read,
          .reply = reply_head_,
          .is_whole = reply_bytes_ == reply_head_.size(),
          .is_error = type == '-' || type == '!'};
}

void ComparedReplies::refuse() {
  owner_.on_absent_key_reply(
      {.numbering = next().numbering, .ns = next().ns, .key = next().key, .is_error = true});
  pop();
}

void ComparedReplies::pop() {
  bytes_ -= next().bytes();
  ++head_;
  io::forget_consumed(expected_, head_);
}

}  // namespace cuckooguard::proxy
