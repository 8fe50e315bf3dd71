#include "served/replies.h"

#include <algorithm>
#include <span>

#include "resp/reply_writer.h"

namespace cuckooguard::guard::filled_reply {
namespace {

using filled::Change;
using filled::ItemOutcome;
using filled::Outcome;
using resp::Version;

constexpr std::string_view kBloomIsFull = "ERR non scaling filter is full";
constexpr std::string_view kCuckooIsFull = "Filter is full";
constexpr std::string_view kNoRoom =
    "ERR no room for it: filters.max_filters, or filters.max_memory";

std::string error_of(const Outcome& outcome, std::string_view missing) {
  switch (outcome.status) {
    case Outcome::Status::no_filter:
      return std::string(missing);
    case Outcome::Status::exists:
      return "ERR item exists";
    case Outcome::Status::no_room:
      return std::string(kNoRoom);
    case Outcome::Status::wrong_kind:
      return std::string(kWrongKind);
    case Outcome::Status::bad_dump:
      return "ERR received bad data: " + outcome.why;
    case Outcome::Status::done:
    case Outcome::Status::not_in_log:
    case Outcome::Status::unknown:
      break;
  }
  return "ERR " + outcome.why;
}

// Whether it was done; if not, its error.
bool is_done(std::string& out, const Change& change, std::string_view missing = "ERR not found") {
  const Outcome& outcome = change.outcome();
  if (outcome.status != Outcome::Status::done) {
    resp::append_error(out, error_of(outcome, missing));
  }
  return outcome.status == Outcome::Status::done;
}

bool has_no_place(ItemOutcome item) {
  return item == ItemOutcome::full || item == ItemOutcome::no_room;
}

bool is_of_cuckoo(const Change& change) {
  return change.operation().shape.kind == filled::Kind::cuckoo;
}

void append_item(std::string& out, ItemOutcome item, const Change& change, Version version) {
  if (item == ItemOutcome::full) {
    resp::append_error(out, is_of_cuckoo(change) ? kCuckooIsFull : kBloomIsFull);
  } else if (item == ItemOutcome::no_room) {
    resp::append_error(out, kNoRoom);
  } else {
    resp::append_boolean(out, version, item == ItemOutcome::done);
  }
}

// -1 is a full one's; RESP3 has no third boolean. CF.INSERTNX has integers there, too.
void append_cuckoo_items(std::string& out, const Change& change, Version version) {
  const bool has_integers =
      version == Version::resp2 || change.operation().kind == filled::Operation::Kind::add_if_new;
  resp::append_array_header(out, change.outcome().items.size());
  for (const ItemOutcome item : change.outcome().items) {
    if (has_integers) {
      resp::append_integer(out, has_no_place(item) ? -1 : item == ItemOutcome::done ? 1 : 0);
    } else {
      resp::append_boolean(out, version, item == ItemOutcome::done);
    }
  }
}

// RedisBloom stops at the first that has no place.
void append_bloom_items(std::string& out, const Change& change, Version version) {
  const auto& items = change.outcome().items;
  const auto first = std::ranges::find_if(items, has_no_place);
  const auto told =
      static_cast<std::size_t>(first - items.begin()) + (first == items.end() ? 0 : 1);
  resp::append_array_header(out, told);
  for (const ItemOutcome item : std::span(items).first(told)) {
    append_item(out, item, change, version);
  }
}

}  // namespace

void of_add(std::string& out, const Change& change, Version version) {
  if (is_done(out, change)) {
    append_item(out, change.outcome().items.front(), change, version);
  }
}

void of_add_each(std::string& out, const Change& change, Version version) {
  if (is_done(out, change)) {
    (is_of_cuckoo(change) ? append_cuckoo_items : append_bloom_items)(out, change, version);
  }
}

// What is not known to be there is new.
void of_set_add(std::string& out, const Change& change, Version /*version*/) {
  const Outcome& outcome = change.outcome();
  const bool is_known = outcome.status == Outcome::Status::done;
  if (outcome.status == Outcome::Status::wrong_kind || outcome.status == Outcome::Status::no_room) {
    is_done(out, change);  // its error
    return;
  }
  resp::append_integer(out,
                       is_known ? static_cast<std::int64_t>(outcome.items.size()) -
                                      std::ranges::count(outcome.items, ItemOutcome::not_done)
                                : static_cast<std::int64_t>(change.operation().hashes.size()));
}

void of_erase(std::string& out, const Change& change, Version version) {
  if (is_done(out, change, "Not found")) {
    resp::append_boolean(out, version, change.outcome().items.front() == ItemOutcome::done);
  }
}

void of_count(std::string& out, const Change& change, Version /*version*/) {
  const bool has_filter = change.outcome().status != Outcome::Status::no_filter;
  if (!has_filter) {
    resp::append_integer(out, 0);
  } else if (is_done(out, change)) {
    resp::append_integer(out, static_cast<std::int64_t>(change.outcome().counts.front()));
  }
}

void of_create(std::string& out, const Change& change, Version /*version*/) {
  if (is_done(out, change)) {
    resp::append_simple(out, "OK");
  }
}

void of_key(std::string& out, const Change& change, Version /*version*/) {
  if (change.outcome().status == Outcome::Status::no_filter) {
    resp::append_integer(out, 0);
  } else if (is_done(out, change)) {
    resp::append_integer(out, 1);
  }
}

}  // namespace cuckooguard::guard::filled_reply
