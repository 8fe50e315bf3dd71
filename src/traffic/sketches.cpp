#include "traffic/sketches.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

namespace cuckooguard::traffic {

double Ranking::share() const {
  double all = 0;
  for (const Row& row : rows) {
    all += row.share;
  }
  return std::min(all, 1.0);
}

void Sketches::Sketch::age(TimePoint now) {
  if (now - aged_at < kHalfLife) [[likely]] {
    return;
  }
  constexpr int kHalvesToNothing = 32;
  const auto steps = std::chrono::floor<std::chrono::seconds>(now - aged_at) / kHalfLife;
  for (auto left = std::min<std::int64_t>(steps, kHalvesToNothing); left > 0; --left) {
    seconds_before = (seconds_before + std::chrono::duration<double>(kHalfLife).count()) / 2;
    for (Counted& each : kinds) {
      each.weight /= 2;
      each.keys.halve();
      each.clients.halve();
    }
  }
  aged_at += steps * kHalfLife;
}

double Sketches::Sketch::seconds(TimePoint now) const {
  return seconds_before + std::max(std::chrono::duration<double>(now - aged_at).count(), 1.0);
}

void Sketches::saw(const Read& read, std::size_t worker, TimePoint now) {
  Worker& own = workers_.at(worker);
  const std::unique_lock lock(own.mutex, std::try_to_lock);
  if (!lock) {
    return;
  }
  if (!own.sketch) {
    own.sketch = std::make_unique<Sketch>(now);
  }
  Sketch& sketch = *own.sketch;
  sketch.age(now);
  const std::uint64_t key = hash_(read.key);
  const std::uint64_t number = read.from.number();
  const std::uint64_t client = hash_({reinterpret_cast<const char*>(&number), sizeof number});
  for (std::size_t kind = 0; kind <= (read.is_absent ? 1U : 0U); ++kind) {
    Counted& counted = sketch.kinds.at(kind);
    counted.weight += 1;
    counted.keys.add(key, [&] { return KeyText(read.key); });
    counted.clients.add(client, [&] { return read.from; });
  }
  if (read.is_absent) {
    sketch.recent.at(sketch.next++ % kRecent) = {
        .at = now, .number = read.number, .from = read.from, .key = KeyText(read.key)};
  }
}

void Sketches::expires(TimePoint at, TimePoint now) {
  expiring_.fetch_add(1, std::memory_order_relaxed);
  expiries_.add(at, now);
}

std::optional<Expiries::Peak> Sketches::expiring(TimePoint now) const {
  auto peak = expiries_.peak(now);
  if (peak) {
    peak->keys *= kEveryExpiry;
  }
  return peak;
}

template <class RowOf, class TopOf>
Ranking Sketches::ranking(Kind kind, TimePoint now, TopOf top_of, RowOf row_of) const {
  std::unordered_map<std::uint64_t, Row> rows;
  Ranking all;
  for (Worker& worker : workers_) {
    const std::lock_guard lock(worker.mutex);
    if (!worker.sketch) {
      continue;
    }
    worker.sketch->age(now);
    const Counted& counted = worker.sketch->kinds.at(static_cast<std::size_t>(kind));
    const double each = kEvery / worker.sketch->seconds(now);
    all.per_second += counted.weight * each;
    std::invoke(top_of, counted)
        .for_each([&](std::uint64_t hash, const auto& label, std::uint32_t count) {
          Row& row = rows.try_emplace(hash, row_of(label)).first->second;
          row.per_second += count * each;
        });
  }
  for (const auto& [hash, row] : rows) {
    all.rows.push_back(row);
    all.rows.back().share = std::min(row.per_second / all.per_second, 1.0);
  }
  std::ranges::sort(all.rows, std::greater(), &Row::per_second);
  all.rows.resize(std::min(all.rows.size(), kRows));
  return all;
}

Ranking Sketches::keys(Kind kind, TimePoint now) const {
  return ranking(kind, now, &Counted::keys, [](const KeyText& key) { return Row{.key = key}; });
}

Ranking Sketches::clients(Kind kind, TimePoint now) const {
  return ranking(
      kind, now, &Counted::clients, [](text::Network from) { return Row{.from = from}; });
}

Pattern Sketches::pattern(std::size_t prefix, TimePoint now) const {
  std::vector<AbsentRead> reads;
  for (Worker& worker : workers_) {
    const std::lock_guard lock(worker.mutex);
    if (worker.sketch) {
      std::ranges::copy_if(
          worker.sketch->recent, std::back_inserter(reads), [now](const AbsentRead& read) {
            return read.at != TimePoint() && now - read.at < kWindow;
          });
    }
  }
  std::ranges::stable_sort(reads, {}, &AbsentRead::at);
  return pattern_of(reads, keys(Kind::absent, now).share(), prefix);
}

}  // namespace cuckooguard::traffic
