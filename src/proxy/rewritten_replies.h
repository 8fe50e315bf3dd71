// The replies to one client that name other servers, which clients are to reach by the guard: each
// is kept until it is whole, and relayed as it is to be (src/topology/topology_replies.h).
//
// ReplyOrder tells it what is expected, and shows it what may be one of them, in order.
//
// Threads: its worker's. Limits: those of who makes it, on bytes().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <boost/core/noncopyable.hpp>

#include "io/output_queue.h"
#include "redis/state_change.h"

namespace cuckooguard::proxy {

class RewrittenReplies : boost::noncopyable {
 public:
  virtual ~RewrittenReplies() = default;

  // The client's reply of this number will be to this command, or confirm this change.
  virtual void expect(std::uint64_t reply, std::span<const std::string_view> command) = 0;
  virtual void expect(std::uint64_t reply, redis::ChangeKind change) = 0;
  // One is to come: begin() must see each reply. Else errors and what may be a pub/sub frame do.
  bool is_expecting() const { return is_expecting_; }

  // The reply of this number, or a frame before it, begins with `first`. True: its pieces go to
  // take(), then end().
  virtual bool begin(std::uint64_t reply, char first, bool may_be_frame) = 0;
  virtual void take(std::string_view piece, io::OutputQueue& output) = 0;
  virtual void end(io::OutputQueue& output) = 0;
  // Kept, or the room for them.
  std::size_t bytes() const { return bytes_; }

 protected:
  bool is_expecting_ = false;
  std::size_t bytes_ = 0;
};

}  // namespace cuckooguard::proxy
