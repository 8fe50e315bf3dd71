// Sends a client's replies, Redis's and our own, in the order of its commands.
//
// A FIFO of runs. "The next n replies of Redis, then these bytes of ours, then ..." Redis answers
// in order, so its next reply belongs to the entry at the head. Replies are never buffered here:
// pieces are passed on as they come.
//
// Not one for one: RESP3 pushes and, on a subscribed RESP2 connection, message frames are no
// replies; SUBSCRIBE and its kin get one confirmation per channel (redis/subscriptions.h).
//
//   client:  GET a   GET absent   GET b   MGET c absent d
//   runs:    relay 1 | local "$-1" | relay 1 | merge(2 of 3): relay 1, local "$-1", relay 1
//
// A reply to an absent key (guard/absent_key.h) is relayed, too, or replaced (ComparedReplies).
//
// A promised reply (guard/promised_reply.h) holds back all after it until it is known.
//
// Threads: its worker's. Errors: relay() is false if Redis's bytes are no RESP or do not match the
// commands; then the session ends. Limits: entries() and waiting_bytes() grow with answers,
// compared replies and subscriptions only; the session stops answering at its limits
// (proxy/session.h). A run of relayed replies is a number, even with observed ones
// (ObservedReplies); a run of answers is one entry.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "guard/absent_key.h"
#include "guard/client.h"
#include "guard/promised_reply.h"
#include "io/clock.h"
#include "io/consumed_front.h"
#include "io/output_queue.h"
#include "proxy/rewritten_replies.h"
#include "redis/state_change.h"
#include "redis/subscriptions.h"
#include "resp/reply_framer.h"

namespace cuckooguard::proxy {

// The first and last bytes of a reply that is relayed in pieces: enough to recognise pub/sub frames
// and errors.
//
// Threads: its worker's. Limits: kPubSubHeadBytes and kPubSubTailBytes.
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

// Replies that leave, in order, when they are known (guard/promised_reply.h).
//
// Threads: its worker's. Limits: bytes(), at whose limit the session stops answering.
class PromisedReplies {
 public:
  void add(std::unique_ptr<guard::PromisedReply> reply) {
    bytes_ += reply->bytes();
    replies_.push_back(std::move(reply));
  }
  bool is_empty() const { return head_ == replies_.size(); }
  std::size_t bytes() const { return bytes_; }

  bool is_next_known() const { return replies_[head_]->is_known(); }
  // Of the next, which is known: the reply, valid until the next call.
  std::string_view take() {
    text_.clear();
    replies_[head_]->append_to(text_);
    bytes_ -= replies_[head_]->bytes();
    ++head_;
    io::forget_consumed(replies_, head_);
    return text_;
  }

 private:
  std::vector<std::unique_ptr<guard::PromisedReply>> replies_;
  std::size_t head_ = 0;
  std::size_t bytes_ = 0;
  std::string text_;
};

// The state changes that pending replies will confirm, by the reply's number.
//
//   MULTI  SET  GET  EXEC      changes: multi (+1), end_multi (+3)
//
// Most changes are only a kind and close together: one byte each. SELECT adds its db; changes with
// more (a user, a secret, a name) are kept whole.
//
// Threads: its worker's. Limits: the session's, on size() and whole(). One byte per change, up to
// six more after a long gap, up to five for a db.
class ObservedReplies {
 public:
  // The reply with this number, larger than any before, will confirm or refuse `change`.
  void expect(std::uint64_t reply, const redis::StateChange& change);

  // The next SUBSCRIBE or its kin will be confirmed; they have an order of their own.
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
  // Those of them that are kept whole.
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

// Replies to absent keys that Redis was asked for anyway: reported to the owner, and replaced if
// nil.
//
// A reply is passed on as it comes, except that a possible nil to be replaced is held back until it
// differs: one byte of a value, five of a nil. Its beginning is kept for the comparison.
//
// Threads: its worker's. Limits: bytes() of keys in flight, at whose limit the session stops
// answering.
class ComparedReplies {
 public:
  class Owner {
   public:
    // For every absent key, in order, when its reply has ended.
    virtual void on_absent_key_reply(const guard::AbsentKeyReply& reply) = 0;
    // For one with `read_at`, before that: is its nil to be replaced?
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
  // An error comes in place of the next one.
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
  bool is_held_back_ = false;      // nothing of the current one has been relayed
  std::uint64_t reply_bytes_ = 0;  // of it, so far
  std::string reply_head_;         // up to Expected::kept_bytes
};

class ReplyOrder {
 public:
  class Owner : public ComparedReplies::Owner {
   public:
    // Redis has replied with an error; up to redis::kPubSubHeadBytes of it.
    virtual void on_redis_error(std::string_view first_bytes) = 0;

