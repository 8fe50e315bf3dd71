// The facts shown of the process, one row each: made once, and rendered as GUARD.INFO, as /status
// and as /metrics (views/).
//
// To add a fact, add a row to its provider (guard/fact_providers.cpp, views/process_facts.cpp) and
// its line in docs/. A feature has a provider of its own, listed by app/ (FactProviders); renderers
// know no fact by name.
//
//   space.add("keys_learned", sum(&NamespaceCounters::learned))     in GUARD.INFO and /status
//       .metric("learned_keys_total", "Keys that writes put ...");  in /metrics
//
// Threads: one at a time. A provider is called by any worker, between Epochs::Reader enter() and
// leave(), and then (`is_brief`) goes through nothing that grows with what clients do.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "guard/guard.h"
#include "guard/process.h"

namespace cuckooguard::guard {

using FactAge = std::optional<std::chrono::nanoseconds>;

struct FactHistogram {
  std::span<const std::chrono::microseconds> bounds;
  std::vector<std::uint64_t> counts;  // by bound, and one of what is longer
  std::chrono::nanoseconds sum;
};

//   value           GUARD.INFO                     /status   /metrics
//   nothing         left out                       null      left out
//   bool            1 or 0                         boolean   1 or 0
//   age             whole milliseconds; none: -1   seconds   seconds; none: left out
//   text            as it is, in one line          as it is  1; a state: one sample for each list
//   of texts   separated by commas            list      how many there are
struct FactValue {
  using Any = std::variant<std::monostate,
                           bool,
                           std::int64_t,
                           double,
                           FactAge,
                           std::string,
                           std::vector<std::string>,
                           FactHistogram>;

  FactValue() = default;
  template <typename T>
  // NOLINTNEXTLINE(google-explicit-constructor,hicpp-explicit-conversions): it stands for its value
  FactValue(const T& value) : any(any_of(value)) {}

  Any any{};

 private:
  template <typename T>
  static Any any_of(const T& value) {
    if constexpr (std::integral<T> && !std::same_as<T, bool>) {
      return static_cast<std::int64_t>(value);
    } else if constexpr (std::convertible_to<T, std::string_view>) {
      return std::string(std::string_view(value));
    } else if constexpr (std::convertible_to<T, std::chrono::nanoseconds>) {
      return FactAge(value);
    } else {
      return value;
    }
  }
  template <typename T>
  static Any any_of(const std::optional<T>& value) {
    return value ? any_of(*value) : Any();
  }
  static Any any_of(const FactAge& value) { return value; }
};

// Names in GUARD.INFO and in /status ("a.b": b in the object a); empty: not shown there.
struct FactName {
  FactName() = default;
  // NOLINTNEXTLINE(google-explicit-constructor,hicpp-explicit-conversions): the same in both
  FactName(const char* both) : info(both), json(both) {}
  FactName(std::string in_info, std::string in_json)
      : info(std::move(in_info)), json(std::move(in_json)) {}

  std::string info{};
  std::string json{};
};
inline FactName in_info(std::string name) {
  return {std::move(name), ""};
}
inline FactName in_json(std::string name) {
  return {"", std::move(name)};
}

using FactLabel = std::pair<std::string, std::string>;

struct Fact {
  FactName name;
  FactValue value;
  // In /metrics: after "cuckooguard_", unless it begins with "process_"; empty: not shown there. A
  // counter if it ends in "_total", else a gauge.
  std::string_view metric_name{};
  std::string_view help{};
  FactLabel label{};                           // besides its section's; or empty
  std::span<const std::string_view> states{};  // of the value, for the label

