// A whole cluster as one connection: its user writes commands and reads replies as with one Redis.
//
//   Connection ─ SET a ─ GET b ─▶ RoutedTransport ─ SET a ──▶ NodeLink (slots of a)
//              ◀─ +OK ── $1 .. ─                  ─ GET b ──▶ NodeLink (slots of b)
//
// Each command goes to the node that has its slot (routing_table.h); replies come back in the order
// of the commands, whichever node was first. -MOVED and -ASK are followed, -TRYAGAIN and
// -CLUSTERDOWN are retried; the reader sees none of them.
//
// Commands of one slot reach one node in their order; they wait while another node still owes
// replies for that slot. While a slot is migrating, or has just been redirected, its commands go
// one by one. A node may redirect a command although later commands of the slot are already on
// their way to it. These are waited for. If one of them has run and shares a key with the
// redirected command, that one is refused (-TRYAGAIN) and not run after it. Commands without a
// common key may then run first; commands of different slots always may.
//
// A command that may have run is never sent twice: only one that a node has refused without running
// it. A script can reply with such an error itself, so a script is resent only after -MOVED and
// -ASK. When a node is lost that owes a reply, or holds a client's state (WATCH, MULTI,
// subscriptions), the connection ends, as when Redis restarts.
//
// The client's own command sets login, version and labels on one node; when that has accepted them,
// the other nodes are told. Commands that change the connection, and those of transactions and
// subscriptions, go alone: later commands wait.
//
// A command that any node may answer goes to the same master as long as that answers (nodes.h).
// When it is silent another master gets such commands, also those that the silent one was already
// sent and has not answered.
//
// Threads: its worker's. Lifetimes: as io::Transport; the worker's objects outlive it.
// Errors: as a Redis: it closes.
// Limits, and what happens there:
//   kInFlightMax commands in flight: no more are taken
//   a command above resp::kWholeCommandBytesMax: is streamed, and can be sent only once; one up to
//     that size is kept until its reply has come
//   replies that wait for earlier ones: above kHeldSoft only nodes are read whose reply is next;
//     above kHeldMax it closes
//   kRedirectsMax redirects, and retries for kRetriedFor, one per kRetryEvery: then the client gets
//     -TRYAGAIN, or Redis's own error
//   kAskedFor for the replies of all masters to one command, but not to WAIT; kJoinedMax bytes of
//     theirs in one array, and of one SCAN's: then an error
//   kMapWithin for a map that says whether slots have moved during SCAN: else it goes on
//   kReplayMax bytes of a transaction's commands without keys, before its first one with a key
//   one link to each node
// Source: https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec ("Redirection
//   and resharding"); Redis 7.0.15 cluster.c (getNodeByQuery), server.c (processCommand).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/config.h"
#include "io/loop.h"
#include "io/output_queue.h"
#include "io/transport.h"
#include "redis/command_table.h"
#include "redis/lane.h"
#include "redis/slot.h"
#include "redis/state_change.h"
#include "redis/subscriptions.h"
#include "resp/arguments.h"
#include "resp/connection_state.h"
#include "resp/reply_framer.h"
#include "resp/request_scanner.h"
#include "routing/nodes.h"
#include "routing/routing_table.h"
#include "routing/scan_cursor.h"
#include "routing/slot_routes.h"
#include "upstream/login_probe.h"
#include "upstream/route.h"

namespace cuckooguard::routing {

// One client's way to one node of a cluster, and the replies that are owed there. RoutedTransport
// has one for each node that it talks to.
//
//   mode: pinned   a connection of its own
//   mode: shared   a member of what the worker's clients share of this node; a lease for commands
//                  that need one (upstream/route.h), which wait here for it, in order
//
// Threads: its worker's. Lifetimes: the owner outlives it, or has closed it. Errors: as
//   upstream::Route. Limits: the owner's.

// A command on its way to one node, for one reply of the client's, or for a part of it.
struct RoutedPart {
  static constexpr std::uint16_t kNoSlot = 0xffff;