   protected:
    ~Owner() = default;
  };

  // All outlive this. `state` gets the outcome of every observed reply and subscription, in order.
  ReplyOrder(io::OutputQueue& output, guard::Client& state, Owner& owner)
      : output_(&output), state_(&state), owner_(&owner) {}

  // Relay so many replies of Redis.
  void expect_reply(std::size_t count = 1);
  // The same, and pass its first byte to `state`; or all of a SUBSCRIBE's confirmations.
  void expect_observed_reply(const redis::StateChange& change);
  // Relay or replace one reply of Redis, and report it to the owner. The key is copied.
  void expect_absent_key_reply(const guard::AbsentKey& key);
  // Rewrite some of this client's replies; null: none. Call it before any is expected.
  void rewrite(std::unique_ptr<RewrittenReplies> rewritten) { rewritten_ = std::move(rewritten); }
  bool rewrites() const { return rewritten_ != nullptr; }
  // Relay one reply of Redis, rewritten if this command's is to be; if rewrites().
  void expect_reply_to(std::span<const std::string_view> command) {
    expect_reply();
    rewritten_->expect(expected_, command);
  }
  // `bytes` is the whole reply: it leaves at once if nothing is before it.
  void answer(std::string_view bytes);
  // A reply that leaves when it is known. Until then (has_promises()) nothing more may be expected
  // of Redis, whose replies would come too early.
  void promise(std::unique_ptr<guard::PromisedReply> reply);
  bool has_promises() const { return promised_ != nullptr || asked_ != nullptr; }
  // The next reply of Redis is not relayed, but has another one made of it, which may be a promise
  // then: has_promises() from now on. There is none yet, and nothing else comes while is_asking().
  void ask(guard::AskedReply asked);
  bool is_asking() const { return asked_ != nullptr; }
  // Sends those that are known by now. False: none.
  bool keep_promises() {
    const std::size_t before = entries();
    emit_ready();
    return entries() != before;
  }
  // Merge one array reply of Redis into `elements`: nullopt takes Redis's next element, else the
  // bytes are the element. Any other reply (an error) is relayed instead. Redis's elements for
  // `absent_keys`, in order, are treated as by expect_absent_key_reply().
  void expect_merged_reply(std::span<const std::optional<std::string_view>> elements,
                           std::span<const guard::AbsentKey> absent_keys = {});
  // Relay Redis's bytes unread from here on, for good. Harmless when repeated.
  void expect_anything();

  // What to do with unrequested data from Redis: on a connection that others have used before, a
  // push is dropped unless the client is subscribed, and a reply is as bad as bytes that are no
  // RESP.
  enum class Unasked : std::uint8_t { none, replies, all };
  void take_unasked(Unasked unasked) { unasked_ = unasked; }
  [[nodiscard]] bool relay(std::string_view bytes);
  // Exactly `replies` whole replies, none an error or a push, need not be framed again. False, with
  // nothing done, if not all are to be relayed unchanged: call relay().
  [[nodiscard]] bool relay_whole(std::string_view bytes, std::uint32_t replies);

  // Replies relayed unchanged with nothing else before them: how many so far, and the number of the
  // last expected one; 0: something else comes before it.
  std::uint64_t plain_relayed() const { return plain_relayed_; }
  std::uint64_t last_if_plain() const {
    return is_drained() ? plain_relayed_ + leading_replies_ : 0;
  }

  // The number of the last expected reply of Redis, among all of this client's; `state` is told as
  // they end (guard::Client::replied_to), perhaps several at once.
  std::uint64_t last_expected() const { return expected_; }
  // Observed replies, and how many of them take the room of an entry or more.
  std::size_t observed() const { return observed_ ? observed_->size() : 0; }
  std::size_t observed_whole() const { return (observed_ ? observed_->whole() : 0) + entries(); }
  static bool is_kept_whole(const redis::StateChange& change) {
    return change.kind == redis::ChangeKind::subscribe || ObservedReplies::is_kept_whole(change);
  }

