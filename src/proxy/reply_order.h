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
// A reply to an absent key (guard/absent_key.h) is relayed as it comes, too, or replaced:
// proxy/compared_replies.h.
//
// A promised reply (guard/promised_reply.h) holds back what is behind it until it is known.
//
// Threads: its worker's. Errors: relay() is false if Redis's bytes are no RESP or do not fit what
// was asked; then nothing that follows can be placed, and the session ends. Limits: entries() and
// waiting_bytes() grow with answers, compared replies and subscriptions only; the session stops
// answering at its limits (proxy/session.h). Runs of relayed replies are a number, also if some are
// observed (proxy/observed_replies.h); runs of answers are one entry.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "guard/absent_key.h"
#include "guard/client.h"
#include "io/output_queue.h"
#include "proxy/compared_replies.h"
#include "proxy/observed_replies.h"
#include "proxy/promised_replies.h"
#include "proxy/reply_ends.h"
#include "proxy/topology_replies.h"
#include "resp/reply_framer.h"

namespace cuckooguard::proxy {

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
