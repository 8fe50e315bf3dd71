#include "app/contradiction_checker.h"

#include <algorithm>
#include <utility>

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

}  // namespace cuckooguard::app