  enum class Reply : std::uint8_t {
    of_client,  // is the client's
    unread,     // nobody's, whatever it is: ASKING's, DISCARD's
    must_be_ok  // nobody's, an error ends all; the barrier waits for it
  };
  Reply reply = Reply::of_client;
  std::uint64_t entry = 0;       // the client's command, by number
  std::uint32_t index = 0;       // of its parts
  std::uint16_t slot = kNoSlot;  // of which the order is kept; kNoSlot: it goes to this node alone
  std::string command{};         // to be sent again; empty: it cannot
  std::string_view instead{};    // what the client is told, not the reply
  std::uint32_t confirmations = 0;  // of subscriptions: so many frames instead of one reply
  std::string_view confirmed{};     // by them: the command's name, as in redis::PubSubFrame
  bool may_fail_halfway = false;
  std::uint8_t redirects = 0;
  io::TimePoint until{};                // is tried again
  std::optional<config::Address> to{};  // redirected, else to the slot's owner
  bool asks = false;                    // ASKING comes first
  redis::Lane lane = redis::Lane::own;  // how it may travel

  // Whichever node has it, another one could be asked instead.
  bool is_for_any() const { return slot == kNoSlot && !command.empty(); }
  // A node that does not hang replies at once.
  bool is_prompt() const { return is_for_any() || redis::is_shared(lane); }
  // The memory to keep it until its reply has come.
  std::size_t bytes_kept() const { return command.empty() ? 0 : sizeof(*this) + command.size(); }
};

// How something is sent.
struct Travel {
  redis::Lane lane = redis::Lane::own;
  bool is_prompt = false;         // RoutedPart::is_prompt()
  bool asks = false;              // ASKING comes first
  std::size_t replies = 1;        // parts that are owed one for it, ASKING's included
  bool waits_for_writes = false;  // redis/lane.h
};

class NodeLink final : public io::Disposable, upstream::Route::Owner, upstream::LoginProbe::Waiter {
 public:
  class Owner {
   public:
    virtual void on_link_up(NodeLink& link) = 0;
    virtual void on_link_bytes(NodeLink& link, std::string_view bytes) = 0;
    virtual void on_link_progress() = 0;
    virtual void on_link_down() = 0;  // nothing of this client's was lost with it
    virtual void on_link_lost(NodeLink& link) = 0;
    // Of the client, as upstream::Route::Owner has it.
    virtual resp::ConnectionState told() const = 0;
    virtual bool is_transferable(const NodeLink& link) const = 0;
    virtual std::uint32_t beginnings() const = 0;
    virtual bool is_up() const = 0;

   protected:
    ~Owner() = default;
  };

  enum class Reach : std::uint8_t { waits, up, down };

  NodeLink(io::Loop& loop, std::shared_ptr<Node> node, Owner& owner);
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;
  ~NodeLink() override { close(); }

  // Whether the node answers. `waits`: on_link_up() or on_link_lost() will tell.
  Reach reach();
  bool is_silent() const { return node_->is_silent(loop_.now()); }
  // Also if the node has said something to others since it was asked.
  void is_awaited() { node_->is_asked(loop_.now()); }
  // One command, or more that go on what is the client's own; behind what waits. The parts that are
  // owed a reply join `owed` after this.
  void send(std::string_view bytes, Travel travel);
  // Queued here, for replies that must come first, or where it can be counted.
  std::size_t unsent() const { return waiting_bytes_ + route_.unsent(); }
  void set_reading(bool reading) { route_.set_reading(reading, false); }
  // Nothing is owed: what the client has of its own may be given back.
  void settle();
  bool has_own() const { return route_.has_own(); }
  const std::string& refusal() const { return refusal_; }
  // It was lost, and not with a connection: Redis does not let the client in any more.
  bool is_unwelcome() const { return is_unwelcome_; }
  void close();

  const config::Address address;
  resp::ReplyFramer framer;
  std::list<RoutedPart> owed;  // replies, in their order
  std::string kept;            // of the reply at hand: an error, or a frame of a subscription
  bool is_passing = false;     // the reply at hand goes on as it comes
  bool is_streaming = false;   // a large command is not sent to its end yet
  redis::Subscriptions subscriptions;

 private:
  struct Waiting {
    std::string bytes;
    Travel travel;
  };

