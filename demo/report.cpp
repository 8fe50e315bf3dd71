#include "report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <ranges>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "text/grouped.h"

namespace cuckooguard::demo {
namespace {

constexpr double kBinSeconds = 0.5;  // of charts
constexpr double kWarmShare = 0.9;   // of the queries

struct Figures {
  explicit Figures(std::span<const Sample> samples) {
    for (const Sample& each : samples) {
      const bool has_failed = each.outcome == Outcome::failed;
      if (each.kind != Kind::attack) {
        ++requests;
        failed += has_failed ? 1 : 0;
      } else {
        ++attack;
        attack_failed += has_failed ? 1 : 0;
        attack_reached += each.queries_in_vain;
      }
      if (each.kind == Kind::lookup && !has_failed) {
        times.push_back(each.took_ms);
      }
      new_rows += each.kind == Kind::new_row && !has_failed ? 1 : 0;
      hidden += each.outcome == Outcome::hidden ? 1 : 0;
      if (each.queries > 0) {
        asked_first = std::min(asked_first, each.answered_at - each.took_ms / 1000);
        loaded_at.push_back(each.answered_at);
      }
      queries += each.queries;
      in_vain += each.queries_in_vain;
    }
    std::ranges::sort(times);
    std::ranges::sort(loaded_at);
  }

  double failed_share() const {
    return requests == 0 ? 0 : static_cast<double>(failed) / static_cast<double>(requests);
  }
  float time_at(double share) const { return at(times, share); }
  float until_warm_ms() const {
    return loaded_at.empty() ? 0 : 1000 * (at(loaded_at, kWarmShare) - asked_first);
  }
  static float at(const std::vector<float>& sorted, double share) {
    const auto last = static_cast<double>(sorted.empty() ? 0 : sorted.size() - 1);
    return sorted.empty() ? 0 : sorted[static_cast<std::size_t>(share * last)];
  }

  std::uint64_t requests = 0;
  std::uint64_t failed = 0;
  std::vector<float> times;      // of look-ups that were answered
  std::vector<float> loaded_at;  // when requests were answered that had asked the database
  float asked_first = std::numeric_limits<float>::max();
  std::uint64_t new_rows = 0;
  std::uint64_t hidden = 0;
  std::uint64_t attack = 0;
  std::uint64_t attack_failed = 0;
  std::uint64_t attack_reached = 0;
  std::uint64_t queries = 0;
  std::uint64_t in_vain = 0;
};

std::vector<Figures> figures_of(std::span<const PhaseReport> phases) {
  std::vector<Figures> all;
  for (const PhaseReport& phase : phases) {
    all.emplace_back(phase.samples);
  }
  return all;
}

std::string share_of(std::uint64_t part, std::uint64_t all) {
  return part == 0 ? "0"
                   : fmt::format("{} ({:.0f} %)",
                                 text::grouped(part),
                                 100.0 * static_cast<double>(part) / static_cast<double>(all));
}

std::string milliseconds(float time) {
  return fmt::format("{:.{}f} ms", time, time < 10 ? 2 : 0);
}

// A column for each phase.
class Table {
 public:
  explicit Table(std::span<const PhaseReport> phases)
      : phases_(phases), figures_(figures_of(phases)), text_(fmt::format("  {:<32}", "")) {
    for (std::size_t i = 0; i < phases.size(); ++i) {
      const bool is_first = i == 0 || phases[i].is_guarded != phases[i - 1].is_guarded;
      text_ += fmt::format("{:>15}",
                           !is_first              ? ""
                           : phases[i].is_guarded ? "with guard:"
                                                  : "without:");
    }
    add("", [](const PhaseReport& phase, const Figures&) { return phase.name; });
  }

  void add(std::string_view what, const auto& cell) {
    text_ += fmt::format("\n  {:<32}", what);
    for (std::size_t i = 0; i < phases_.size(); ++i) {
      text_ += fmt::format("{:>15}", std::invoke(cell, phases_[i], figures_[i]));
    }
  }
  void number(std::string_view what, std::uint64_t Figures::* member) {
    add(what, [&](const PhaseReport&, const Figures& seen) { return text::grouped(seen.*member); });
  }
  void number(std::string_view what, std::uint64_t PhaseReport::* member) {
    add(what,
        [&](const PhaseReport& phase, const Figures&) { return text::grouped(phase.*member); });
  }
  void users() {
    add("  failed", [](const PhaseReport&, const Figures& seen) {
      return share_of(seen.failed, seen.requests);
    });
    add("  a look-up takes, median",
        [](const PhaseReport&, const Figures& seen) { return milliseconds(seen.time_at(0.5)); });
    add("  a look-up takes, p99",
        [](const PhaseReport&, const Figures& seen) { return milliseconds(seen.time_at(0.99)); });
  }

  std::string text() const { return text_ + "\n"; }

