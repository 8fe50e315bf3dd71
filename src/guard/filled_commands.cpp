#include "guard/filled_commands.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "redis/facts.h"
#include "resp/reply_writer.h"

namespace cuckooguard::guard {
namespace {

using filled::Kind;
using filled::Operation;

constexpr std::size_t kAny = static_cast<std::size_t>(-1);
constexpr std::size_t kPieceBytes = std::size_t{48} * 1024;
static_assert(kPieceBytes <= filled::kBlobBytesMax);

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

bool is_if_new(std::string_view name) {
  return name.ends_with("NX");  // CF.ADDNX, CF.INSERTNX
}

void write_piece(std::string& out, std::uint64_t next, std::string_view piece) {
  resp::append_array_header(out, 2);
  resp::append_integer(out, static_cast<std::int64_t>(piece.empty() ? 0 : next));
  resp::append_bulk(out, piece);
}

void write_first_piece(std::string& out, const filled::Change& change, resp::Version version) {
  if (change.outcome().status == filled::Outcome::Status::done) {
    write_piece(out, 1, std::string_view(change.outcome().blob).substr(0, kPieceBytes));
  } else {
    filled_reply::of_create(out, change, version);
  }
}

}  // namespace

// clang-format off
const std::array<FilledCommands::Entry, 57> FilledCommands::kEntries{{
    {"BF.EXISTS", Family::bloom, 3, 3, true, &FilledCommands::exists},
    {"BF.MEXISTS", Family::bloom, 3, kAny, true, &FilledCommands::exists_each},
    {"BF.ADD", Family::bloom, 3, 3, false, &FilledCommands::add},
    {"BF.MADD", Family::bloom, 3, kAny, false, &FilledCommands::add},
    {"BF.INSERT", Family::bloom, 4, kAny, false, &FilledCommands::insert},
    {"BF.RESERVE", Family::bloom, 4, 7, false, &FilledCommands::reserve},
    {"BF.CARD", Family::bloom, 2, 2, true, &FilledCommands::card},
    {"BF.INFO", Family::bloom, 2, 3, true, &FilledCommands::info},
    {"BF.SCANDUMP", Family::bloom, 3, 3, false, &FilledCommands::scan_dump},
    {"BF.LOADCHUNK", Family::bloom, 4, 4, false, &FilledCommands::load_chunk},
    {"CF.EXISTS", Family::cuckoo, 3, 3, true, &FilledCommands::exists},
    {"CF.MEXISTS", Family::cuckoo, 3, kAny, true, &FilledCommands::exists_each},
    {"CF.ADD", Family::cuckoo, 3, 3, false, &FilledCommands::add},
    {"CF.ADDNX", Family::cuckoo, 3, 3, false, &FilledCommands::add},
    {"CF.INSERT", Family::cuckoo, 4, kAny, false, &FilledCommands::insert},
    {"CF.INSERTNX", Family::cuckoo, 4, kAny, false, &FilledCommands::insert},
    {"CF.DEL", Family::cuckoo, 3, 3, false, &FilledCommands::erase},
    {"CF.COUNT", Family::cuckoo, 3, 3, false, &FilledCommands::count},
    {"CF.RESERVE", Family::cuckoo, 3, 9, false, &FilledCommands::reserve},
    {"CF.INFO", Family::cuckoo, 2, 2, true, &FilledCommands::info},
    {"CF.COMPACT", Family::cuckoo, 2, 2, true, &FilledCommands::compact},
    {"CF.SCANDUMP", Family::cuckoo, 3, 3, false, &FilledCommands::scan_dump},
    {"CF.LOADCHUNK", Family::cuckoo, 4, 4, false, &FilledCommands::load_chunk},
    {"sadd", Family::set, 3, kAny, false, &FilledCommands::add},
    {"sismember", Family::set, 3, 3, true, &FilledCommands::exists},
    {"smismember", Family::set, 3, kAny, true, &FilledCommands::exists_each},
    {"scard", Family::set, 2, 2, true, &FilledCommands::card},
    {"smembers", Family::set, 2, kAny, false, &FilledCommands::refuse},
    {"srem", Family::set, 2, kAny, false, &FilledCommands::refuse},
    {"spop", Family::set, 2, kAny, false, &FilledCommands::refuse},
    {"srandmember", Family::set, 2, kAny, false, &FilledCommands::refuse},
    {"sscan", Family::set, 2, kAny, false, &FilledCommands::refuse},
    {"smove", Family::set, 2, kAny, false, &FilledCommands::refuse},
    {"sinter", Family::set, 2, kAny, false, &FilledCommands::refuse},
    {"sunion", Family::set, 2, kAny, false, &FilledCommands::refuse},
    {"sdiff", Family::set, 2, kAny, false, &FilledCommands::refuse},
    {"sort", Family::set, 2, kAny, false, &FilledCommands::refuse},
    {"del", Family::key, 2, 2, false, &FilledCommands::drop},
    {"unlink", Family::key, 2, 2, false, &FilledCommands::drop},
    {"exists", Family::key, 2, 2, true, &FilledCommands::has_key},
    {"touch", Family::key, 2, 2, true, &FilledCommands::has_key},
    {"type", Family::key, 2, 2, true, &FilledCommands::type},
    {"expire", Family::key, 3, 3, false, &FilledCommands::expire},
    {"pexpire", Family::key, 3, 3, false, &FilledCommands::expire},
    {"expireat", Family::key, 3, 3, false, &FilledCommands::expire},
    {"pexpireat", Family::key, 3, 3, false, &FilledCommands::expire},
    {"persist", Family::key, 2, 2, false, &FilledCommands::persist},
    {"ttl", Family::key, 2, 2, true, &FilledCommands::time_left},
    {"pttl", Family::key, 2, 2, true, &FilledCommands::time_left},
    {"rename", Family::key, 2, kAny, false, &FilledCommands::refuse},
    {"renamenx", Family::key, 2, kAny, false, &FilledCommands::refuse},
    {"copy", Family::key, 2, kAny, false, &FilledCommands::refuse},
    {"move", Family::key, 2, kAny, false, &FilledCommands::refuse},
    {"dump", Family::key, 2, kAny, false, &FilledCommands::refuse},
    {"restore", Family::key, 2, kAny, false, &FilledCommands::refuse},
    {"object", Family::key, 3, kAny, false, &FilledCommands::refuse},
    {"getdel", Family::key, 2, kAny, false, &FilledCommands::refuse},
}};
// clang-format on

const FilledCommands::Entry* FilledCommands::find(std::string_view name) {
  const auto* const found = std::ranges::find_if(kEntries, [&](const Entry& each) {
    return each.name.size() == name.size() &&
           redis::lower_case(each.name.front()) == redis::lower_case(name.front()) &&
           is_command(name, each.name);
  });
  return found == kEntries.end() ? nullptr : found;
}

const filled::Directory& FilledCommands::directory() {
  const filled::Filters& filters = filled()->parts().filters;
  const std::uint64_t version = filters.version();
  if (!directory_ || version != version_) {
    directory_ = filters.directory();
    version_ = version;
  }
  return *directory_;
}

const filled::Named* FilledCommands::find_filter(std::string_view key) {
  const filled::Directory& all = directory();
  const auto found = all.find(key);
  const bool is_there =
      found != all.end() && found->second.is_there(filled()->parts().wall_time());
  return is_there ? &found->second : nullptr;
}

bool FilledCommands::is_of_filter(const Entry& command, Arguments arguments) {
  switch (command.family) {
    case Family::bloom:
    case Family::cuckoo:
      return filled()->may_be_filter(arguments[1]) || find_filter(arguments[1]) != nullptr;
    case Family::set:
      return filled()->set_of(arguments[1]).has_value() || find_filter(arguments[1]) != nullptr;
    case Family::key:
      return std::ranges::any_of(
          arguments.subspan(1), [&](std::string_view key) { return find_filter(key) != nullptr; });
  }
  return false;
}

bool FilledCommands::takes(Arguments arguments) {
  if (filled() == nullptr || arguments.size() < 2 || arguments[0].empty()) {
    return false;
  }
  const Entry* const command = find(arguments[0]);
  return command != nullptr && is_of_filter(*command, arguments);
}

bool FilledCommands::may_take_large(Arguments front, const Client& client) {
  if (filled() == nullptr || front.empty() || front[0].empty() ||
      (client.is_settled() && client.db() != 0)) {
    return false;
  }
  const Entry* const command = find(front[0]);
  return command != nullptr && (front.size() == 1 || is_of_filter(*command, front));
}

OwnDecision FilledCommands::decide(Arguments arguments, Client& client, const Attempt& attempt) {
  if (is_left_to_redis(client)) {
    return for_redis_to_refuse(arguments);
  }
  if (must_be_held(client, attempt)) {
    return hold(arguments);
  }
  const Entry* const command = find(arguments[0]);
  if (client.db() != 0 || command == nullptr || !is_of_filter(*command, arguments)) {
    return {};
  }
  const redis::Snapshot& redis = guard_.facts();
  const bool is_reliable = client.may_rely_on(redis, attempt.now);
  if ((is_reliable || client.has_authenticated()) && client.login(redis) == Client::Login::no) {
    return error("NOAUTH Authentication required.");
  }
  const redis::UserAccess* const access =
      is_reliable ? guard_.access_of(client, redis) : nullptr;
  const auto& users = filled()->parts().settings.users;
  if (access == nullptr || !is_reliable) {
    return attempt.now - attempt.since < kKnowPatience
               ? hold(arguments)
               : error("ERR rights unknown: GUARD.CHECK says why");
  }
  if (!access->is_unrestricted && std::ranges::find(users, client.user()) == users.end()) {
    return error("NOPERM this user has no permissions to run the '" + std::string(command->name) +
                 "' command: it may not do everything, and is not one of filters.users");
  }
  if (arguments.size() < command->least ||
      (arguments.size() > command->most && command->family != Family::key)) {
    return error_of_arity(command->name);
  }
  if (command->waits && attempt.has_promises) {
    return hold(arguments);
  }
  Call call{.name = command->name,
            .family = command->family,
            .arguments = arguments,
            .client = client,
            .attempt = attempt,
            .now = filled()->parts().wall_time(),
            .named = find_filter(arguments[1])};
  call.made_as = made_as(call);
  if (arguments.size() > command->most) {
    return refuse(call);
  }
  return (this->*command->run)(call);
}

std::optional<Filled::Template> FilledCommands::made_as(const Call& call) const {
  switch (call.family) {
    case Family::bloom:
    case Family::cuckoo: {
      auto made = filled()->filter_of(call.key(), call.kind());
      return made && made->shape.kind == call.kind() ? made : std::nullopt;
    }
    case Family::set:
      return filled()->set_of(call.key());
    case Family::key:
      break;
  }
  return std::nullopt;
}

OwnDecision FilledCommands::wrong_kind() {
  return error("WRONGTYPE Operation against a key holding the wrong kind of value");
}

OwnDecision FilledCommands::refuse(const Call& call) {
  return error("ERR " + std::string(call.arguments[0]) + ": among its keys is a filter of the guard, " +
               (call.family == Family::set ? "which does not know its members"
                                           : "which can be deleted and can expire, alone"));
}

// Where it is not known that nothing is missing, it may be there; but a set's member is then taken
// for a new one.
bool FilledCommands::may_exist(std::string_view item, const Call& call) const {
  const Filled::Parts& parts = filled()->parts();
  if (!parts.store.is_current(call.attempt.now)) {
    return call.family != Family::set;
  }
  return call.named != nullptr &&
         call.named->filter->may_contain(parts.filters.hash(item));
}

OwnDecision FilledCommands::exists(const Call& call) {
  if (call.named != nullptr && call.named->filter->shape().kind != call.kind()) {
    return wrong_kind();
  }
  reply_.clear();
  const auto version = call.family == Family::set ? resp::Version::resp2 : call.version();
  resp::append_boolean(reply_, version, may_exist(call.items().front(), call));
  return answer();
}

OwnDecision FilledCommands::exists_each(const Call& call) {
  if (call.named != nullptr && call.named->filter->shape().kind != call.kind()) {
    return wrong_kind();
  }
  reply_.clear();
  const auto version = call.family == Family::set ? resp::Version::resp2 : call.version();
  resp::append_array_header(reply_, call.items().size());
  for (const std::string_view item : call.items()) {
    resp::append_boolean(reply_, version, may_exist(item, call));
  }
  return answer();
}

// How many filters and bytes there may be is judged here, before anything is in a log.
std::optional<std::string> FilledCommands::refusal_of_growth(const Call& call,
                                                             const filled::Shape& made) {
  const config::FilledFilters& settings = filled()->parts().settings;
  const filled::Directory& all = directory();
  const filled::FilledFilter* const filter =
      call.named == nullptr ? nullptr : call.named->filter.get();
  std::uint64_t wanted = 0;
  if (filter == nullptr) {
    if (all.size() >= settings.max_filters) {
      return "ERR there are " + std::to_string(all.size()) + " filters: filters.max_filters";
    }
    wanted = filled::FilledFilter::bytes_for(made);
  } else if (filter->is_full()) {
    wanted = filter->bytes_to_grow().value_or(0);
  }
  if (wanted == 0) {
    return std::nullopt;
  }
  std::uint64_t bytes = 0;
  for (const auto& [key, named] : all) {
    bytes += named.filter->facts().bytes;
  }
  return bytes + wanted > settings.max_memory
             ? std::optional<std::string>("ERR no room for a larger filter: filters.max_memory")
             : std::nullopt;
}

OwnDecision FilledCommands::submit(const Call& call,
                                   filled::Operation operation,
                                   PromisedReply::Write write) {
  operation.filter = call.key();
  const auto change = std::make_shared<filled::Change>(std::move(operation));
  if (change->operation().kind == Operation::Kind::dump) {
    guard_.parts().filled->keep_dump(change, call.attempt.now);
  }
  filled()->parts().store.submit(change);
  if (change->is_done() && !call.attempt.has_promises) {
    reply_.clear();
    write(reply_, *change, call.version());
    return answer();
  }
  OwnDecision decision{.action = OwnDecision::Action::promise};
  decision.promise.emplace(change, write, call.version());
  return decision;
}

OwnDecision FilledCommands::add(const Call& call) {
  return add_items(call,
                   call.items(),
                   call.made_as ? call.made_as->shape : filled::Shape{.kind = call.kind()},
                   call.made_as.has_value());
}

OwnDecision FilledCommands::insert(const Call& call) {
  const auto options = read_filter_options(call.name, call.arguments, 2);
  if (!options) {
    return error(options.error());
  }
  if (options->items >= call.arguments.size()) {
    return error_of_arity(call.name);
  }
  const bool is_free = call.made_as && !call.made_as->is_named;
  return add_items(call,
                   call.arguments.subspan(options->items),
                   is_free          ? options->shape(call.kind())
                   : call.made_as   ? call.made_as->shape
                                    : filled::Shape{.kind = call.kind()},
                   call.made_as && options->creates);
}

OwnDecision FilledCommands::add_items(const Call& call,
                                      Arguments items,
                                      const filled::Shape& shape,
                                      bool creates) {
  if (creates || call.named != nullptr) {
    if (auto refusal = refusal_of_growth(call, shape)) {
      return error(*refusal);
    }
  }
  const bool is_cuckoo = call.family == Family::cuckoo;
  const bool is_one = call.name == "BF.ADD" || call.name == "CF.ADD" || call.name == "CF.ADDNX";
  Operation operation{
      .kind = is_cuckoo && !is_if_new(call.name) ? Operation::Kind::add
                                                 : Operation::Kind::add_if_new,
      .missing = creates ? Operation::Missing::is_made : Operation::Missing::is_an_error,
      .shape = shape};
  operation.hashes.reserve(items.size());
  for (const std::string_view item : items) {
    operation.hashes.push_back(filled()->parts().filters.hash(item));
  }
  PromisedReply::Write write = nullptr;
  switch (call.family) {
    case Family::bloom:
      write = is_one ? filled_reply::of_bloom_add : filled_reply::of_bloom_add_each;
      break;
    case Family::cuckoo:
      write = is_one                 ? filled_reply::of_cuckoo_add
              : is_if_new(call.name) ? filled_reply::of_cuckoo_insert_if_new
                                     : filled_reply::of_cuckoo_insert;
      break;
    case Family::set:
    case Family::key:
      write = filled_reply::of_set_add;
      break;
  }
  return submit(call, std::move(operation), write);
}

OwnDecision FilledCommands::erase(const Call& call) {
  return submit(call,
                {.kind = Operation::Kind::erase,
                 .shape = {.kind = call.kind()},
                 .hashes = {filled()->parts().filters.hash(call.items().front())}},
                filled_reply::of_erase);
}

OwnDecision FilledCommands::count(const Call& call) {
  return submit(call,
                {.kind = Operation::Kind::count,
                 .shape = {.kind = call.kind()},
                 .hashes = {filled()->parts().filters.hash(call.items().front())}},
                filled_reply::of_count);
}

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
  if (call.named != nullptr || (call.made_as && call.made_as->is_named)) {
    return error("ERR item exists");
  }
  if (!call.made_as) {
    return error("ERR filters.allow_reserve names no such key");
  }
  options->capacity = *capacity;
  if (!is_cuckoo) {
    options->error = rate;
  }
  const filled::Shape shape = options->shape(call.kind());
  if (auto refusal = refusal_of_growth(call, shape)) {
    return error(*refusal);
  }
  return submit(
      call, {.kind = Operation::Kind::create, .shape = shape}, filled_reply::of_create);
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
  if (call.named != nullptr && call.named->filter->shape().kind != call.kind()) {
    return wrong_kind();
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
  const filled::FilledFilter::Facts facts = filter.facts();
  const FilterInfo info{.capacity = facts.capacity,
                        .bytes = facts.bytes,
                        .filters = facts.layers,
                        .items = facts.items,
                        .expansion = filter.shape().scales ? filter.shape().expansion : 0,
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

OwnDecision FilledCommands::scan_dump(const Call& call) {
  const auto piece = number(call.arguments[2]);
  if (!piece) {
    return error("Second argument must be numeric");
  }
  if (*piece != 0) {
    return piece_of_dump(call, *piece);
  }
  return submit(call,
                {.kind = Operation::Kind::dump, .shape = {.kind = call.kind()}},
                write_first_piece);
}

OwnDecision FilledCommands::piece_of_dump(const Call& call, std::uint64_t piece) {
  if (call.attempt.has_promises) {
    return hold(call.arguments);
  }
  const auto bytes = guard_.parts().filled->dump_piece(
      call.key(), std::min(piece, filled::kItemsMax) * kPieceBytes, kPieceBytes, call.attempt.now);
  if (!bytes) {
    return error("ERR the dump is not there any more: begin again at 0");
  }
  reply_.clear();
  write_piece(reply_, piece + 1, *bytes);
  return answer();
}

OwnDecision FilledCommands::load_chunk(const Call& call) {
  const auto piece = number(call.arguments[2]);
  if (!piece) {
    return error("Second argument must be numeric");
  }
  if (!call.made_as) {
    return error("ERR filters.allow_reserve names no such key");
  }
  const std::string_view bytes = call.arguments[3];
  if (bytes.size() > filled::kBlobBytesMax) {
    return error("ERR received bad data: a piece of a dump of this guard has 48 KiB at most");
  }
  if (auto refusal = refusal_of_growth(call, call.made_as->shape)) {
    return error(*refusal);
  }
  return submit(call,
                {.kind = Operation::Kind::load,
                 .shape = {.kind = call.kind()},
                 .until = *piece,
                 .blob = std::string(bytes)},
                filled_reply::of_load);
}

}  // namespace cuckooguard::guard
