#include "guard/trouble.h"

#include "config/values.h"

namespace cuckooguard::guard {
namespace {

constexpr std::string_view kAllPass = "; until then all keys pass";

std::string or_else(const std::string& told, std::string_view words) {
  return told.empty() ? std::string(words) : told;
}

std::string_view words_of(Overlay::Hold hold) {
  switch (hold) {
    case Overlay::Hold::begun:
      return "the guard has just started and does not know which keys were written before";
    case Overlay::Hold::bypassed:
      return "the namespace has just left bypass mode, and the guard does not know which keys were "
             "written during it";
    case Overlay::Hold::cleared:
      return "GUARD.CLEAR has just cleared the keys that were written";
    case Overlay::Hold::reloaded:
      break;
  }
  return "a reload created the namespace or its overlay, and the guard does not know which keys "
         "were written before";
}

std::string in_words(std::string_view setting, std::chrono::nanoseconds value) {
  return std::string(setting) + " (" +
         config::text_of(std::chrono::floor<std::chrono::milliseconds>(value)) + ")";
}

std::string when_it_ends(Overlay::Hold hold, const GuardedNamespace& space) {
  const std::string after = "this ends automatically after ";
  switch (hold) {
    case Overlay::Hold::begun:
      return after + in_words("overlay.ttl", space.overlay->ttl()) +
             "; with storage set, a guard that restarts within max_lag skips this wait";
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
      return "the filter is loading";
    case filter::State::down:
      return "the source is unreachable";
    case filter::State::full:
      return "the filter is full";
    case filter::State::refused:
      return "the source refused access";
    case filter::State::unsynced:
      return "the filter lacks some rows";
    case filter::State::ready:
    case filter::State::lagging:
      break;
  }
  return "the filter is not proven to be up to date";
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

std::string_view hint_of(filter::State state) {
  switch (state) {
    case filter::State::ready:
      return "";
    case filter::State::loading:
      return "this ends automatically when all rows have been read";
    case filter::State::lagging:
      return "this ends automatically with the next proof; if it lasts or recurs, check the load "
             "of the database and its replica lag, or increase the allowed lag";
    case filter::State::unsynced:
      return "fix the reported cause in the database or in the namespace's keys; the table is then "
             "read again automatically";
    case filter::State::down:
      return "check that the database is running and reachable from this machine, and that the "
             "source's address in the configuration is correct; the guard retries automatically, "
             "at least every 10 s";
    case filter::State::full:
      return "the guard rebuilds it with more room automatically; if it recurs, increase "
             "filter.capacity";
    case filter::State::refused:
      break;
  }
  return "fix the reported cause (a password, a grant, a server setting or the table); the guard "
         "retries automatically, at least every 10 s, without a restart";
}

std::optional<Trouble> trouble_with(const SourceStatus& source) {
  switch (source.state) {
    case filter::SourceState::following:
      return source.why.empty() ? std::nullopt : std::optional(Trouble{.why = source.why});
    case filter::SourceState::loading:
      return Trouble{or_else(source.why, "the guard is reading its rows, or is about to"),
                     std::string(hint_of(filter::State::loading))};
    case filter::SourceState::down:
      return Trouble{or_else(source.why, "the source is unreachable"),
                     std::string(hint_of(filter::State::down))};
    case filter::SourceState::refused:
      break;
  }
  return Trouble{or_else(source.why, "the source refused access"),
                 std::string(hint_of(filter::State::refused))};
}

std::string_view why_of(redis::Availability availability) {
  switch (availability) {
    case redis::Availability::available:
      return "";
    case redis::Availability::loading:
      return "Redis is loading";
    case redis::Availability::master_link_down:
      return "this Redis replica has lost its master";
    case redis::Availability::busy:
      break;
  }
  return "Redis is busy with a script";
}

std::string_view hint_of(redis::Availability availability) {
  switch (availability) {
    case redis::Availability::available:
      return "";
    case redis::Availability::loading:
      return "this ends automatically when Redis has loaded its data (see INFO persistence)";
    case redis::Availability::master_link_down:
      return "check why this replica cannot reach its master (see INFO replication), or put the "
             "guard in front of the master";
    case redis::Availability::busy:
      break;
  }
  return "wait for the script to end, or end it with SCRIPT KILL or FUNCTION KILL";
}

std::optional<Trouble> trouble_with(const redis::Snapshot& redis) {
  if (redis.is_lost) {
    const bool all_pass = redis.good_until == redis::TimePoint::min();
    return Trouble{
        or_else(redis.why_lost, "the guard's own connection is closed"),
        std::string("check that Redis is running and responding, and that `upstream` in the "
                    "configuration is correct; the guard reconnects automatically")
            .append(all_pass ? kAllPass
                             : "; until then the guard answers reads of absent keys, and all other "
                               "commands fail as they would without the guard")};
  }
  if (redis.availability == redis::Availability::available) {
    return std::nullopt;
  }
  return Trouble{std::string(why_of(redis.availability)),
                 std::string(hint_of(redis.availability)).append(kAllPass)};
}

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
                    " observe (or enforce) turns it on again, as does `mode` in the configuration"};
  }
  return passing(space, now);
}

std::string why_all_are_held(const Overlay& overlay, TimePoint now) {
  const auto held = overlay.holds_all(now);
  if (!held) {
    return "";
  }
  const auto left = std::chrono::ceil<std::chrono::seconds>(held->until - now);
  return "all keys pass for another " + std::to_string(left.count()) +
         " s: " + std::string(words_of(held->because));
}

}  // namespace cuckooguard::guard
