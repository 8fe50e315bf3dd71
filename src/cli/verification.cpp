#include "cli/verification.h"

#include <spdlog/spdlog.h>

#include "guard/advice.h"
#include "io/clock.h"

namespace cuckooguard::cli {

using guard::Cause;

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

void Verification::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Verification::stop() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
}

void Verification::run(const std::stop_token& stop) {
  stop_ = stop;
  TimePoint advise_at = io::now_since_boot() + kAdviseEvery;
  while (!stop.stop_requested()) {
    checker_.step();
    if (const TimePoint now = io::now_since_boot(); now >= advise_at) {
      advise_at = now + kAdviseEvery;
      advise();
    }
    std::unique_lock lock(mutex_);
    woken_.wait_for(lock, stop, kStepEvery, [] { return false; });
  }
}

filter::Finding Verification::look_up(std::uint32_t ns, const keyspace::Lookup& found) {
  const filter::EpochScope scope(parts_.reader);
  return parts_.guarded.namespaces[ns].filter->find(
      found.identity, found.number, io::now_since_boot());
}

source::RowPresence Verification::ask(std::uint32_t ns, std::string_view identity) {
  source::RowAnswer answer = parts_.sources.look_up_row(ns, identity, stop_);
  if (answer.presence == source::RowPresence::unknown) {
    why_unknown_ = std::move(answer.why);
  }
  return answer.presence;
}

void Verification::log(const guard::Contradictions::Key& key, Cause cause) {
  static constexpr std::array<std::string_view, guard::kCauses> kEvents{
      "hidden_row", "hidden_value", "late_row", "contradiction_unknown"};
  const TimePoint now = io::now_since_boot();
  const auto logged = logged_at_.find({key.ns, cause});
  if (cause != Cause::hidden_row && logged != logged_at_.end() &&
      now < logged->second + kLogEvery) {
    return;
  }
  logged_at_[{key.ns, cause}] = now;
  const std::string line = fmt::format("event={} ns={} key_hash={:016x} keys_so_far={}",
                                       kEvents.at(static_cast<std::size_t>(cause)),
                                       parts_.guarded.keyspace.name(key.ns),
                                       parts_.guarded.namespaces[key.ns].filter->hash(key.key),
                                       parts_.contradictions.counts(key.ns).of(cause));
  switch (cause) {
    case Cause::hidden_row:
      spdlog::error("{}", line);
      return;
    case Cause::late_row:
      spdlog::info("{}", line);
      return;
    case Cause::hidden_value:
      spdlog::warn("{}", line);
      return;
    case Cause::unknown:
      spdlog::warn("{} why={}", line, why_unknown_);
      return;
  }
}

void Verification::advise() const {
  for (std::uint32_t ns = 0; ns < parts_.guarded.namespaces.size(); ++ns) {
    const guard::Evidence seen = guard::evidence(parts_.guarded, ns, io::now_since_boot());
    const std::string sentence = guard::advice(seen);
    if (!sentence.empty() && seen.keys > 0) {
      spdlog::info("event=advice ns={} text=\"{}\"", parts_.guarded.keyspace.name(ns), sentence);
    }
  }
}

}  // namespace cuckooguard::cli
