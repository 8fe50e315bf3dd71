#include "guard/passing.h"

#include <string_view>

#include "config/value_text.h"
#include "guard/trouble.h"

namespace cuckooguard::guard {
namespace {

std::string_view words_of(Overlay::Hold hold) {
  switch (hold) {
    case Overlay::Hold::begun:
      return "the guard has just begun, and does not know what was written before";
    case Overlay::Hold::bypassed:
      return "the namespace was in bypass until just now: what was written meanwhile is not known";
    case Overlay::Hold::cleared:
      return "GUARD.CLEAR has just forgotten what was written";
    case Overlay::Hold::reloaded:
      break;
  }
  return "it is new since a reload, or its overlay is: what was written before is not known";
}

std::string in_words(std::string_view setting, std::chrono::nanoseconds value) {
  return std::string(setting) + " (" +
         config::text_of(std::chrono::floor<std::chrono::milliseconds>(value)) + ")";
}

std::string when_it_ends(Overlay::Hold hold, const GuardedNamespace& space) {
  const std::string after = "it ends by itself, after ";
  switch (hold) {
    case Overlay::Hold::begun:
      return after + in_words("overlay.ttl", space.overlay->ttl()) +
             "; a guard that has storage, and is away for less than max_lag, goes on without it";
    case Overlay::Hold::bypassed:
    case Overlay::Hold::reloaded:
      return after + in_words("overlay.ttl", space.overlay->ttl());
    case Overlay::Hold::cleared:
      break;
  }
  return after + in_words("max_lag", space.max_lag);
}

// Where the source has not said.
std::string_view words_of(filter::State state) {
  switch (state) {
    case filter::State::loading:
      return "the filter is being loaded";
    case filter::State::down:
      return "the source cannot be reached";
    case filter::State::full:
      return "the filter is full";
    case filter::State::refused:
      return "the source refuses";
    case filter::State::unsynced:
      return "the filter does not know all rows";
    case filter::State::ready:
    case filter::State::lagging:
      break;
  }
  return "there is no proof that the filter is up to date";
}

// A ready filter that is not fresh any more will be said to lag.
std::string hint_not_fresh(const GuardedNamespace& space) {
  const filter::State state = space.filter->state();
  return state == filter::State::ready || state == filter::State::lagging
             ? std::string(hint_of(filter::State::lagging)) + ", " +
                   in_words("max_lag", space.max_lag)
             : std::string(hint_of(state));
}

std::string why_not_fresh(const filter::LiveParts& filter) {
  std::string told = filter.why();
  return told.empty() ? std::string(words_of(filter.state())) : told;
}

}  // namespace

Passing passing(const GuardedNamespace& space, TimePoint now) {
  Passing all;
  const auto held = space.overlay->holds_all(now);
  if (held) {
    all.left = held->until - now;
  }
  if (space.filter->state() != filter::State::ready || !space.filter->is_fresh(now)) {
    all.why = why_not_fresh(*space.filter);
    all.hint = hint_not_fresh(space);
  } else if (held) {
    all.why = words_of(held->because);
    all.hint = when_it_ends(held->because, space);
  }
  return all;
}

Passing passing_in_use(const GuardedNamespace& space, std::string_view name, TimePoint now) {
  if (space.mode == config::Mode::bypass) {
    return {.why = "its mode is bypass",
            .hint = "GUARD.MODE " + std::string(name) +
                    " observe (or enforce) has it guarded again, or `mode` in the configuration"};
  }
  return passing(space, now);
}

std::string why_all_are_held(const Overlay& overlay, TimePoint now) {
  const auto held = overlay.holds_all(now);
  if (!held) {
    return "";
  }
  const auto left = std::chrono::ceil<std::chrono::seconds>(held->until - now);
  return "all keys pass for " + std::to_string(left.count()) +
         " s more: " + std::string(words_of(held->because));
}

}  // namespace cuckooguard::guard
