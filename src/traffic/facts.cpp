#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "text/grouped.h"
#include "text/printable.h"
#include "text/words.h"
#include "traffic/traffic.h"

namespace cuckooguard::traffic {
namespace {

using guard::in_json;
using Kind = Sketches::Kind;

constexpr double kWorthTelling = 0.01;

struct Seen {
  Pattern pattern;
  Ranking read_keys;
  Ranking absent_keys;
  Ranking read_clients;
  Ranking absent_clients;
  std::optional<Expiries::Peak> expiring;
};

std::string percent(double share) {
  constexpr double kHundred = 100;
  return text_of(share * kHundred, 0) + " %";
}

std::string duration(std::chrono::seconds time) {
  const auto minutes = std::chrono::round<std::chrono::minutes>(time);
  return minutes.count() < 2 ? std::to_string(time.count()) + " s"
                             : text::grouped(static_cast<std::uint64_t>(minutes.count())) + " min";
}

// As the log would have it (log.keys).
std::string shown(const Row& row, const guard::Process& process) {
  return (process.shows_keys ? text::printable(row.key.view())
                             : "key_hash " + process.key_hash(row.key.view())) +
         " (" + percent(row.share) + ")";
}

// One line, for people.
std::string summary(const Seen& seen, const guard::Process& process) {
  std::vector<std::string> all;
  if (seen.pattern != Pattern::few_reads) {
    std::string words(name_of(seen.pattern));
    std::ranges::replace(words, '_', ' ');
    all.push_back(text_of(seen.absent_keys.per_second, 0) +
                  " reads/s of keys without a row, pattern: " + words);
    if (!seen.absent_clients.rows.empty()) {
      const Row& client = seen.absent_clients.rows.front();
      all.back() += ", " + percent(client.share) + " of them from " + client.from.text();
    }
    if (seen.pattern == Pattern::few_keys) {
      all.back() += ", most often " + shown(seen.absent_keys.rows.front(), process);
    }
  }
  if (!seen.read_keys.rows.empty() && seen.read_keys.rows.front().share >= kWorthTelling) {
    all.push_back("most read: " + shown(seen.read_keys.rows.front(), process));
  }
  if (seen.expiring && seen.expiring->keys > 1) {
    all.push_back("at most " + text::grouped(seen.expiring->keys) +
                  " keys expire in one second, in " + duration(seen.expiring->from_now));
  }
  return text::joined(all, "; ");
}

void add(guard::FactSection& space, std::string_view of, const Ranking& ranking) {
  space.add({}, ranking.share())
      .metric("top_reads_ratio",
              "Share of sampled reads of the last minutes that the ten most frequent keys, or "
              "client networks, have.",
              {"of", std::string(of)});
}

}  // namespace

const Sketches* sketches_of(const guard::GuardedNamespace& space) {
  return dynamic_cast<const Sketches*>(space.counts->traffic.get());
}

Pattern pattern_of(const guard::GuardParts& parts, std::uint32_t ns, guard::TimePoint now) {
  std::size_t prefix = 0;  // of several templates the longest
  for (const keyspace::KeyTemplate& key : parts.keyspace.templates(ns)) {
    prefix = std::max(prefix, key.literal_prefix().size());
  }
  return sketches_of(parts.namespaces[ns])->pattern(prefix, now);
}

std::string text_of(double number, int digits) {
  std::array<char, 64> text{};
  const auto written = std::to_chars(
      text.data(), text.data() + text.size(), number, std::chars_format::fixed, digits);
  return {text.data(), written.ptr};
}

void show(guard::FactTable& table) {
  const guard::FactQuestion& asked = table.question();
  const bool is_shown = !asked.is_brief && asked.process != nullptr;
  for (std::uint32_t ns = 0; is_shown && ns < asked.guarded.namespaces.size(); ++ns) {
    const Sketches* const sketches = sketches_of(asked.guarded.namespaces[ns]);
    if (sketches == nullptr) {
      continue;
    }
    const guard::TimePoint now = asked.now;
    const Seen seen{.pattern = pattern_of(asked.guarded, ns, now),
                    .read_keys = sketches->keys(Kind::read, now),
                    .absent_keys = sketches->keys(Kind::absent, now),
                    .read_clients = sketches->clients(Kind::read, now),
                    .absent_clients = sketches->clients(Kind::absent, now),
                    .expiring = sketches->expiring(now)};
    const std::string& name = asked.guarded.keyspace.name(ns);
    guard::FactSection& space =
        table.section({.name = name, .json = "namespaces", .labels = {{"namespace", name}}});
    space.add(in_json("traffic.summary"), summary(seen, *asked.process));
    space.add(in_json("traffic.pattern"), name_of(seen.pattern))
        .state("absent_pattern",
               "1 for the current pattern of reads of keys without a row.",
               "pattern",
               kPatternNames);
    add(space, "read_keys", seen.read_keys);
    add(space, "absent_keys", seen.absent_keys);
    add(space, "read_clients", seen.read_clients);
    add(space, "absent_clients", seen.absent_clients);
    space.add({}, sketches->expiring_total())
        .metric("expiring_keys_total",
                "Keys that writes have given an expiry (a sample, multiplied).");
    space.add(in_json("traffic.expiring_keys_max"), seen.expiring ? seen.expiring->keys : 0)
        .metric("expiring_keys_max",
                "The most keys that are to expire in one second (a sample, multiplied), with those "
                "that were overwritten or deleted.");
    space
        .add(in_json("traffic.expiring_keys_max_in_seconds"),
             seen.expiring ? guard::FactAge(seen.expiring->from_now) : guard::FactAge())
        .metric("expiring_keys_max_in_seconds", "Time until that second.");
  }
}

}  // namespace cuckooguard::traffic
