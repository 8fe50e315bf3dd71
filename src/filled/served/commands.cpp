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
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "filled/store.h"
#include "resp/reply_writer.h"
#include "resp/version.h"
#include "served/filled.h"
#include "served/replies.h"
#include "text/number.h"

namespace cuckooguard::guard {
namespace {

using filled::Operation;

constexpr std::size_t kKeyBytesMax = 512;
constexpr std::int64_t kSecond = 1000;
constexpr std::size_t kFiltersAtOnce = 100;  // to be dropped by one command
constexpr std::uint64_t kDumpBytesMore = std::uint64_t{1}
                                         << 20U;  // no dump has twice a filter's, and these
constexpr std::string_view kTooLarge = "ERR Insufficient memory to create filter";
constexpr std::size_t kFrontBytes = 64;  // of a dump's first piece, as with RedisBloom's header
constexpr std::size_t kPieceBytes = std::size_t{48} * 1024;
static_assert(kPieceBytes <= filled::kBlobBytesMax);

enum class Family : std::uint8_t { filter, set, key, flush };

Family family_of(const CommandRow& row) {
  return static_cast<Family>(row.kind);
}

class FilledCommands final : public CommandServer {
 public:
  FilledCommands(Guard& guard, std::span<const CommandRow> rows, Filled& all)
      : CommandServer(guard, rows), filled(all) {}

  bool takes(const CommandRow& row, Arguments arguments, TimePoint now) override {
    if (family_of(row) == Family::flush) {
      return true;
    }
    if (arguments.size() < 2) {
      return family_of(row) == Family::filter;  // no filter of Redis's, either
    }
    const auto keys = arguments.subspan(1, std::min(row.keys, arguments.size() - 1));
    const bool may_be = family_of(row) != Family::key || !parts().store.is_current(now);
    return std::ranges::any_of(keys, [&](std::string_view key) {
      return key.size() <= kKeyBytesMax && ((may_be && may_be_filter(row, key)) || is_filter(key));
    });
  }
  bool is_of_another_db(const Call& call) const override {
    return !call.client.has_changes_in_flight() && call.client.db() != 0 && call.name != "flushall";
  }
  bool trusts(std::string_view user) const override {
    const std::vector<std::string>& users = parts().settings.users;
    return std::ranges::find(users, user) != users.end();
  }
  std::string_view trusted() const override { return "filters.users"; }
  bool must_see_key() const override { return true; }
  bool may_take_large(const CommandRow& row,
                      Arguments front,
                      const Client& client,
                      TimePoint now) override {
    return front.size() > 1 && family_of(row) != Family::flush && takes(row, front, now) &&
           (!client.is_settled() || client.db() == 0);
  }

  const Filled::Parts& parts() const { return filled.parts(); }
  const std::shared_ptr<const filled::Directory>& directory() {
    const std::uint64_t version = parts().filters.version();
    if (!directory_ || version != version_) {
      directory_ = parts().filters.directory();
      version_ = version;
    }
    return directory_;
  }
  // All that was acknowledged is in what directory() has returned.
  bool is_current(TimePoint now) const {
    return parts().store.is_current(now) && parts().filters.version() == version_;
  }
  // Counts what is done to a filter as a whole; false: it is for the worker's next turn, which has
  // another time.
  bool has_turn(TimePoint now) {
    if (turn_ != now) {
      turn_ = now;
      whole_in_turn_ = 0;
    }
    return ++whole_in_turn_ <= Filled::kWholePerTurn;
  }

  Filled& filled;

 private:
  bool is_filter(std::string_view key) {
    const filled::Directory& all = *directory();
    const auto* const found = all.find(key);
    return found != nullptr && found->second.is_there(parts().wall_time());
  }
  // Also if there is none.
  bool may_be_filter(const CommandRow& row, std::string_view key) const {
    const Family family = family_of(row);
    const bool is_of_set = family == Family::set || family == Family::key;
    return (is_of_set && filled.set_of(key).has_value()) ||
           (family != Family::set && filled.may_be_filter(key));
  }

