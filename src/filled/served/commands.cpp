// Commands on filters that applications fill (filters in the configuration), with the replies and
// errors of RedisBloom, or of Redis's sets.
//
//   BF.*, CF.*            of a key that filters.named or allow_reserve names, or that is a filter
//   SADD, SISMEMBER,      of a key of filters.dedupe: SADD replies how many members were not there
//   SMISMEMBER, SCARD     before; their names are not kept, so all other set commands are refused
//   DEL, UNLINK, EXISTS,  of a filter that is there, alone. What cannot be done with a filter, or
//   TYPE, EXPIRE, TTL ... not together with other keys, is refused in words
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
// users who may do everything, and filters.users. What a script does is not seen. FLUSHALL is
// Redis's: with durability redis the filters are deleted with it, else they stay.
//
// A client may send thousands of commands at once that make, drop or load a filter, each of which
// takes some 40 us: a worker does Filled::kWholePerTurn of them, and the rest wait for its next
// turn.
//
// A filter that was dropped stays in memory until each worker has had another of these commands.
// Limits: filters.max_filters and max_memory go with each operation (filled/operation.h).
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
#include <utility>

#include "filled/store.h"
#include "resp/reply_writer.h"
#include "resp/version.h"
#include "served/filled.h"
#include "text/number.h"

namespace cuckooguard::guard {
namespace {

// What is written of a change. Errors: RedisBloom's, as replies.
namespace filled_reply {

constexpr std::string_view kWrongKind =
    "WRONGTYPE Operation against a key holding the wrong kind of value";

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

}  // namespace filled_reply

using filled::Operation;

constexpr std::size_t kKeyBytesMax = 512;
constexpr std::int64_t kSecond = 1000;
constexpr std::size_t kPieceBytes = std::size_t{48} * 1024;
static_assert(kPieceBytes <= filled::kBlobBytesMax);

enum class Family : std::uint8_t { filter, set, key };

Family family_of(const CommandRow& row) {
  return static_cast<Family>(row.kind);
}

// The reply to a change; what is written of it is known when it is done.
class FilledReply final : public PromisedReply {
 public:
  using Write = void (*)(std::string& out, const filled::Change& change, resp::Version version);

  FilledReply(std::shared_ptr<filled::Change> change,
              Write write,
              resp::Version version,
              FilledCounts& counts)
      : change_(std::move(change)), write_(write), version_(version), counts_(counts) {}

  std::size_t bytes() const override {
    const Operation& operation = change_->operation();
    return sizeof(filled::Change) + operation.bytes() +
           operation.hashes.size() * sizeof(filled::ItemOutcome);
  }
  void await(std::shared_ptr<KnownReplies> known, void* waiter) override {
    change_->await([known = std::move(known)](auto& done) { known->add(done); }, waiter);
  }
  bool is_known() const noexcept override { return change_->is_done(); }
  void append_to(std::string& out) const override {
    counts_.add(*change_);
    write_(out, *change_, version_);
  }

 private:
  std::shared_ptr<filled::Change> change_;
  Write write_;
  resp::Version version_;
  FilledCounts& counts_;
};

class FilledCommands final : public CommandServer {
 public:
  FilledCommands(Guard& guard, std::span<const CommandRow> rows, Filled& all)
      : CommandServer(guard, rows), filled(all) {}

  bool takes(const CommandRow& row, Arguments arguments, TimePoint now) override {
    if (arguments.size() < 2) {
      return false;
    }
    const auto keys = arguments.subspan(1, std::min(row.keys, arguments.size() - 1));
    const bool may_be = family_of(row) != Family::key || !parts().store.is_current(now);
    return std::ranges::any_of(keys, [&](std::string_view key) {
      return key.size() <= kKeyBytesMax && ((may_be && may_be_filter(row, key)) || is_filter(key));
    });
  }
  bool is_of_another_db(const Call& call) const override {
    return !call.client.has_changes_in_flight() && call.client.db() != 0;
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
    return takes(row, front, now) && (!client.is_settled() || client.db() == 0);
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
    if (is_of_another_kind()) {
      return wrong_kind();
    }
    const bool is_set = family() == Family::set;
    const auto write = [&](const auto& is_found) {
      return booleans(items(), is_set ? resp::Version::resp2 : version(), is_found);
    };
    OwnDecision found = write([&](std::string_view item) {
      return named != nullptr && named->filter->may_contain(hash(item));
    });
    const bool is_unsure = named != nullptr && named->filter->is_unsure();
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
    const auto options = read_filter_options(name, arguments, 2);
    if (!options) {
      return error(options.error());
    }
    if (options->items >= arguments.size()) {
      return error_of_arity();
    }
    const auto made_as = template_of();
    const bool is_named = made_as && made_as->is_named;
    return add_items(arguments.subspan(options->items),
                     is_named ? made_as->shape : shape_of(*options, kind()),
                     made_as && options->creates);
  }

  OwnDecision erase() const { return submit_item(Operation::Kind::erase, filled_reply::of_erase); }

  OwnDecision count() const { return submit_item(Operation::Kind::count, filled_reply::of_count); }

  OwnDecision reserve() const {
    const bool is_cuckoo = kind() == filled::Kind::cuckoo;
    std::size_t next = 2;
    double rate = 0;
    if (!is_cuckoo) {
      const auto read = read_error_rate(arguments[next++]);
      if (!read) {
        return error(read.error());
      }
      rate = *read;
    }
    const auto capacity = read_capacity(arguments[next++], is_cuckoo);
    if (!capacity) {
      return error(capacity.error());
    }
    auto options = read_filter_options(name, arguments, next);
    if (!options) {
      return error(options.error());
    }
    const auto made_as = template_of();
    if (named != nullptr || (made_as && made_as->is_named)) {
      return error("ERR item exists");
    }
    if (!made_as) {
      return error("ERR filters.allow_reserve does not allow this key");
    }
    options->capacity = *capacity;
    if (!is_cuckoo) {
      options->error = rate;
    }
    return submit({.kind = Operation::Kind::create, .shape = shape_of(*options, kind())},
                  filled_reply::of_create);
  }

