// Commands on filters that applications fill (filters in the configuration), with the replies and
// errors of RedisBloom, or of Redis's sets.
//
//   BF.*, CF.*            of a key that filters.named or allow_reserve names, or that is a filter
//   SADD, SISMEMBER,      of a key of filters.dedupe: SADD replies how many members were not there
//   SMISMEMBER, SCARD     before; their names are not kept, so all other set commands are refused
//   DEL, UNLINK, EXISTS,  of filters that are there, and keys of Redis's, which is sent the rest
//   TOUCH
//   TYPE, EXPIRE, TTL ... of a filter that is there, alone. What cannot be done with a filter is
//                         refused in words
//   FLUSHALL, FLUSHDB     are Redis's; behind its OK filters are gone, too
//
// Where no filter has the key, Redis is asked whether it has it, before one is made or is said not
// to be there: RedisBloom's error is another one then.
//
// What changes a filter, and what must be asked in its turn (CF.COUNT, SCANDUMP), goes to the store
// (filled/store.h), and its reply is promised until that is done; later commands of the client that
// only ask wait for it. EXISTS and its like are answered here, 1 where the store is not current.
//   not_in_log     the error says why; but SADD replies that all members are new: a page that is
//                  fetched twice is better than one that is lost
//   unknown        the same: it may have been done
//
// While the store is not current (the log is being read) what is asked of keys that may be filters
// waits, kKnowPatience at most, and is then refused.
//
// In a db other than 0 the keys are Redis's, and so are those longer than kKeyBytesMax. Who may:
// users who may do everything, and filters.users. What a script or a transaction does is not seen.
//
// A client may send thousands of commands at once that make, drop or load a filter, each of which
// takes some 40 us: a worker does Filled::kWholePerTurn of them, and the rest wait for its next
// turn.
//
// A filter that was dropped stays in memory until each worker has had another of these commands.
// Limits: filters.max_filters and max_memory go with each operation (filled/operation.h); a command
// drops kFiltersAtOnce.
// Source: https://redis.io/docs/latest/commands (bf.*, cf.*, sadd ...); RedisBloom 2.8.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "guard/redisbloom.h"
#include "resp/reply_writer.h"
#include "resp/version.h"
#include "served/call.h"

namespace cuckooguard::guard {
namespace {

using filled::Operation;

// No dump has twice a filter's bytes, and these.
constexpr std::uint64_t kDumpBytesMore = std::uint64_t{1} << 20U;
constexpr std::string_view kTooLarge = "ERR Insufficient memory to create filter";
constexpr std::size_t kFrontBytes = 64;  // of a dump's first piece, as with RedisBloom's header
constexpr std::size_t kPieceBytes = std::size_t{48} * 1024;
static_assert(kPieceBytes <= filled::kBlobBytesMax);

struct ItemCall : FilledCall {
  using FilledCall::FilledCall;

  // Where something may be missing, each may be there; but a set's member is then taken for a new
  // one.
  OwnDecision exists() const {
    const bool is_set = family() == Family::set;
    if (is_set && is_of_another_kind()) {
      return wrong_kind();
    }
    const filled::FilledFilter* const filter = is_of_another_kind() ? nullptr : filter_here();
    const auto write = [&](const auto& is_found) {
      return booleans(items(), is_set ? resp::Version::resp2 : version(), is_found);
    };
    OwnDecision found = write([&](std::string_view item) {
      return filter != nullptr && filter->may_contain(hash(item));
    });
    const bool is_unsure = filter != nullptr && filter->is_unsure();
    if (is_unsure || !worker.is_current(attempt.now)) {
      found = write([&](std::string_view /*item*/) { return !is_set; });
    }
    return found;
  }

  OwnDecision add() const {
    const auto made_as = template_of();
    return add_items(
        items(), made_as ? made_as->shape : filled::Shape{.kind = kind()}, made_as.has_value());
  }

  OwnDecision insert() const {
    const auto options = read_insert(name, arguments);
    if (!options) {
      return refused(options.error());
    }
    const auto made_as = template_of();
    const bool is_named = made_as && made_as->is_named;
    if (!is_named && options->creates && is_too_large(*options)) {
      return error(kTooLarge);
    }
    return add_items(arguments.subspan(options->items),
                     is_named ? made_as->shape : shape_of(*options, kind()),
                     made_as && options->creates);
  }

  OwnDecision erase() const { return submit_item(Operation::Kind::erase, filled_reply::of_erase); }

