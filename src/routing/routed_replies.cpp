// Of a RoutedTransport: what nodes reply, and what is sent again for it.
#include <algorithm>
#include <utility>

#include "cluster/topology_reply.h"
#include "resp/request_scanner.h"
#include "routing/routed_texts.h"
#include "routing/routed_transport.h"
#include "routing/routing_table.h"

namespace cuckooguard::routing {
namespace {

// Commands that wait to be sent again: of more, each is taken to have a key in common with those
// that were run.
constexpr std::size_t kComparedMax = 32;

std::vector<std::string> keys_of(std::string_view whole_command) {
  resp::RequestScanner scanner;
  resp::Arguments arguments;
  if (scanner.next(whole_command, arguments).outcome != resp::ScanOutcome::command) {
    return {};
  }
  const auto keys = routed_keys(redis::find_command(arguments[0]), arguments.views());
  return {keys.begin(), keys.end()};
}

// Without its text one may have any.
bool may_share_a_key(const RoutedPart& one, const RoutedPart& other) {
  if (one.command.empty() || other.command.empty()) {
    return true;
  }
  std::vector<std::string> keys = keys_of(one.command);
  std::ranges::sort(keys);
  return std::ranges::any_of(keys_of(other.command), [&](const std::string& key) {
    return std::ranges::binary_search(keys, key);
  });
}

// What a client is told whose command was redirected, and is not sent again.
std::string_view not_followed(const RoutedPart& part) {
  return part.slot == RoutedPart::kNoSlot ? kMovingTransaction
         : part.command.empty()           ? kMovingLarge
         : part.may_fail_halfway          ? kMovingScript
                                          : kMoving;
}

bool says_try_again(std::string_view error) {
  return error.starts_with("-TRYAGAIN ") || error.starts_with("-CLUSTERDOWN ");
}

}  // namespace

void RoutedTransport::take_piece(NodeLink& link,
                                 std::string_view bytes,
                                 resp::ReplyFramer::Piece piece) {
  const char type = link.framer.type();
  const bool is_framed =
      link.subscriptions.any() || (!link.owed.empty() && link.owed.front().confirmations > 0);
  if (is_framed) {
    link.kept.append(bytes);
    hold(bytes.size());
    if (piece.ends) {
      take_frame(link);
    }
    return;
  }
  if (type == '>') {
    return;  // nobody here has asked for pushes
  }
  if (link.owed.empty()) {
    lose();  // whose is it?
    return;
  }
  const RoutedPart& part = link.owed.front();
  if (part.reply == RoutedPart::Reply::of_client) {
    if (type != '-' || link.is_passing) {
      deliver(part, bytes);
    } else {
      link.kept.append(bytes);
      if (link.kept.size() > kErrorMax) {
        deliver(part, std::exchange(link.kept, {}));
        link.is_passing = true;
      }
    }
  }
  if (piece.ends) {
    take_reply_end(link);
  }
}

// Of a link with subscriptions: a whole one, which is the client's command's, or nobody's.
void RoutedTransport::take_frame(NodeLink& link) {
  using Kind = redis::PubSubFrame::Kind;
  const std::string frame = std::exchange(link.kept, {});
  release(frame.size());
  const std::string_view bytes(frame);
  const bool may_be_message =
      frame.front() == '>' || (frame.front() == '*' && told_.version == resp::Version::resp2);
  const redis::PubSubFrame parsed =
      may_be_message
          ? redis::parse_pubsub_frame(
                bytes.substr(0, redis::kPubSubHeadBytes),
                bytes.substr(bytes.size() - std::min(bytes.size(), redis::kPubSubTailBytes)))
          : redis::PubSubFrame{};
  if (parsed.kind == Kind::confirmation) {
    link.subscriptions.confirmed(parsed);
  }
  // One that nobody has asked for, of a slot that has moved, is only told.
  const bool is_confirmed = parsed.kind == Kind::confirmation && !link.owed.empty() &&
                            link.owed.front().confirmations > 0 &&
                            link.owed.front().confirmed == parsed.command;
  if (is_confirmed) {
    RoutedPart& part = link.owed.front();
    deliver(part, bytes);
    if (--part.confirmations == 0) {
      finish(link, {});
    }
    return;
  }
  if (parsed.kind != Kind::other || frame.front() == '>') {
    pushes_.append(bytes);
    hold(bytes.size());
    return;
  }
  if (link.owed.empty()) {
    lose();
    return;
  }
  if (link.owed.front().reply != RoutedPart::Reply::of_client) {
    take_reply_end(link);
    return;
  }
  if (frame.front() == '-') {
    finish(link, bytes);
    return;
  }
  deliver(link.owed.front(), bytes);
  finish(link, {});
}

void RoutedTransport::take_reply_end(NodeLink& link) {
  const std::string kept = std::exchange(link.kept, {});
  const bool is_error = link.framer.type() == '-';
  link.is_passing = false;
  const RoutedPart::Reply reply = link.owed.front().reply;
  if (reply == RoutedPart::Reply::of_client) {
    finish(link, kept);
    return;
  }
  link.owed.pop_front();
  if (reply == RoutedPart::Reply::must_be_ok) {
    if (is_error) {
      lose();
    } else if (barrier_ && --barrier_->awaited == 0) {
      barrier_->said = link.framer.type();
    }
  }
}

void RoutedTransport::deliver(const RoutedPart& part, std::string_view bytes) {
  if (!part.instead.empty()) {
    return;
  }
  Entry& of = entry(part.entry);
  if (output_.size() + bytes.size() > kHeldMax) {
    lose();  // what is shared is read, although this client does not read
    output_.clear();
    return;
  }
  if (of.merge != Merge::none) {
    keep_part(of, part, bytes);
  } else if (part.entry == first_entry_ && of.reply.empty()) {
    of.is_begun = true;
    output_.append(bytes);
  } else {
    of.reply.append(bytes);
    hold(bytes.size());
  }
}

// The reply to the first part that is owed one has ended; `error` is all of it, or empty.
void RoutedTransport::finish(NodeLink& link, std::string_view error) {
  if (link.is_streaming && link.owed.size() == 1) {
    lose();  // a reply to what is not sent yet
    return;
  }
  const std::uint16_t slot = link.owed.front().slot;
  if (slot != RoutedPart::kNoSlot) {
    Flight& flight = flights_[slot];
    --flight.owed;
    if (!error.empty() && takes_again(link, flight, error)) {
      advance(slot);
      return;
    }
    if (!flight.again.empty()) {
      refuse_overtaken(flight, link.owed.front());
    }
  }
  const RoutedPart part = std::move(link.owed.front());
  link.owed.pop_front();
  release(part.bytes_kept());
  const bool is_redirect = !error.empty() && cluster::redirect_in(error) != cluster::Redirect::none;
  if (!part.instead.empty() && !error.empty()) {
    lose();  // it is still within MULTI
    return;
  }
  if (!part.instead.empty()) {
    RoutedPart told = part;
    told.instead = {};
    deliver(told, part.instead);
  } else if (is_redirect) {
    worker_.routes.doubt();
    deliver(part, not_followed(part));
  } else {
    deliver(part, error);
  }
  --entry(part.entry).awaited;
  if (barrier_) {
    barrier_->said = link.framer.type();
    barrier_->link = &link;
  }
  if (slot != RoutedPart::kNoSlot) {
    advance(slot);
  }
}

// The node has refused it so that it has not been run, and it may be sent again: in its place among
// those that are.
bool RoutedTransport::takes_again(NodeLink& link, Flight& flight, std::string_view error) {
  RoutedPart& part = link.owed.front();
  if (part.command.empty()) {
    return false;
  }
  const bool again = says_try_again(error) ? !part.may_fail_halfway && retry(flight, part)
                                           : follow(part, link, error);
  if (again) {
    const auto later = std::ranges::find_if(
        flight.again, [&](const RoutedPart& each) { return each.entry > part.entry; });
    flight.again.splice(later, link.owed, link.owed.begin());
  }
  return again;
}

bool RoutedTransport::follow(RoutedPart& part, const NodeLink& link, std::string_view error) {
  const auto named = cluster::named_node_in(error);
  if (!named || part.redirects == kRedirectsMax) {
    return false;
  }
  // What a module's command has for keys is not known here.
  if (named->slot != part.slot && !part.may_fail_halfway) {
    return false;
  }
  if (!part.may_fail_halfway) {  // a script may have made it up
    worker_.routes.doubt();
    worker_.routes.redirected(part.slot, worker_.loop.now());
  }
  const config::Address* const node = worker_.routes.find(*named, link.address);
  if (node == nullptr) {
    return !part.may_fail_halfway && retry(flights_[part.slot], part);
  }
  ++part.redirects;
  part.to = *node;
  part.asks = named->asks;
  if (!named->asks && !part.may_fail_halfway) {
    worker_.routes.moved(part.slot, *node);
  }
  return true;
}

bool RoutedTransport::retry(Flight& flight, RoutedPart& part) {
  if (worker_.loop.now() >= part.until) {
    return false;
  }
  part.to.reset();
  part.asks = false;
  flight.not_before = worker_.loop.now() + kRetryEvery;
  worker_.routes.redirected(part.slot, worker_.loop.now());
  advance_later();
  return true;
}

// One timer for all: who has begun to wait while it ran is looked at with the next.
void RoutedTransport::advance_later() {
  if (retry_) {
    return;
  }
  retry_ = worker_.loop.after(kRetryEvery, [this] {
    const auto fired = std::move(retry_);
    advance_all();
    const io::TimePoint now = worker_.loop.now();
    if (std::ranges::any_of(flights_,
                            [now](const auto& each) { return each.second.not_before > now; })) {
      advance_later();
    }
    proceed();
  });
}

// Those that wait to be sent again come before `run` in the client's order.
void RoutedTransport::refuse_overtaken(Flight& flight, const RoutedPart& run) {
  const bool are_many = flight.again.size() > kComparedMax;
  for (auto part = flight.again.begin(); part != flight.again.end();) {
    const auto overtaken = part++;
    if (overtaken->entry < run.entry && (are_many || may_share_a_key(*overtaken, run))) {
      refuse(flight.again, overtaken, kOvertaken);
    }
  }
}

void RoutedTransport::refuse(Parts& from, Parts::iterator part, std::string_view why) {
  release(part->bytes_kept());
  deliver(*part, why);
  --entry(part->entry).awaited;
  if (barrier_) {
    barrier_->said = '-';
  }
  from.erase(part);
}

void RoutedTransport::enqueue(RoutedPart part) {
  hold(part.bytes_kept());
  part.until = worker_.loop.now() + kRetriedFor;
  const std::uint16_t slot = part.slot;
  flights_[slot].waiting.push_back(std::move(part));
  advance(slot);
}

void RoutedTransport::advance_all() {
  std::vector<std::uint16_t> slots;
  for (const auto& [slot, flight] : flights_) {
    if (!flight.again.empty() || !flight.waiting.empty()) {
      slots.push_back(slot);
    }
  }
  std::ranges::sort(slots);  // so that a run can be replayed
  for (const std::uint16_t slot : slots) {
    advance(slot);
  }
}

// Sends what may be sent of a slot.
void RoutedTransport::advance(std::uint16_t slot) {
  const auto found = flights_.find(slot);
  if (found == flights_.end() || state_ != State::up) {
    return;
  }
  Flight& flight = found->second;
  while (state_ == State::up && (!flight.again.empty() || !flight.waiting.empty())) {
    Parts& from = flight.again.empty() ? flight.waiting : flight.again;
    if (worker_.loop.now() < flight.not_before) {
      return;
    }
    NodeLink* const link = target_of(flight, from);
    if (link == nullptr) {
      continue;  // it is refused, or waits by now
    }
    if (!may_send(flight, *link, slot)) {
      return;
    }
    send_next(flight, from, *link);
  }
  if (flight.owed == 0 && flight.again.empty() && flight.waiting.empty()) {
    flights_.erase(found);
  }
}

// Where the first of them goes. Null: nobody serves it, which has been seen to.
NodeLink* RoutedTransport::target_of(Flight& flight, Parts& from) {
  RoutedPart& part = from.front();
  const config::Address* const node = part.to ? &*part.to : worker_.routes.owner_of(part.slot);
  if (node != nullptr) {
    return link_to(*node);
  }
  worker_.routes.doubt();
  if (retry(flight, part)) {
    if (&from != &flight.again) {
      flight.again.splice(flight.again.end(), from, from.begin());
    }
  } else {
    refuse(from, from.begin(), kNotServed);
  }
  return nullptr;
}

bool RoutedTransport::may_send(const Flight& flight,
                               const NodeLink& link,
                               std::uint16_t slot) const {
  if (link.is_streaming) {
    return false;
  }
  return flight.owed == 0 || (flight.link == &link && flight.again.empty() &&
                              !worker_.routes.is_unsettled(slot, worker_.loop.now()));
}

void RoutedTransport::send_next(Flight& flight, Parts& from, NodeLink& link) {
  RoutedPart& part = from.front();
  link.send(part.command,
            {.lane = part.lane,
             .is_prompt = part.is_prompt(),
             .asks = part.asks,
             .replies = part.asks ? 2U : 1U});
  if (part.asks) {
    link.owed.push_back({.reply = RoutedPart::Reply::unread});
  }
  link.owed.splice(link.owed.end(), from, from.begin());
  flight.link = &link;
  ++flight.owed;
}

}  // namespace cuckooguard::routing