  std::shared_ptr<const filled::Directory> directory_;
  std::uint64_t version_ = 0;
  TimePoint turn_{};
  std::size_t whole_in_turn_ = 0;
};

struct FilledCall : Call {
  explicit FilledCall(const Call& call)
      : Call(call),
        worker(static_cast<FilledCommands&>(call.server)),
        filled(worker.filled),
        parts(filled.parts()),
        now(parts.wall_time()),
        directory(worker.directory()) {
    const auto* const found = directory->find(key());
    if (found != nullptr) {
      (found->second.is_there(now) ? named : expired) = &found->second;
    }
  }

  FilledCommands& worker;
  Filled& filled;
  const Filled::Parts& parts;
  std::uint64_t now;  // milliseconds since 1970
  std::shared_ptr<const filled::Directory> directory;
  const filled::Named* named = nullptr;    // in it; null: there is no filter
  const filled::Named* expired = nullptr;  // the same, of one that is past its time

  // What Redis has of it is not known.
  std::optional<OwnDecision> refusal_if_stale() const {
    if (parts.store.is_current(attempt.now)) {
      return std::nullopt;
    }
    return attempt.may_wait() ? hold()
                              : error("ERR filter state is stale: its log in Redis cannot be read");
  }

  OwnDecision refuse() const {
    return error("ERR " + std::string(arguments[0]) +
                 ": one of its keys is a filter of the guard, which supports " +
                 (family() == Family::set
                      ? "only SADD, SISMEMBER, SMISMEMBER and SCARD"
                      : "this command not at all, or only with one key and no option"));
  }

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
      return unless_redis_has_key([](std::string& out) { resp::append_integer(out, 0); });
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

  // Of all its keys; those that are no filters are Redis's.
  OwnDecision drop() const {
    if (arguments.size() == 2 && named != nullptr) {
      return submit({.kind = Operation::Kind::drop}, filled_reply::of_key);
    }
    const Keys keys = keys_here();
    if (keys.filters.size() > kFiltersAtOnce) {
      return refuse();
    }
    if (!worker.has_turn(attempt.now)) {
      return hold();
    }
    SeveralReply::Changes changes;
    for (const std::string_view each : keys.filters) {
      changes.push_back(std::make_shared<filled::Change>(
          Operation{.kind = Operation::Kind::drop, .filter = std::string(each)}));
    }
    return with_redis(keys,
                      [changes, &store = parts.store, &counts = filled.counts()](std::int64_t count,
                                                                                 std::string&) {
                        for (const auto& change : changes) {
                          store.submit(change);
                        }
                        return std::make_unique<SeveralReply>(changes, count, counts);
                      });
  }

  OwnDecision has_key() const {
    const Keys keys = keys_here();
    return with_redis(
        keys, [here = static_cast<std::int64_t>(keys.named)](std::int64_t count, std::string& out) {
          resp::append_integer(out, count + here);
          return std::unique_ptr<PromisedReply>();
        });
  }

  OwnDecision type() const {
    switch (named->filter->shape().kind) {
      case filled::Kind::bloom:
        return simple("MBbloom--");
      case filled::Kind::cuckoo:
        return simple("MBbloomCF");
      case filled::Kind::set:
        break;
    }
    return simple("set");
  }

  // A time that is over deletes it, as in Redis.
  OwnDecision expire() const {
    const auto given = text::number_of<std::int64_t>(arguments[2]);
    if (!given) {
      return error("ERR value is not an integer or out of range");
    }
    const bool is_in_seconds = name.front() == 'e';
    const bool is_absolute = name.ends_with("at");
    const std::int64_t base = is_absolute ? 0 : static_cast<std::int64_t>(now);
    const std::int64_t unit = is_in_seconds ? kSecond : 1;
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    if (*given > (kMost - base) / unit || *given < -(kMost / unit)) {
      return error("ERR invalid expire time in '" + std::string(name) + "' command");
    }
    const std::int64_t until = *given * unit + base;
    if (until <= static_cast<std::int64_t>(now)) {
      return drop();
    }
    return submit({.kind = Operation::Kind::expire, .until = static_cast<std::uint64_t>(until)},
                  filled_reply::of_key);
  }

