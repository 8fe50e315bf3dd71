// A connection to one node of a cluster, and the replies that are owed on it: what RoutedTransport
// has for each node that it talks to.
//
// Threads: its worker's. Lifetimes: the owner outlives it, or has closed it. Errors: as
// GreetedConnection. Limits: the owner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "io/loop.h"
#include "redis/subscriptions.h"
#include "resp/connection_state.h"
#include "resp/reply_framer.h"
#include "upstream/greeted_connection.h"

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

  // What it takes to keep it until its reply has come.
  std::size_t bytes_kept() const { return command.empty() ? 0 : sizeof(*this) + command.size(); }
};

class NodeLink final : public io::Disposable, upstream::GreetedConnection::Owner {
 public:
  class Owner {
   public:
    virtual void on_link_up(NodeLink& link) = 0;
    virtual void on_link_bytes(NodeLink& link, std::string_view bytes) = 0;
    virtual void on_link_progress() = 0;
    virtual void on_link_lost(NodeLink& link) = 0;

   protected:
    ~Owner() = default;
  };

  NodeLink(io::Loop& loop,
           const config::Upstream& node,
           const resp::ConnectionState& told,
           Owner& owner)
      : address(node.address), owner_(owner), connection(loop, node, told, *this) {}

  bool is_up() const { return connection.state() == upstream::Connection::State::up; }

  const config::Address address;
  resp::ReplyFramer framer;
  std::list<RoutedPart> owed;  // replies, in their order
  std::string kept;            // of the reply at hand: an error, or a frame of a subscription
  bool is_passing = false;     // the reply at hand goes on as it comes
  bool is_streaming = false;   // a large command is not sent to its end yet
  redis::Subscriptions subscriptions;

 private:
  void on_upstream_up() override { owner_.on_link_up(*this); }
  void on_upstream_bytes(std::string_view bytes) override { owner_.on_link_bytes(*this, bytes); }
  void on_upstream_progress() override { owner_.on_link_progress(); }
  void on_upstream_lost() override { owner_.on_link_lost(*this); }

  Owner& owner_;

 public:
  upstream::GreetedConnection connection;
};

}  // namespace cuckooguard::routing
