// Of filters as a whole: how they are made, what they tell of themselves, and their dumps.
#include <algorithm>

#include "guard/filled_commands.h"
#include "resp/reply_writer.h"

namespace cuckooguard::guard {
namespace {

using filled::Operation;

constexpr std::size_t kPieceBytes = std::size_t{48} * 1024;
static_assert(kPieceBytes <= filled::kBlobBytesMax);

}  // namespace

OwnDecision FilledCommands::reserve(const Call& call) {
  const bool is_cuckoo = call.family == Family::cuckoo;
  std::size_t next = 2;
  double rate = 0;
  if (!is_cuckoo) {
    const auto read = read_error_rate(call.arguments[next++]);
    if (!read) {
      return error(read.error());
    }
    rate = *read;
  }
  const auto capacity = read_capacity(call.arguments[next++], is_cuckoo);
  if (!capacity) {
    return error(capacity.error());
  }
  auto options = read_filter_options(call.name, call.arguments, next);
  if (!options) {
    return error(options.error());
  }
  const auto made_as = template_of(call);
  if (call.named != nullptr || (made_as && made_as->is_named)) {
    return error("ERR item exists");
  }
  if (!made_as) {
    return error("ERR filters.allow_reserve names no such key");
  }
  options->capacity = *capacity;
  if (!is_cuckoo) {
    options->error = rate;
  }
  return submit(call,
                {.kind = Operation::Kind::create, .shape = options->shape(call.kind())},
                filled_reply::of_create);
}

// There is nothing to do: layers share their rate.
OwnDecision FilledCommands::compact(const Call& call) {
  if (call.named == nullptr) {
    return error("Cuckoo filter was not found");
  }
  reply_ = "+OK\r\n";
  return answer();
}

OwnDecision FilledCommands::card(const Call& call) {
  if (is_of_another_kind(call)) {
    return wrong_kind();
  }
  if (call.named != nullptr && call.named->filter->is_unsure()) {
    return error("ERR " + call.named->filter->why_unsure());
  }
  reply_.clear();
  resp::append_integer(
      reply_,
      call.named == nullptr ? 0 : static_cast<std::int64_t>(call.named->filter->facts().items));
  return answer();
}

OwnDecision FilledCommands::info(const Call& call) {
  if (call.named == nullptr) {
    return error("ERR not found");
  }
  const filled::FilledFilter& filter = *call.named->filter;
  if (filter.shape().kind != call.kind()) {
    return wrong_kind();
  }
  if (filter.is_unsure()) {
    return error("ERR " + filter.why_unsure());
  }
  const filled::FilledFilter::Facts facts = filter.facts();
  const FilterInfo info{.capacity = facts.capacity,
                        .bytes = facts.bytes,
                        .filters = facts.layers,
                        .items = facts.items,
                        .expansion = filter.shape().scales
                                         ? std::optional<std::uint64_t>(filter.shape().expansion)
                                         : std::nullopt,
                        .deleted = facts.erased,
                        .buckets = facts.buckets,
                        .bucket_size = filter.shape().bucket_size,
                        .iterations = filter.shape().iterations_max};
  reply_.clear();
  if (call.family == Family::cuckoo) {
    append_cuckoo_info(reply_, call.version(), info);
    return answer();
  }
  const auto asked = call.arguments.size() == 2 ? std::nullopt : std::optional(call.arguments[2]);
  return append_bloom_info(reply_, call.version(), info, asked)
             ? answer()
             : error("Invalid information value");
}

// It is held until it is there: what was promised would be in memory for each who asks.
OwnDecision FilledCommands::scan_dump(const Call& call) {
  const auto piece = number_of<std::uint64_t>(call.arguments[2]);
  if (!piece) {
    return error("Second argument must be numeric");
  }
  if (call.attempt.has_promises) {
    return hold(call.arguments);
  }
  Filled& filled = *guard_.parts().filled;
  if (*piece == 0) {
    const auto dump = filled.dump_for(call.key(), call.kind(), call.attempt);
    if (!dump) {
      return hold(call.arguments);
    }
    if (dump->outcome().status != filled::Outcome::Status::done) {
      reply_.clear();
      filled_reply::of_create(reply_, *dump, call.version());
      return answer();
    }
  }
  const auto bytes = filled.piece_of_dump(
      call.key(), std::min(*piece, filled::kItemsMax) * kPieceBytes, kPieceBytes, call.attempt.now);
  if (!bytes) {
    return error("ERR the dump is not there any more: begin again at 0");
  }
  reply_.clear();
  resp::append_array_header(reply_, 2);
  resp::append_integer(reply_, static_cast<std::int64_t>(bytes->empty() ? 0 : *piece + 1));
  resp::append_bulk(reply_, *bytes);
  return answer();
}

OwnDecision FilledCommands::load_chunk(const Call& call) {
  const auto piece = number_of<std::uint64_t>(call.arguments[2]);
  if (!piece) {
    return error("Second argument must be numeric");
  }
  if (!template_of(call)) {
    return error("ERR filters.allow_reserve names no such key");
  }
  const std::string_view bytes = call.arguments[3];
  if (bytes.size() > filled::kBlobBytesMax) {
    return error("ERR received bad data: a piece of a dump of this guard has 48 KiB at most");
  }
  return submit(call,
                {.kind = Operation::Kind::load,
                 .shape = {.kind = call.kind()},
                 .piece = *piece,
                 .blob = std::string(bytes),
                 .must_be_tagged = true},
                filled_reply::of_create);
}

}  // namespace cuckooguard::guard