  OwnDecision persist() const {
    return named->until == 0 ? integer(0)
                             : submit({.kind = Operation::Kind::expire}, filled_reply::of_key);
  }

  OwnDecision time_left() const {
    if (named->until == 0) {
      return integer(-1);
    }
    const bool is_in_seconds = name.front() != 'p';
    const bool is_absolute = name.ends_with("time");
    const auto time = static_cast<std::int64_t>(named->until - (is_absolute ? 0 : now));
    return integer(is_in_seconds ? (time + (is_absolute ? 0 : kSecond / 2)) / kSecond : time);
  }

 private:
  Family family() const { return family_of(row); }
  filled::Kind kind() const {
    return family() == Family::set ? filled::Kind::set
           : is_cuckoo(name)       ? filled::Kind::cuckoo
                                   : filled::Kind::bloom;
  }
  std::uint64_t hash(std::string_view item) const { return parts.filters.hash(item); }
  bool is_of_another_kind() const {
    return named != nullptr && named->filter->shape().kind != kind();
  }
  OwnDecision wrong_kind() const { return error(filled_reply::kWrongKind); }
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
    return unless_redis_has_key(
        [](std::string& out) { resp::append_error(out, filled_reply::kNotFound); });
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

  // No filter has the key. If Redis has it, that is RedisBloom's error; else what `then` does. A
  // Redis that replies with an error is none to say so.
  template <class Then>
  OwnDecision unless_redis_has_key(Then then) const {
    const std::array words{std::string_view("EXISTS"), key()};
    return ask(words,
               {.reply =
                    [then](std::string_view redis, std::string& out) {
                      if (redis == ":1\r\n") {
                        resp::append_error(out, filled_reply::kWrongKind);
                        return std::unique_ptr<PromisedReply>();
                      }
                      if constexpr (std::is_void_v<decltype(then(out))>) {
                        then(out);
                        return std::unique_ptr<PromisedReply>();
                      } else {
                        return then(out);
                      }
                    },
                .takes_errors = true});
  }

  // A command's keys: filters, each once, and Redis's.
  struct Keys {
    std::vector<std::string_view> filters{};
    std::size_t named = 0;  // how often
    std::vector<std::string_view> others{};
  };
  Keys keys_here() const {
    Keys keys;
    for (const std::string_view each : items_from_key()) {
      const auto* const found = directory->find(each);
      if (found == nullptr || !found->second.is_there(now)) {
        keys.others.push_back(each);
        continue;
      }
      ++keys.named;
      if (std::ranges::find(keys.filters, each) == keys.filters.end()) {
        keys.filters.push_back(each);
      }
    }
    return keys;
  }
  Arguments items_from_key() const { return arguments.subspan(1); }

