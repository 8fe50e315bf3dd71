#include "guard/filter_commands.h"

#include <algorithm>
#include <array>

#include "filter/path_search.h"
#include "guard/filter_options.h"
#include "guard/filter_totals.h"
#include "redis/word.h"
#include "resp/reply_writer.h"

namespace cuckooguard::guard {
namespace {

constexpr std::size_t kAny = static_cast<std::size_t>(-1);

// Of an Entry's name.
bool is_cuckoo(std::string_view name) {
  return name.front() == 'C';
}

}  // namespace

const std::array<FilterCommands::Entry, 23> FilterCommands::kEntries{{
    {"BF.EXISTS", 3, 3, true, &FilterCommands::exists},
    {"BF.MEXISTS", 3, kAny, true, &FilterCommands::exists_each},
    {"BF.ADD", 3, 3, false, &FilterCommands::add},
    {"BF.MADD", 3, kAny, false, &FilterCommands::add_each},
    {"BF.INSERT", 4, kAny, false, &FilterCommands::insert},
    {"BF.RESERVE", 4, 7, false, &FilterCommands::reserve},
    {"BF.CARD", 2, 2, false, &FilterCommands::card},
    {"BF.INFO", 2, 3, false, &FilterCommands::bloom_info},
    {"BF.SCANDUMP", 3, 3, false, &FilterCommands::refuse_dump},
    {"BF.LOADCHUNK", 4, 4, false, &FilterCommands::refuse_dump},
    {"CF.EXISTS", 3, 3, true, &FilterCommands::exists},
    {"CF.MEXISTS", 3, kAny, true, &FilterCommands::exists_each},
    {"CF.COUNT", 3, 3, true, &FilterCommands::count},
    {"CF.ADD", 3, 3, false, &FilterCommands::add},
    {"CF.ADDNX", 3, 3, false, &FilterCommands::add},
    {"CF.INSERT", 4, kAny, false, &FilterCommands::insert},
    {"CF.INSERTNX", 4, kAny, false, &FilterCommands::insert},
    {"CF.DEL", 3, 3, true, &FilterCommands::exists},
    {"CF.RESERVE", 3, kAny, false, &FilterCommands::reserve},
    {"CF.INFO", 2, 2, false, &FilterCommands::cuckoo_info},
    {"CF.COMPACT", 2, 2, false, &FilterCommands::compact},
    {"CF.SCANDUMP", 3, 3, false, &FilterCommands::refuse_dump},
    {"CF.LOADCHUNK", 4, 4, false, &FilterCommands::refuse_dump},
}};

OwnDecision FilterCommands::decide(Arguments arguments, Client& client, const Attempt& attempt) {
  const auto* const command = std::ranges::find_if(
      kEntries, [&](const Entry& each) { return is_command(arguments[0], each.name); });
  if (is_left_to_redis(client)) {
    return for_redis_to_refuse(arguments);
  }
  if (must_be_held(client, attempt)) {
    return hold(arguments);
  }
  const auto ns = guard_.filter_named(arguments[1]);
  if (!ns || client.db() != guard_.parts().namespaces[*ns].db) {
    return {};
  }
  if (command == kEntries.end()) {
    return for_redis_to_refuse(arguments);
  }
  const redis::Snapshot& redis = guard_.facts();
  if (known_login(client, redis, attempt.now) == Client::Login::no) {
    return error(kNotLoggedIn);
  }
  const bool is_reliable = client.may_rely_on(redis, attempt.now);
  return run(*command,
             {.name = command->name,
              .arguments = arguments,
              .ns = *ns,
              .client = client,
              .access = is_reliable ? guard_.access_of(client, redis) : nullptr,
              .attempt = attempt});
}

OwnDecision FilterCommands::run(const Entry& command, const Call& call) {
  static const std::size_t kGet = redis::command_index(redis::find_command("get"));
  using Refusal = redis::UserAccess::Refusal;
  if (call.arguments.size() < command.least || call.arguments.size() > command.most) {
    return error_of_arity(call.name);
  }
  const bool is_known = call.access != nullptr;
  const Refusal refusal = !is_known                      ? Refusal::unknown
                          : call.access->is_unrestricted ? Refusal::none
                                                         : call.access->refusal(kGet, call.ns);
  switch (refusal) {
    case Refusal::none:
      break;
    case Refusal::key:
      return error(kKeyRefused);
    case Refusal::command:
      return error(kCommandRefused);
    case Refusal::unknown:
      if (command.says_one_in_doubt) {
        break;
      }
      if (!is_known && call.attempt.now - call.attempt.since < kKnowPatience) {
        return hold(call.arguments);
      }
      return error("ERR rights unknown: GUARD.CHECK says why");
  }
  if (waits_for_proof(call)) {
    return hold(call.arguments);
  }
  return (this->*command.run)(call);
}

bool FilterCommands::waits_for_proof(const Call& call) {
  if (call.access == nullptr ||
      !guard_.wants_proof(call.ns, call.attempt.since, call.attempt.now)) {
    return false;
  }
  return std::ranges::any_of(call.items(), [&](std::string_view item) {
    return guard_.is_item_unproven(call.ns, item, reader(call));
  });
}

bool FilterCommands::may_take_large(Arguments front, const Client& client) const {
  if (front.empty() || !is_filter_command(front[0])) {
    return false;
  }
  if (front.size() == 1) {
    return guard_.names_filters();
  }
  const auto ns = guard_.filter_named(front[1]);
  return ns && (!client.is_settled() || client.db() == guard_.parts().namespaces[*ns].db);
}

// Without rights nothing is looked at: the item may exist.
bool FilterCommands::may_exist(std::string_view item, const Call& call) {
  if (call.access == nullptr) {
    return true;
  }
  const Verdict verdict = guard_.look_up_item(call.ns, item, reader(call));
  return verdict != Verdict::absent && verdict != Verdict::redis_first;
}

OwnDecision FilterCommands::exists(const Call& call) {
  reply_.clear();
  resp::append_boolean(reply_, call.version(), may_exist(call.items().front(), call));
  return answer();
}

OwnDecision FilterCommands::exists_each(const Call& call) {
  reply_.clear();
  resp::append_array_header(reply_, call.items().size());
  for (const std::string_view item : call.items()) {
    resp::append_boolean(reply_, call.version(), may_exist(item, call));
  }
  return answer();
}

OwnDecision FilterCommands::count(const Call& call) {
  reply_.clear();
  resp::append_integer(reply_, may_exist(call.items().front(), call) ? 1 : 0);
  return answer();
}

OwnDecision FilterCommands::add(const Call& call) {
  return add_items(call, call.items(), false);
}

OwnDecision FilterCommands::add_each(const Call& call) {
  return add_items(call, call.items(), true);
}

OwnDecision FilterCommands::insert(const Call& call) {
  const auto options = read_filter_options(call.name, call.arguments, 2);
  if (!options) {
    return error(options.error());
  }
  if (options->items < call.arguments.size()) {
    return add_items(call, call.arguments.subspan(options->items), true);
  }
  return error_of_arity(call.name);
}

// CF.ADD has no other reply than that it is there now; CF.INSERTNX has integers in RESP3, too.
OwnDecision FilterCommands::add_items(const Call& call, Arguments items, bool is_array) {
  const bool tells_old = !is_cuckoo(call.name) || is_if_new(call.name);
  const bool has_integers = is_array && is_if_new(call.name);
  reply_.clear();
  if (is_array) {
    resp::append_array_header(reply_, items.size());
  }
  for (const std::string_view item : items) {
    const bool says_new = !may_exist(item, call) || !tells_old;
    guard_.add(guard_.key_of_item(call.ns, item), call.client, call.attempt.now, std::nullopt);
    resp::append_boolean(reply_, has_integers ? resp::Version::resp2 : call.version(), says_new);
  }
  return answer();
}

OwnDecision FilterCommands::reserve(const Call& /*call*/) {
  return error("ERR item exists");
}

OwnDecision FilterCommands::compact(const Call& /*call*/) {
  reply_ = "+OK\r\n";
  return answer();
}

OwnDecision FilterCommands::refuse_dump(const Call& call) {
  return error("ERR the filter of namespace '" + guard_.parts().keyspace.name(call.ns) +
               "' follows a database: it is neither dumped nor loaded");
}

OwnDecision FilterCommands::card(const Call& call) {
  reply_.clear();
  resp::append_integer(
      reply_,
      static_cast<std::int64_t>(filter_totals(*guard_.parts().namespaces[call.ns].filter).items));
  return answer();
}

// Filters grow by themselves; of RedisBloom's, what it takes if nothing is said.
FilterInfo FilterCommands::info(const Call& call) {
  const FilterTotals totals = filter_totals(*guard_.parts().namespaces[call.ns].filter);
  const std::uint64_t buckets = totals.bytes / 8;
  return {.capacity = totals.capacity,
          .bytes = totals.bytes,
          .filters = totals.tables,
          .items = totals.items,
          .expansion = is_cuckoo(call.name) ? 1U : 2U,
          .buckets = buckets,
          .bucket_size = buckets == 0 ? 0 : totals.slots / buckets,
          .iterations = filter::kPathNodesMax};
}

OwnDecision FilterCommands::bloom_info(const Call& call) {
  reply_.clear();
  const auto asked = call.arguments.size() == 2 ? std::nullopt : std::optional(call.arguments[2]);
  return append_bloom_info(reply_, call.version(), info(call), asked)
             ? answer()
             : error("Invalid information value");
}

OwnDecision FilterCommands::cuckoo_info(const Call& call) {
  reply_.clear();
  append_cuckoo_info(reply_, call.version(), info(call));
  return answer();
}

}  // namespace cuckooguard::guard
