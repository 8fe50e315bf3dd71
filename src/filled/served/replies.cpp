#include "served/replies.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <span>
#include <utility>

#include "guard/redisbloom.h"
#include "resp/reply_writer.h"

namespace cuckooguard::guard {
namespace {

using filled::Change;
using filled::ItemOutcome;
using filled::Outcome;
using resp::Version;

constexpr std::string_view kBloomIsFull = "ERR non scaling filter is full";
constexpr std::string_view kCuckooIsFull = "Filter is full";
constexpr std::string_view kNoRoom =
    "ERR no room for the filter: filters.max_filters or filters.max_memory is reached";

std::string error_of(const Outcome& outcome, std::string_view missing) {
  switch (outcome.status) {
    case Outcome::Status::no_filter:
      return std::string(missing);
    case Outcome::Status::exists:
      return std::string(filled_reply::kExists);
    case Outcome::Status::no_room:
      return std::string(kNoRoom);
    case Outcome::Status::wrong_kind:
      return std::string(filled_reply::kWrongKind);
    case Outcome::Status::bad_dump:
      return std::string(filled_reply::kBadData) + ": " + outcome.why;
    case Outcome::Status::done:
    case Outcome::Status::not_in_log:
    case Outcome::Status::unknown:
      break;
  }
  return "ERR " + outcome.why;
}

// Whether it was done; if not, its error.
bool is_done(std::string& out,
             const Change& change,
             std::string_view missing = filled_reply::kNotFound) {
  const Outcome& outcome = change.outcome();
  if (outcome.status != Outcome::Status::done) {
    resp::append_error(out, error_of(outcome, missing));
  }
  return outcome.status == Outcome::Status::done;
}

// Of this kind.
bool has_none(const Change& change) {
  const Outcome::Status status = change.outcome().status;
  return status == Outcome::Status::no_filter || status == Outcome::Status::wrong_kind;
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

// "name:number", several of them.
std::string told(std::initializer_list<std::pair<std::string_view, std::uint64_t>> facts) {
  std::string out;
  for (const auto& [name, number] : facts) {
    out.append(out.empty() ? "" : " ").append(name).append(":").append(std::to_string(number));
  }
  return out;
}

}  // namespace

namespace filled_reply {

void append_debug(std::string& out, const filled::FilledFilter& filter) {
  const filled::FilledFilter::Facts facts = filter.facts();
  const filled::Shape& shape = filter.shape();
  if (shape.kind == filled::Kind::cuckoo) {
    resp::append_bulk(out,
                      told({{"bktsize", shape.bucket_size},
                            {"buckets", facts.buckets},
                            {"items", facts.items},
                            {"deletes", facts.erased},
                            {"filters", facts.layers},
                            {"max_iterations", shape.iterations_max},
                            {"expansion", shape.scales ? shape.expansion : 0}}));
    return;
  }
  const auto layers = filter.layer_facts();
  resp::append_array_header(out, layers.size() + 1);
  resp::append_bulk(out, told({{"size", facts.items}}));
  for (const auto& layer : layers) {
    std::array<char, 32> rate{};
    std::snprintf(rate.data(), rate.size(), " ratio:%g", layer.false_positive_rate);
    resp::append_bulk(out,
                      told({{"bytes", layer.bytes},
                            {"bits", layer.bytes * 8},
                            {"hashes", 2},
                            {"hashwidth", 64},
                            {"capacity", layer.capacity},
                            {"size", layer.items}}) +
                          rate.data());
  }
}

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

// One of the other kind is none.
void of_erase(std::string& out, const Change& change, Version version) {
  if (has_none(change)) {
    resp::append_error(out, "Not found");
  } else if (is_done(out, change)) {
    resp::append_boolean(out, version, change.outcome().items.front() == ItemOutcome::done);
  }
}

void of_count(std::string& out, const Change& change, Version /*version*/) {
  if (has_none(change)) {
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

std::string_view refusal_of_piece(filled::Kind kind, std::int64_t piece, std::size_t bytes) {
  if (kind == filled::Kind::cuckoo) {
    return piece == 1 ? kExists : "Couldn't load chunk!";
  }
  const bool is_before = piece <= 0 || static_cast<std::uint64_t>(piece) < bytes;
  return is_before ? kBadData : "ERR invalid offset - no link found";
}

// RedisBloom's header of a cuckoo filter has 38 bytes: it says which of two things is wrong.
void of_load(std::string& out, const Change& change, Version version) {
  constexpr std::size_t kHeaderBytes = 38;
  const Outcome& outcome = change.outcome();
  const bool is_no_dump = outcome.status == Outcome::Status::bad_dump && outcome.why.empty();
  if (is_no_dump && is_of_cuckoo(change)) {
    const bool has_header = change.operation().blob.size() == kHeaderBytes;
    resp::append_error(out, has_header ? "Couldn't create filter!" : "Invalid header");
  } else if (is_no_dump) {
    resp::append_error(out, kBadData);
  } else if (outcome.status == Outcome::Status::exists) {
    const filled::Operation& of = change.operation();
    const auto piece = static_cast<std::int64_t>(of.piece);
    resp::append_error(out, refusal_of_piece(of.shape.kind, piece, of.blob.size()));
  } else {
    of_create(out, change, version);
  }
}

void of_key(std::string& out, const Change& change, Version /*version*/) {
  if (change.outcome().status == Outcome::Status::no_filter) {
    resp::append_integer(out, 0);
  } else if (is_done(out, change)) {
    resp::append_integer(out, 1);
  }
}

}  // namespace filled_reply

std::size_t SeveralReply::bytes() const {
  std::size_t bytes = 0;
  for (const auto& change : changes_) {
    bytes += sizeof(filled::Change) + change->operation().bytes();
  }
  return bytes;
}

// Told of each, whichever is the last.
void SeveralReply::await(std::shared_ptr<KnownReplies> known, void* waiter) {
  for (const auto& change : changes_) {
    change->await([known](auto& done) { known->add(done); }, waiter);
  }
}

bool SeveralReply::is_known() const noexcept {
  return std::ranges::all_of(changes_, [](const auto& change) { return change->is_done(); });
}

void SeveralReply::append_to(std::string& out) const {
  std::int64_t done = 0;
  for (const auto& change : changes_) {
    counts_.add(*change);
    const Outcome::Status status = change->outcome().status;
    done += status == Outcome::Status::done ? 1 : 0;
    if (status == Outcome::Status::not_in_log || status == Outcome::Status::unknown) {
      resp::append_error(out, error_of(change->outcome(), filled_reply::kNotFound));
      return;
    }
  }
  if (count_) {
    resp::append_integer(out, *count_ + done);
  } else {
    resp::append_simple(out, "OK");
  }
}

}  // namespace cuckooguard::guard
