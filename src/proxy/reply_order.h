// In which order a client's replies leave: Redis's and our own, in the order of its commands.
//
// A FIFO of runs. "The next n replies of Redis, then these bytes of ours, then ..." With one
// upstream per client nothing more is needed: Redis answers in order, so a reply belongs to
// whatever stands at the head. Replies are never buffered here: pieces are handed on as they come.
//
// Not one for one: RESP3 pushes and, on a subscribed RESP2 connection, message frames are nobody's
// reply; SUBSCRIBE and its like are owed as many confirmations as there are channels
// (redis/subscriptions.h).
//
//   client:  GET a   GET absent   GET b   MGET c absent d
//   runs:    relay 1 | local "$-1" | relay 1 | merge(2 of 3): relay 1, local "$-1", relay 1
//
// A reply to an absent key (guard/absent_key.h) is relayed as it comes, too, or replaced
// (ComparedReplies).
//
// A promised reply (guard/promised_reply.h) holds back what is behind it until it is known.
//
// Threads: its worker's. Errors: relay() is false if Redis's bytes are no RESP or do not fit what
// was asked; then nothing that follows can be placed, and the session ends. Limits: entries() and
// waiting_bytes() grow with answers, compared replies and subscriptions only; the session stops
// answering at its limits (proxy/session.h). Runs of relayed replies are a number, also if some are
// observed (ObservedReplies); runs of answers are one entry.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/topology_reply.h"
#include "guard/absent_key.h"
#include "guard/client.h"
#include "guard/promised_reply.h"
#include "io/clock.h"
#include "io/consumed_front.h"
#include "io/output_queue.h"
#include "proxy/node_addresses.h"
#include "redis/state_change.h"
#include "redis/subscriptions.h"
#include "resp/reply_framer.h"

namespace cuckooguard::proxy {

// Replies that tell a client where other nodes are: kept until they are whole, then relayed with
// the addresses of our listeners (cluster/topology_reply.h). They are CLUSTER SLOTS and its kin,
// ROLE, INFO and those of SENTINEL, which are expected, also within EXEC; -MOVED and -ASK, which
// may come in place of any reply; and what a Sentinel publishes. A node that is not known (yet)
// keeps its own address, and NodeAddresses hears of it.
//
// Threads: its worker's. Lifetimes: `nodes` outlives it.
// Limits: kReplyBytesMax of a reply, kErrorBytesMax of an error: what is longer is relayed as it
// is. kQueuedMax commands within one MULTI are remembered, kExpectedMax whose replies are to come:
// of more nothing is rewritten.
class TopologyReplies {
 public:
  static constexpr std::size_t kReplyBytesMax = std::size_t{4} * 1024 * 1024;
  static constexpr std::size_t kErrorBytesMax = 512;
  static constexpr std::size_t kQueuedMax = 16;
  static constexpr std::size_t kExpectedMax = 1024;

  // What one client is told.
  struct Client {
    const NodeAddresses& nodes;
    std::string host;  // where it has reached the guard; no brackets
  };

  explicit TopologyReplies(Client client) : client_(std::move(client)) {}

  // The reply of this number, among the client's, will be one; or, if it is +QUEUED, an element of
  // EXEC's.
  void expect(std::uint64_t reply, cluster::TopologyReply kind);
  // MULTI and EXEC, whose replies these will be; DISCARD and RESET as EXEC.
  void expect_multi(std::uint64_t reply);
  // What Redis refuses within MULTI, which goes on without it: WATCH, and MULTI once more.
  void expect_refusal();
  void expect_end_of_multi(std::uint64_t reply);
  bool is_expecting() const { return !expected_.empty(); }

  // The reply of this number begins like this: whether its pieces go to take(), and then end().
  bool begin(std::uint64_t reply, char first);
  // The same of what may be a pub/sub frame, which is nobody's reply, or a confirmation.
  bool begin_frame();
  void take(std::string_view piece, io::OutputQueue& output);
  void end(io::OutputQueue& output);
  // What is kept of it, or room for that.
  std::size_t bytes() const {
    return kept_.capacity() > kErrorBytesMax ? kept_.capacity() : kept_.size();
  }

