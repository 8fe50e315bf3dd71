// RedisBloom's commands, BF.* and CF.*, of a key that a namespace names (`commands: { key: users
// }`): answered from its filter, as if it were one of RedisBloom's that somebody keeps filled.
//
//   CF.EXISTS users 42    0: the row of the key that the first template makes of 42 is absent
//   BF.ADD users 42       as GUARD.ADD of that key: it passes for overlay.ttl; the database is the
//                         truth
//
//   EXISTS, MEXISTS, COUNT          0 only where the filter has the proof (guard/guard.h), and in
//                                   mode enforce; else 1
//   ADD, MADD, INSERT, ADDNX ...    the items pass, as by GUARD.ADD; 1: there was proof that it had
//                                   no row
//   DEL                             1: it may have a row. Nothing else comes of it
//   CARD, INFO                      of the filters as they are now
//   RESERVE                         "item exists", as it does. COMPACT: OK
//   SCANDUMP, LOADCHUNK             refused in words
//
// They count as reads of keys, and as keys added. The client's user must be one who may GET the
// namespace's keys. Where that is not known, EXISTS and its like reply 1, and the others wait as
// GUARD.* do.
//
// For a client in another db than the namespace's the key is any key: forwarded. A Redis that has
// the commands, but not the filter, would reply that nothing exists: it never gets them as they are
// (guard/own_commands.h).
//
// Errors: in RedisBloom's words.
// Source: https://redis.io/docs/latest/commands (bf.*, cf.*); RedisBloom 2.8, its tests of RESP3.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "filter/path_search.h"
#include "guard/command_families.h"
#include "guard/filter_totals.h"
#include "guard/own_commands.h"
#include "guard/redisbloom.h"

namespace cuckooguard::guard {
namespace {

struct FilterCall : Call {
  FilterCall(const Call& call, std::uint32_t of) : Call(call), ns(of) {}

  std::uint32_t ns;

  OwnDecision exists() const {
    return booleans(items(), version(), [this](std::string_view item) { return may_exist(item); });
  }

  OwnDecision count() const { return integer(may_exist(items().front()) ? 1 : 0); }

  OwnDecision add() const { return add_items(items()); }

  OwnDecision insert() const {
    const auto options = read_insert(name, arguments);
    return options ? add_items(arguments.subspan(options->items)) : refused(options.error());
  }

  OwnDecision reserve() const {
    const auto options = read_reserve(name, arguments);
    return options ? error("ERR item exists") : refused(options.error());
  }

  OwnDecision compact() const { return simple("OK"); }

  OwnDecision refuse_dump() const {
    return error("ERR the filter of namespace '" + guard.parts().keyspace.name(ns) +
                 "' follows a database and cannot be dumped or loaded");
  }

  OwnDecision card() const { return integer(static_cast<std::int64_t>(totals().items)); }

  // Filters grow by themselves; the rest is RedisBloom's default.
  OwnDecision info() const {
    const FilterTotals all = totals();
    const std::uint64_t buckets = all.bytes / 8;
    return answer_info(*this,
                       {.capacity = all.capacity,
                        .bytes = all.bytes,
                        .filters = all.tables,
                        .items = all.items,
                        .expansion = is_cuckoo(name) ? 1U : 2U,
                        .buckets = buckets,
                        .bucket_size = buckets == 0 ? 0 : all.slots / buckets,
                        .iterations = filter::kPathNodesMax});
  }

  // Why it is not run, or not yet.
  std::optional<OwnDecision> refusal(bool says_one_in_doubt) const {
    if (const auto words = Call::refusal(ns, kInDoubt);
        words && (*words != kInDoubt || !says_one_in_doubt)) {
      return access == nullptr ? wait_for_rights() : error(*words);
    }
    return waits_for_proof() ? std::optional(hold()) : std::nullopt;
  }

 private:
  static constexpr std::string_view kInDoubt = "ERR rights unknown: GUARD.CHECK returns the reason";

  bool waits_for_proof() const {
    return access != nullptr && guard.wants_proof(ns, attempt.since, attempt.now) &&
           std::ranges::any_of(items(), [&](std::string_view item) {
             return guard.is_item_unproven(ns, item, reader());
           });
  }

  // Without rights nothing is looked at: the item may exist.
  bool may_exist(std::string_view item) const {
    if (access == nullptr) {
      return true;
    }
    const Verdict verdict = guard.look_up_item(ns, item, reader());
    return verdict != Verdict::absent && verdict != Verdict::redis_first;
  }