  void metric(std::string_view name_there, std::string_view help_there, FactLabel of = {}) {
    metric_name = name_there;
    help = help_there;
    label = std::move(of);
  }
  // The value is one of `all`.
  void state(std::string_view name_there,
             std::string_view help_there,
             std::string of,
             std::span<const std::string_view> all) {
    metric(name_there, help_there, {std::move(of), ""});
    states = all;
  }
};

// What facts are about.
struct FactSection {
  std::string_view title{};  // in GUARD.INFO; empty: it is not there
  std::string name{};        // behind the title, and in /status of an object in `json`; or empty
  // An object of /status; "a[]": a further one in the list a; empty: the page itself.
  std::string_view json{};
  std::vector<FactLabel> labels{};  // of metrics
  std::vector<Fact> facts{};

  // Of one name in /status the last value counts, at the place of the first.
  Fact& add(FactName in, FactValue value) {
    return facts.emplace_back(std::move(in), std::move(value));
  }
};

// Over all guards: counter_of(counters of one) -> Counter, or a member of theirs.
template <class CounterOf>
std::uint64_t sum(std::span<const Guard* const> guards, const CounterOf& counter_of) {
  std::uint64_t all = 0;
  for (const Guard* const guard : guards) {
    all += std::invoke(counter_of, guard->counters()).value();
  }
  return all;
}

struct FactQuestion {
  const Guard::Parts& guarded;
  const Process* process = nullptr;
  std::span<const Guard* const> guards;  // whose counters are added up
  const redis::Snapshot& redis;
  TimePoint now;
  std::optional<std::uint32_t> ns{};  // this one and its source alone
  bool is_brief = false;
};

class FactTable {
 public:
  // Of all providers that `question.guarded` has.
  explicit FactTable(const FactQuestion& question) : question_(question) {
    if (question.guarded.shown != nullptr) {
      for (const auto& provider : *question.guarded.shown) {
        provider(*this);
      }
    }
  }

  const FactQuestion& question() const { return question_; }
  // References stay valid.
  FactSection& section(FactSection begun) { return sections_.emplace_back(std::move(begun)); }
  const std::deque<FactSection>& sections() const { return sections_; }

 private:
  FactQuestion question_;
  std::deque<FactSection> sections_;
};

// The providers of what a guard shows, each of one section of GUARD.INFO, or of one for each
// namespace and source.
void guard_facts(FactTable& table);
void node_facts(FactTable& table);  // of a Redis that is more than one server
void namespace_facts(FactTable& table);
void source_facts(FactTable& table);

// All of them, in the order in which GUARD.INFO has them. Those of guests come behind the first
// kFactsOfAll.
FactProviders fact_providers();
inline constexpr std::ptrdiff_t kFactsOfAll = 2;

// What Redis lets the guard ask, in /status, as the object `name`.
void add_control(FactSection& section,
                 const std::string& name,
                 const redis::ControlReport& control);

// The text of GUARD.INFO: facts as `field:value` lines in sections, as Redis's INFO has them.
//
//   # Guard                 version, uptime, Redis as the guard knows it, whether it may be asked,
//                           reads of all workers
//   # Nodes                 of a cluster: how many have no port of the guard's, how long ago a node
//                           last told of it; node0:port=...,role=...,slots=...,state=...,
//                           latency_us=...,address=...
//   # Filters               those that applications fill, all together: how many, their limits, and
//                           how their log is followed
//   # Namespace users       mode, source, state, why all pass if they do, proof, filter, keys by
//                           verdict
//   # Source shop           type, state, position, proof, losses, log that is kept
//
// Fields are stable names; new ones may come. -1: not known. `why` is for people and ends its line.
// Threads: its worker's, between Epochs::Reader enter() and leave(); counters are of all workers,
// each read once, not all at one moment. Limits: some 1300 bytes per namespace and 200 per source,
// of at most keyspace::kNamespacesMax; 150 per node, of NodeView::kShownMax.
struct InfoQuestion {
  const Guard& guard;  // of this worker
  const redis::Snapshot& redis;
  TimePoint now;
  std::optional<std::uint32_t> ns{};  // this one and its source alone
};

std::string info_text(const InfoQuestion& question);

}  // namespace cuckooguard::guard
