#include "guard/filter_commands.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <expected>

#include "filter/path_search.h"
#include "guard/filter_totals.h"
#include "redis/word.h"
#include "resp/reply_writer.h"

namespace cuckooguard::guard {
namespace {

constexpr std::size_t kAny = static_cast<std::size_t>(-1);
constexpr std::string_view kUnknownPrefix = "GUARD.";
// Filters grow by themselves; of RedisBloom's this is what it takes if nothing else is said.
constexpr std::int64_t kBloomExpansion = 2;
constexpr std::int64_t kCuckooExpansion = 1;

// Of an Entry's name.
bool is_cuckoo(std::string_view name) {
  return name.front() == 'C';
}
bool is_if_new(std::string_view name) {
  return name.back() == 'X';  // ADDNX, INSERTNX
}

template <class Number>
bool is_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

// What stands before ITEMS. RedisBloom has no more than the words' beginnings; these are whole.
struct Option {
  std::string_view word;
  bool (*is_value)(std::string_view);  // null: it has none
  std::string_view error;
  bool is_of_cuckoo;
};
constexpr std::array kOptions = std::to_array<Option>({
    {"capacity", is_number<std::int64_t>, "Bad capacity", true},
    {"error", is_number<double>, "Bad error rate", false},
    {"expansion", is_number<std::int64_t>, "Bad expansion", false},
    {"nocreate", nullptr, "", true},
    {"nonscaling", nullptr, "", false},
});

// Behind ITEMS, which may be the end. Or an error.
std::expected<std::size_t, std::string_view> first_item(
    std::string_view name, std::span<const std::string_view> arguments) {
  std::size_t i = 2;
  while (i < arguments.size() && !redis::is_word(arguments[i], "items")) {
    const auto* const option = std::ranges::find_if(kOptions, [&](const Option& each) {
      return redis::is_word(arguments[i], each.word) && (each.is_of_cuckoo || !is_cuckoo(name));
    });
    if (option == kOptions.end()) {
      return std::unexpected("Unknown argument received");
    }
    const bool has_value = option->is_value != nullptr;
    if (has_value && i + 1 < arguments.size() && !option->is_value(arguments[i + 1])) {
      return std::unexpected(option->error);
    }
    i += has_value ? 2 : 1;
  }
  return i + 1;
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
  const auto* const command = std::ranges::find_if(kEntries, [&](const Entry& each) {
    return std::ranges::equal(each.name, arguments[0], {}, redis::lower_case, redis::lower_case);
  });
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
  const bool is_reliable = client.may_rely_on(redis, attempt.now);
  if ((is_reliable || client.has_authenticated()) && client.login(redis) == Client::Login::no) {
    return error("NOAUTH Authentication required.");
  }
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
    return error_of_arity(call);
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
  return (this->*command.run)(call);
}

// As a command of which Redis knows nothing, also if it has a module that knows this one.
OwnDecision FilterCommands::for_redis_to_refuse(Arguments arguments) {
  name_.assign(kUnknownPrefix).append(arguments[0]);
  words_.assign(arguments.begin(), arguments.end());
  words_.front() = name_;
  return {.instead = words_};
}

// Where it cannot be held (a client that does not read) Redis is to refuse it.
OwnDecision FilterCommands::hold(Arguments arguments) {
  OwnDecision decision = for_redis_to_refuse(arguments);
  decision.action = OwnDecision::Action::hold_for_client;
  return decision;
}

bool FilterCommands::may_take_large(Arguments front, const Client& client) const {
  if (front.empty() || !is_name(front[0])) {
    return false;
  }
  if (front.size() == 1) {
    return guard_.names_filters();
  }
  const auto ns = guard_.filter_named(front[1]);
  return ns && (!client.is_settled() || client.db() == guard_.parts().namespaces[*ns].db);
}

std::string_view FilterCommands::unknown_to_redis(Arguments arguments, std::string_view chunk) {
  const std::size_t name = static_cast<std::size_t>(arguments[0].data() - chunk.data());
  reply_.assign(chunk.substr(0, chunk.find('\n') + 1));
  reply_.append("$").append(std::to_string(kUnknownPrefix.size() + arguments[0].size()));
  reply_.append("\r\n").append(kUnknownPrefix).append(chunk.substr(name));
  return reply_;
}

OwnDecision FilterCommands::error(std::string_view line) {
  reply_.clear();
  resp::append_error(reply_, line);
  return answer();
}

OwnDecision FilterCommands::error_of_arity(const Call& call) {
  return error("ERR wrong number of arguments for '" + std::string(call.name) + "' command");
}

// Without rights nothing is looked at: the item may exist.
bool FilterCommands::may_exist(std::string_view item, const Call& call) {
  if (call.access == nullptr) {
    return true;
  }
  const Verdict verdict = guard_.look_up_item(call.ns,
                                              item,
                                              {.db = call.client.db(),
                                               .access = *call.access,
                                               .now = call.attempt.now,
                                               .writes = call.client.writes()});
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
  const auto first = first_item(call.name, call.arguments);
  if (!first) {
    return error(first.error());
  }
  if (*first < call.arguments.size()) {
    return add_items(call, call.arguments.subspan(*first), true);
  }
  return error_of_arity(call);
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

OwnDecision FilterCommands::tell(const Call& call, std::span<const Fact> facts) {
  reply_.clear();
  resp::append_map_header(reply_, call.version(), facts.size());
  for (const Fact& fact : facts) {
    resp::append_simple(reply_, fact.name);
    resp::append_integer(reply_, fact.value);
  }
  return answer();
}

// Of RESP2, what is asked for by name is the value alone, in an array.
OwnDecision FilterCommands::bloom_info(const Call& call) {
  const FilterTotals totals = filter_totals(*guard_.parts().namespaces[call.ns].filter);
  const auto facts = std::to_array<Fact>({
      {"Capacity", static_cast<std::int64_t>(totals.capacity)},
      {"Size", static_cast<std::int64_t>(totals.bytes)},
      {"Number of filters", static_cast<std::int64_t>(totals.tables)},
      {"Number of items inserted", static_cast<std::int64_t>(totals.items)},
      {"Expansion rate", kBloomExpansion},
  });
  if (call.arguments.size() == 2) {
    return tell(call, facts);
  }
  constexpr std::array<std::string_view, facts.size()> kAsked{
      "capacity", "size", "filters", "items", "expansion"};
  const auto* const asked = std::ranges::find_if(
      kAsked, [&](std::string_view word) { return redis::is_word(call.arguments[2], word); });
  if (asked == kAsked.end()) {
    return error("Invalid information value");
  }
  const Fact& fact = facts.at(static_cast<std::size_t>(asked - kAsked.begin()));
  if (call.version() == resp::Version::resp3) {
    return tell(call, {&fact, 1});
  }
  reply_.clear();
  resp::append_array_header(reply_, 1);
  resp::append_integer(reply_, fact.value);
  return answer();
}

OwnDecision FilterCommands::cuckoo_info(const Call& call) {
  const FilterTotals totals = filter_totals(*guard_.parts().namespaces[call.ns].filter);
  const std::uint64_t buckets = totals.bytes / 8;
  const std::uint64_t per_bucket = buckets == 0 ? 0 : totals.slots / buckets;
  return tell(call,
              std::to_array<Fact>({
                  {"Size", static_cast<std::int64_t>(totals.bytes)},
                  {"Number of buckets", static_cast<std::int64_t>(buckets)},
                  {"Number of filters", static_cast<std::int64_t>(totals.tables)},
                  {"Number of items inserted", static_cast<std::int64_t>(totals.items)},
                  {"Number of items deleted", 0},
                  {"Bucket size", static_cast<std::int64_t>(per_bucket)},
                  {"Expansion rate", kCuckooExpansion},
                  {"Max iterations", filter::kPathNodesMax},
              }));
}

}  // namespace cuckooguard::guard