 private:
  struct Expected {
    std::uint64_t reply;
    cluster::TopologyReply kind;            // none: EXEC's
    std::vector<cluster::Nested> nested{};  // of EXEC's
  };

  cluster::Rewritten rewritten() const;
  void forget();

  Client client_;
  std::deque<Expected> expected_;
  std::uint64_t multi_reply_ = 0;  // of the last one
  std::uint64_t multi_ = 0;        // its reply, and one for each refusal since; 0: there is none
  std::vector<cluster::Nested> queued_;  // since then
  std::string kept_;
  std::size_t most_ = 0;  // of the one at hand
  bool is_error_ = false;
  bool is_frame_ = false;
  bool is_too_long_ = false;
};

// The first and the last bytes of a reply that is relayed in pieces: what tells pub/sub frames and
// errors apart, without holding a reply.
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

// Replies that leave when they are known, in order (guard/promised_reply.h).
//
// Threads: its worker's. Limits: bytes() is what they take until then; the session stops answering
// at its limits.
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

// Replies to absent keys that Redis was asked for all the same: told of when they have come, and
// replaced where they are nil.
//
// A reply leaves as it comes, but that what may be a nil to be replaced is held back until it
// differs: one byte of a value, five of a nil. Its beginning is kept for the comparison.
//
// Threads: its worker's. Limits: bytes() is what is kept of keys whose replies are to come; the
// session stops answering at its limits.
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

class ReplyOrder {
 public:
  class Owner : public ComparedReplies::Owner {
   public:
    // Redis has replied with an error; up to redis::kPubSubHeadBytes of it.
    virtual void on_redis_error(std::string_view first_bytes) = 0;

   protected:
    ~Owner() = default;
  };

  // All outlive this. `state` hears the outcome of every observed reply and of every subscription,
  // in order.
  ReplyOrder(io::OutputQueue& output, guard::Client& state, Owner& owner)
      : output_(&output), state_(&state), owner_(&owner) {}

  // One reply of Redis is to be relayed.
  void expect_reply();
  // The same, and `state` must hear its first byte; or all of a SUBSCRIBE's confirmations.
  void expect_observed_reply(const redis::StateChange& change);
  // One reply of Redis is to be relayed, or replaced, and the owner to hear of it. The key is
  // copied.
  void expect_absent_key_reply(const guard::AbsentKey& key);
  // The client's replies have the addresses of a cluster's nodes replaced from here on. Before any
  // is expected.
  void rewrite_addresses(TopologyReplies::Client client) {
    topology_ = std::make_unique<TopologyReplies>(std::move(client));
  }
  bool rewrites_addresses() const { return topology_ != nullptr; }
  void expect_topology_reply(cluster::TopologyReply kind);
  // `bytes` is the whole reply: it leaves at once if nothing is before it.
  void answer(std::string_view bytes);
  // A reply that leaves when it is known. Nothing may be expected of Redis behind it before it has
  // left (has_promises()): Redis's replies would come before their turn.
  void promise(guard::PromisedReply reply);
  bool has_promises() const { return promised_ != nullptr; }
  // Those that are known by now leave. False: none.
  bool keep_promises() {
    const std::size_t before = entries();
    emit_ready();
    return entries() != before;
  }
  // One array reply of Redis becomes one of `elements`: nullopt takes the next element of Redis's,
  // else the bytes are the element. Any other reply (an error) is relayed in its place.
  // Elements of Redis's that are named in `absent_keys`, in order, are as expect_absent_key_reply()
  // has them.
  void expect_merged_reply(std::span<const std::optional<std::string_view>> elements,
                           std::span<const guard::AbsentKey> absent_keys = {});
  // From here on Redis's bytes are relayed unread, for good. Harmless when repeated.
  void expect_anything();

  // What Redis sends unasked is not always the client's: where others have had its connection
  // before, a push is dropped unless the client is subscribed, and a reply is as bad as bytes that
  // are no RESP. From now on.
  enum class Unasked : std::uint8_t { none, replies, all };
  void take_unasked(Unasked unasked) { unasked_ = unasked; }
  [[nodiscard]] bool relay(std::string_view bytes);
  // Just so many whole replies, none of them an error or a push: need not be framed again. False,
  // and nothing has happened, if they are not all to be relayed as they are: relay() takes them,
  // one by one.
  [[nodiscard]] bool relay_whole(std::string_view bytes, std::uint32_t replies);

