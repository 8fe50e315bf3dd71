#include "guard/advice.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "config/nearest.h"
#include "guard/key_shapes.h"
#include "guard/process.h"
#include "guard/trouble.h"
#include "text/grouped.h"

namespace cuckooguard::guard {
namespace {

std::string counted(std::uint64_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string readable(std::chrono::nanoseconds time) {
  using std::chrono::days;
  using std::chrono::floor;
  using std::chrono::hours;
  using std::chrono::minutes;
  using std::chrono::seconds;
  const auto text = [](auto amount, const char* noun) {
    return counted(static_cast<std::uint64_t>(amount.count()), noun);
  };
  if (time >= days(2)) {
    return text(floor<days>(time), "day");
  }
  if (time >= hours(2)) {
    return text(floor<hours>(time), "hour");
  }
  return time >= minutes(2) ? text(floor<minutes>(time), "minute")
                            : text(floor<seconds>(time), "second");
}

// Of all guards: how many reads were of which shape.
using Shapes = std::map<std::string, std::uint64_t, std::less<>>;

Shapes shapes_of(std::span<const Guard* const> guards) {
  Shapes shapes;
  for (const Guard* const guard : guards) {
    guard->unguarded_shapes().for_each([&shapes](std::string_view shape, std::uint64_t reads) {
      shapes[std::string(shape)] += reads;
    });
  }
  return shapes;
}

// The one that resembles the beginning of a template, a typing error away; else the most common
// one, if it is that.
Shapes::const_iterator likely_shape(const Shapes& shapes,
                                    std::span<const keyspace::KeyTemplate> templates) {
  constexpr std::uint64_t kCommonLeast = 100;
  std::vector<std::string_view> names;
  for (const auto& [shape, reads] : shapes) {
    names.push_back(shape);
  }
  for (const keyspace::KeyTemplate& key_template : templates) {
    const std::string key = std::string(key_template.literal_prefix()) + "0";
    const std::string_view wanted = shape_of(key);
    const auto near = wanted.empty() ? std::nullopt : config::nearest(wanted, names);
    if (near) {
      return shapes.find(*near);
    }
  }
  const auto most = std::ranges::max_element(shapes, {}, &Shapes::value_type::second);
  return most != shapes.end() && most->second >= kCommonLeast ? most : shapes.end();
}

bool is_most(std::uint64_t part, std::uint64_t all) {
  return part > all / 2;
}

std::string most_reads(std::uint64_t part, std::uint64_t all) {
  return "most reads (" + text::grouped(part) + " of " + text::grouped(all) + ") ";
}

// Why keys pass now, or most reads were not looked at, or in vain; empty if most were.
std::string what_is_in_the_way(const Evidence& seen) {
  if (!seen.why_keys_pass.empty()) {
    return seen.why_keys_pass + "; ";
  }
  if (seen.is_in_other_db()) {
    return text::grouped(seen.other_db) + " of " + text::grouped(seen.keys) +
           " reads came in a db other than " + std::to_string(seen.db) +
           " and passed: set `db` to the number that the application selects; ";
  }
  const Evidence::Reads& reads = seen.reads;
  if (is_most(reads.not_allowed, reads.all)) {
    return most_reads(reads.not_allowed, reads.all) +
           "were not checked because the permissions of their users are unknown: see "
           "upstream.control; ";
  }
  if (is_most(reads.unavailable, reads.all)) {
    return most_reads(reads.unavailable, reads.all) +
           "came while Redis was not ready or did not respond; ";
  }
  if (is_most(seen.not_fresh, seen.keys)) {
    return most_reads(seen.not_fresh, seen.keys) + "came while the filter was not ready; ";
  }
  if (is_most(reads.unguarded, reads.all) && !seen.is_unmatched()) {
    return most_reads(reads.unguarded, reads.all) + "belong to no namespace; ";
  }
  return seen.compared == 0 && !seen.is_unmatched() ? "nothing has been compared with Redis yet; "
                                                    : "";
}

std::string what_matches_instead(const Evidence& seen) {
  const auto reads = [](std::uint64_t number, const char* of_one, const char* of_several) {
    return text::grouped(number) + (number == 1 ? of_one : of_several);
  };
  std::string text = "no read matched ";
  text += seen.templates == 1 ? "this template; " : "these templates; ";
  if (seen.shape.empty()) {
    text += reads(seen.reads.unguarded, " read belongs", " reads belong") + " to no namespace";
  } else {
    text += seen.reads.unguarded > KeyShapes::kAllUpTo ? "about " : "";
    text += reads(seen.reads_of_shape, " unguarded read begins", " unguarded reads begin") +
            " with `" + seen.shape + "`";
  }
  return text + "; try `cuckooguard explain KEY`";
}

std::string what_was_seen(const Evidence& seen) {
  const Contradictions::Counts& counts = seen.contradictions;
  std::string text =
      readable(seen.watched) + ", " + counted(counts.of(Cause::hidden_row), "hidden row");
  for (const auto& [cause, noun] :
       {std::pair{Cause::hidden_value, "hidden value"}, std::pair{Cause::late_row, "late row"}}) {
    if (counts.of(cause) > 0) {
      text += ", " + counted(counts.of(cause), noun);
    }
  }
  if (seen.mode == config::Mode::enforce) {
    return text + " in " + counted(seen.compared, "comparison");
  }
  constexpr std::uint64_t kWhole = 100;
  std::uint64_t share = seen.keys == 0 ? 0 : seen.absent * kWhole / seen.keys;
  if (const std::uint64_t forecast = seen.forecast_answered + seen.forecast_passed;
      seen.is_strict && forecast > 0) {
    share = share * seen.forecast_answered / forecast;
  }
  return text + ", " + std::to_string(share) + " % of look-ups would have been stopped";
}

// By which the application itself marks what is not there: they are no contradiction when the guard
// knows them.
std::string own_placeholders(const Evidence& seen) {
  return seen.has_absent_reply || seen.mode != config::Mode::observe
             ? ""
             : ", or your own placeholders: set absent_reply now";
}

// What has to be seen yet; empty: nothing.
std::string what_lacks(const Evidence& seen) {
  using std::chrono::floor;
  using std::chrono::hours;
  using std::chrono::minutes;
  std::string text;
  if (seen.compared < kComparedMin) {
    text = text::grouped(seen.compared) + " of " + text::grouped(kComparedMin) + " comparisons";
  }
  if (seen.watched < kWatchedMin) {
    text += text.empty() ? "" : ", ";
    text += std::to_string(floor<minutes>(seen.watched).count()) + " min of " +
            std::to_string(kWatchedMin.count()) + " h";
  }
  return text;
}

// What quiet times need; empty: nothing.
std::string what_to_tolerate(const Evidence& seen) {
  if (seen.tolerate > 0) {
    return "";
  }
  const std::uint64_t rows = seen.log.before_commit + (seen.is_strict ? 0 : seen.log.at_commit);
  const auto hours = std::chrono::ceil<std::chrono::hours>(seen.watched).count();
  const std::string early =
      counted(rows, "row") + " (" +
      text::grouped(rows / static_cast<std::uint64_t>(std::max<std::int64_t>(hours, 1))) +
      " an hour) were read " +
      (seen.is_strict ? "before their commit" : "before or at about their commit");
  return (rows == 0 ? "" : "; " + early) +
         "; set tolerate: 10/s, so that the application notices no difference unless there is an "
         "attack";
}

// Empty: nothing.
std::string what_lag_hides(const Evidence& seen) {
  return seen.hidden() > 0 ? "; " + counted(seen.hidden(), "row") +
                                 (seen.mode == config::Mode::enforce ? "" : " would have been") +
                                 " hidden just after the commit: " + std::string(hint_of_lag(seen))
                           : "";
}

std::string what_to_do(const Evidence& seen) {
  const Contradictions::Counts& counts = seen.contradictions;
  const bool enforces = seen.mode == config::Mode::enforce;
  if (counts.of(Cause::hidden_row) > 0) {
    return ": " + std::string(hint_of_hidden_rows(seen.mode));
  }
  if (counts.of(Cause::hidden_value) > 0 && seen.has_hardly_found()) {
    return "; hardly any look-up found a row: keys and columns may spell the same values "
           "differently, such as a UUID as text and as 16 bytes; first compare a key with its row: "
           "`cuckooguard explain KEY`" +
           own_placeholders(seen);
  }
  if (counts.of(Cause::hidden_value) > 0) {
    return "; only Redis has those values: the keys cover more than the table, or a cache is "
           "stale" +
           own_placeholders(seen) + "; see event=hidden_value in the log, and order: redis-first";
  }
  const std::uint64_t unknown = counts.of(Cause::unknown) + counts.dropped;
  if (unknown > 0) {
    return "; " + counted(unknown, "key") +
           " that exist in Redis could not be looked up in the source" + own_placeholders(seen);
  }
  if (counts.open > 0) {
    return "; " + counted(counts.open, "key") +
           " that exist in Redis are still to be looked up in the source";
  }
  if (const std::string hidden = what_lag_hides(seen); !hidden.empty()) {
    return hidden;
  }
  if (!seen.why_keys_pass.empty() || seen.is_in_other_db()) {
    return "";
  }
  if (enforces) {
    return (seen.compared > 0 ? "; no problem was found" : "") + what_to_tolerate(seen);
  }
  const std::string lacks = what_lacks(seen);
  if (!lacks.empty()) {
    return "; not enough data yet: " + lacks;
  }
  return (seen.has_absent_reply ? "; ready for enforce"
                                : "; ready for enforce, once absent_reply is set") +
         what_to_tolerate(seen);
}

std::string why_keys_pass(const Guard::Parts& parts, std::uint32_t ns, TimePoint now) {
  std::string why = parts.facts.snapshot()->control.why_keys_pass();
  if (!why.empty()) {
    return why;
  }
  const Passing all = passing(parts.namespaces[ns], now);
  return all.why.empty() ? "" : "all keys pass: " + all.why;
}

Evidence::Reads reads_of(std::span<const Guard* const> guards) {
  Evidence::Reads reads;
  for (const Guard* const guard : guards) {
    const GuardCounters& counters = guard->counters();
    reads.not_allowed += counters.not_allowed_reads.value();
    reads.unavailable += counters.unavailable_reads.value();
    reads.unguarded += counters.unguarded_keys.value();
    reads.all += counters.guarded_keys.value() + counters.unsettled_reads.value() +
                 counters.other_node_reads.value() + counters.no_room_reads.value();
  }
  reads.all += reads.not_allowed + reads.unavailable + reads.unguarded;
  return reads;
}

}  // namespace

Evidence evidence(const Guard::Parts& parts, std::uint32_t ns, TimePoint now) {
  const GuardedNamespace& space = parts.namespaces[ns];
  Evidence all{.mode = space.mode,
               .has_absent_reply = space.may_enforce,
               .db = space.db,
               .tolerate = space.tolerance->rate(),
               .log = space.filter->absent_reads(),
               .is_strict = space.is_strict(),
               .may_be_strict = space.questions != nullptr && space.questions->serves_strict(),
               .why_keys_pass = why_keys_pass(parts, ns, now)};
  for (const NamespaceCounters& counters : space.counts->by_worker) {
    for (const Counter& verdict : counters.keys) {
      all.keys += verdict.value();
    }
    for (const Verdict verdict : {Verdict::observed, Verdict::redis_first, Verdict::absent}) {
      all.absent += counters.of(verdict).value();
    }
    all.found += counters.of(Verdict::may_exist).value();
    all.not_fresh += counters.of(Verdict::not_fresh).value();
    all.other_db += counters.of(Verdict::other_db).value();
    all.compared += counters.verified.value() + counters.contradicted.value();
    all.forecast_answered += counters.forecast_answered.value();
    all.forecast_passed += counters.forecast_passed.value();
  }
  if (const Process* const process = parts.process; process != nullptr) {
    const bool is_known = ns < process->origins.size();
    all.watched = now - (is_known ? std::max(process->origins[ns].since, process->started_at)
                                  : process->started_at);
    if (process->contradictions != nullptr) {
      all.contradictions = process->contradictions->counts(ns);
    }
    all.reads = reads_of(process->guards);
    all.templates = parts.keyspace.templates(ns).size();
    if (all.is_unmatched()) {
      const Shapes shapes = shapes_of(process->guards);
      const auto likely = likely_shape(shapes, parts.keyspace.templates(ns));
      if (likely != shapes.end()) {
        all.shape = likely->first;
        all.reads_of_shape = likely->second;
      }
    }
  }
  return all;
}

std::string_view hint_of_hidden_rows(config::Mode mode) {
  return mode == config::Mode::enforce ? "switch back to observe; see event=hidden_row in the log"
                                       : "do not enforce; see event=hidden_row in the log";
}

std::string_view hint_of_lag(const Evidence& seen) {
  if (seen.is_strict) {
    return "consistency: strict should prevent this: do not enforce; see event=hidden_by_lag in "
           "the log";
  }
  return seen.may_be_strict ? "set consistency: strict"
                            : "its source does not support consistency: strict: set absent_reply: "
                              "nil, or let the application send GUARD.WAIT";
}

std::string advice(const Evidence& evidence) {
  if (evidence.mode == config::Mode::bypass) {
    return "";
  }
  return what_is_in_the_way(evidence) + (evidence.is_unmatched()
                                             ? what_matches_instead(evidence)
                                             : what_was_seen(evidence) + what_to_do(evidence));
}

}  // namespace cuckooguard::guard
