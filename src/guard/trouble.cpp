#include "guard/trouble.h"

#include <string_view>

namespace cuckooguard::guard {
namespace {

constexpr std::string_view kAllPass = "; until then every key passes";

std::string or_else(const std::string& told, std::string_view words) {
  return told.empty() ? std::string(words) : told;
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

}  // namespace cuckooguard::guard
