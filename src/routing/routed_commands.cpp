// Of a RoutedTransport: where each command goes.
#include <algorithm>
#include <array>
#include <utility>

#include "redis/slot.h"
#include "routing/routed_texts.h"
#include "routing/routed_transport.h"
#include "routing/routing_table.h"
#include "routing/split_command.h"
#include "text/ascii.h"

namespace cuckooguard::routing {
namespace {

constexpr std::size_t kNameShown = 64;
constexpr auto kAllChannels = std::to_array(
    {redis::ChannelKind::plain, redis::ChannelKind::pattern, redis::ChannelKind::shard});

// The first key of a command of which only the front is there; none: it has none, or it is not
// there.
std::optional<std::string_view> key_in_front(const redis::Command& command,
                                             std::span<const std::string_view> front) {
  std::size_t index = command.first;
  switch (command.keys) {
    case redis::KeyShape::none:
    case redis::KeyShape::streams:
      return std::nullopt;
    case redis::KeyShape::counted:
      index = command.first != 0 ? command.first : command.count + std::size_t{1};
      break;
    case redis::KeyShape::range:
    case redis::KeyShape::anywhere:
      break;
  }
  return index < front.size() ? std::optional(front[index]) : std::nullopt;
}

}  // namespace

// Where a client is subscribed that may do nothing else: one of RESP2. Null: it may.
NodeLink* RoutedTransport::subscribed_only() const {
  return told_.version == resp::Version::resp2 ? subscribed_link(kAllChannels) : nullptr;
}

bool RoutedTransport::take_command(std::string_view raw) {
  const Words words = worker_.arguments.views();
  const redis::Command& command = redis::find_command(words.front());
  const Routing routing = routing_of(command, words);
  lane_ = redis::lane_of(command, words);
  if (routing.to == RoutedTo::quit) {
    answer("+OK\r\n");
    quit();
    return true;
  }
  if (transaction_.link != nullptr) {
    return take_in_transaction(command, raw);
  }
  if (any_master() == nullptr) {
    answer(kNotServed);
    return true;
  }
  NodeLink* const subscribed = subscribed_only();
  if (subscribed != nullptr && routing.to != RoutedTo::pubsub &&
      command.role != redis::Role::reset) {
    take_while_subscribed(*subscribed, routing.to, raw);
    return true;
  }
  switch (routing.to) {
    case RoutedTo::by_keys:
      return take_by_keys(command, raw);
    case RoutedTo::any_node:
      send_to(*any_master(), raw, routing.merge);
      return true;
    case RoutedTo::all_masters:
      take_for_all(routing, raw);
      return true;
    case RoutedTo::pubsub_node:
      send_to(pubsub_node(), raw);
      return true;
    case RoutedTo::scan:
      take_scan();
      return true;
    case RoutedTo::connection:
      return take_change(command, routing, raw);
    case RoutedTo::transaction:
      return take_transaction(command, raw);
    case RoutedTo::pubsub:
      return take_pubsub(command, raw);
    case RoutedTo::refused:
    case RoutedTo::quit:
      break;
  }
  answer(routing.refusal);
  return true;
}

// In RESP2 there is no more than PING then. Redis says so itself, but of keys it says first whose
// they are.
void RoutedTransport::take_while_subscribed(NodeLink& link, RoutedTo to, std::string_view raw) {
  if (to == RoutedTo::any_node) {
    send_to(link, raw);
    return;
  }
  answer(not_while_subscribed());
}

std::string RoutedTransport::not_while_subscribed() const {
  std::string error = "-ERR Can't execute '";
  error += text::lower_case(worker_.arguments[0].substr(0, kNameShown));
  std::ranges::replace(error, '\r', ' ');
  std::ranges::replace(error, '\n', ' ');
  return error.append(kOnlySubscriptions);
}

bool RoutedTransport::take_by_keys(const redis::Command& command, std::string_view raw) {
  const Words words = worker_.arguments.views();
  const std::vector<std::string_view> keys = routed_keys(command, words);
  if (keys.empty()) {
    send_to(*any_master(), raw);
    return true;
  }
  if (!redis::are_of_one_slot(keys)) {
    split_up(command, merge_of(command, worker_.settings.split_mset));
    return true;
  }
  enqueue({.entry = add_entry(),
           .slot = redis::slot_of(keys.front()),
           .command = std::string(raw),
           .may_fail_halfway = may_fail_halfway(command),
           .lane = lane_});
  return true;
}

void RoutedTransport::split_up(const redis::Command& command, Merge merge) {
  std::vector<SplitPart> parts;
  if (merge != Merge::none) {
    parts = split(command, worker_.arguments.views());
  }
  if (parts.empty()) {
    answer(kCrossSlot);
    return;
  }
  const std::uint64_t number = add_merged(merge, parts.size());
  for (SplitPart& part : parts) {
    entry(number).places.push_back(std::move(part.places));
  }
  for (std::uint32_t i = 0; i < parts.size(); ++i) {
    enqueue({.entry = number,
             .index = i,
             .slot = parts[i].slot,
             .command = std::move(parts[i].command),
             .lane = lane_});
  }
}

bool RoutedTransport::take_change(const redis::Command& command,
                                  const Routing& routing,
                                  std::string_view raw) {
  return send_alone(*any_master(),
                    raw,
                    {.kind = Alone::told,
                     .change = redis::state_change_of(command, worker_.arguments.views(), false)},
                    routing.merge);
}

void RoutedTransport::answer(std::string_view reply) {
  Entry& made = entry(add_entry());
  made.awaited = 0;
  made.reply = reply;
  hold(reply.size());
}

// Without an order among slots.
void RoutedTransport::send_to(NodeLink& link, std::string_view raw, Merge merge) {
  RoutedPart part{.entry = add_merged(merge, 1), .lane = lane_};
  if (barrier_ || part.lane == redis::Lane::reads) {
    part.command = raw;  // another node may be asked
    hold(part.bytes_kept());
  }
  send_part(link, raw, std::move(part));
  look_after_home();
}

// The home has been chosen for no reason of the commands that it owes replies to: where it hangs
// another node is asked.
void RoutedTransport::look_after_home() {
  if (look_) {
    return;
  }
  look_ = worker_.loop.after(Node::kSilentFor, [this] {
    const auto fired = std::move(look_);
    if (state_ == State::connecting && tried_ + 1 < worker_.routes.masters().size()) {
      lose_home();
    } else if (state_ == State::up && barrier_ && barrier_->kind == Alone::others_told) {
      look_after_home();
      leave_untold(*barrier_);
    } else if (state_ == State::up && owes_for_any(home_)) {
      if (home_->is_silent() && large_.link == nullptr) {
        leave_home();
      } else {
        home_->is_awaited();
      }
      look_after_home();
    }
  });
}

// Whatever it owes another node may say, and nothing of the client's is there.
bool RoutedTransport::owes_for_any(const NodeLink* link) {
  return link != nullptr && !has_state_on(*link) && !link->owed.empty() &&
         link->framer.at_reply_boundary() &&
         std::ranges::all_of(link->owed, [this](const RoutedPart& part) {
           return part.is_for_any() && part.redirects < kRedirectsMax &&
                  !entry(part.entry).is_begun;
         });
}

void RoutedTransport::leave_home() {
  const config::Address* const next = pick_master(&home_->address);
  if (next == nullptr || *next == home_->address || worker_.nodes.is_silent(*next)) {
    return;
  }
  std::list<RoutedPart> owed = std::move(home_->owed);
  home_->owed.clear();
  drop(*home_);
  home_ = link_to(*next);
  for (RoutedPart& part : owed) {
    const std::string command = part.command;
    ++part.redirects;
    send_part(*home_, command, std::move(part));
  }
}

void RoutedTransport::send_part(NodeLink& link, std::string_view raw, RoutedPart part) {
  link.send(raw, {.lane = part.lane, .is_prompt = part.is_prompt()});
  link.owed.push_back(std::move(part));
}

bool RoutedTransport::send_alone(NodeLink& link,
                                 std::string_view raw,
                                 Barrier barrier,
                                 Merge merge) {
  if (!entries_.empty()) {
    return false;
  }
  barrier_ = std::move(barrier);
  send_to(link, raw, merge);
  return true;
}

// A command above 64 KiB, whose first chunk has its name and what stands in front.
void RoutedTransport::take_chunk(const resp::Scan& scan, std::string_view bytes) {
  if (scan.begins) {
    begin_large();
  }
  if (!large_.refusal.empty() || large_.link != nullptr) {
    if (large_.link != nullptr) {
      large_.link->send(bytes, {.replies = 0});
    }
    if (scan.ends) {
      end_large();
    }
    return;
  }
  large_.held = bytes;
  large_.ends = scan.ends;
  (void)go_on_with_large();
}

void RoutedTransport::begin_large() {
  const Words front = worker_.arguments.views();
  const redis::Command& command =
      redis::find_command(front.empty() ? std::string_view() : front.front());
  large_ = {.entry = add_entry(), .may_fail_halfway = may_fail_halfway(command)};
  const auto key = key_in_front(command, front);
  const bool is_routed =
      key && !front.empty() && routing_of(command, front).to == RoutedTo::by_keys;
  if (is_routed) {
    large_.slot = redis::slot_of(*key);
  }
  if (subscribed_only() != nullptr) {
    large_.refusal = not_while_subscribed();
  } else if (!is_routed || (transaction_.link != nullptr && large_.slot != transaction_.slot)) {
    large_.refusal = kTooLarge;
    transaction_.is_refused = true;
  }
}

// False: other commands of its slot are owed elsewhere.
bool RoutedTransport::go_on_with_large() {
  NodeLink* link = transaction_.link;
  RoutedPart part{.entry = large_.entry, .may_fail_halfway = large_.may_fail_halfway};
  if (link == nullptr) {
    const config::Address* const owner = worker_.routes.owner_of(large_.slot);
    if (owner == nullptr) {
      large_.refusal = kNotServed;
      large_.held.clear();
      if (large_.ends) {
        end_large();
      }
      return true;
    }
    link = link_to(*owner);
    Flight& flight = flights_[large_.slot];
    if (!flight.again.empty() || !flight.waiting.empty() || !may_send(flight, *link, large_.slot)) {
      return false;
    }
    flight.link = link;
    ++flight.owed;
    part.slot = large_.slot;
  }
  link->is_streaming = true;
  large_.link = link;
  send_part(*link, std::exchange(large_.held, {}), std::move(part));
  if (large_.ends) {
    end_large();
  }
  return true;
}

void RoutedTransport::end_large() {
  if (!large_.refusal.empty()) {
    Entry& made = entry(large_.entry);
    made.reply = large_.refusal;
    made.awaited = 0;
    hold(made.reply.size());
  }
  if (large_.link != nullptr) {
    large_.link->is_streaming = false;
  }
  large_ = {};
  advance_all();
}

}  // namespace cuckooguard::routing