  OwnDecision count() const { return submit_item(Operation::Kind::count, filled_reply::of_count); }

  OwnDecision reserve() const {
    const auto options = read_reserve(name, arguments);
    if (!options) {
      return refused(options.error());
    }
    if (is_of_another_kind()) {
      return wrong_kind();
    }
    const auto made_as = template_of();
    if (named != nullptr || (made_as && made_as->is_named)) {
      return error(filled_reply::kExists);
    }
    if (!made_as) {
      return error("ERR filters.allow_reserve does not allow this key");
    }
    return is_too_large(*options)
               ? error(kTooLarge)
               : submit({.kind = Operation::Kind::create, .shape = shape_of(*options, kind())},
                        filled_reply::of_create);
  }

  // There is nothing to do: layers share their rate.
  OwnDecision compact() const {
    return named == nullptr || is_of_another_kind() ? error("Cuckoo filter was not found")
                                                    : simple("OK");
  }

  OwnDecision card() const {
    if (named == nullptr && family() == Family::filter) {
      return unless_redis_has_key([](std::string& out) {
        resp::append_integer(out, 0);
        return nullptr;
      });
    }
    if (auto refused = refusal_of_filter()) {
      return *std::move(refused);
    }
    return integer(named == nullptr ? 0 : static_cast<std::int64_t>(named->filter->facts().items));
  }

  OwnDecision info() const {
    if (auto refused = refusal_of_filter()) {
      return *std::move(refused);
    }
    const filled::FilledFilter& filter = *named->filter;
    const filled::FilledFilter::Facts facts = filter.facts();
    const filled::Shape& shape = filter.shape();
    std::uint64_t capacity = 0;
    for (const auto& layer : filter.layer_facts()) {
      capacity += layer.capacity;
    }
    return answer_info(
        *this,
        {.capacity = shape.scales ? std::max(capacity, facts.items) : capacity,
         .bytes = facts.bytes,
         .filters = facts.layers,
         .items = facts.items,
         .expansion = shape.scales ? std::optional<std::uint64_t>(shape.expansion) : std::nullopt,
         .deleted = facts.erased,
         .buckets = facts.buckets,
         .bucket_size = shape.bucket_size,
         .iterations = shape.iterations_max});
  }

  OwnDecision debug() const {
    if (auto refused = refusal_of_filter()) {
      return *std::move(refused);
    }
    reply.clear();
    filled_reply::append_debug(reply, *named->filter);
    return answer();
  }

  // It is held until it is there: what was promised would be in memory for each who asks. Of an
  // empty cuckoo filter there is none.
  OwnDecision scan_dump() const {
    const bool is_cuckoo = kind() == filled::Kind::cuckoo;
    const auto piece = read_integer(arguments[2]);
    if (is_cuckoo && (!piece || *piece < 0)) {
      return error("Invalid position");
    }
    if (attempt.has_promises) {
      return hold();
    }
    if (auto refused = refusal_of_filter()) {
      return *std::move(refused);
    }
    if (!piece) {
      return error("Second argument must be numeric");
    }
    const filled::FilledFilter& filter = *named->filter;
    const auto bytes_max = static_cast<std::int64_t>(2 * filter.bytes() + kDumpBytesMore);
    if ((is_cuckoo && filter.items() == 0) || *piece < 0 ||
        *piece > bytes_max / static_cast<std::int64_t>(kPieceBytes)) {
      return piece_of_dump(0, {});
    }
    if (*piece == 0) {
      const auto dump = filled.dump_for(key(), kind(), attempt);
      if (!dump) {
        return hold();
      }
      if (dump->outcome().status != filled::Outcome::Status::done) {
        reply.clear();
        filled_reply::of_create(reply, *dump, version());
        return answer();
      }
    }
    const auto number = static_cast<std::uint64_t>(*piece);
    const auto bytes =
        number == 0
            ? filled.piece_of_dump(key(), 0, kFrontBytes, attempt.now)
            : filled.piece_of_dump(
                  key(), kFrontBytes + (number - 1) * kPieceBytes, kPieceBytes, attempt.now);
    return bytes ? piece_of_dump(bytes->empty() ? 0 : *piece + 1, *bytes)
                 : error("ERR the dump does not exist any more: start again at 0");
  }