 private:
  std::span<const PhaseReport> phases_;
  std::vector<Figures> figures_;
  std::string text_;
};

// What happened in each bin of all phases, which follow each other, and where each phase begins.
struct Bins {
  std::vector<Figures> figures;
  std::vector<std::size_t> begins;

  explicit Bins(std::span<const PhaseReport> phases) {
    std::vector<std::vector<Sample>> samples;
    for (const PhaseReport& phase : phases) {
      for (const Sample& each : phase.samples) {
        const auto bin = static_cast<std::size_t>(each.answered_at / kBinSeconds);
        samples.resize(std::max(samples.size(), bin + 1));
        samples[bin].push_back(each);
      }
      const auto first = std::ranges::min(phase.samples, {}, &Sample::answered_at);
      begins.push_back(static_cast<std::size_t>(first.answered_at / kBinSeconds));
    }
    for (const auto& bin : samples) {
      figures.emplace_back(bin);
    }
  }

  template <class Value>
  std::vector<double> each(const Value& value) const {
    std::vector<double> all(figures.size());
    std::ranges::transform(figures, all.begin(), value);
    return all;
  }
  std::vector<double> queries_per_second() const {
    return each([](const Figures& bin) { return static_cast<double>(bin.queries) / kBinSeconds; });
  }
};

// As wide as a README shows it.
class Picture {
 public:
  explicit Picture(std::span<const PhaseReport> phases) : bins_(phases), phases_(phases) {}

  std::string of(const std::string& title) {
    text_ = fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' width='{0}' height='{1}' "
        "font-family='sans-serif' font-size='13' fill='#24292f'>\n"
        "<rect width='{0}' height='{1}' rx='8' fill='#fff'/>\n"
        "<text x='20' y='28' font-size='15' font-weight='bold'>{2}</text>\n",
        kWidth,
        kHeight,
        title);
    for (std::size_t i = 0; i < phases_.size(); ++i) {
      const double left = x(bins_.begins[i]);
      const double right = x(i + 1 < phases_.size() ? bins_.begins[i + 1] : bins_.figures.size());
      add(
          fmt::format("<rect x='{:.0f}' y='44' width='{:.0f}' height='{}' fill='{}'/>\n"
                      "<text x='{:.0f}' y='60' font-size='12'>{}</text>\n",
                      left,
                      right - left - 1,
                      kHeight - 60,
                      phases_[i].is_guarded ? "#eaf7ee" : "#f4f5f7",
                      left + 5,
                      (phases_[i].is_guarded ? "guard: " : "no guard: ") + phases_[i].name));
    }
    panel(90, "database queries per second", "#c0392b", bins_.queries_per_second());
    panel(240, "users: median time of a look-up, ms", "#1f6feb", bins_.each([](const Figures& bin) {
      return bin.time_at(0.5);
    }));
    panel(390, "users: requests that fail, %", "#8e44ad", bins_.each([](const Figures& bin) {
      return 100 * bin.failed_share();
    }));
    return text_ + "</svg>\n";
  }

 private:
  static constexpr int kWidth = 860;
  static constexpr int kHeight = 520;
  static constexpr int kLeft = 70;
  static constexpr int kPanel = 100;  // its height

  void add(const std::string& text) { text_ += text; }
  double x(std::size_t bin) const {
    return kLeft + (kWidth - kLeft - 20.0) * static_cast<double>(bin) /
                       static_cast<double>(bins_.figures.size());
  }
  void panel(int top,
             std::string_view name,
             std::string_view colour,
             const std::vector<double>& y) {
    const double most = std::max(1.0, std::ranges::max(y));
    const int bottom = top + kPanel + 14;
    add(
        fmt::format("<text x='{0}' y='{1}' fill='{2}'>{3}</text>\n"
                    "<text x='{4}' y='{5}' text-anchor='end' font-size='11'>{6:.0f}</text>\n"
                    "<text x='{4}' y='{7}' text-anchor='end' font-size='11'>0</text>\n"
                    "<path fill='{2}' d='M{0} {7}",
                    kLeft,
                    top,
                    colour,
                    name,
                    kLeft - 6,
                    top + 22,
                    most,
                    bottom));
    for (std::size_t bin = 0; bin < y.size(); ++bin) {
      add(fmt::format("V{:.1f}H{:.1f}", bottom - kPanel * y[bin] / most, x(bin + 1)));
    }
    add(fmt::format("V{}Z'/>\n", bottom));
  }

  Bins bins_;
  std::span<const PhaseReport> phases_;
  std::string text_;
};

}  // namespace

