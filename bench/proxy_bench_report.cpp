#include "proxy_bench_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cuckooguard::bench {
namespace {

constexpr Field kThroughput = &Sample::per_second;

std::string_view sign(Bound bound) {
  switch (bound) {
    case Bound::at_least:
      return ">=";
    case Bound::at_most:
      return "<=";
    case Bound::above:
      break;
  }
  return ">";
}

// Three digits that matter, whether it is of one request or of a pipeline's.
std::string cpu_text(double microseconds) {
  return microseconds == 0 ? "-" : fmt::format("{:.2f}", microseconds);
}

std::string cell_lines(const CellRounds& cell, const Results& results) {
  std::string text = fmt::format(
      "{}, {} round{}\n", name(cell.cell), cell.rounds.size(), cell.rounds.size() == 1 ? "" : "s");
  for (const std::string& target : results.targets) {
    const Spread to_direct = ratio(cell, {target, kThroughput}, {kDirect, kThroughput});
    const auto typical = [&](Field field) { return spread(cell, {target, field}).median; };
    text +=
        fmt::format("  {:<12} {:>5.2f} [{:.2f} {:.2f}] {:>12.0f} {:>8.2f} {:>8.2f} {:>9} {:>9}\n",
                    target,
                    to_direct.median,
                    to_direct.min,
                    to_direct.max,
                    typical(&Sample::per_second),
                    typical(&Sample::p50_ms),
                    typical(&Sample::p99_ms),
                    cpu_text(typical(&Sample::proxy_microseconds)),
                    cpu_text(typical(&Sample::redis_microseconds)));
  }
  return text;
}

std::string bytes_text(const std::optional<double>& bytes) {
  return bytes ? fmt::format("{:.0f}", *bytes) : "-";
}

std::string memory_lines(const std::vector<Memory>& memory) {
  std::string text =
      "\nBytes per connection     connections     idle  first use    burst of 64   after it\n";
  for (const Memory& one : memory) {
    text += fmt::format("  {:<22} {:>11} {:>8.0f} {:>10.0f} {:>14} {:>10}\n",
                        one.target,
                        one.connections,
                        one.idle,
                        one.first_use,
                        bytes_text(one.burst),
                        bytes_text(one.settled));
  }
  return text;
}

std::string floor_lines(const Results& results) {
  std::string text = fmt::format("\nWhat is promised of {}\n", results.guard());
  for (const Floor& floor : floors(results)) {
    text += fmt::format("  {:<6} {:>8.2f} {:>2} {:<8.2f} {}\n",
                        floor.is_met() ? "met" : "missed",
                        floor.measured,
                        sign(floor.bound),
                        floor.limit,
                        floor.what);
  }
  return text;
}

std::string number_or_null(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "null";
}

std::string json_spread(const Spread& spread) {
  return fmt::format(R"({{"median": {:.6g}, "min": {:.6g}, "max": {:.6g}}})",
                     spread.median,
                     spread.min,
                     spread.max);
}

std::string json_cell(const CellRounds& cell, const Results& results) {
  std::vector<std::string> lines;
  for (const std::string& target : results.targets) {
    const auto of = [&](Field field) { return json_spread(spread(cell, {target, field})); };
    lines.push_back(fmt::format(
        R"(      "{}": {{"ratio_to_direct": {}, "requests_per_second": {}, "p50_ms": {}, "p99_ms": {}, "proxy_us": {}, "redis_us": {}}})",
        target,
        json_spread(ratio(cell, {target, kThroughput}, {kDirect, kThroughput})),
        of(&Sample::per_second),
        of(&Sample::p50_ms),
        of(&Sample::p99_ms),
        of(&Sample::proxy_microseconds),
        of(&Sample::redis_microseconds)));
  }
  return fmt::format(
      "    {{\"load\": \"{}\", \"pipeline\": {}, \"clients\": {}, \"rounds\": {}, \"targets\": "
      "{{\n{}\n    }}}}",
      kLoadNames.at(static_cast<std::size_t>(cell.cell.load)),
      cell.cell.pipeline,
      cell.cell.clients,
      cell.rounds.size(),
      fmt::join(lines, ",\n"));
}

std::string json_memory(const Memory& one) {
  return fmt::format(
      R"(    {{"target": "{}", "connections": {}, "idle": {:.6g}, "first_use": {:.6g}, "burst": {}, "settled": {}}})",
      one.target,
      one.connections,
      one.idle,
      one.first_use,
      number_or_null(one.burst),
      number_or_null(one.settled));
}

std::string json_floor(const Floor& floor) {
  return fmt::format(
      R"(    {{"what": "{}", "measured": {:.6g}, "bound": "{}", "limit": {:.6g}, "met": {}}})",
      floor.what,
      floor.measured,
      sign(floor.bound),
      floor.limit,
      floor.is_met());
}

template <typename Items, typename Text>
std::string json_list(const Items& items, const Text& text_of) {
  std::vector<std::string> texts;
  texts.reserve(items.size());
  for (const auto& item : items) {
    texts.push_back(text_of(item));
  }
  return fmt::format("[\n{}\n  ]", fmt::join(texts, ",\n"));
}

}  // namespace

std::string table(const Results& results) {
  std::string text =
      "                to direct [min max]   requests/s   p50 ms   p99 ms  proxy µs  Redis µs\n";
  for (const CellRounds& cell : results.cells) {
    text += cell_lines(cell, results);
  }
  return text + memory_lines(results.memory) + floor_lines(results);
}

std::string json(const Results& results) {
  const std::vector<Floor> promises = floors(results);
  return fmt::format(
      "{{\n  \"rows\": {},\n  \"value_bytes\": {},\n  \"cells\": {},\n  \"memory\": {},\n  "
      "\"floors\": {}\n}}\n",
      kRows,
      kValueBytes,
      json_list(results.cells, [&](const CellRounds& cell) { return json_cell(cell, results); }),
      json_list(results.memory, json_memory),
      json_list(promises, json_floor));
}

}  // namespace cuckooguard::bench
