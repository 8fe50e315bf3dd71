#include "guard/filled_commands.h"

#include <algorithm>
#include <utility>

#include "redis/facts.h"
#include "resp/reply_writer.h"

namespace cuckooguard::guard {
namespace {

using filled::Operation;

constexpr std::size_t kAny = static_cast<std::size_t>(-1);

}  // namespace

// clang-format off
const std::array<FilledCommands::Entry, 62> FilledCommands::kEntries{{
    {"BF.EXISTS", Family::bloom, 3, 3, true, &FilledCommands::exists},
    {"BF.MEXISTS", Family::bloom, 3, kAny, true, &FilledCommands::exists},
    {"BF.ADD", Family::bloom, 3, 3, false, &FilledCommands::add},
    {"BF.MADD", Family::bloom, 3, kAny, false, &FilledCommands::add},
    {"BF.INSERT", Family::bloom, 4, kAny, false, &FilledCommands::insert},
    {"BF.RESERVE", Family::bloom, 4, 7, false, &FilledCommands::reserve},
    {"BF.CARD", Family::bloom, 2, 2, true, &FilledCommands::card},
    {"BF.INFO", Family::bloom, 2, 3, true, &FilledCommands::info},
    {"BF.SCANDUMP", Family::bloom, 3, 3, false, &FilledCommands::scan_dump},
    {"BF.LOADCHUNK", Family::bloom, 4, 4, false, &FilledCommands::load_chunk},
    {"CF.EXISTS", Family::cuckoo, 3, 3, true, &FilledCommands::exists},
    {"CF.MEXISTS", Family::cuckoo, 3, kAny, true, &FilledCommands::exists},
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
    {"smismember", Family::set, 3, kAny, true, &FilledCommands::exists},
    {"scard", Family::set, 2, 2, true, &FilledCommands::card},
    {"smembers", Family::set, 2, kAny, false, &FilledCommands::refuse},
    {"srem", Family::set, 2, kAny, false, &FilledCommands::refuse},
    {"spop", Family::set, 2, kAny, false, &FilledCommands::refuse},
    {"srandmember", Family::set, 2, kAny, false, &FilledCommands::refuse},
    {"sscan", Family::set, 2, kAny, false, &FilledCommands::refuse},
    {"smove", Family::set, 2, kAny, false, &FilledCommands::refuse, 2},
    {"sintercard", Family::set, 2, kAny, false, &FilledCommands::refuse, kAny},
    {"sinter", Family::set, 2, kAny, false, &FilledCommands::refuse, kAny},
    {"sinterstore", Family::set, 2, kAny, false, &FilledCommands::refuse, kAny},
    {"sunion", Family::set, 2, kAny, false, &FilledCommands::refuse, kAny},
    {"sunionstore", Family::set, 2, kAny, false, &FilledCommands::refuse, kAny},
    {"sdiff", Family::set, 2, kAny, false, &FilledCommands::refuse, kAny},
    {"sdiffstore", Family::set, 2, kAny, false, &FilledCommands::refuse, kAny},
    {"sort", Family::set, 2, kAny, false, &FilledCommands::refuse},
    {"del", Family::key, 2, 2, false, &FilledCommands::drop, kAny},
    {"unlink", Family::key, 2, 2, false, &FilledCommands::drop, kAny},
    {"exists", Family::key, 2, 2, true, &FilledCommands::has_key, kAny},
    {"touch", Family::key, 2, 2, true, &FilledCommands::has_key, kAny},
    {"type", Family::key, 2, 2, true, &FilledCommands::type},
    {"expire", Family::key, 3, 3, false, &FilledCommands::expire},
    {"pexpire", Family::key, 3, 3, false, &FilledCommands::expire},
    {"expireat", Family::key, 3, 3, false, &FilledCommands::expire},
    {"pexpireat", Family::key, 3, 3, false, &FilledCommands::expire},
    {"persist", Family::key, 2, 2, false, &FilledCommands::persist},
    {"ttl", Family::key, 2, 2, true, &FilledCommands::time_left},
    {"pttl", Family::key, 2, 2, true, &FilledCommands::time_left},
    {"expiretime", Family::key, 2, 2, true, &FilledCommands::time_left},
    {"pexpiretime", Family::key, 2, 2, true, &FilledCommands::time_left},
    {"rename", Family::key, 2, kAny, false, &FilledCommands::refuse, 2},
    {"renamenx", Family::key, 2, kAny, false, &FilledCommands::refuse, 2},
    {"copy", Family::key, 2, kAny, false, &FilledCommands::refuse, 2},
    {"move", Family::key, 2, kAny, false, &FilledCommands::refuse},
    {"dump", Family::key, 2, kAny, false, &FilledCommands::refuse},
    {"restore", Family::key, 2, kAny, false, &FilledCommands::refuse},
    {"object", Family::key, 3, kAny, false, &FilledCommands::refuse, 2},
}};
// clang-format on

// Of a name that is no command's of these the first letter and the length say so, as a rule.
const FilledCommands::Entry* FilledCommands::find(std::string_view name) {
  static const auto kLengths = [] {
    std::array<std::uint32_t, 256> lengths{};
    for (const Entry& each : kEntries) {
      const char first = redis::lower_case(each.name.front());
      lengths.at(static_cast<unsigned char>(first)) |= 1U << each.name.size();
    }
    return lengths;
  }();
  const auto first = static_cast<unsigned char>(redis::lower_case(name.front()));
  if (name.size() >= 32 || ((kLengths.at(first) >> name.size()) & 1U) == 0) {
    return nullptr;
  }
  const auto* const found = std::ranges::find_if(
      kEntries, [&](const Entry& each) { return is_command(name, each.name); });
  return found == kEntries.end() ? nullptr : found;
}

FilledCommands::Arguments FilledCommands::keys_of(const Entry& command, Arguments arguments) {
  return arguments.subspan(1, std::min(command.keys, arguments.size() - 1));
}

const std::shared_ptr<const filled::Directory>& FilledCommands::directory() {
  const filled::Filters& filters = filled()->parts().filters;
  const std::uint64_t version = filters.version();
  if (!directory_ || version != version_) {
    directory_ = filters.directory();
    version_ = version;
  }
  return directory_;
}

bool FilledCommands::is_filter(std::string_view key) {
  const filled::Directory& all = *directory();
  const auto* const found = all.find(key);
  return found != nullptr && found->second.is_there(filled()->parts().wall_time());
}

// Also if there is none.
bool FilledCommands::may_be_filter(const Entry& command, std::string_view key) const {
  const bool is_of_set = command.family == Family::set || command.family == Family::key;
  return (is_of_set && filled()->set_of(key).has_value()) ||
         (command.family != Family::set && filled()->may_be_filter(key));
}

bool FilledCommands::is_of_filter(const Entry& command, Arguments arguments, TimePoint now) {
  const bool waits_for_store =
      command.family == Family::key && !filled()->parts().store.is_current(now);
  const bool may_be = command.family != Family::key || waits_for_store;
  return std::ranges::any_of(keys_of(command, arguments), [&](std::string_view key) {
    return key.size() <= kKeyBytesMax &&
           ((may_be && may_be_filter(command, key)) || is_filter(key));
  });
}

bool FilledCommands::takes(Arguments arguments, TimePoint now) {
  if (filled() == nullptr || arguments.size() < 2 || arguments[0].empty()) {
    return false;
  }
  const Entry* const command = find(arguments[0]);
  return command != nullptr && is_of_filter(*command, arguments, now);
}

bool FilledCommands::must_see_key(Arguments front) const {
  return filled() != nullptr && front.size() == 1 && !front[0].empty() && find(front[0]) != nullptr;
}

bool FilledCommands::may_take_large(Arguments front, const Client& client, TimePoint now) {
  return takes(front, now) && (!client.is_settled() || client.db() == 0);
}

// Why it is not run, or not yet.
std::optional<OwnDecision> FilledCommands::refusal(const Entry& command,
                                                   Arguments arguments,
                                                   Client& client,
                                                   const Attempt& attempt) {
  const bool may_wait = attempt.now - attempt.since < kKnowPatience;
  const redis::Snapshot& redis = guard_.facts();
  if (known_login(client, redis, attempt.now) == Client::Login::no) {
    return error(kNotLoggedIn);
  }
  const redis::UserAccess* const access =
      client.may_rely_on(redis, attempt.now) ? guard_.access_of(client, redis) : nullptr;
  if (access == nullptr) {
    return may_wait ? hold(arguments) : error("ERR rights unknown: GUARD.CHECK says why");
  }
  const auto& users = filled()->parts().settings.users;
  if (!access->is_unrestricted && std::ranges::find(users, client.user()) == users.end()) {
    return error("NOPERM this user has no permissions to run the '" + std::string(command.name) +
                 "' command: it may not do everything, and is not one of filters.users");
  }
  if (arguments.size() < command.least ||
      (arguments.size() > command.most && command.family != Family::key)) {
    return error_of_arity(command.name);
  }
  if (command.waits && attempt.has_promises) {
    return hold(arguments);
  }
  // What Redis has of it is not known; the others say that, or wait in the store.
  const bool tells_more = command.family == Family::key || command.run == &FilledCommands::card ||
                          command.run == &FilledCommands::info ||
                          command.run == &FilledCommands::compact;
  if (tells_more && !filled()->parts().store.is_current(attempt.now)) {
    return may_wait ? hold(arguments)
                    : error(
                          "ERR it is not known what is in the filter: Redis has not told for a "
                          "while");
  }
  return std::nullopt;
}

OwnDecision FilledCommands::decide(Arguments arguments, Client& client, const Attempt& attempt) {
  if (!client.has_changes_in_flight() && client.db() != 0) {
    return {};
  }
  if (is_left_to_redis(client)) {
    return for_redis_to_refuse(arguments);
  }
  if (must_be_held(client, attempt)) {
    return hold(arguments);
  }
  const Entry* const command = find(arguments[0]);
  if (command == nullptr) {
    return {};
  }
  if (auto refused = refusal(*command, arguments, client, attempt)) {
    return *std::move(refused);
  }
  Call call{.name = command->name,
            .family = command->family,
            .arguments = arguments,
            .client = client,
            .attempt = attempt,
            .now = filled()->parts().wall_time(),
            .directory = directory(),
            .named = nullptr,
            .expired = nullptr};
  const auto* const found = call.directory->find(arguments[1]);
  if (found != nullptr) {
    (found->second.is_there(call.now) ? call.named : call.expired) = &found->second;
  }
  if (arguments.size() > command->most) {
    return refuse(call);
  }
  if (call.family == Family::key && call.named == nullptr &&
      command->run != &FilledCommands::refuse) {
    return {};  // it has just expired
  }
  return (this->*command->run)(call);
}

std::optional<Filled::Template> FilledCommands::template_of(const Call& call) const {
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
  return error(filled_reply::kWrongKind);
}

OwnDecision FilledCommands::refuse(const Call& call) {
  return error("ERR " + std::string(call.arguments[0]) +
               ": one of its keys is a filter of the guard, for which there is " +
               (call.family == Family::set
                    ? "only SADD, SISMEMBER, SMISMEMBER and SCARD"
                    : "no such command, or only with one key and no option"));
}

// All that was acknowledged is in what the call has looked at.
bool FilledCommands::is_current(const Call& call) const {
  const Filled::Parts& parts = filled()->parts();
  return parts.store.is_current(call.attempt.now) && parts.filters.version() == version_;
}

// Where something may be missing, each may be there; but a set's member is then taken for a new
// one.
OwnDecision FilledCommands::exists(const Call& call) {
  if (is_of_another_kind(call)) {
    return wrong_kind();
  }
  const bool is_set = call.family == Family::set;
  const bool is_each =
      call.name != "BF.EXISTS" && call.name != "CF.EXISTS" && call.name != "sismember";
  const auto write = [&](const auto& is_found) {
    reply_.clear();
    if (is_each) {
      resp::append_array_header(reply_, call.items().size());
    }
    for (const std::string_view item : call.items()) {
      resp::append_boolean(reply_, is_set ? resp::Version::resp2 : call.version(), is_found(item));
    }
  };
  write([&](std::string_view item) {
    return call.named != nullptr &&
           call.named->filter->may_contain(filled()->parts().filters.hash(item));
  });
  const bool is_unsure = call.named != nullptr && call.named->filter->is_unsure();
  if (is_unsure || !is_current(call)) {
    write([&](std::string_view /*item*/) { return !is_set; });
  }
  return answer();
}

// A turn has one time.
bool FilledCommands::has_turn(const Call& call, const filled::Operation& operation) {
  using enum Operation::Kind;
  const bool makes = operation.missing == Operation::Missing::is_made && call.named == nullptr;
  const bool is_whole = operation.kind == create || operation.kind == drop ||
                        operation.kind == expire || operation.kind == load;
  if (!makes && !is_whole) {
    return true;
  }
  if (turn_ != call.attempt.now) {
    turn_ = call.attempt.now;
    whole_in_turn_ = 0;
  }
  return ++whole_in_turn_ <= kWholePerTurn;
}

// One that is past its time goes before anything is done to what has its name.
OwnDecision FilledCommands::submit(const Call& call,
                                   filled::Operation operation,
                                   PromisedReply::Write write) {
  if (!has_turn(call, operation)) {
    return hold(call.arguments);
  }
  const Filled::Parts& parts = filled()->parts();
  if (call.expired != nullptr) {
    parts.store.submit(std::make_shared<filled::Change>(
        filled::Operation{.kind = Operation::Kind::drop,
                          .filter = std::string(call.key()),
                          .incarnation = call.expired->incarnation}));
  }
  operation.filter = call.key();
  operation.filters_max = parts.settings.max_filters;
  // What has no room here takes none.
  operation.bytes_max = parts.settings.max_memory + parts.filters.totals().unsure_bytes;
  const auto change = std::make_shared<filled::Change>(std::move(operation));
  parts.store.submit(change);
  const PromisedReply reply(change, write, call.version(), filled()->counts());
  if (reply.is_known() && !call.attempt.has_promises) {
    reply_.clear();
    reply.append_to(reply_);
    return answer();
  }
  return {.action = OwnDecision::Action::promise, .promise = reply};
}

OwnDecision FilledCommands::add(const Call& call) {
  const auto made_as = template_of(call);
  return add_items(call,
                   call.items(),
                   made_as ? made_as->shape : filled::Shape{.kind = call.kind()},
                   made_as.has_value());
}

OwnDecision FilledCommands::insert(const Call& call) {
  const auto options = read_filter_options(call.name, call.arguments, 2);
  if (!options) {
    return error(options.error());
  }
  if (options->items >= call.arguments.size()) {
    return error_of_arity(call.name);
  }
  const auto made_as = template_of(call);
  const bool is_named = made_as && made_as->is_named;
  return add_items(call,
                   call.arguments.subspan(options->items),
                   is_named ? made_as->shape : options->shape(call.kind()),
                   made_as && options->creates);
}

OwnDecision FilledCommands::add_items(const Call& call,
                                      Arguments items,
                                      const filled::Shape& shape,
                                      bool creates) {
  const bool is_cuckoo = call.family == Family::cuckoo;
  const bool is_one = call.name == "BF.ADD" || call.name == "CF.ADD" || call.name == "CF.ADDNX";
  Operation operation{
      .kind =
          is_cuckoo && !is_if_new(call.name) ? Operation::Kind::add : Operation::Kind::add_if_new,
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

}  // namespace cuckooguard::guard