  resp::ConnectionState told() const override { return owner_.told(); }
  bool is_transferable() const override { return owner_.is_transferable(*this); }
  bool has_unread_replies() const override { return false; }
  std::uint32_t beginnings() const override { return owner_.beginnings(); }
  void on_upstream_up() override;
  void on_upstream_bytes(std::string_view bytes) override;
  void on_upstream_replies(std::string_view bytes, std::uint32_t /*replies*/) override {
    on_upstream_bytes(bytes);
  }
  void on_upstream_progress() override;
  void on_upstream_down() override { owner_.on_link_down(); }
  void on_upstream_refused(std::string_view error) override;
  void on_command_refused(std::string_view error) override;
  void on_upstream_turned_away(std::string_view error) override { refusal_ = error; }
  void on_upstream_lost() override;
  void on_entry_known() override;

  bool may_leave(const Travel& travel);
  void pass(std::string_view bytes, const Travel& travel);
  void send_waiting();
  void refuse_all(std::string_view error);

  io::Loop& loop_;
  Owner& owner_;
  std::shared_ptr<Node> node_;
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::size_t waiting_replies_ = 0;
  bool is_up_ = false;
  bool is_unwelcome_ = false;
  std::string refusal_;
  upstream::Route route_;  // last: its callbacks need all of the above
};

class RoutedTransport final : public io::Transport, NodeLink::Owner, io::Flushable {
 public:
  static constexpr std::size_t kInFlightMax = 4096;
  static constexpr std::size_t kUnsentMax = std::size_t{1024} * 1024;
  static constexpr std::size_t kHeldSoft = std::size_t{1024} * 1024;
  static constexpr std::size_t kHeldMax = std::size_t{64} * 1024 * 1024;
  static constexpr std::size_t kReplayMax = std::size_t{64} * 1024;
  static constexpr std::size_t kErrorMax = 512;  // what is longer is no redirect
  static constexpr std::uint8_t kRedirectsMax = 5;
  static constexpr std::chrono::milliseconds kRetriedFor{500};  // since it was written
  static constexpr std::chrono::milliseconds kRetryEvery{20};
  static constexpr std::size_t kJoinedMax = std::size_t{16} * 1024 * 1024;
  static constexpr std::chrono::seconds kAskedFor{30};
  static constexpr std::chrono::seconds kMapWithin{3};

  struct Worker {
    io::Loop& loop;
    const config::Upstream& settings;  // split_mset
    SlotRoutes& routes;
    Nodes& nodes;
    resp::Arguments& arguments;
  };

  // Connects to a master.
  RoutedTransport(const Worker& worker, io::Watcher& watcher);
  ~RoutedTransport() override { close(); }
  RoutedTransport(const RoutedTransport&) = delete;
  RoutedTransport& operator=(const RoutedTransport&) = delete;

  void bind(io::Watcher& watcher) override { watcher_ = &watcher; }
  void watch(io::Interest interest) override;
  io::Transfer read(std::span<char> into) override;
  io::Transfer write(std::span<const std::string_view> pieces) override;
  void finish_writing() override;
  void close() override;
  bool is_open() const override { return state_ != State::closed; }

 private:
  using Words = std::span<const std::string_view>;
  using Parts = std::list<RoutedPart>;

  enum class State : std::uint8_t { connecting, up, lost, closed };  // lost: output_ may be read

  struct Entry {  // a client's command that is owed a reply
    Merge merge = Merge::none;
    std::uint32_t awaited = 1;           // parts
    bool is_begun = false;               // some of its reply is in output_
    std::string reply{};                 // that waits for those before
    std::vector<std::string> replies{};  // of parts, to be merged
    std::vector<std::vector<std::uint32_t>> places{};
    std::string_view refusal{};        // instead of what is merged
    io::TimePoint until{};             // its parts are awaited; the epoch: however long
    std::optional<ScanCursor> scan{};  // which node was asked, and what is known of the pass
    io::TimePoint scanned_at{};        // the node's reply was there
  };

  struct Flight {              // what of one slot is owed, and what waits
    NodeLink* link = nullptr;  // that owes
    std::size_t owed = 0;
    Parts again{};  // refused so that they may be sent again: before those that wait
    Parts waiting{};
    io::TimePoint not_before{};
  };