  // `then` gets how many of the others Redis counts.
  template <class Then>
  OwnDecision with_redis(const Keys& keys, Then then) const {
    if (keys.others.empty()) {
      reply.clear();
      return decided(then(0, reply));
    }
    std::vector<std::string_view> words{arguments[0]};
    words.insert(words.end(), keys.others.begin(), keys.others.end());
    return ask(words,
               {.reply = [then](std::string_view redis,
                                std::string& out) -> std::unique_ptr<PromisedReply> {
                 redis.remove_prefix(redis.starts_with(':') ? 1 : 0);
                 return then(text::take_number<std::int64_t>(redis).value_or(0), out);
               }});
  }
  // Null: `reply` has it.
  OwnDecision decided(std::unique_ptr<PromisedReply> promised) const {
    if (!promised) {
      return answer();
    }
    if (promised->is_known() && !attempt.has_promises) {
      reply.clear();
      promised->append_to(reply);
      return answer();
    }
    return {.action = OwnDecision::Action::promise, .promise = std::move(promised)};
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

  bool is_whole(const Operation& operation) const {
    using enum Operation::Kind;
    const bool makes = operation.missing == Operation::Missing::is_made && named == nullptr;
    return makes || operation.kind == create || operation.kind == drop ||
           operation.kind == expire || operation.kind == load;
  }

  // One that is past its time goes before anything is done to what has its name.
  OwnDecision submit(filled::Operation operation, FilledReply::Write write) const {
    if (is_whole(operation) && !worker.has_turn(attempt.now)) {
      return hold();
    }
    std::shared_ptr<filled::Change> drops;
    if (expired != nullptr) {
      drops =
          std::make_shared<filled::Change>(filled::Operation{.kind = Operation::Kind::drop,
                                                             .filter = std::string(key()),
                                                             .incarnation = expired->incarnation});
    }
    operation.filter = key();
    operation.filters_max = parts.settings.max_filters;
    // What has no room here takes none.
    operation.bytes_max = parts.settings.max_memory + parts.filters.totals().unsure_bytes;
    const auto change = std::make_shared<filled::Change>(std::move(operation));
    const auto submit_now = [drops,
                             change,
                             write,
                             version = version(),
                             &store = parts.store,
                             &counts = filled.counts()](std::string&) {
      if (drops) {
        store.submit(drops);
      }
      store.submit(change);
      return std::unique_ptr<PromisedReply>(
          std::make_unique<FilledReply>(change, write, version, counts));
    };
    return needs_free_key(change->operation()) ? unless_redis_has_key(submit_now)
                                               : decided(submit_now(reply));
  }

  // Of commands that RedisBloom refuses for a key of Redis's.
  bool needs_free_key(const Operation& operation) const {
    using enum Operation::Kind;
    return named == nullptr && family() == Family::filter && operation.kind != erase &&
           operation.kind != count;
  }
};

using Function = OwnDecision (FilledCall::*)() const;

template <Function kFunction>
OwnDecision run(const Call& call) {
  return (FilledCall(call).*kFunction)();
}

// It replies with what is known here: that must be current. The others wait in the store, or allow
// for what may be missing.
template <Function kFunction>
OwnDecision run_if_current(const Call& of) {
  const FilledCall call(of);
  auto refused = call.refusal_if_stale();
  return refused ? *std::move(refused) : (call.*kFunction)();
}

// A command of Redis's, which may have options, or several keys, that a filter cannot have.
template <Function kFunction>
OwnDecision run_on_key(const Call& of) {
  const FilledCall call(of);
  if (auto refused = call.refusal_if_stale()) {
    return *std::move(refused);
  }
  if (call.arguments.size() > call.row.least) {
    return call.refuse();
  }
  return call.named != nullptr ? (call.*kFunction)() : OwnDecision();  // it has just expired
}

// Redis's OK, when the filters are gone, too.
OwnDecision run_flush(const Call& call) {
  Filled& filled = static_cast<FilledCommands&>(call.server).filled;
  return call.ask(
      call.arguments,
      {.reply = [&store = filled.parts().store, &counts = filled.counts()](
                    std::string_view redis, std::string& out) -> std::unique_ptr<PromisedReply> {
        if (!redis.starts_with("+OK")) {
          out = redis;
          return nullptr;
        }
        const auto change = std::make_shared<filled::Change>(Operation());
        store.flushed(change);
        return std::make_unique<SeveralReply>(SeveralReply::Changes{change}, std::nullopt, counts);
      }});
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
    row(Family::filter, "BF.EXISTS CF.EXISTS", {3, 3}, run<&FilledCall::exists>, kWaits),
    row(Family::filter, "BF.MEXISTS CF.MEXISTS", {3, kAny}, run<&FilledCall::exists>, kWaits),
    row(Family::filter, "BF.ADD CF.ADD CF.ADDNX", {3, 3}, run<&FilledCall::add>),
    row(Family::filter, "BF.MADD", {3, kAny}, run<&FilledCall::add>),
    row(Family::filter, "BF.INSERT CF.INSERT CF.INSERTNX", {4, kAny}, run<&FilledCall::insert>),
    row(Family::filter, "CF.DEL", {3, 3}, run<&FilledCall::erase>),
    row(Family::filter, "CF.COUNT", {3, 3}, run<&FilledCall::count>),
    row(Family::filter, "BF.RESERVE", {4, 7}, run<&FilledCall::reserve>),
    row(Family::filter, "CF.RESERVE", {3, kAny}, run<&FilledCall::reserve>),
    row(Family::filter, "BF.CARD", {2, 2}, run_if_current<&FilledCall::card>, kWaits),
    row(Family::filter, "BF.INFO", {2, 3}, run_if_current<&FilledCall::info>, kWaits),
    row(Family::filter, "CF.INFO", {2, 2}, run_if_current<&FilledCall::info>, kWaits),
    row(Family::filter, "CF.COMPACT", {2, 2}, run_if_current<&FilledCall::compact>, kWaits),
    row(Family::filter, "BF.DEBUG CF.DEBUG", {2, 2}, run_if_current<&FilledCall::debug>, kWaits),
    row(Family::filter, "BF.SCANDUMP CF.SCANDUMP", {3, 3}, run_if_current<&FilledCall::scan_dump>),
    row(Family::filter, "BF.LOADCHUNK CF.LOADCHUNK", {4, 4}, run<&FilledCall::load_chunk>),
    row(Family::set, "sadd", {3, kAny}, run<&FilledCall::add>),
    row(Family::set, "sismember", {3, 3}, run<&FilledCall::exists>, kWaits),
    row(Family::set, "smismember", {3, kAny}, run<&FilledCall::exists>, kWaits),
    row(Family::set, "scard", {2, 2}, run_if_current<&FilledCall::card>, kWaits),
    row(Family::set, "smembers srem spop srandmember sscan sort",
        {2, kAny}, run<&FilledCall::refuse>),
    row(Family::set, "smove", {2, kAny}, run<&FilledCall::refuse>, {.keys = 2}),
    row(Family::set, "sintercard sinter sinterstore sunion sunionstore sdiff sdiffstore",
        {2, kAny}, run<&FilledCall::refuse>, {.keys = kAny}),
    row(Family::key, "del unlink", {2, kAny}, run_if_current<&FilledCall::drop>, {.keys = kAny}),
    row(Family::key, "exists touch",
        {2, kAny}, run_if_current<&FilledCall::has_key>, {.waits = true, .keys = kAny}),
    row(Family::key, "type", {2, kAny}, run_on_key<&FilledCall::type>, kWaits),
    row(Family::key, "expire pexpire expireat pexpireat",
        {3, kAny}, run_on_key<&FilledCall::expire>),
    row(Family::key, "persist", {2, kAny}, run_on_key<&FilledCall::persist>),
    row(Family::key, "ttl pttl expiretime pexpiretime",
        {2, kAny}, run_on_key<&FilledCall::time_left>, kWaits),
    row(Family::key, "rename renamenx copy",
        {2, kAny}, run_if_current<&FilledCall::refuse>, {.keys = 2}),
    row(Family::key, "move dump restore", {2, kAny}, run_if_current<&FilledCall::refuse>),
    row(Family::key, "object", {3, kAny}, run_if_current<&FilledCall::refuse>, {.keys = 2}),
    {.names = "flushall flushdb",
     .least = 1,
     .most = kAny,
     .needs = Needs::nothing,
     .run = run_flush,
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