  // There is nothing to do: layers share their rate.
  OwnDecision compact() const {
    return named == nullptr ? error("Cuckoo filter was not found") : simple("OK");
  }

  OwnDecision card() const {
    if (is_of_another_kind()) {
      return wrong_kind();
    }
    if (named != nullptr && named->filter->is_unsure()) {
      return error("ERR " + named->filter->why_unsure());
    }
    return integer(named == nullptr ? 0 : static_cast<std::int64_t>(named->filter->facts().items));
  }

  OwnDecision info() const {
    if (named == nullptr) {
      return error("ERR not found");
    }
    if (is_of_another_kind()) {
      return wrong_kind();
    }
    const filled::FilledFilter& filter = *named->filter;
    if (filter.is_unsure()) {
      return error("ERR " + filter.why_unsure());
    }
    const filled::FilledFilter::Facts facts = filter.facts();
    const filled::Shape& shape = filter.shape();
    return answer_info(
        *this,
        {.capacity = facts.capacity,
         .bytes = facts.bytes,
         .filters = facts.layers,
         .items = facts.items,
         .expansion = shape.scales ? std::optional<std::uint64_t>(shape.expansion) : std::nullopt,
         .deleted = facts.erased,
         .buckets = facts.buckets,
         .bucket_size = shape.bucket_size,
         .iterations = shape.iterations_max});
  }

  // It is held until it is there: what was promised would be in memory for each who asks.
  OwnDecision scan_dump() const {
    const auto piece = text::number_of<std::uint64_t>(arguments[2]);
    if (!piece) {
      return error("Second argument must be numeric");
    }
    if (attempt.has_promises) {
      return hold();
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
    const auto bytes = filled.piece_of_dump(
        key(), std::min(*piece, filled::kItemsMax) * kPieceBytes, kPieceBytes, attempt.now);
    if (!bytes) {
      return error("ERR the dump does not exist any more: start again at 0");
    }
    reply.clear();
    resp::append_array_header(reply, 2);
    resp::append_integer(reply, static_cast<std::int64_t>(bytes->empty() ? 0 : *piece + 1));
    resp::append_bulk(reply, *bytes);
    return answer();
  }

  OwnDecision load_chunk() const {
    const auto piece = text::number_of<std::uint64_t>(arguments[2]);
    if (!piece) {
      return error("Second argument must be numeric");
    }
    if (!template_of()) {
      return error("ERR filters.allow_reserve does not allow this key");
    }
    const std::string_view bytes = arguments[3];
    if (bytes.size() > filled::kBlobBytesMax) {
      return error("ERR received bad data: a piece of a dump has at most 48 KiB");
    }
    return submit({.kind = Operation::Kind::load,
                   .shape = {.kind = kind()},
                   .piece = *piece,
                   .blob = std::string(bytes),
                   .must_be_tagged = true},
                  filled_reply::of_create);
  }

  OwnDecision drop() const { return submit({.kind = Operation::Kind::drop}, filled_reply::of_key); }

  OwnDecision has_key() const { return integer(1); }

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
    if (expired != nullptr) {
      parts.store.submit(
          std::make_shared<filled::Change>(filled::Operation{.kind = Operation::Kind::drop,
                                                             .filter = std::string(key()),
                                                             .incarnation = expired->incarnation}));
    }
    operation.filter = key();
    operation.filters_max = parts.settings.max_filters;
    // What has no room here takes none.
    operation.bytes_max = parts.settings.max_memory + parts.filters.totals().unsure_bytes;
    const auto change = std::make_shared<filled::Change>(std::move(operation));
    parts.store.submit(change);
    const FilledReply promised(change, write, version(), filled.counts());
    if (promised.is_known() && !attempt.has_promises) {
      reply.clear();
      promised.append_to(reply);
      return answer();
    }
    return {.action = OwnDecision::Action::promise,
            .promise = std::make_unique<FilledReply>(change, write, version(), filled.counts())};
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
    row(Family::filter, "CF.RESERVE", {3, 9}, run<&FilledCall::reserve>),
    row(Family::filter, "BF.CARD", {2, 2}, run_if_current<&FilledCall::card>, kWaits),
    row(Family::filter, "BF.INFO", {2, 3}, run_if_current<&FilledCall::info>, kWaits),
    row(Family::filter, "CF.INFO", {2, 2}, run_if_current<&FilledCall::info>, kWaits),
    row(Family::filter, "CF.COMPACT", {2, 2}, run_if_current<&FilledCall::compact>, kWaits),
    row(Family::filter, "BF.SCANDUMP CF.SCANDUMP", {3, 3}, run<&FilledCall::scan_dump>),
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
    row(Family::key, "del unlink", {2, kAny}, run_on_key<&FilledCall::drop>, {.keys = kAny}),
    row(Family::key, "exists touch",
        {2, kAny}, run_on_key<&FilledCall::has_key>, {.waits = true, .keys = kAny}),
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
});
// clang-format on

}  // namespace

std::unique_ptr<CommandServer> filled_commands(Guard& guard, Filled& filled) {
  return std::make_unique<FilledCommands>(guard, kRows, filled);
}

}  // namespace cuckooguard::guard