  // A command that goes alone, and what its reply means.
  enum class Alone : std::uint8_t {
    told,
    others_told,
    multi,
    moved_multi,
    exec,
    discard,
    watch,
    unwatch,
    subscribe
  };
  struct Barrier {
    Alone kind = Alone::told;
    NodeLink* link = nullptr;  // that has replied
    std::optional<redis::StateChange> change{};
    std::uint16_t slot = RoutedPart::kNoSlot;
    std::size_t awaited = 1;  // replies that must be OK, of others_told and moved_multi
    char said = '\0';         // its reply's type; 0: there is none yet
  };

  struct Transaction {
    NodeLink* link = nullptr;                  // null: none
    std::uint16_t slot = RoutedPart::kNoSlot;  // of its keys; kNoSlot: none had any
    bool is_refused = false;                   // a command in it
    std::string replay{};                      // those without keys, until there is one
    std::size_t replayed = 0;                  // replies that they will have
  };

  // A command above resp::kWholeCommandBytesMax.
  struct Large {
    std::uint64_t entry = 0;
    std::uint16_t slot = RoutedPart::kNoSlot;
    NodeLink* link = nullptr;  // null: it waits, or is refused
    std::string held{};        // its first chunk, which waits
    bool ends = false;         // with that
    std::string refusal{};     // told at its end; nothing of it is sent
    bool may_fail_halfway = false;
  };

  // NodeLink::Owner, io::Flushable
  void on_link_up(NodeLink& link) override;
  void on_link_bytes(NodeLink& link, std::string_view bytes) override;
  void on_link_progress() override { proceed_later(); }
  void on_link_down() override { worker_.routes.doubt(); }
  void on_link_lost(NodeLink& link) override;
  resp::ConnectionState told() const override { return told_; }
  bool is_transferable(const NodeLink& link) const override { return !has_state_on(link); }
  std::uint32_t beginnings() const override { return beginnings_; }
  bool is_up() const override { return state_ == State::up; }
  void flush() override;

  // routed_transport.cpp: bytes in and out.
  void process();
  bool takes_more() const;
  void proceed();
  void proceed_later();
  void answer_in_order();
  bool answer_merged(Entry& head);
  void tell();
  void tell_soon();
  void quit() { is_finishing_ = is_quitting_ = true; }
  void lose();
  void update_reading();
  bool is_next(const NodeLink& link) const;
  void hold(std::size_t bytes);
  void release(std::size_t bytes);
  Entry& entry(std::uint64_t number) { return entries_[number - first_entry_]; }
  std::uint64_t add_entry() {
    entries_.emplace_back();
    return first_entry_ + entries_.size() - 1;
  }
  NodeLink* link_to(const config::Address& node);
  NodeLink* any_master();
  bool has_state_on(const NodeLink& link) const;
  const config::Address* pick_master(const config::Address* other_than) const;
  void reach_home();
  void lose_home();
  void drop(NodeLink& link);

  // routed_commands.cpp: where a command goes. False: it must wait.
  bool take_command(std::string_view raw);
  void take_while_subscribed(NodeLink& link, RoutedTo to, std::string_view raw);
  NodeLink* subscribed_only() const;
  std::string not_while_subscribed() const;
  bool take_by_keys(const redis::Command& command, std::string_view raw);
  bool take_change(const redis::Command& command, const Routing& routing, std::string_view raw);
  void split_up(const redis::Command& command, Merge merge);
  void answer(std::string_view reply);
  void send_to(NodeLink& link, std::string_view raw, Merge merge = Merge::none);
  static void send_part(NodeLink& link, std::string_view raw, RoutedPart part);
  void look_after_home();
  bool owes_for_any(const NodeLink* link);
  void leave_home();
  bool send_alone(NodeLink& link, std::string_view raw, Barrier barrier, Merge merge = Merge::none);
  void take_chunk(const resp::Scan& scan, std::string_view bytes);
  bool go_on_with_large();
  void begin_large();
  void end_large();

