#include "guard/explanation.h"

#include <optional>
#include <span>

#include "guard/process.h"
#include "guard/trouble.h"
#include "keyspace/identity.h"
#include "keyspace/misfit.h"
#include "resp/reply_writer.h"

namespace cuckooguard::guard {
namespace {

// "42", or "tenant=7 order_id=42": how keyspace.h lays out an identity of several values.
std::string readable(std::string_view identity, std::span<const std::string> columns) {
  if (columns.size() < 2) {
    return std::string(identity);
  }
  std::string text;
  const auto values = keyspace::values_of_identity(identity, columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    text += (text.empty() ? "" : " ") + columns[i] + "=";
    text += values[i];
  }
  return text;
}

// What stands against answering at all.
std::optional<std::string> why_redis(const redis::Snapshot& redis) {
  const std::string_view why = why_of(redis.availability);
  return why.empty() ? std::nullopt : std::optional(std::string(why) + ": Redis replies itself");
}

// In the words of `cuckooguard explain`.
std::string why_unguarded(const keyspace::Keyspace& keyspace, std::string_view key) {
  const keyspace::Misfit misfit = keyspace::misfit_of(keyspace, key);
  return "no template of any namespace matches this key" +
         (misfit.nearest.empty() ? "" : "; nearest: " + misfit.nearest) + ": " + misfit.why;
}

std::string words_of(Held held) {
  switch (held) {
    case Held::in_flight:
      return "this client has written the key, and Redis has not replied yet";
    case Held::share_filled:
      return "this client has filled its share of the overlay: all its reads pass for max_lag";
    case Held::added:
      return "the key was recently added with GUARD.ADD";
    case Held::all:  // why_all_are_held() has more to say
    case Held::written:
    case Held::no:
      break;
  }
  return "the key was recently written through the guard";
}

}  // namespace

std::string reason_of(const Guard::Parts& parts,
                      const Guard::Inspection& seen,
                      int db,
                      TimePoint now) {
  const GuardedNamespace* const space =
      seen.verdict == Verdict::unguarded ? nullptr : &parts.namespaces[seen.found.ns];
  switch (seen.verdict) {
    case Verdict::unguarded:
      return "no template of any namespace matches this key";
    case Verdict::bypassed:
      return "the namespace's mode is bypass";
    case Verdict::other_db:
      return "the namespace guards db " + std::to_string(space->db) + ", this client is in db " +
             std::to_string(db);
    case Verdict::not_allowed:
      return "the permissions of this user are unknown";
    case Verdict::not_fresh:
      return seen.other ? "a row of namespace " + parts.keyspace.name(*seen.other) +
                              " may have this key, and that namespace passes all keys: " +
                              passing(parts.namespaces[*seen.other], now).why
                        : passing(*space, now).why;
    case Verdict::fresh_id:
      return "the id is just above the largest one seen: its row may not have arrived yet";
    case Verdict::may_exist:
      return seen.other
                 ? "a row of namespace " + parts.keyspace.name(*seen.other) +
                       " may have this key: its filter contains it, or reports a false positive"
                 : "the filter contains it, or reports a false positive";
    case Verdict::overlaid:
      return seen.held == Held::all ? why_all_are_held(*space->overlay, now) : words_of(seen.held);
    case Verdict::unproven:
      return "no row has this key, but the database did not confirm that in time (strict_hold) or "
             "is unreachable";
    case Verdict::tolerated:
      return "no row has this key, but the rate of such reads is below tolerate, so they are "
             "forwarded";
    case Verdict::observed:
      return "no row has this key, but the namespace's mode is observe";
    case Verdict::redis_first:
      return "no row has this key, but Redis is asked first (order: redis-first)";
    case Verdict::absent:
      break;
  }
  return seen.found.kind == keyspace::Lookup::Kind::impossible ? "no row can have this value"
                                                               : "no row has this key";
}

void append_explanation(std::string& out, const Explained& explained) {
  constexpr std::size_t kFields = 6;
  const keyspace::Lookup& found = explained.seen.found;
  const auto add = [&](std::string_view field, std::optional<std::string_view> value) {
    resp::append_bulk(out, field);
    if (value) {
      resp::append_bulk(out, *value);
    } else {
      resp::append_nil(out, explained.version);
    }
  };
  std::optional<std::string_view> ns;
  std::optional<std::string> identity;
  std::optional<std::string> key_hash;
  std::optional<std::string_view> state;
  if (explained.seen.verdict != Verdict::unguarded) {
    ns = explained.parts.keyspace.name(found.ns);
    state = filter::state_name(explained.parts.namespaces[found.ns].filter->state());
  }
  if (found.kind == keyspace::Lookup::Kind::guarded) {
    identity = readable(found.identity, explained.parts.keyspace.identity_columns(found.ns));
  }
  if (explained.parts.process != nullptr) {
    key_hash = explained.parts.process->key_hash(explained.key);
  }
  std::string_view verdict = ns ? "pass" : "unguarded";
  std::string why = ns ? reason_of(explained.parts, explained.seen, explained.db, explained.now)
                       : why_unguarded(explained.parts.keyspace, explained.key);
  if (explained.seen.verdict == Verdict::absent) {
    const auto against = explained.why_client.empty()
                             ? why_redis(explained.redis)
                             : std::optional(std::string(explained.why_client));
    verdict = against ? "pass" : "absent";
    why = against.value_or(why);
  }
  resp::append_map_header(out, explained.version, kFields);
  add("namespace", ns);
  add("key_hash", key_hash);
  add("identity", identity);
  add("state", state);
  add("verdict", verdict);
  add("why", why);
}

}  // namespace cuckooguard::guard
