#include "topology/topology_replies.h"

#include <utility>

namespace cuckooguard::topology {

using cluster::TopologyReply;

void TopologyReplies::expect(std::uint64_t reply, std::span<const std::string_view> command) {
  const TopologyReply kind = cluster::topology_reply(command);
  if (kind == TopologyReply::none) {
    return;
  }
  expect({.reply = reply, .kind = kind});
  if (multi_ != 0 && queued_.size() < kQueuedMax) {
    queued_.push_back({.index = static_cast<std::size_t>(reply - multi_ - 1), .kind = kind});
  }
}

void TopologyReplies::expect(Expected expected) {
  if (expected_.size() < kExpectedMax) {
    expected_.push_back(std::move(expected));
    is_expecting_ = true;
  }
}

void TopologyReplies::expect(std::uint64_t reply, redis::ChangeKind change) {
  using enum redis::ChangeKind;
  if (change == end_multi || change == reset) {
    expect_end_of_multi(reply);
  } else if (change == multi && multi_ == 0) {
    multi_ = reply;
    multi_reply_ = reply;
    queued_.clear();
  } else if (change == multi || change == watch) {
    multi_ += multi_ != 0 ? 1 : 0;
  }
}

void TopologyReplies::expect_end_of_multi(std::uint64_t reply) {
  if (!queued_.empty()) {
    expect({.reply = reply, .kind = TopologyReply::exec, .nested = std::exchange(queued_, {})});
  }
  multi_ = 0;
  queued_.clear();
}

bool TopologyReplies::begin(std::uint64_t reply, char first, bool may_be_frame) {
  is_frame_ = may_be_frame;
  is_error_ = first == '-';
  is_too_long_ = false;
  most_ = is_error_ ? kErrorBytesMax : kReplyBytesMax;
  if (is_frame_) {
    return nodes_.endpoint().is_sentinel;
  }
  while (!expected_.empty() && expected_.front().reply < reply) {
    expected_.pop_front();
  }
  is_expecting_ = !expected_.empty();
  if (is_error_ && reply == multi_reply_) {
    multi_ = 0;  // it has been refused
  }
  return is_error_ || (is_expecting_ && expected_.front().reply == reply);
}

void TopologyReplies::take(std::string_view piece, io::OutputQueue& output) {
  is_too_long_ = is_too_long_ || kept_.size() + piece.size() > most_;
  if (is_too_long_) {
    output.append(kept_);
    output.append(piece);
    forget();
  } else {
    kept_.append(piece);
    count();
  }
}

void TopologyReplies::end(io::OutputQueue& output) {
  if (is_too_long_) {
    return;
  }
  const cluster::Rewritten done = rewritten();
  output.append(done.reply);
  if (done.unknown > 0) {
    nodes_.miss();
  }
  forget();
}

void TopologyReplies::forget() {
  kept_.clear();
  if (kept_.capacity() > kErrorBytesMax) {
    std::string().swap(kept_);
  }
  count();
}

cluster::Rewritten TopologyReplies::rewritten() const {
  const auto known = nodes_.get();
  const cluster::ClientView view{.host = host_,
                                 .host_of_this_node = known->host_of_this_node,
                                 .has_tls = nodes_.endpoint().has_tls,
                                 .master = known->master};
  if (is_frame_ || is_error_) {
    const TopologyReply kind = is_frame_ ? TopologyReply::message : TopologyReply::none;
    return cluster::rewrite(kind, kept_, known->addresses, view);
  }
  const Expected& expected = expected_.front();
  return cluster::rewrite(expected.kind, kept_, known->addresses, view, expected.nested);
}

}  // namespace cuckooguard::topology