  // routed_fan_out.cpp: what is asked of all masters, at once or one after the other.
  void take_for_all(const Routing& routing, std::string_view raw);
  void take_scan();
  std::uint64_t add_merged(Merge merge, std::size_t parts);
  bool settle_scan(Entry& head);
  void keep_part(Entry& of, const RoutedPart& part, std::string_view bytes);
  void look_at_clock(std::chrono::milliseconds pause);
  void give_up(std::uint64_t number);

  // routed_transaction.cpp: what is a client's state on a node.
  bool take_transaction(const redis::Command& command, std::string_view raw);
  bool take_in_transaction(const redis::Command& command, std::string_view raw);
  bool take_watch_in_transaction(const redis::Command& command, std::string_view raw);
  bool take_keys_in_transaction(Words keys, std::string_view raw);
  bool end_transaction(const redis::Command& command, std::string_view raw);
  bool pin_transaction(std::uint16_t slot);
  bool take_watch(const redis::Command& command, std::string_view raw);
  bool take_pubsub(const redis::Command& command, std::string_view raw);
  NodeLink& pubsub_node();
  NodeLink* subscribed_link(std::span<const redis::ChannelKind> kinds) const;
  void refuse_in_transaction(std::string_view error);
  void settle_barrier();
  void settle_change(const Barrier& barrier);
  void reset_links(NodeLink& told);
  void tell_others(const NodeLink& told, const resp::ConnectionState& before);
  void leave_untold(Barrier& barrier);
  void forget_transaction();
  void send_replay() const;

  // routed_replies.cpp: what nodes reply, and what is sent again.
  void take_piece(NodeLink& link, std::string_view bytes, resp::ReplyFramer::Piece piece);
  void take_frame(NodeLink& link);
  void take_reply_end(NodeLink& link);
  void deliver(const RoutedPart& part, std::string_view bytes);
  void finish(NodeLink& link, std::string_view error);
  void enqueue(RoutedPart part);
  void advance(std::uint16_t slot);
  void advance_all();
  void advance_later();
  void send_next(Flight& flight, Parts& from, NodeLink& link);
  bool may_send(const Flight& flight, const NodeLink& link, std::uint16_t slot) const;
  NodeLink* target_of(Flight& flight, Parts& from);
  bool takes_again(NodeLink& link, Flight& flight, std::string_view error);
  bool follow(RoutedPart& part, const NodeLink& link, std::string_view error);
  bool retry(Flight& flight, RoutedPart& part);
  void refuse_overtaken(Flight& flight, const RoutedPart& run);
  void refuse(Parts& from, Parts::iterator part, std::string_view why);

  Worker worker_;
  io::Watcher* watcher_;
  State state_ = State::connecting;
  io::Interest interest_ = io::Interest::none;
  bool is_end_told_ = false;
  bool is_telling_ = false;
  bool flush_queued_ = false;
  std::unique_ptr<io::Timer> again_;  // to be told, although nothing happens
  std::unique_ptr<io::Timer> retry_;
  std::unique_ptr<io::Timer> clock_;  // of what is awaited only so long
  std::unique_ptr<io::Timer> look_;   // at the home, while it owes what any node could say
  resp::RequestScanner scanner_;
  std::string input_;
  bool is_finishing_ = false;  // no more is written
  bool is_quitting_ = false;   // no more is read of what is
  bool is_write_refused_ = false;
  redis::Lane lane_ = redis::Lane::own;  // of the command at hand
  resp::ConnectionState told_;
  std::uint32_t beginnings_ = 0;  // RESETs
  std::size_t tried_ = 0;         // masters that could not be reached, while connecting
  std::list<std::unique_ptr<NodeLink>> links_;
  NodeLink* home_ = nullptr;
  std::deque<Entry> entries_;
  std::uint64_t first_entry_ = 0;
  std::unordered_map<std::uint16_t, Flight> flights_;
  std::optional<Barrier> barrier_;
  Transaction transaction_;
  NodeLink* watched_ = nullptr;  // where WATCH was
  std::uint16_t watched_slot_ = RoutedPart::kNoSlot;
  Large large_;
  std::string pushes_;  // that wait for the end of a reply
  std::size_t held_bytes_ = 0;
  io::HeldBytes held_;
  io::OutputQueue output_;
};

}  // namespace cuckooguard::routing