bool is_good(std::span<const PhaseReport> phases) {
  double failed_without = 0;
  for (const PhaseReport& phase : phases) {
    const Figures seen(phase.samples);
    if (!phase.is_guarded) {
      failed_without = std::max(failed_without, seen.failed_share());
    }
    const bool is_stopped = static_cast<double>(seen.attack_reached) <=
                            (phase.is_disturbed ? kReachedShareMaxDisturbed : kReachedShareMax) *
                                static_cast<double>(seen.attack);
    const auto without = std::ranges::find_if(phases, [&phase](const PhaseReport& other) {
      return !other.is_guarded && other.name == phase.name;
    });
    if (phase.is_guarded && without != phases.end() &&
        static_cast<double>(phase.queries_at_once) >
            kAtOnceShareMax * static_cast<double>(without->queries_at_once)) {
      return false;
    }
    if (seen.hidden > 0 ||
        (phase.is_guarded &&
         (seen.failed_share() > failed_without + kFailedShareMore || !is_stopped))) {
      return false;
    }
  }
  return true;
}

std::string table(std::span<const PhaseReport> phases) {
  Table table(phases);
  table.number("users: requests", &Figures::requests);
  table.users();
  table.number("  rows created and read at once", &Figures::new_rows);
  table.number("    of them hidden", &Figures::hidden);
  table.number("attack: look-ups", &Figures::attack);
  table.add("  failed", [](const PhaseReport&, const Figures& seen) {
    return share_of(seen.attack_failed, seen.attack);
  });
  table.number("database queries", &Figures::queries);
  table.number("  for rows that do not exist", &Figures::in_vain);
  table.number("GETs that Redis saw", &PhaseReport::redis_gets);
  table.number("keys in Redis at the end", &PhaseReport::redis_keys);
  table.number("  of them junk", &PhaseReport::junk_keys);
  return table.text();
}

std::string load_table(std::span<const PhaseReport> phases) {
  Table table(phases);
  table.number("users: look-ups", &Figures::requests);
  table.users();
  table.number("database queries", &Figures::queries);
  table.number("  at once, with those that wait", &PhaseReport::queries_at_once);
  table.add("until 9 of 10 were answered", [](const PhaseReport&, const Figures& seen) {
    return milliseconds(seen.until_warm_ms());
  });
  return table.text();
}

std::string chart(std::span<const PhaseReport> phases) {
  constexpr std::array<std::string_view, 9> kBlocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr int kRows = 6;
  constexpr int kSteps = 8;  // of a row
  const Bins bins(phases);
  const std::vector<double> queries = bins.queries_per_second();
  const double most = std::ceil(std::max(1.0, std::ranges::max(queries)) / 1000) * 1000;
  std::string text = "  database queries per second\n";
  for (int row = kRows; row-- > 0;) {
    const bool has_label = row == kRows - 1 || row == 0;
    text += fmt::format(
        "  {:>7} │",
        has_label ? text::grouped(row == 0 ? 0 : static_cast<std::uint64_t>(most)) : "");
    for (const double each : queries) {
      const double height = each / most * kRows * kSteps - row * kSteps;
      const double least = row == 0 && each > 0 ? 1 : 0;  // something is seen
      text +=
          kBlocks[static_cast<std::size_t>(std::clamp<double>(std::round(height), least, kSteps))];
    }
    text += "\n";
  }
  std::string halves(queries.size(), ' ');
  std::string names(queries.size(), ' ');
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const auto write = [at = bins.begins[i]](std::string& into, const std::string& label) {
      into.replace(at, std::min(label.size(), into.size() - at), label);
    };
    write(names, "|" + phases[i].name);
    if (i == 0 || phases[i].is_guarded != phases[i - 1].is_guarded) {
      write(halves, phases[i].is_guarded ? "|with guard" : "|without guard");
    }
  }
  return text + fmt::format("          {}\n          {}\n", names, halves);
}

std::string picture(std::span<const PhaseReport> phases, const std::string& title) {
  return Picture(phases).of(title);
}

std::string machine_line(std::span<const PhaseReport> phases) {
  const std::vector<Figures> figures = figures_of(phases);
  const auto each = [&](const auto& value) {
    std::vector<std::string> all;
    std::ranges::transform(figures, std::back_inserter(all), [&](const Figures& seen) {
      return fmt::format("{:.4g}", static_cast<double>(std::invoke(value, seen)));
    });
    return fmt::format("{}", fmt::join(all, "/"));
  };
  const auto sum = [&](std::uint64_t Figures::* member) {
    return std::transform_reduce(
        figures.begin(), figures.end(), std::uint64_t{0}, std::plus<>(), std::mem_fn(member));
  };
  return fmt::format(
      "demo: hidden={} new_rows={} failed={} p50_ms={} p99_ms={} db_queries={} db_absent={} "
      "db_at_once={} good={}",
      sum(&Figures::hidden),
      sum(&Figures::new_rows),
      each(&Figures::failed),
      each([](const Figures& seen) { return seen.time_at(0.5); }),
      each([](const Figures& seen) { return seen.time_at(0.99); }),
      each(&Figures::queries),
      each(&Figures::in_vain),
      fmt::join(phases | std::views::transform(&PhaseReport::queries_at_once), "/"),
      is_good(phases) ? 1 : 0);
}

}  // namespace cuckooguard::demo
