// Of a RoutedTransport: what is asked of all masters, at once or one after the other.
#include <algorithm>
#include <string>
#include <utility>

#include "resp/reply_writer.h"
#include "routing/routed_texts.h"
#include "routing/routed_transport.h"
#include "text/number.h"

namespace cuckooguard::routing {

std::uint64_t RoutedTransport::add_merged(Merge merge, std::size_t parts) {
  const std::uint64_t number = add_entry();
  Entry& made = entry(number);
  made.merge = merge;
  made.awaited = static_cast<std::uint32_t>(parts);
  made.replies.resize(merge == Merge::none ? 0 : parts);
  return number;
}

// Behind what each has been sent, and before what it will be.
void RoutedTransport::take_for_all(const Routing& routing, std::string_view raw) {
  if (routing.needs_whole && worker_.routes.lacks_a_master()) {
    answer(kNotServed);
    return;
  }
  std::vector<config::Address> masters = worker_.routes.masters();
  if (masters.empty()) {  // the map says so, but there is one
    masters.push_back(any_master()->address);
  } else if (routing.merge == Merge::present) {  // each is the first of them by turns
    const config::Address first = worker_.routes.next_master();
    std::ranges::rotate(masters, std::ranges::find(masters, first));
  }
  const std::uint64_t number = add_merged(routing.merge, masters.size());
  if (!routing.may_last) {
    entry(number).until = worker_.loop.now() + kAskedFor;
    look_at_clock(kAskedFor);
  }
  for (std::uint32_t i = 0; i < masters.size(); ++i) {
    RoutedPart part{.entry = number, .index = i, .lane = lane_};
    NodeLink& link = *link_to(masters[i]);
    link.send(raw,
              {.lane = lane_,
               .is_prompt = part.is_prompt(),
               .waits_for_writes = redis::waits_for_writes(worker_.arguments.views())});
    link.owed.push_back(std::move(part));
  }
}

void RoutedTransport::take_scan() {
  const Words words = worker_.arguments.views();
  const std::vector<config::Address>& masters = worker_.routes.masters();
  if (worker_.routes.lacks_a_master() || masters.empty()) {
    answer(kNotServed);
    return;
  }
  const auto number =
      words.size() > 1 ? text::number_of<std::uint64_t>(words[1]) : std::optional<std::uint64_t>(0);
  if (!number) {
    answer("-ERR invalid cursor\r\n");
    return;
  }
  ScanCursor at = ScanCursor::of(*number);
  if (*number == 0) {
    at.tag = worker_.routes.tag();
  } else if (at.place >= masters.size()) {
    at = {.has_moved = true};
  }
  const std::string cursor = std::to_string(at.node);
  std::vector<std::string_view> of_node(words.begin(), words.end());
  if (of_node.size() > 1) {
    of_node[1] = cursor;
  }
  std::string command;
  resp::append_command(command, of_node);
  const std::uint64_t made = add_merged(Merge::scan, 1);
  entry(made).scan = at;
  send_part(*link_to(masters[at.place]), command, {.entry = made, .lane = lane_});
}

// The node's reply is there, and gets the cursor with which the client goes on. False: whether it
// is the end is not known yet.
bool RoutedTransport::settle_scan(Entry& head) {
  std::string& reply = head.replies.front();
  const auto said = scan_reply(reply);
  if (!said) {
    return true;  // an error
  }
  const SlotRoutes& routes = worker_.routes;
  const io::TimePoint now = worker_.loop.now();
  const bool is_first_look = head.scanned_at == io::TimePoint{};
  head.scanned_at = is_first_look ? now : head.scanned_at;
  ScanCursor next = head.scan.value_or(ScanCursor());
  next.has_moved = next.has_moved || next.tag != routes.tag();
  next.tag = routes.tag();
  next.node = said->cursor;
  std::uint64_t number = 0;
  if (next.node > ScanCursor::kNodeMax) {
    head.refusal = kCursorTooLarge;
    return true;
  }
  if (next.node == 0) {
    ++next.place;
  }
  if (next.place < routes.masters().size()) {
    number = next.number();
  } else if (next.has_moved || now - head.scanned_at > kMapWithin) {
    number = ScanCursor{.tag = next.tag}.number();  // another pass
  } else if (routes.has_moving_slots() && !next.is_second) {
    number = ScanCursor{.tag = next.tag, .is_second = true}.number();
  } else if (routes.asked_at() <= head.scanned_at && !routes.has_one_master()) {
    if (is_first_look) {
      worker_.routes.doubt();
    }
    clock_.reset();
    look_at_clock(kRetryEvery);
    return false;
  }
  std::string told = scan_reply_with(number, said->keys);
  release(reply.size());
  hold(told.size());
  reply = std::move(told);
  return true;
}

// What is kept of a part's reply until those of the others are there.
void RoutedTransport::keep_part(Entry& of, const RoutedPart& part, std::string_view bytes) {
  if (!of.refusal.empty()) {
    return;
  }
  of.replies[part.index].append(bytes);
  hold(bytes.size());
  if (of.merge != Merge::joined && of.merge != Merge::scan) {
    return;
  }
  std::size_t kept = 0;
  for (const std::string& each : of.replies) {
    kept += each.size();
  }
  if (kept > kJoinedMax) {
    of.refusal = kJoinedTooLarge;
    for (std::string& each : of.replies) {
      each = {};
    }
    release(kept);
  }
}

// One timer for all: after it the next deadline is looked for.
void RoutedTransport::look_at_clock(std::chrono::milliseconds pause) {
  if (clock_) {
    return;
  }
  clock_ = worker_.loop.after(pause, [this] {
    const auto fired = std::move(clock_);
    const io::TimePoint now = worker_.loop.now();
    std::optional<io::TimePoint> next;
    for (std::uint64_t number = first_entry_; number < first_entry_ + entries_.size(); ++number) {
      const Entry& each = entry(number);
      if (each.awaited == 0 || each.until == io::TimePoint{}) {
        continue;
      }
      if (now >= each.until) {
        give_up(number);
      } else if (!next) {  // all are awaited for as long: the first is the first to end
        next = each.until;
      }
    }
    if (next) {
      look_at_clock(std::chrono::ceil<std::chrono::milliseconds>(*next - now));
    }
    proceed();
  });
}

// What is still to come of it is nobody's. It may be run yet, and before what comes to that node
// later: so the link stays.
void RoutedTransport::give_up(std::uint64_t number) {
  for (const auto& link : links_) {
    for (RoutedPart& part : link->owed) {
      if (part.reply == RoutedPart::Reply::of_client && part.entry == number) {
        part.reply = RoutedPart::Reply::unread;
      }
    }
  }
  entry(number).awaited = 0;
  entry(number).refusal = kSilentNode;
}

}  // namespace cuckooguard::routing
