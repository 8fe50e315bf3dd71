#include "app/load_report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "io/clock.h"
#include "text/grouped.h"

namespace cuckooguard::app {
namespace {

using config::LogLevel;

std::uint64_t whole(double number) {
  return static_cast<std::uint64_t>(number);
}

void put(views::LoadBoard& board, const source::Progress& progress) {
  if (progress.complete) {
    board.remove(progress.ns);
    return;
  }
  board.put(progress.ns,
            {.rows = progress.rows,
             .rows_expected = progress.rows_expected,
             .rows_per_second = progress.rows_per_second,
             .fraction = progress.fraction,
             .remaining = progress.remaining},
            io::now_since_boot());
}

double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

// As MySQL and SQLite quote it.
std::string without(std::string text, const std::string& table) {
  if (table.empty()) {
    return text;
  }
  for (const char quote : {'`', '"'}) {
    const std::string quoted = quote + table + quote;
    for (auto at = text.find(quoted); at != std::string::npos; at = text.find(quoted, at)) {
      text.erase(at, quoted.size());
    }
  }
  return text;
}

void note(std::vector<std::string>& names, const std::string& name) {
  if (!name.empty() && std::ranges::count(names, name) == 0) {
    names.push_back(name);
  }
}

std::string listed(std::string_view one, std::span<const std::string> names) {
  if (names.empty()) {
    return "";
  }
  const std::span<const std::string> named =
      names.first(std::min(names.size(), Refusals::kNamesMax));
  return fmt::format(
      ", {}{} {}{}",
      one,
      names.size() == 1 ? "" : "s",
      fmt::join(named, ", "),
      named.size() == names.size() ? "" : fmt::format(" and {} more", names.size() - named.size()));
}

}  // namespace

std::string describe(const source::Progress& progress) {
  std::string text = fmt::format("{}: {}", progress.ns, text::grouped(progress.rows));
  if (progress.rows_expected > 0 && !progress.complete) {
    text += fmt::format(" of {}", text::grouped(progress.rows_expected));
  }
  text += " rows";
  if (!progress.complete) {
    text += fmt::format(", {:.0f} %", progress.fraction * 100);
  }
  text += fmt::format(", {} rows/s", text::grouped(whole(progress.rows_per_second)));
  if (progress.complete) {
    text += fmt::format(", in {:.2f} s", seconds(progress.elapsed));
  } else if (progress.remaining) {
    text += fmt::format(", {:.1f} s left", seconds(*progress.remaining));
  }
  return text;
}

LoadReport::LoadReport(log::EventLog& log, views::LoadBoard* board)
    : log_(log), is_terminal_(::isatty(STDERR_FILENO) == 1), board_(board) {}

void LoadReport::on_progress(const source::Progress& progress) {
  if (board_ != nullptr) {
    put(*board_, progress);
  }
  const std::lock_guard lock(mutex_);
  const std::string ns(progress.ns);
  if (is_terminal_) {
    fmt::print(
        stderr, "\r\033[Kloading {}{}", describe(progress), progress.complete ? "\r\033[K" : "");
  }
  if (progress.complete) {
    logged_.erase(ns);
    // A rescan is routine; the first load is what somebody waits for.
    const bool is_first = !std::exchange(loaded_[ns], true);
    const std::array fields{log::Field("namespace", progress.ns),
                            log::Field("rows", progress.rows),
                            log::Field("seconds", seconds(progress.elapsed)),
                            log::Field("rows_per_second", whole(progress.rows_per_second))};
    log_.write(is_first ? LogLevel::info : LogLevel::debug, "loaded", fields);
  } else if (!is_terminal_ && progress.elapsed >= logged_[ns] + kLogEvery) {
    logged_[ns] = progress.elapsed;
    log_.info("loading",
              {{"namespace", progress.ns},
               {"rows", progress.rows},
               {"rows_expected", progress.rows_expected},
               {"percent", whole(progress.fraction * 100)},
               {"rows_per_second", whole(progress.rows_per_second)}});
  }
}

void LoadReport::on_state(std::string_view ns, filter::State state, std::string_view why) {
  const std::lock_guard lock(mutex_);
  // Rescans come and go with every change; what an operator must know of is what does not end by
  // itself, and its end.
  const bool routine = state == filter::State::ready || state == filter::State::loading ||
                       state == filter::State::lagging;
  const bool first = !loaded_.contains(std::string(ns));
  bool over = false;
  if (!routine) {
    troubled_.emplace(ns);
  } else if (state == filter::State::ready) {
    over = troubled_.erase(std::string(ns)) > 0;
  }
  // Once, not after each rescan.
  bool held = state == filter::State::ready && !why.empty();
  if (held) {
    held = held_.emplace(ns).second;
  } else if (state == filter::State::ready) {
    held_.erase(std::string(ns));
  }
  const auto info = first || over || held ? LogLevel::info : LogLevel::debug;
  std::vector<log::Field> fields{{"namespace", ns}, {"state", filter::state_name(state)}};
  if (!why.empty()) {
    fields.emplace_back("why", why);
  }
  log_.write(routine ? info : LogLevel::warning, "state", fields);
}

void LoadReport::on_trouble(std::string_view source, std::string_view what) {
  log_.warning("source_trouble", {{"source", source}, {"what", what}});
  if (board_ != nullptr) {
    board_->count_trouble(source);
  }
}

void LoadReport::on_restored(std::string_view ns) {
  log_.info("namespace", {{"namespace", ns}, {"filter", "restored"}});
}

// Of a namespace of several tables each load has a name of its own, "users/user_3".
void LoadReport::forget(std::string_view ns) {
  const std::lock_guard lock(mutex_);
  std::erase_if(loaded_, [ns](const auto& loaded) {
    const std::string& name = loaded.first;
    return name.starts_with(ns) && (name.size() == ns.size() || name[ns.size()] == '/');
  });
  troubled_.erase(std::string(ns));
  held_.erase(std::string(ns));
}

Refusals::Refusals(const std::vector<source::Refusal>& all) {
  for (const source::Refusal& refusal : all) {
    add(refusal);
  }
}

void Refusals::add(const source::Refusal& refusal) {
  std::string gist = without(refusal.what, refusal.table);
  auto cause = std::ranges::find(causes_, gist, &Cause::gist);
  if (cause == causes_.end()) {
    causes_.push_back({.gist = std::move(gist), .what = refusal.what});
    cause = causes_.end() - 1;
  }
  note(cause->namespaces, refusal.ns);
  note(cause->tables, refusal.table);
}

bool Refusals::explain(std::string_view ns) const {
  return std::ranges::any_of(causes_, [ns](const Cause& cause) {
    return cause.namespaces.empty() || std::ranges::count(cause.namespaces, ns) > 0;
  });
}

std::vector<std::string> Refusals::sentences_without_source() const {
  std::vector<std::string> all;
  for (const Cause& cause : causes_) {
    const bool names_it_itself = cause.tables.size() == 1 && cause.gist != cause.what;
    all.push_back(fmt::format("{}{}: {}",
                              listed("namespace", cause.namespaces),
                              names_it_itself ? "" : listed("table", cause.tables),
                              cause.what));
  }
  return all;
}

std::vector<std::string> Refusals::sentences(std::string_view source) const {
  std::vector<std::string> all = sentences_without_source();
  for (std::string& each : all) {
    each.insert(0, fmt::format("source {}", source));
  }
  return all;
}

std::vector<std::string> Refusals::sentences(
    std::span<const std::pair<std::string, Refusals>> sources) {
  std::vector<std::pair<std::string, std::vector<std::string>>> said;  // and of which sources
  for (const auto& [source, refusals] : sources) {
    for (const std::string& each : refusals.sentences_without_source()) {
      auto same = std::ranges::find(said, each, [](const auto& known) { return known.first; });
      if (same == said.end()) {
        said.emplace_back(each, std::vector<std::string>());
        same = said.end() - 1;
      }
      note(same->second, source);
    }
  }
  std::vector<std::string> all(said.size());
  std::ranges::transform(said, all.begin(), [](const auto& each) {
    return listed("source", each.second).substr(2) + each.first;
  });
  return all;
}

}  // namespace cuckooguard::app
