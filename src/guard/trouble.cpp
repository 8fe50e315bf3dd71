#include "guard/trouble.h"

#include "config/values.h"

namespace cuckooguard::guard {
namespace {

constexpr std::string_view kAllPass = "; until then every key passes";

std::string or_else(const std::string& told, std::string_view words) {
  return told.empty() ? std::string(words) : told;
}

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

std::string_view hint_of(filter::State state) {
  switch (state) {
    case filter::State::ready:
      return "";
    case filter::State::loading:
      return "it ends by itself, as soon as all rows are read";
    case filter::State::lagging:
      return "it ends by itself with the next proof; if it lasts, or comes back, see how busy the "
             "database is, or how far behind as a replica, or give it more time";
    case filter::State::unsynced:
      return "mend what it names, in the database or in the namespace's keys; it is then read "
             "again by itself";
    case filter::State::down:
      return "see that the database runs and can be reached from here, and that the source's "
             "address in the configuration is right; it is tried again by itself, every 10 s at "
             "least";
    case filter::State::full:
      return "it is built anew with more room by itself; if it comes back, raise filter.capacity";
    case filter::State::refused:
      break;
  }
  return "mend what it names: a password, a right, a setting of the server, the table; it is tried "
         "again by itself, every 10 s at least, and needs no restart";
}

std::optional<Trouble> trouble_with(const SourceStatus& source) {
  switch (source.state) {
    case filter::SourceState::following:
      return source.why.empty() ? std::nullopt : std::optional(Trouble{.why = source.why});
    case filter::SourceState::loading:
      return Trouble{or_else(source.why, "its rows are being read, or are about to be"),
                     std::string(hint_of(filter::State::loading))};
    case filter::SourceState::down:
      return Trouble{or_else(source.why, "the source cannot be reached"),
                     std::string(hint_of(filter::State::down))};
    case filter::SourceState::refused:
      break;
  }
  return Trouble{or_else(source.why, "the source refuses"),
                 std::string(hint_of(filter::State::refused))};
}

std::string_view why_of(redis::Availability availability) {
  switch (availability) {
    case redis::Availability::available:
      return "";
    case redis::Availability::loading:
      return "Redis is loading";
    case redis::Availability::master_link_down:
      return "Redis has lost its master";
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
      return "it ends by itself, when Redis has read its file (INFO persistence)";
    case redis::Availability::master_link_down:
      return "see why this replica does not reach its master (INFO replication), or put the guard "
             "in front of the master";
    case redis::Availability::busy:
      break;
  }
  return "wait for it, or end it by SCRIPT KILL or FUNCTION KILL";
}

std::optional<Trouble> trouble_with(const redis::Snapshot& redis) {
  if (redis.is_lost) {
    const bool all_pass = redis.good_until == redis::TimePoint::min();
    return Trouble{
        or_else(redis.why_lost, "the guard's own connection is closed"),
        std::string("see that Redis runs and answers, and that `upstream` in the configuration is "
                    "right; it is tried again by itself")
            .append(all_pass ? kAllPass
                             : "; until then absent keys are answered, and all else fails as it "
                               "would without the guard")};
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