  // Replies that were expected as they are while nothing else was to come before them: how many
  // have been relayed, and the number of the last one that is expected; 0: something else is to
  // come before it.
  std::uint64_t plain_relayed() const { return plain_relayed_; }
  std::uint64_t last_if_plain() const {
    return is_drained() ? plain_relayed_ + leading_replies_ : 0;
  }

  // The number of the last reply of Redis's that is expected, among all of this client's; `state`
  // hears of each that has ended (guard::Client::replied_to), or of several at once.
  std::uint64_t last_expected() const { return expected_; }
  // Replies that are observed, and how many of them take as much room as an entry, or more.
  std::size_t observed() const { return observed_ ? observed_->size() : 0; }
  std::size_t observed_whole() const { return (observed_ ? observed_->whole() : 0) + entries(); }
  static bool is_kept_whole(const redis::StateChange& change) {
    return change.kind == redis::ChangeKind::subscribe || ObservedReplies::is_kept_whole(change);
  }

  // Redis still owes something, or a promise is to be kept.
  bool is_waiting() const { return leading_replies_ > 0 || !is_drained(); }
  // Redis owes something: no promise is before that.
  bool awaits_redis() const {
    return leading_replies_ > 0 || (!is_drained() && entries_[head_].kind != Kind::promise);
  }
  // Of a reply, or of a push, only a part has come.
  bool is_within_reply() const { return within_reply_; }
  std::size_t entries() const { return entries_.size() - head_; }
  // Of our own answers that wait for replies of Redis before them, of promises, and of absent keys
  // whose replies are to come. They and what stands for them here count as the output's chunks do
  // (io::HeldBytes).
  std::size_t waiting_bytes() const {
    return local_.size() - local_head_ + (promised_ ? promised_->bytes() : 0) +
           (compared_ ? compared_->bytes() : 0) + (topology_ ? topology_->bytes() : 0);
  }

 private:
  enum class Kind : std::uint8_t { relay, confirm, compare, local, promise, merge, anything };
  struct Entry {
    Kind kind = Kind::relay;
    std::uint32_t amount = 0;  // relay, compare (1), promise (1): replies; confirm: confirmations;
                               // local: bytes; merge: elements of the client's reply
    std::uint32_t from_redis = 0;  // merge: elements of Redis's reply
    std::uint32_t parts = 0;       // merge: entries that follow and belong to it
  };

  bool is_drained() const { return head_ == entries_.size(); }
  ObservedReplies& observe();
  void add_relay();
  void add_local(std::string_view bytes);
  void pop();
  void count_held() { held_.set(waiting_bytes() + entries() * sizeof(Entry)); }
  void emit_ready();
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
  // Of the reply at hand, if somebody looks into it, or of the header line of a merged one.
  std::unique_ptr<ReplyEnds> ends_;
  Unasked unasked_ = Unasked::all;
  bool is_dropped_ = false;  // the push at hand
  bool may_be_frame_ = false;
  bool within_reply_ = false;
  bool is_compared_ = false;   // the reply at hand
  bool is_rewritten_ = false;  // the same, by `topology_`
  std::uint64_t leading_replies_ =
      0;  // to be relayed before entries_; the common case needs no entry at all
  std::uint64_t plain_relayed_ = 0;  // that were leading
  std::vector<Entry> entries_;
  std::size_t head_ = 0;
  std::string local_;  // the bytes of all `local` entries, in order
  std::size_t local_head_ = 0;
  std::uint64_t expected_ = 0;
  std::uint64_t ended_ = 0;  // of those; elements of a merged reply count as replies
  std::unique_ptr<TopologyReplies> topology_;  // null: of no cluster
  std::unique_ptr<ComparedReplies> compared_;  // of all `compare` entries; null before the first
  std::unique_ptr<PromisedReplies> promised_;  // of all `promise` entries; null: there are none
  std::unique_ptr<ObservedReplies> observed_;  // null: nothing is to come that changes anything
  io::HeldBytes held_{output_->pool()};
};

}  // namespace cuckooguard::proxy
