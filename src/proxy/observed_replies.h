// What replies to come will change, by their number among the client's replies.
//
//   MULTI  SET  GET  EXEC      changes: multi (+1), end_multi (+3)
//
// Most changes are their kind alone, and close together: such a one is one byte. SELECT has its db
// behind it; whatever has more to say (a user, a secret, a name) is kept whole.
//
// Threads: its worker's. Limits: none of its own; size() and whole() are what the session looks at.
// A byte for each change, up to six more for one that comes long after the one before, up to five
// for a db.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "redis/state_change.h"

namespace cuckooguard::proxy {

class ObservedReplies {
 public:
  // The reply with this number, larger than any before, will say what becomes of `change`.
  void expect(std::uint64_t reply, const redis::StateChange& change);

  // The next SUBSCRIBE, or its like, is to be confirmed: those have an order of their own.
  void expect_confirmations(const redis::StateChange& change) { subscriptions_.push_back(change); }
  const redis::StateChange& subscription() const { return subscriptions_[subscription_head_]; }
  redis::StateChange take_subscription();

  bool is_empty() const { return size_ == 0 && subscriptions_.empty(); }
  bool is_next(std::uint64_t reply) const { return size_ != 0 && next_reply_ == reply; }
  bool is_next_end_of_multi(std::uint64_t reply) const {
    return is_next(reply) &&
           (next_.is_whole ? whole_[whole_head_].kind : next_.kind) == redis::ChangeKind::end_multi;
  }
  redis::StateChange take();

  // But for subscriptions.
  std::size_t size() const { return size_; }
  // Of them, those that are kept whole.
  std::size_t whole() const { return whole_.size() - whole_head_; }
  static bool is_kept_whole(const redis::StateChange& change);

 private:
  struct Next {
    redis::ChangeKind kind = redis::ChangeKind::unclear;
    bool is_whole = false;
    int db = 0;
  };

  void append_number(std::uint64_t number);
  std::uint64_t take_number();
  void read_next();

  std::size_t size_ = 0;
  std::uint64_t last_reply_ = 0;
  std::uint64_t next_reply_ = 0;  // meaningful unless it is empty
  Next next_;                     // the same
  std::string codes_;             // of all behind the next
  std::size_t codes_head_ = 0;
  std::vector<redis::StateChange> whole_;
  std::size_t whole_head_ = 0;
  std::vector<redis::StateChange> subscriptions_;
  std::size_t subscription_head_ = 0;
};

}  // namespace cuckooguard::proxy