  // CF.ADD has no other reply than that it is there now; CF.INSERTNX has integers in RESP3, too.
  OwnDecision add_items(Arguments added) const {
    const bool tells_old = !is_cuckoo(name) || is_if_new(name);
    const bool has_integers = takes_any_number() && is_if_new(name);
    return booleans(
        added, has_integers ? resp::Version::resp2 : version(), [&](std::string_view item) {
          const bool is_new = !may_exist(item) || !tells_old;
          guard.add(guard.key_of_item(ns, item), client, attempt.now, std::nullopt);
          return is_new;
        });
  }

  FilterTotals totals() const { return filter_totals(*guard.parts().namespaces[ns].filter); }
};

template <OwnDecision (FilterCall::*kFunction)() const, bool kSaysOneInDoubt = false>
OwnDecision run(const Call& of) {
  const auto ns = of.guard.filter_named(of.key());
  if (!ns) {
    return {};
  }
  const FilterCall call(of, *ns);
  auto refused = call.refusal(kSaysOneInDoubt);
  return refused ? *std::move(refused) : (call.*kFunction)();
}

// clang-format off
constexpr auto kRows = std::to_array<CommandRow>({
    {"BF.EXISTS CF.EXISTS CF.DEL", 3, 3, Needs::no_refusal, run<&FilterCall::exists, true>},
    {"BF.MEXISTS CF.MEXISTS", 3, kAny, Needs::no_refusal, run<&FilterCall::exists, true>},
    {"CF.COUNT", 3, 3, Needs::no_refusal, run<&FilterCall::count, true>},
    {"BF.ADD CF.ADD CF.ADDNX", 3, 3, Needs::no_refusal, run<&FilterCall::add>},
    {"BF.MADD", 3, kAny, Needs::no_refusal, run<&FilterCall::add>},
    {"BF.INSERT CF.INSERT CF.INSERTNX", 4, kAny, Needs::no_refusal, run<&FilterCall::insert>},
    {"BF.RESERVE", 4, 7, Needs::no_refusal, run<&FilterCall::reserve>},
    {"CF.RESERVE", 3, kAny, Needs::no_refusal, run<&FilterCall::reserve>},
    {"BF.CARD", 2, 2, Needs::no_refusal, run<&FilterCall::card>},
    {"BF.INFO", 2, 3, Needs::no_refusal, run<&FilterCall::info>},
    {"CF.INFO", 2, 2, Needs::no_refusal, run<&FilterCall::info>},
    {"CF.COMPACT", 2, 2, Needs::no_refusal, run<&FilterCall::compact>},
    {"BF.SCANDUMP CF.SCANDUMP", 3, 3, Needs::no_refusal, run<&FilterCall::refuse_dump>},
    {"BF.LOADCHUNK CF.LOADCHUNK", 4, 4, Needs::no_refusal, run<&FilterCall::refuse_dump>},
    {"BF. CF.", 1, kAny, Needs::nothing, [](const Call& of) { return of.for_redis_to_refuse(); }},
});
// clang-format on

class FilterCommands final : public CommandServer {
 public:
  explicit FilterCommands(Guard& guard) : CommandServer(guard, kRows) {}

  // A name alone is none of Redis's, either.
  bool takes(const CommandRow& row, Arguments arguments, TimePoint /*now*/) override {
    return arguments.size() > 1 ? guard_.filter_named(arguments[1]).has_value()
                                : row.least > 1 && guard_.names_filters();
  }
  // SELECT may have been queued, or be on its way.
  bool is_of_another_db(const Call& call) const override {
    return call.arguments.size() > 1 && !call.is_left_to_redis() && !call.must_be_held() &&
           !is_of_db(call.key(), call.client);
  }
  // With no more than its name the key may be one of them.
  bool may_take_large(const CommandRow& /*row*/,
                      Arguments front,
                      const Client& client,
                      TimePoint /*now*/) override {
    if (front.size() == 1) {
      return guard_.names_filters();
    }
    return client.is_settled() ? is_of_db(front[1], client)
                               : guard_.filter_named(front[1]).has_value();
  }

 private:
  bool is_of_db(std::string_view key, const Client& client) const {
    const auto ns = guard_.filter_named(key);
    return ns && guard_.parts().namespaces[*ns].db == client.db();
  }
};

}  // namespace

std::unique_ptr<CommandServer> filter_commands(Guard& guard) {
  return std::make_unique<FilterCommands>(guard);
}

}  // namespace cuckooguard::guard
