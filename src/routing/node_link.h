// One client's way to one node of a cluster, and the replies that are owed there: what
// RoutedTransport has for each node that it talks to.
//
//   mode: pinned   a connection of its own
//   mode: shared   a member of what the worker's clients share of this node; a lease for what needs
//                  one (upstream/route.h). What must wait for that waits here, in its order
//
// Threads: its worker's. Lifetimes: the owner outlives it, or has closed it. Errors: as
// upstream::Route. Limits: the owner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "io/loop.h"
#include "redis/lane.h"
#include "redis/subscriptions.h"
#include "resp/connection_state.h"
#include "resp/reply_framer.h"
#include "routing/nodes.h"
#include "upstream/login_probe.h"
#include "upstream/route.h"

namespace cuckooguard::routing {

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
  // What it takes to keep it until its reply has come.
  std::size_t bytes_kept() const { return command.empty() ? 0 : sizeof(*this) + command.size(); }
};

// How something is sent.
struct Travel {
  redis::Lane lane = redis::Lane::own;
  bool is_prompt = false;   // RoutedPart::is_prompt()
  bool asks = false;        // ASKING comes first
  std::size_t replies = 1;  // parts that are owed one for it, ASKING's included
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

}  // namespace cuckooguard::routing
