#include "proxy/topology_replies.h"

#include <utility>

namespace cuckooguard::proxy {

using cluster::TopologyReply;

void TopologyReplies::expect(std::uint64_t reply, TopologyReply kind) {
  if (expected_.size() < kExpectedMax) {
    expected_.push_back({.reply = reply, .kind = kind});
  }
  if (multi_ != 0 && queued_.size() < kQueuedMax) {
    queued_.push_back({.index = static_cast<std::size_t>(reply - multi_ - 1), .kind = kind});
  }
}

void TopologyReplies::expect_multi(std::uint64_t reply) {
  if (multi_ != 0) {
    expect_refusal();
    return;
  }
  multi_ = reply;
  multi_reply_ = reply;
  queued_.clear();
}

void TopologyReplies::expect_refusal() {
  multi_ += multi_ != 0 ? 1 : 0;
}

void TopologyReplies::expect_end_of_multi(std::uint64_t reply) {
  if (!queued_.empty() && expected_.size() < kExpectedMax) {
    expected_.push_back(
        {.reply = reply, .kind = TopologyReply::none, .nested = std::exchange(queued_, {})});
  }
  multi_ = 0;
  queued_.clear();
}

bool TopologyReplies::begin_frame() {
  if (!client_.nodes.endpoint().is_sentinel) {
    return false;
  }
  is_error_ = false;
  is_frame_ = true;
  is_too_long_ = false;
  most_ = kReplyBytesMax;
  return true;
}

bool TopologyReplies::begin(std::uint64_t reply, char first) {
  while (!expected_.empty() && expected_.front().reply < reply) {
    expected_.pop_front();
  }
  is_error_ = first == '-';
  if (is_error_ && reply == multi_reply_) {
    multi_ = 0;  // it has been refused
  }
  is_frame_ = false;
  is_too_long_ = false;
  most_ = is_error_ ? kErrorBytesMax : kReplyBytesMax;
  return is_error_ || (!expected_.empty() && expected_.front().reply == reply);
}

void TopologyReplies::take(std::string_view piece, io::OutputQueue& output) {
  is_too_long_ = is_too_long_ || kept_.size() + piece.size() > most_;
  if (is_too_long_) {
    output.append(kept_);
    output.append(piece);
    forget();
  } else {
    kept_.append(piece);
  }
}

void TopologyReplies::end(io::OutputQueue& output) {
  if (is_too_long_) {
    return;
  }
  const cluster::Rewritten done = rewritten();
  output.append(done.reply);
  if (done.unknown > 0) {
    client_.nodes.miss();
  }
  forget();
}

void TopologyReplies::forget() {
  kept_.clear();
  if (kept_.capacity() > kErrorBytesMax) {
    std::string().swap(kept_);
  }
}

cluster::Rewritten TopologyReplies::rewritten() const {
  if (is_error_ && cluster::redirect_in(kept_) == cluster::Redirect::none) {
    return {.reply = kept_};
  }
  const auto known = client_.nodes.get();
  const cluster::ClientView view{.host = client_.host,
                                 .host_of_this_node = known->host_of_this_node,
                                 .has_tls = client_.nodes.endpoint().has_tls,
                                 .master = known->master};
  if (is_frame_) {
    return cluster::rewrite(TopologyReply::message, kept_, known->addresses, view);
  }
  if (is_error_) {
    return cluster::rewrite_redirect(kept_, known->addresses, view);
  }
  const Expected& expected = expected_.front();
  return expected.kind == TopologyReply::none
             ? cluster::rewrite_nested(expected.nested, kept_, known->addresses, view)
             : cluster::rewrite(expected.kind, kept_, known->addresses, view);
}

}  // namespace cuckooguard::proxy