  OwnDecision load_chunk() const {
    const bool is_cuckoo = kind() == filled::Kind::cuckoo;
    const auto piece = read_integer(arguments[2]);
    if (!piece || (is_cuckoo && *piece == 0)) {
      return error(is_cuckoo ? "Invalid position" : "ERR Second argument must be numeric");
    }
    if (!template_of()) {
      return error("ERR filters.allow_reserve does not allow this key");
    }
    const std::string_view bytes = arguments[3];
    if (named != nullptr) {
      return is_of_another_kind()
                 ? wrong_kind()
                 : error(filled_reply::refusal_of_piece(kind(), *piece, bytes.size()));
    }
    if (*piece < 1) {
      return no_filter();
    }
    if (bytes.size() > filled::kBlobBytesMax) {
      return error(std::string(filled_reply::kBadData) + ": a piece of a dump has at most 48 KiB");
    }
    return submit({.kind = Operation::Kind::load,
                   .shape = {.kind = kind()},
                   .piece = static_cast<std::uint64_t>(*piece),
                   .blob = std::string(bytes),
                   .must_be_tagged = true},
                  filled_reply::of_load);
  }

 private:
  std::uint64_t hash(std::string_view item) const { return parts.filters.hash(item); }
  const filled::FilledFilter* filter_here() const {
    return named == nullptr ? nullptr : named->filter.get();
  }
  bool is_too_large(const FilterOptions& options) const {
    return named == nullptr && options.capacity.value_or(0) > kCapacityMax;
  }
  // That it is none of this kind, or that nothing is known of it.
  std::optional<OwnDecision> refusal_of_filter() const {
    if (is_of_another_kind()) {
      return wrong_kind();
    }
    if (named == nullptr) {
      return family() == Family::filter ? std::optional(no_filter()) : std::nullopt;
    }
    const filled::FilledFilter& filter = *named->filter;
    return filter.is_unsure() ? std::optional(error("ERR " + filter.why_unsure())) : std::nullopt;
  }
  OwnDecision no_filter() const {
    return unless_redis_has_key([](std::string& out) {
      resp::append_error(out, filled_reply::kNotFound);
      return nullptr;
    });
  }

  OwnDecision piece_of_dump(std::int64_t next, std::string_view bytes) const {
    reply.clear();
    resp::append_array_header(reply, 2);
    resp::append_integer(reply, next);
    if (next == 0 && kind() == filled::Kind::cuckoo) {
      resp::append_nil(reply, version());
    } else {
      resp::append_bulk(reply, bytes);
    }
    return answer();
  }

  // What may be made under the key; nothing: no filter of these commands.
  std::optional<Filled::Template> template_of() const {
    if (family() == Family::set) {
      return filled.set_of(key());
    }
    auto made = filled.filter_of(key(), kind());
    return made && made->shape.kind == kind() ? made : std::nullopt;
  }

  OwnDecision add_items(Arguments items, const filled::Shape& shape, bool creates) const {
    Operation operation{
        .kind = is_cuckoo(name) && !is_if_new(name) ? Operation::Kind::add
                                                    : Operation::Kind::add_if_new,
        .missing = creates ? Operation::Missing::is_made : Operation::Missing::is_an_error,
        .shape = shape};
    operation.hashes.reserve(items.size());
    for (const std::string_view item : items) {
      operation.hashes.push_back(hash(item));
    }
    return submit(std::move(operation),
                  family() == Family::set ? filled_reply::of_set_add
                  : takes_any_number()    ? filled_reply::of_add_each
                                          : filled_reply::of_add);
  }

