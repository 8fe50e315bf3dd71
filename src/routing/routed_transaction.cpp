// Of a RoutedTransport: what is a client's state on a node, and goes alone.
#include <algorithm>
#include <array>
#include <utility>

#include "redis/slot.h"
#include "routing/routed_texts.h"
#include "routing/routed_transport.h"
#include "routing/routing_table.h"

namespace cuckooguard::routing {
namespace {

constexpr auto kChannels = std::to_array({redis::ChannelKind::plain, redis::ChannelKind::pattern});
constexpr redis::ChannelKind kShards = redis::ChannelKind::shard;

constexpr std::string_view kMulti = "*1\r\n$5\r\nMULTI\r\n";
constexpr std::string_view kDiscard = "*1\r\n$7\r\nDISCARD\r\n";

// What SETNAME and SETINFO have made of a connection.
void label(resp::Labels& labels, const redis::StateChange& change) {
  switch (change.label) {
    case redis::Label::name:
      labels.name = change.label_text;
      return;
    case redis::Label::library:
      labels.library = change.label_text;
      return;
    case redis::Label::library_version:
      labels.library_version = change.label_text;
      return;
    case redis::Label::none:
      return;
  }
}

// A HELLO that Redis refuses for its other arguments may have logged in before: nobody knows who
// the connection is.
bool may_be_half_done(const std::optional<redis::StateChange>& change) {
  using redis::ChangeKind;
  return change && (change->kind == ChangeKind::unclear ||
                    (change->kind == ChangeKind::hello && change->authenticates));
}

}  // namespace

// MULTI, EXEC, DISCARD, WATCH, UNWATCH outside of MULTI. The first leads to where WATCH was, or to
// any master: the first key in it may lead elsewhere.
bool RoutedTransport::take_transaction(const redis::Command& command, std::string_view raw) {
  NodeLink& link = watched_ != nullptr ? *watched_ : *any_master();
  switch (command.role) {
    case redis::Role::multi:
      return send_alone(link, raw, {.kind = Alone::multi});
    case redis::Role::watch:
      return take_watch(command, raw);
    case redis::Role::unwatch:
      return send_alone(link, raw, {.kind = Alone::unwatch});
    default:
      return send_alone(link, raw, {.kind = command.name == "exec" ? Alone::exec : Alone::discard});
  }
}

bool RoutedTransport::take_watch(const redis::Command& command, std::string_view raw) {
  const std::vector<std::string_view> keys = routed_keys(command, worker_.arguments.views());
  if (keys.empty()) {
    send_to(*any_master(), raw);
    return true;
  }
  const std::uint16_t slot = redis::slot_of(keys.front());
  if (!redis::are_of_one_slot(keys) || (watched_ != nullptr && watched_slot_ != slot)) {
    answer(kCrossSlot);
    return true;
  }
  if (watched_ != nullptr) {
    return send_alone(*watched_, raw, {.kind = Alone::watch, .slot = slot});
  }
  if (!entries_.empty()) {
    return false;
  }
  barrier_ = Barrier{.kind = Alone::watch, .slot = slot};
  enqueue({.entry = add_entry(), .slot = slot, .command = std::string(raw), .lane = lane_});
  return true;
}

// Inside MULTI. Commands go to its node without waiting for each other.
bool RoutedTransport::take_in_transaction(const redis::Command& command, std::string_view raw) {
  const Words words = worker_.arguments.views();
  const Routing routing = routing_of(command, words);
  if (command.role == redis::Role::end_multi) {
    return end_transaction(command, raw);
  }
  if (command.role == redis::Role::reset) {
    return take_change(command, routing, raw);
  }
  if (command.role == redis::Role::watch) {
    return take_watch_in_transaction(command, raw);
  }
  const bool is_about_transaction = routing.to == RoutedTo::transaction;  // Redis's to refuse
  const bool is_any_nodes =
      routing.to == RoutedTo::any_node || routing.to == RoutedTo::pubsub_node ||
      (routing.to == RoutedTo::all_masters && worker_.routes.masters().size() == 1 &&
       !worker_.routes.lacks_a_master());
  if (!is_about_transaction && routing.to != RoutedTo::by_keys && !is_any_nodes) {
    refuse_in_transaction(routing.to == RoutedTo::refused ? routing.refusal : kNotInTransaction);
    return true;
  }
  if (routing.to == RoutedTo::by_keys) {
    const std::vector<std::string_view> keys = routed_keys(command, words);
    if (!keys.empty()) {
      return take_keys_in_transaction(keys, raw);
    }
  }
  if (transaction_.slot == RoutedPart::kNoSlot &&
      (!is_about_transaction || command.role == redis::Role::unwatch)) {
    if (transaction_.replay.size() + raw.size() > kReplayMax) {
      refuse_in_transaction(kNotInTransaction);
      return true;
    }
    transaction_.replay.append(raw);
    ++transaction_.replayed;
  }
  send_to(*transaction_.link, raw);
  return true;
}

// Redis refuses it and goes on with the transaction, but only where it would run it: on the node
// that has the keys, which is not thereby the transaction's.
bool RoutedTransport::take_watch_in_transaction(const redis::Command& command,
                                                std::string_view raw) {
  const std::vector<std::string_view> keys = routed_keys(command, worker_.arguments.views());
  if (!keys.empty()) {
    const std::uint16_t slot = redis::slot_of(keys.front());
    const config::Address* const owner = worker_.routes.owner_of(slot);
    const bool is_elsewhere = owner != nullptr && *owner != transaction_.link->address;
    const bool may_move = transaction_.slot == RoutedPart::kNoSlot && watched_ == nullptr;
    if (!redis::are_of_one_slot(keys) || (is_elsewhere && !may_move)) {
      refuse_in_transaction(kCrossSlot);
      return true;
    }
    if (is_elsewhere) {
      return pin_transaction(slot);  // it moves there, and the command is asked about again
    }
  }
  send_to(*transaction_.link, raw);
  return true;
}

bool RoutedTransport::take_keys_in_transaction(Words keys, std::string_view raw) {
  const std::uint16_t slot = redis::slot_of(keys.front());
  const bool is_of_it = transaction_.slot == RoutedPart::kNoSlot || transaction_.slot == slot;
  if (!redis::are_of_one_slot(keys) || !is_of_it) {
    refuse_in_transaction(kCrossSlot);
    return true;
  }
  if (transaction_.slot == RoutedPart::kNoSlot && !pin_transaction(slot)) {
    return false;
  }
  send_to(*transaction_.link, raw);
  return true;
}

// EXEC of what was refused here is DISCARD, and Redis's words.
bool RoutedTransport::end_transaction(const redis::Command& command, std::string_view raw) {
  if (!entries_.empty()) {
    return false;
  }
  const bool is_exec = command.name == "exec";
  const bool is_refused = transaction_.is_refused && is_exec;
  barrier_ = Barrier{.kind = is_exec ? Alone::exec : Alone::discard};
  send_part(*transaction_.link,
            is_refused ? kDiscard : raw,
            {.entry = add_entry(), .instead = is_refused ? kExecAbort : std::string_view()});
  return true;
}

void RoutedTransport::refuse_in_transaction(std::string_view error) {
  answer(error);
  transaction_.is_refused = true;
}

// False: it moves to the slot's node first, and the command is asked about again.
bool RoutedTransport::pin_transaction(std::uint16_t slot) {
  const config::Address* const owner = worker_.routes.owner_of(slot);
  if (owner == nullptr || watched_ != nullptr || *owner == transaction_.link->address) {
    transaction_.slot = slot;
    transaction_.replay.clear();  // it stays here
    transaction_.replayed = 0;
    return true;
  }
  if (!entries_.empty()) {
    return false;
  }
  send_part(*transaction_.link, kDiscard, {.reply = RoutedPart::Reply::must_be_ok});
  transaction_.link = link_to(*owner);
  barrier_ = Barrier{.kind = Alone::moved_multi, .awaited = 2};
  send_part(*transaction_.link, kMulti, {.reply = RoutedPart::Reply::must_be_ok});
  return false;
}

// All confirmations come before anything else is sent.
bool RoutedTransport::take_pubsub(const redis::Command& command, std::string_view raw) {
  if (!entries_.empty()) {
    return false;
  }
  const Words words = worker_.arguments.views();
  const redis::ChannelKind kind = redis::channel_kind_of(command.name);
  const bool is_of_shards = kind == redis::ChannelKind::shard;
  const std::vector<std::string_view> channels(words.begin() + 1, words.end());
  NodeLink* link = subscribed_link(is_of_shards ? std::span(&kShards, 1) : std::span(kChannels));
  RoutedPart part{.confirmations = static_cast<std::uint32_t>(channels.size()),
                  .confirmed = command.name,
                  .lane = lane_};
  if (is_of_shards && !channels.empty()) {
    if (!redis::are_of_one_slot(channels)) {
      answer(kCrossSlot);
      return true;
    }
    part.slot = redis::slot_of(channels.front());
  } else if (is_of_shards && std::ranges::count_if(links_, [](const auto& each) {
                               return each->subscriptions.count(redis::ChannelKind::shard) > 0;
                             }) > 1) {
    answer(kUnknownShards);
    return true;
  }
  if (link == nullptr) {
    link = is_of_shards ? any_master() : &pubsub_node();
    home_ = link;  // looked after
  }
  if (channels.empty()) {  // of SUBSCRIBE alone it is an error
    part.confirmations = std::max<std::uint32_t>(1, link->subscriptions.count(kind));
  }
  part.entry = add_entry();
  barrier_ = Barrier{.kind = Alone::subscribe};
  part.command = raw;
  if (part.slot != RoutedPart::kNoSlot) {
    enqueue(std::move(part));
  } else {
    hold(part.bytes_kept());
    send_part(*link, raw, std::move(part));
    look_after_home();
  }
  return true;
}

// All clients of all such ports subscribe on one node, so that PUBLISH there counts them: the
// master that has the first slot, if it answers.
NodeLink& RoutedTransport::pubsub_node() {
  const config::Address* const owner = worker_.routes.owner_of(0);
  const std::vector<config::Address>& masters = worker_.routes.masters();
  const bool is_usual = owner != nullptr && !worker_.nodes.is_silent(*owner) &&
                        std::ranges::find(masters, *owner) != masters.end();
  return is_usual ? *link_to(*owner) : *any_master();
}

// Null: none is.
NodeLink* RoutedTransport::subscribed_link(std::span<const redis::ChannelKind> kinds) const {
  const auto found = std::ranges::find_if(links_, [kinds](const auto& link) {
    return std::ranges::any_of(
        kinds, [&](redis::ChannelKind kind) { return link->subscriptions.count(kind) > 0; });
  });
  return found == links_.end() ? nullptr : found->get();
}

// The reply to what went alone has come, and is on its way to the client.
void RoutedTransport::settle_barrier() {
  if (!barrier_) {
    return;
  }
  const Barrier barrier = *std::move(barrier_);
  barrier_.reset();
  const bool is_refused = barrier.said == '-';
  switch (barrier.kind) {
    case Alone::told:
      if (!is_refused) {
        settle_change(barrier);
      } else if (may_be_half_done(barrier.change)) {
        lose();
      }
      return;
    case Alone::multi:
      if (!is_refused) {
        transaction_ = {.link = barrier.link, .slot = watched_slot_};
      }
      return;
    case Alone::moved_multi:
      send_replay();
      return;
    case Alone::exec:
      // Also of one that was refused: Redis discards what it does not run. Without MULTI it goes on
      // watching.
      if (!is_refused || transaction_.link != nullptr) {
        forget_transaction();
      }
      return;
    case Alone::discard:  // one that is refused leaves all as it was
      if (!is_refused) {
        forget_transaction();
      }
      return;
    case Alone::watch:
      if (!is_refused) {
        watched_ = barrier.link;
        watched_slot_ = barrier.slot;
      }
      return;
    case Alone::unwatch:
      if (!is_refused) {
        watched_ = nullptr;
        watched_slot_ = RoutedPart::kNoSlot;
      }
      return;
    case Alone::others_told:
    case Alone::subscribe:
      return;
  }
}

// What was queued without a key, on the node that the first key has led to.
void RoutedTransport::send_replay() const {
  transaction_.link->send(transaction_.replay, {.replies = transaction_.replayed});
  for (std::size_t i = 0; i < transaction_.replayed; ++i) {
    transaction_.link->owed.push_back({.reply = RoutedPart::Reply::unread});
  }
}

void RoutedTransport::forget_transaction() {
  transaction_ = {};
  watched_ = nullptr;
  watched_slot_ = RoutedPart::kNoSlot;
}

// One node has said yes: the others are told the same. Nothing is owed by anybody.
void RoutedTransport::settle_change(const Barrier& barrier) {
  using redis::ChangeKind;
  if (!barrier.change) {
    return;  // HELLO alone
  }
  const redis::StateChange& change = *barrier.change;
  if (change.kind == ChangeKind::reset) {
    reset_links(*barrier.link);
    return;
  }
  const bool is_plain = change.kind == ChangeKind::select || change.kind == ChangeKind::auth ||
                        change.kind == ChangeKind::hello || change.kind == ChangeKind::label;
  if (!is_plain) {
    lose();  // nobody knows what it is now
    return;
  }
  const bool has_pushes = std::ranges::any_of(links_, [&](const auto& link) {
    return link.get() != barrier.link && link->subscriptions.any();
  });
  if (change.kind == ChangeKind::hello && change.version < told_.version && has_pushes) {
    lose();  // what other nodes send until they have heard of it would be of RESP3
    return;
  }
  const resp::ConnectionState before = told_;
  if (change.kind == ChangeKind::select) {
    told_.db = change.db;
  } else if (change.kind == ChangeKind::hello) {
    told_.version = change.version;
  }
  if (change.authenticates) {
    told_.login = resp::Login{.user = change.names_user ? change.user : std::string(),
                              .secret = change.secret};
  }
  label(told_.labels, change);
  tell_others(*barrier.link, before);
}

void RoutedTransport::reset_links(NodeLink& told) {
  forget_transaction();
  told_ = {};
  ++beginnings_;
  std::erase_if(links_, [&](std::unique_ptr<NodeLink>& link) {
    if (link.get() == &told) {
      return false;
    }
    link->close();
    worker_.loop.dispose(std::move(link));
    return true;
  });
  told.subscriptions.clear();
  home_ = &told;
}

// Who has a connection of its own is told by commands among the others, since what a link is
// subscribed to may come in between. Nothing else is sent until all have said yes: behind a refused
// AUTH it would be run as who the client was. What it shares with others, or does not need any
// more, it leaves for what is in its new state.
void RoutedTransport::tell_others(const NodeLink& told, const resp::ConnectionState& before) {
  const auto greeting = resp::greeting(before, told_);
  if (!greeting) {
    lose();
    return;
  }
  std::size_t awaited = 0;
  std::vector<NodeLink*> left;
  for (const auto& link : links_) {
    if (link.get() == &told || greeting->replies == 0) {
      continue;
    }
    if (!link->has_own() || (link->is_silent() && link->owed.empty() && !has_state_on(*link))) {
      left.push_back(link.get());
      continue;
    }
    link->send(greeting->commands, {.is_prompt = true, .replies = greeting->replies});
    const std::size_t must_be_ok = greeting->replies - greeting->labels;
    link->owed.insert(link->owed.end(), must_be_ok, {.reply = RoutedPart::Reply::must_be_ok});
    link->owed.insert(link->owed.end(), greeting->labels, {.reply = RoutedPart::Reply::unread});
    awaited += must_be_ok;
  }
  for (NodeLink* const link : left) {
    drop(*link);
  }
  if (awaited > 0) {
    barrier_ = Barrier{.kind = Alone::others_told, .awaited = awaited};
    look_after_home();
  }
}

// Who is silent need not be told what the next connection there will be.
void RoutedTransport::leave_untold(Barrier& barrier) {
  std::vector<NodeLink*> left;
  for (const auto& link : links_) {
    if (link->owed.empty() || link->owed.front().reply != RoutedPart::Reply::must_be_ok) {
      continue;  // told, or it may yet run what was given up, before what comes later
    }
    if (link->is_silent() && !has_state_on(*link)) {
      left.push_back(link.get());
    } else {
      link->is_awaited();
    }
  }
  for (NodeLink* const link : left) {
    barrier.awaited -= static_cast<std::size_t>(
        std::ranges::count(link->owed, RoutedPart::Reply::must_be_ok, &RoutedPart::reply));
    drop(*link);
  }
  if (barrier.awaited == 0) {
    barrier.said = '+';
    proceed();
  }
}

}  // namespace cuckooguard::routing
