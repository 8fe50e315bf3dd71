#include "proxy_bench_picture.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

namespace cuckooguard::bench {
namespace {

// In pixels.
constexpr double kWidth = 900;
constexpr double kHeight = 380;
constexpr double kLeft = 46;
constexpr double kTop = 52;
constexpr double kBottom = 316;  // where the bars stand
constexpr double kGroupGap = 22;
constexpr double kBarGap = 2;
constexpr double kLegendLine = 358;
constexpr double kLegendStep = 150;

// The guard's colours are warm, those of others cool.
constexpr std::string_view kStyle = R"(<style>
  text { font: 12px system-ui, sans-serif; fill: #1f2328; } .title { font-weight: bold; }
  .number { font-size: 9px; } .paper { fill: #ffffff; } .grid { stroke: #d0d7de; }
  .range { stroke: #1f2328; } .redis { stroke: #1f2328; stroke-dasharray: 4 3; }
  .pinned { fill: #f0b37e; } .pinned-unix { fill: #d9822b; } .shared { fill: #b3471d; }
  .unix-clients { fill: #7d2a10; }
  .twemproxy { fill: #6b9bd1; } .haproxy { fill: #9aa4b0; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .paper { fill: #0d1117; } .grid { stroke: #30363d; }
    .range { stroke: #e6edf3; } .redis { stroke: #e6edf3; }
    .pinned { fill: #8a5a33; } .pinned-unix { fill: #c77d3a; } .shared { fill: #f0975a; }
    .unix-clients { fill: #f7b98d; }
    .twemproxy { fill: #5b8bc4; } .haproxy { fill: #6e7681; }
  }
</style>
)";

// How ratios become heights.
class Scale {
 public:
  explicit Scale(double largest) : top_(std::max(1.0, std::ceil(largest / step_) * step_)) {
    while (top_ / step_ > kLinesMax) {
      step_ *= 2;
    }
  }
  double y(double ratio) const { return kBottom - ratio / top_ * (kBottom - kTop); }
  double top() const { return top_; }
  double step() const { return step_; }

 private:
  static constexpr double kLinesMax = 8;
  double step_ = 0.5;
  double top_;
};

Spread to_direct(const CellRounds& cell, std::string_view target) {
  return ratio(cell, {target, &Sample::per_second}, {kDirect, &Sample::per_second});
}

bool is_guard(std::string_view target) {
  return target == kPinned || target == kPinnedUnix || target == kShared || target == kUnixClients;
}

std::vector<std::string> bars_of(const Results& results) {
  std::vector<std::string> targets = results.targets;
  std::erase(targets, kDirect);
  return targets;
}

double largest_ratio(const Results& results, const std::vector<const CellRounds*>& groups) {
  double largest = 0;
  for (const CellRounds* const cell : groups) {
    for (const std::string& target : results.targets) {
      largest = std::max(largest, to_direct(*cell, target).max);
    }
  }
  return largest;
}

std::string text(double x, double y, std::string_view attributes, std::string_view words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, attributes, words);
}

std::string line(std::string_view kind, double x1, double y1, double x2, double y2) {
  return fmt::format(
      "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
      kind,
      x1,
      y1,
      x2,
      y2);
}

std::string grid(const Scale& scale) {
  std::string lines;
  for (double at = 0; at <= scale.top(); at += scale.step()) {
    lines += line("grid", kLeft, scale.y(at), kWidth, scale.y(at));
    lines += text(kLeft - 8, scale.y(at) + 4, " text-anchor=\"end\"", fmt::format("{:.1f}", at));
  }
  return lines;
}

std::string bar(
    std::string_view target, const Spread& ratio, double left, double width, const Scale& scale) {
  const double middle = left + width / 2;
  return fmt::format(
             "<rect class=\"bar {}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
             "height=\"{:.1f}\"/>\n",
             target,
             left,
             scale.y(ratio.median),
             width,
             kBottom - scale.y(ratio.median)) +
         line("range", middle, scale.y(ratio.min), middle, scale.y(ratio.max)) +
         text(middle,
              scale.y(ratio.max) - 4,
              " class=\"number\" text-anchor=\"middle\"",
              fmt::format("{:.2f}", ratio.median));
}

std::string legend(const std::vector<std::string>& targets) {
  std::string parts;
  double left = kLeft;
  for (const std::string& target : targets) {
    parts += fmt::format(
        "<rect class=\"bar {}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\"/>\n",
        target,
        left,
        kLegendLine - 10);
    parts += text(left + 18, kLegendLine, "", (is_guard(target) ? "guard, " : "") + target);
    left += kLegendStep;
  }
  return parts;
}

}  // namespace

std::string picture(const Results& results) {
  std::vector<const CellRounds*> groups;
  for (const CellRounds& cell : results.cells) {
    if (is_promised(cell.cell)) {
      groups.push_back(&cell);
    }
  }
  const std::vector<std::string> targets = bars_of(results);
  const Scale scale(largest_ratio(results, groups));
  const double group_width =
      (kWidth - kLeft) / static_cast<double>(std::max<std::size_t>(groups.size(), 1));
  const double bar_width =
      (group_width - kGroupGap) / static_cast<double>(std::max<std::size_t>(targets.size(), 1));
  std::string drawing = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n"
      "<title>Throughput of proxies in front of Redis, as ratios to Redis without one</title>\n"
      "{2}<rect class=\"paper\" width=\"{0:.0f}\" height=\"{1:.0f}\"/>\n",
      kWidth,
      kHeight,
      kStyle);
  drawing += text(
      kLeft,
      24,
      " class=\"title\"",
      fmt::format(
          "GET through a proxy, {} clients, pipelines of P: throughput, Redis without a proxy = 1",
          kPromisedClients));
  drawing += grid(scale);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const double left = kLeft + static_cast<double>(i) * group_width + kGroupGap / 2;
    const Cell& cell = groups[i]->cell;
    for (std::size_t j = 0; j < targets.size(); ++j) {
      drawing += bar(targets[j],
                     to_direct(*groups[i], targets[j]),
                     left + static_cast<double>(j) * bar_width,
                     bar_width - kBarGap,
                     scale);
    }
    drawing += text(
        left + (group_width - kGroupGap) / 2,
        kBottom + 18,
        " text-anchor=\"middle\"",
        fmt::format(
            "{}, P = {}", cell.load == Load::hit ? "row exists" : "no such row", cell.pipeline));
  }
  return drawing + line("redis", kLeft, scale.y(1), kWidth, scale.y(1)) + legend(targets) +
         "</svg>\n";
}

}  // namespace cuckooguard::bench
