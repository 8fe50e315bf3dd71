#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "app/assembly.h"
#include "config/values.h"
#include "guard/advice.h"
#include "io/clock.h"
#include "text/words.h"

namespace cuckooguard::app {

using guard::Cause;
using keyspace::Lookup;
using source::RowPresence;

ContradictionChecker::ContradictionChecker(Parts parts)
    : parts_(std::move(parts)), ask_at_(parts_.clock()), forget_at_(ask_at_ + kForgetEvery) {}

void ContradictionChecker::step() {
  const TimePoint now = parts_.clock();
  if (now >= forget_at_) {
    parts_.contradictions.forget();
    forget_at_ = now + kForgetEvery;
  }
  look_again(now);
  if (now >= ask_at_ && ask_one()) {
    ask_at_ = parts_.clock() + kAskEvery;
  }
}

// Those of which the filter should know by now.
void ContradictionChecker::look_again(TimePoint now) {
  for (auto suspect = suspects_.begin(); suspect != suspects_.end();) {
    if (suspect->phase != Phase::waiting || now < suspect->due_at) {
      ++suspect;
      continue;
    }
    switch (parts_.look_up(suspect->key.ns, match(*suspect))) {
      case filter::Finding::absent:
        suspect->phase = Phase::to_confirm;
        ++suspect;
        break;
      case filter::Finding::not_fresh:
        suspect = now > suspect->due_at + kFilterPatience ? close(suspect, Cause::unknown)
                                                          : std::next(suspect);
        break;
      case filter::Finding::may_exist:
      case filter::Finding::fresh_id:
        suspect = close(suspect, Cause::late_row);
        break;
    }
  }
}

// What has waited longest comes first.
ContradictionChecker::Suspects::iterator ContradictionChecker::next_to_ask() {
  for (const Phase phase : {Phase::to_confirm, Phase::to_ask}) {
    const auto found = std::ranges::find(suspects_, phase, &Suspect::phase);
    if (found != suspects_.end()) {
      return found;
    }
  }
  if (suspects_.size() < kSuspectsMax) {
    if (auto next = parts_.contradictions.next()) {
      return suspects_.insert(suspects_.end(), Suspect{.key = *std::move(next)});
    }
  }
  return suspects_.end();
}

// False if there was nothing to ask the source.
bool ContradictionChecker::ask_one() {
  for (;;) {
    const auto suspect = next_to_ask();
    if (suspect == suspects_.end()) {
      return false;
    }
    const Lookup found = match(*suspect);
    if (found.kind != Lookup::Kind::guarded) {  // no row can have such a key
      close(suspect, Cause::hidden_value);
      continue;
    }
    const filter::Finding now = parts_.look_up(suspect->key.ns, found);
    if (now == filter::Finding::may_exist || now == filter::Finding::fresh_id) {
      close(suspect, Cause::late_row);
      continue;
    }
    hear(suspect, parts_.ask(suspect->key.ns, found.identity));
    return true;
  }
}

void ContradictionChecker::hear(Suspects::iterator suspect, RowPresence presence) {
  const bool confirms = suspect->phase == Phase::to_confirm;
  switch (presence) {
    case RowPresence::present:
      if (confirms) {
        close(suspect, Cause::hidden_row);
      } else {
        suspect->phase = Phase::waiting;
        suspect->due_at = parts_.clock() + parts_.max_lag(suspect->key.ns);
      }
      break;
    case RowPresence::absent:
      close(suspect, confirms ? Cause::late_row : Cause::hidden_value);
      break;
    case RowPresence::unknown:
      if (++suspect->attempts == kAttemptsMax) {
        close(suspect, Cause::unknown);
      } else {  // others first
        suspects_.splice(suspects_.end(), suspects_, suspect);
      }
      break;
  }
}

Lookup ContradictionChecker::match(const Suspect& suspect) {
  return parts_.keyspace.match(suspect.key.key, scratch_);
}

ContradictionChecker::Suspects::iterator ContradictionChecker::close(Suspects::iterator suspect,
                                                                     Cause cause) {
  parts_.contradictions.found(suspect->key.ns, cause);
  parts_.told(suspect->key, cause);
  return suspects_.erase(suspect);
}

Verification::Verification(const Parts& parts)
    : parts_(parts),
      checker_(
          {.contradictions = parts.contradictions,
           .keyspace = parts.guarded.keyspace,
           .clock = io::now_since_boot,
           .look_up = [this](std::uint32_t ns,
                             const keyspace::Lookup& found) { return look_up(ns, found); },
           .ask = [this](std::uint32_t ns, std::string_view identity) { return ask(ns, identity); },
           .max_lag =
               [this](std::uint32_t ns) { return parts_.guarded.process->origins[ns].max_lag; },
           .told = [this](const guard::Contradictions::Key& key,
                          Cause cause) { log(key, cause); }}) {}

void Verification::run(const std::stop_token& stop) {
  stop_ = stop;
  TimePoint advise_at = io::now_since_boot() + kAdviseFirst;
  while (!stop.stop_requested()) {
    look_for_attacks();
    look_at_log();
    checker_.step();
    if (const TimePoint now = io::now_since_boot(); now >= advise_at) {
      advise_at = now + kAdviseEvery;
      advise();
    }
    parts_.rows.serve(
        [this](const auto& question, const auto& until) { return answer(question, until); },
        kStepEvery,
        stop);
  }
}

source::RowAnswer Verification::answer(const guard::RowQuestion& question,
                                       const std::stop_token& stop) {
  const auto ns = parts_.guarded.keyspace.find(question.ns);
  return ns ? parts_.sources.look_up_published(*ns, question.definition, question.identity, stop)
            : source::RowAnswer{.why = "the builder does not have this namespace"};
}

void Verification::look_for_attacks() {
  const TimePoint now = io::now_since_boot();
  for (std::uint32_t ns = 0; ns < parts_.guarded.namespaces.size(); ++ns) {
    const guard::GuardedNamespace& space = parts_.guarded.namespaces[ns];
    const auto change =
        space.counts->attack.look(now, space.counts->absent_keys(), space.tolerance->rate());
    if (!change) {
      continue;
    }
    const std::string keys =
        text::joined(parts_.guarded.keyspace.templates(ns), ", ", &keyspace::KeyTemplate::text);
    const std::string& name = parts_.guarded.keyspace.name(ns);
    if (change->has_begun) {
      parts_.log.warning("attack_began",
                         {{"namespace", name},
                          {"per_second", std::llround(change->rate)},
                          {"tolerate", config::text_of_rate(space.tolerance->rate())},
                          {"mode", config::name_of(space.mode)},
                          {"keys", keys}});
    } else {
      parts_.log.info(
          "attack_ended",
          {{"namespace", name},
           {"seconds", std::chrono::round<std::chrono::seconds>(change->lasted).count()},
           {"reads", change->reads},
           {"peak_per_second", std::llround(change->peak)},
           {"keys", keys}});
    }
  }
}

// Rows that were told to be absent although the database had committed them.
void Verification::look_at_log() {
  const TimePoint now = io::now_since_boot();
  for (std::uint32_t ns = 0; ns < parts_.guarded.namespaces.size(); ++ns) {
    const guard::GuardedNamespace& space = parts_.guarded.namespaces[ns];
    const filter::AbsentReads::Findings seen = space.filter->absent_reads();
    const auto [told, is_new] = hidden_.try_emplace(ns, Hidden{.rows = seen.hidden()});
    if (is_new || seen.hidden() <= told->second.rows || now < told->second.quiet_until) {
      continue;  // what was hidden before a reload has been told
    }
    told->second = {.rows = seen.hidden(), .quiet_until = now + kLogEvery};
    const auto milliseconds = [](std::chrono::nanoseconds lag) {
      return std::chrono::ceil<std::chrono::milliseconds>(lag).count();
    };
    const std::string hash =
        seen.is_key_whole ? parts_.guarded.process->key_hash(seen.key) : std::string("unknown");
    std::vector<log::Field> fields{{"namespace", parts_.guarded.keyspace.name(ns)},
                                   {"mode", config::name_of(space.mode)},
                                   {"consistency", space.is_strict() ? "strict" : "max_lag"},
                                   {"rows_so_far", seen.hidden()},
                                   {"lag_ms_least", milliseconds(seen.lag_least)},
                                   {"key_hash", hash}};
    if (seen.lag_most) {
      fields.emplace_back("lag_ms_most", milliseconds(*seen.lag_most));
    }
    if (parts_.log.shows_keys()) {
      fields.emplace_back("key", seen.key);
    }
    parts_.log.write(
        space.mode == config::Mode::enforce ? config::LogLevel::error : config::LogLevel::warning,
        "hidden_by_lag",
        fields);
  }
}

filter::Finding Verification::look_up(std::uint32_t ns, const keyspace::Lookup& found) {
  const filter::EpochScope scope(parts_.reader);
  const filter::LiveParts& live = *parts_.guarded.namespaces[ns].filter;
  return live.find({live.hash(found.identity), found.number, found.identity}, io::now_since_boot());
}

source::RowPresence Verification::ask(std::uint32_t ns, std::string_view identity) {
  source::RowAnswer answer = parts_.sources.look_up_row(ns, identity, stop_);
  if (answer.presence == source::RowPresence::unknown) {
    why_unknown_ = std::move(answer.why);
  }
  return answer.presence;
}

void Verification::log(const guard::Contradictions::Key& key, Cause cause) {
  filter::Questions* const questions = parts_.guarded.namespaces[key.ns].questions;
  if (cause == Cause::hidden_row && questions != nullptr) {
    questions->trial().note(questions->trial().hidden);
  }
  using config::LogLevel;
  struct Kind {
    log::EventName name;
    LogLevel level;
  };
  static constexpr std::array<Kind, guard::kCauses> kKinds{{
      {"hidden_row", LogLevel::error},
      {"hidden_value", LogLevel::warning},
      {"late_row", LogLevel::info},
      {"contradiction_unknown", LogLevel::warning},
  }};
  const TimePoint now = io::now_since_boot();
  const auto logged = logged_at_.find({key.ns, cause});
  if (cause != Cause::hidden_row && logged != logged_at_.end() &&
      now < logged->second + kLogEvery) {
    return;
  }
  logged_at_[{key.ns, cause}] = now;
  const std::string hash = parts_.guarded.process->key_hash(key.key);
  std::vector<log::Field> fields{{"namespace", parts_.guarded.keyspace.name(key.ns)},
                                 {"key_hash", hash},
                                 {"keys_so_far", parts_.contradictions.counts(key.ns).of(cause)}};
  if (parts_.log.shows_keys()) {
    fields.emplace_back("key", key.key);
  }
  if (cause == Cause::unknown) {
    fields.emplace_back("why", why_unknown_);
  }
  const Kind& kind = kKinds.at(static_cast<std::size_t>(cause));
  parts_.log.write(kind.level, kind.name, fields);
}

void Verification::advise() const {
  const filter::EpochScope scope(parts_.reader);
  for (std::uint32_t ns = 0; ns < parts_.guarded.namespaces.size(); ++ns) {
    const guard::Evidence seen = guard::evidence(parts_.guarded, ns, io::now_since_boot());
    const std::string sentence = guard::advice(seen);
    if (!sentence.empty() && (seen.keys > 0 || seen.reads.all > 0)) {
      const std::array<log::Field, 2> fields{
          {{"namespace", parts_.guarded.keyspace.name(ns)}, {"text", sentence}}};
      parts_.log.write(seen.is_unmatched() ? config::LogLevel::warning : config::LogLevel::info,
                       "advice",
                       fields);
    }
  }
}

}  // namespace cuckooguard::app