  OwnDecision submit_item(Operation::Kind does, FilledReply::Write write) const {
    return submit({.kind = does, .shape = {.kind = kind()}, .hashes = {hash(items().front())}},
                  write);
  }
};

using Function = OwnDecision (ItemCall::*)() const;

template <Function kFunction>
OwnDecision run(const Call& call) {
  return (ItemCall(call).*kFunction)();
}

// It replies with what is known here: that must be current. The others wait in the store, or allow
// for what may be missing.
template <Function kFunction>
OwnDecision run_if_current(const Call& of) {
  const ItemCall call(of);
  auto refused = call.refusal_if_stale();
  return refused ? *std::move(refused) : (call.*kFunction)();
}

OwnDecision refuse_set(const Call& of) {
  return ItemCall(of).refuse();
}

struct Arity {
  std::size_t least;
  std::size_t most;
};
struct Also {
  bool waits = false;  // for promises
  std::size_t keys = 1;
};
constexpr Also kWaits{.waits = true};

constexpr CommandRow row(Family family,
                         std::string_view names,
                         Arity arity,
                         OwnDecision (*function)(const Call& call),
                         Also also = {}) {
  return {.names = names,
          .least = arity.least,
          .most = arity.most,
          .needs = Needs::everything,
          .run = function,
          .keys = also.keys,
          .waits_for_promises = also.waits,
          .kind = static_cast<std::uint8_t>(family)};
}

// clang-format off
constexpr auto kRows = std::to_array<CommandRow>({
    row(Family::filter, "BF.EXISTS CF.EXISTS", {3, 3}, run<&ItemCall::exists>, kWaits),
    row(Family::filter, "BF.MEXISTS CF.MEXISTS", {3, kAny}, run<&ItemCall::exists>, kWaits),
    row(Family::filter, "BF.ADD CF.ADD CF.ADDNX", {3, 3}, run<&ItemCall::add>),
    row(Family::filter, "BF.MADD", {3, kAny}, run<&ItemCall::add>),
    row(Family::filter, "BF.INSERT CF.INSERT CF.INSERTNX", {4, kAny}, run<&ItemCall::insert>),
    row(Family::filter, "CF.DEL", {3, 3}, run<&ItemCall::erase>),
    row(Family::filter, "CF.COUNT", {3, 3}, run<&ItemCall::count>),
    row(Family::filter, "BF.RESERVE", {4, 7}, run<&ItemCall::reserve>),
    row(Family::filter, "CF.RESERVE", {3, kAny}, run<&ItemCall::reserve>),
    row(Family::filter, "BF.CARD", {2, 2}, run_if_current<&ItemCall::card>, kWaits),
    row(Family::filter, "BF.INFO", {2, 3}, run_if_current<&ItemCall::info>, kWaits),
    row(Family::filter, "CF.INFO", {2, 2}, run_if_current<&ItemCall::info>, kWaits),
    row(Family::filter, "CF.COMPACT", {2, 2}, run_if_current<&ItemCall::compact>, kWaits),
    row(Family::filter, "BF.DEBUG CF.DEBUG", {2, 2}, run_if_current<&ItemCall::debug>, kWaits),
    row(Family::filter, "BF.SCANDUMP CF.SCANDUMP", {3, 3}, run_if_current<&ItemCall::scan_dump>),
    row(Family::filter, "BF.LOADCHUNK CF.LOADCHUNK", {4, 4}, run<&ItemCall::load_chunk>),
    row(Family::set, "sadd", {3, kAny}, run<&ItemCall::add>),
    row(Family::set, "sismember", {3, 3}, run<&ItemCall::exists>, kWaits),
    row(Family::set, "smismember", {3, kAny}, run<&ItemCall::exists>, kWaits),
    row(Family::set, "scard", {2, 2}, run_if_current<&ItemCall::card>, kWaits),
    row(Family::set, "smembers srem spop srandmember sscan sort",
        {2, kAny}, refuse_set),
    row(Family::set, "smove", {2, kAny}, refuse_set, {.keys = 2}),
    row(Family::set, "sintercard sinter sinterstore sunion sunionstore sdiff sdiffstore",
        {2, kAny}, refuse_set, {.keys = kAny}),
    row(Family::key, "del unlink", {2, kAny}, key_commands::drop, {.keys = kAny}),
    row(Family::key, "exists touch",
        {2, kAny}, key_commands::has_key, {.waits = true, .keys = kAny}),
    row(Family::key, "type", {2, 2}, key_commands::type, kWaits),
    row(Family::key, "expire pexpire expireat pexpireat",
        {3, kAny}, key_commands::expire),
    row(Family::key, "persist", {2, 2}, key_commands::persist),
    row(Family::key, "ttl pttl expiretime pexpiretime",
        {2, 2}, key_commands::time_left, kWaits),
    row(Family::key, "rename renamenx copy",
        {2, kAny}, key_commands::refuse, {.keys = 2}),
    row(Family::key, "move dump restore", {2, kAny}, key_commands::refuse),
    row(Family::key, "object", {3, kAny}, key_commands::refuse, {.keys = 2}),
    {.names = "flushall flushdb",
     .least = 1,
     .most = kAny,
     .needs = Needs::nothing,
     .run = key_commands::flush,
     .waits_for_promises = true,
     .is_of_redis = true,
     .kind = static_cast<std::uint8_t>(Family::flush)},
});
// clang-format on

}  // namespace

std::unique_ptr<CommandServer> filled_commands(Guard& guard, Filled& filled) {
  return std::make_unique<FilledCommands>(guard, kRows, filled);
}

}  // namespace cuckooguard::guard
