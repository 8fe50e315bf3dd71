// Replies to absent keys that Redis was asked for all the same: told of when they have come, and
// replaced where they are nil.
//
// A reply leaves as it comes, but that what may be a nil to be replaced is held back until it
// differs: one byte of a value, five of a nil. Its beginning is kept for the comparison.
//
// Threads: its worker's. Limits: bytes() is what is kept of keys whose replies are to come; the
// session stops answering at its limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "guard/absent_key.h"
#include "io/clock.h"
#include "io/output_queue.h"

namespace cuckooguard::proxy {

class ComparedReplies {
 public:
  class Owner {
   public:
    // Of every absent key, when the reply has ended, in order. Not of those that never come.
    virtual void on_absent_key_reply(const guard::AbsentKeyReply& reply) = 0;
    // Of one with `read_at`, before that: whether the nil that has come is to be replaced.
    virtual bool may_replace(const guard::AbsentKeyReply& reply) = 0;

   protected:
    ~Owner() = default;
  };

  // Both outlive this.
  ComparedReplies(io::OutputQueue& output, Owner& owner) : output_(output), owner_(owner) {}

  // One more is to come. The key is copied.
  void expect(const guard::AbsentKey& key);
  std::size_t bytes() const { return bytes_; }

  // The next one: begins, comes in pieces, and has ended.
  void begin();
  void take(std::string_view piece);
  void end(char type);
  // The next one will not come, but an error in its place.
  void refuse();

 private:
  struct Expected {
    std::uint64_t numbering;
    std::uint32_t ns;
    bool is_string_read;
    std::size_t kept_bytes;
    std::string key;
    std::string missing;
    std::string replacement;
    std::optional<io::TimePoint> read_at;

    std::size_t bytes() const {
      return sizeof(Expected) + key.size() + missing.size() + replacement.size();
    }
  };

  const Expected& next() const { return expected_[head_]; }
  guard::AbsentKeyReply heard(char type) const;
  void pop();

  io::OutputQueue& output_;
  Owner& owner_;
  std::vector<Expected> expected_;
  std::size_t head_ = 0;
  std::size_t bytes_ = 0;
  bool is_held_back_ = false;      // nothing of the one at hand has been relayed
  std::uint64_t reply_bytes_ = 0;  // of it, so far
  std::string reply_head_;         // up to Expected::kept_bytes
};

}  // namespace cuckooguard::proxy