  // Redis still owes something, or a promise is open.
  bool is_waiting() const { return leading_replies_ > 0 || !is_drained(); }
  // Redis owes the next reply.
  bool awaits_redis() const {
    return leading_replies_ > 0 || (!is_drained() && entries_[head_].kind != Kind::promise);
  }
  // Only a part of a reply or push has come.
  bool is_within_reply() const { return within_reply_; }
  std::size_t entries() const { return entries_.size() - head_; }
  // Bytes of our own answers that wait for Redis's replies, of promises, and of absent keys in
  // flight. They and their entries count like the output's chunks (io::HeldBytes).
  std::size_t waiting_bytes() const {
    return local_.size() - local_head_ + (promised_ ? promised_->bytes() : 0) +
           (asked_ ? sizeof(Asked) + guard::AskedReply::kAskedBytes : 0) +
           (compared_ ? compared_->bytes() : 0) + (rewritten_ ? rewritten_->bytes() : 0);
  }

 private:
  enum class Kind : std::uint8_t { relay, confirm, compare, local, promise, ask, merge, anything };
  struct Entry {
    Kind kind = Kind::relay;
    std::uint32_t amount = 0;  // relay, compare, promise, ask (1): replies; confirm: confirmations;
                               // local: bytes; merge: elements of the client's reply
    std::uint32_t from_redis = 0;  // merge: elements of Redis's reply
    std::uint32_t parts = 0;       // merge: entries that follow and belong to it
  };

  struct Asked {
    guard::AskedReply how;
    bool is_taken = false;  // the reply that has begun; else it is relayed
    std::string redis{};
  };

  bool is_drained() const { return head_ == entries_.size(); }
  bool is_next(Kind kind) const {
    return leading_replies_ == 0 && !is_drained() && entries_[head_].kind == kind;
  }
  // Of the reply at hand.
  bool takes_asked() const { return asked_ && asked_->is_taken; }
  void begin_asked(char first);
  bool end_asked();
  ObservedReplies& observe();
  void add_relay(std::size_t count);
  void add_local(std::string_view bytes);
  void append_local(std::string_view bytes);
  void pop();
  void count_held() { held_.set(waiting_bytes() + entries() * sizeof(Entry)); }
  void emit_ready();
  // A reply that is to be relayed leaves as it is, and changes nothing, unless it is an error.
  bool needs_no_look() const {
    return !within_reply_ && !state_->subscriptions().any() && observed() == 0 &&
           !(rewritten_ && rewritten_->is_expecting());
  }
  std::size_t relay_plain(std::string_view bytes);
  std::size_t relay_piece(std::string_view bytes, bool& well_formed);
  bool begin_reply(char first);
  void on_reply_end(char type);
  std::string_view head_of_reply() const { return ends_ ? ends_->head() : std::string_view(); }
  bool ends_multi(std::uint64_t reply) const {
    return observed_ && observed_->is_next_end_of_multi(reply);
  }
  bool is_awaiting_confirmations() const;
  void on_confirmation(const redis::PubSubFrame& frame);
  void end_subscription(char type);
  void tell(const redis::StateChange& change, char type);
  void note_end(char type);
  std::size_t relay_merge_header(std::string_view bytes, bool& well_formed);
  bool begin_merge(std::string_view header_of_redis);
  void drop_merge_parts();

  io::OutputQueue* output_;
  guard::Client* state_;
  Owner* owner_;
  resp::ReplyFramer framer_;
  // Of the current reply, if it is looked into, or of a merged one's header line.
  std::unique_ptr<ReplyEnds> ends_;
  Unasked unasked_ = Unasked::all;
  bool is_dropped_ = false;  // the push at hand
  bool may_be_frame_ = false;
  bool within_reply_ = false;
  bool is_compared_ = false;           // the reply at hand
  bool is_rewritten_ = false;          // the same, by `rewritten_`
  std::uint64_t leading_replies_ = 0;  // to be relayed before entries_: needs no entry
  std::uint64_t plain_relayed_ = 0;    // that were leading
  std::vector<Entry> entries_;
  std::size_t head_ = 0;
  std::string local_;  // the bytes of all `local` entries, in order
  std::size_t local_head_ = 0;
  std::uint64_t expected_ = 0;
  std::uint64_t ended_ = 0;  // of those; elements of a merged reply count as replies
  std::unique_ptr<RewrittenReplies> rewritten_;  // null: none are
  std::unique_ptr<ComparedReplies> compared_;    // of all `compare` entries; null before the first
  std::unique_ptr<PromisedReplies> promised_;    // of all `promise` entries; null: there are none
  std::unique_ptr<Asked> asked_;                 // of the `ask` entry; null: there is none
  std::unique_ptr<ObservedReplies> observed_;    // null: nothing is to come that changes anything
  io::HeldBytes held_{output_->pool()};
};

}  // namespace cuckooguard::proxy
