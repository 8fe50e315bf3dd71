#include "proxy_bench_results.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "statistics.h"

namespace cuckooguard::bench {
namespace {

constexpr std::array kOthers{kTwemproxy, kHaproxy};

// Fields of a line of which each is in quotes; redis-benchmark never writes a quote into one.
std::vector<std::string_view> fields(std::string_view line) {
  std::vector<std::string_view> found;
  while (true) {
    const std::size_t begin = line.find('"');
    const std::size_t end = begin == std::string_view::npos ? begin : line.find('"', begin + 1);
    if (end == std::string_view::npos) {
      return found;
    }
    found.push_back(line.substr(begin + 1, end - begin - 1));
    line.remove_prefix(end + 1);
  }
}

bool read_number(std::string_view text, double& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc{} && end == text.data() + text.size();
}

Spread spread_of(const std::vector<double>& values) {
  if (values.empty()) {
    return {};
  }
  return {.median = median(values),
          .min = *std::ranges::min_element(values),
          .max = *std::ranges::max_element(values)};
}

const Sample* sample(const Round& round, std::string_view target) {
  const auto found = round.find(target);
  return found == round.end() ? nullptr : &found->second;
}

}  // namespace

std::optional<Sample> parse_csv(std::string_view text) {
  constexpr std::string_view kHeader =
      R"("test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms")";
  constexpr std::size_t kPerSecond = 1;
  constexpr std::size_t kP50 = 4;
  constexpr std::size_t kP99 = 6;
  const std::size_t header = text.find(kHeader);
  const std::size_t begin =
      header == std::string_view::npos ? header : text.find('\n', header + kHeader.size());
  if (begin == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view rest = text.substr(begin + 1);
  const auto line = fields(rest.substr(0, rest.find('\n')));
  Sample sample;
  if (line.size() <= kP99 || !read_number(line[kPerSecond], sample.per_second) ||
      !read_number(line[kP50], sample.p50_ms) || !read_number(line[kP99], sample.p99_ms) ||
      sample.per_second <= 0) {
    return std::nullopt;
  }
  return sample;
}

bool Results::has(std::string_view target) const {
  return std::ranges::find(targets, target) != targets.end();
}

const CellRounds* Results::find(const Cell& cell) const {
  const auto found = std::ranges::find(cells, cell, &CellRounds::cell);
  return found == cells.end() ? nullptr : &*found;
}

const Memory* Results::find_memory(std::string_view target) const {
  const Memory* best = nullptr;
  for (const Memory& one : memory) {
    if (one.target == target && (best == nullptr || one.connections < best->connections)) {
      best = &one;
    }
  }
  return best;
}

Spread spread(const CellRounds& cell, const Term& term) {
  std::vector<double> values;
  for (const Round& round : cell.rounds) {
    if (const Sample* const one = sample(round, term.target)) {
      values.push_back(one->*term.field);
    }
  }
  return spread_of(values);
}

Spread ratio(const CellRounds& cell, const Term& numerator, const Term& denominator) {
  std::vector<double> values;
  for (const Round& round : cell.rounds) {
    const Sample* const above = sample(round, numerator.target);
    const Sample* const below = sample(round, denominator.target);
    if (above != nullptr && below != nullptr && below->*denominator.field > 0) {
      values.push_back(above->*numerator.field / below->*denominator.field);
    }
  }
  return spread_of(values);
}

Spread ratio_to_best_other(const CellRounds& cell, std::string_view target) {
  std::vector<double> values;
  for (const Round& round : cell.rounds) {
    double best = 0;
    for (const std::string_view other : kOthers) {
      const Sample* const one = sample(round, other);
      best = std::max(best, one == nullptr ? 0 : one->per_second);
    }
    const Sample* const ours = sample(round, target);
    if (ours != nullptr && best > 0) {
      values.push_back(ours->per_second / best);
    }
  }
  return spread_of(values);
}

}  // namespace cuckooguard::bench
