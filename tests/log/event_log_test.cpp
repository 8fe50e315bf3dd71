#include "log/event_log.h"

#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "log/written_log.h"

namespace cuckooguard::log {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

TEST(EventLog, an_event_is_a_line_with_its_level) {
  WrittenLog log;
  log.log.info("upstream_up");
  log.log.warning("upstream_down", {{"why", "gone"}});
  log.log.error("hidden_row", {{"namespace", "users"}});
  EXPECT_EQ(log.take(),
            "info event=upstream_up;warning event=upstream_down why=gone;error event=hidden_row "
            "namespace=users;");
}

TEST(EventLog, what_is_below_the_level_is_not_written) {
  WrittenLog log({.level = config::LogLevel::warning});
  log.log.debug("state");
  log.log.info("state");
  EXPECT_EQ(log.take(), "");
  log.log.set({.level = config::LogLevel::debug});
  log.log.debug("state");
  EXPECT_EQ(log.take(), "debug event=state;");
}

TEST(EventLog, json_is_an_object_per_line) {
  WrittenLog log({.format = config::LogFormat::json});
  log.log.warning("upstream_down", {{"why", "it is gone"}});
  const std::string line = log.take();
  EXPECT_THAT(line, StartsWith("{\"time\":\"20"));
  EXPECT_THAT(line, HasSubstr(R"("level":"warning","event":"upstream_down","why":"it is gone"};)"));
}

TEST(EventLog, keys_are_shown_only_if_the_configuration_says_so) {
  EXPECT_FALSE(WrittenLog().log.shows_keys());
  EXPECT_TRUE(WrittenLog({.keys = config::LogKeys::plain}).log.shows_keys());
}

TEST(EventLog, a_storm_is_cut_and_counted) {
  WrittenLog log;
  for (int i = 0; i < 1000; ++i) {
    log.log.error("accept_failed", {{"i", i}});
  }
  std::string lines = log.take();
  EXPECT_EQ(std::ranges::count(lines, ';'), EventLimits::kEventsMax) << lines;
  log.log.error("upstream_refused");
  EXPECT_EQ(log.take(), "error event=upstream_refused;") << "others are not concerned";
  log.now += EventLimits::kWindow;
  log.log.error("accept_failed", {{"i", 1000}});
  log.log.error("accept_failed", {{"i", 1001}});
  EXPECT_EQ(log.take(),
            "error event=accept_failed i=1000 suppressed=990;error event=accept_failed i=1001;");
}

TEST(EventLog, one_namespace_in_trouble_does_not_silence_another) {
  WrittenLog log;
  for (int i = 0; i < 100; ++i) {
    log.log.warning("state", {{"namespace", "users"}});
    log.log.warning("source_trouble", {{"source", "shop"}});
  }
  log.take();
  log.log.warning("state", {{"namespace", "orders"}});
  log.log.warning("source_trouble", {{"source", "other"}});
  EXPECT_EQ(log.take(),
            "warning event=state namespace=orders;warning event=source_trouble source=other;");
}

TEST(EventLog, an_operator_who_asks_is_told_everything) {
  WrittenLog log;
  for (int i = 0; i < 100; ++i) {
    log.log.error("reload_refused", {{"why", std::to_string(i)}});
  }
  EXPECT_EQ(std::ranges::count(log.take(), ';'), 100);
}

TEST(EventLog, what_was_left_out_is_told_at_the_end) {
  std::string text;
  {
    EventLog log(
        {},
        [&text](const std::string& line) { text += line; },
        [] { return EventLimits::TimePoint{}; });
    for (std::uint32_t i = 0; i < EventLimits::kEventsMax + 3; ++i) {
      log.error("accept_failed");
    }
  }
  EXPECT_THAT(text, HasSubstr("info event=suppressed name=accept_failed count=3\n"));
}

TEST(EventLog, listeners_hear_what_is_written_and_nothing_else) {
  std::vector<std::string> heard;  // outlives the log, which says at its end what it has left out
  WrittenLog log;
  log.log.add_listener([&heard](const Event& event) {
    heard.push_back(std::string(level_name(event.level)) + " " + text_of(event));
  });
  log.log.debug("state");
  log.log.info("upstream_up");
  for (int i = 0; i < 100; ++i) {
    log.log.error("accept_failed");
  }
  ASSERT_EQ(heard.size(), 1U + EventLimits::kEventsMax);
  EXPECT_EQ(heard[0], "info event=upstream_up");
}

TEST(EventLog, threads_do_not_mix_their_lines) {
  WrittenLog log;
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&log, name = std::string(50, static_cast<char>('a' + i))] {
        for (int round = 0; round < 20; ++round) {
          log.log.info("state", {{"namespace", name}});
          log.log.set({});
        }
      });
    }
  }
  std::string lines = log.take();
  EXPECT_EQ(std::ranges::count(lines, ';'), 4 * EventLimits::kEventsMax);
  for (std::size_t at = 0; at < lines.size(); at = lines.find(';', at) + 1) {
    const std::string_view line = std::string_view(lines).substr(at, lines.find(';', at) - at);
    ASSERT_THAT(line, StartsWith("info event=state namespace="));
    ASSERT_EQ(line.find_first_not_of(line[27], 27), std::string_view::npos) << line;
  }
}

TEST(EventLimits, the_table_is_bounded_and_never_silent_about_a_new_name) {
  EventLimits limits;
  const EventLimits::TimePoint now{};
  for (std::size_t i = 0; i < EventLimits::kSubjectsMax; ++i) {
    ASSERT_TRUE(limits.admit("state", std::to_string(i), now));
  }
  // Those beyond share what there is for the name.
  for (std::uint32_t i = 0; i < EventLimits::kEventsMax; ++i) {
    EXPECT_TRUE(limits.admit("state", "new" + std::to_string(i), now));
  }
  EXPECT_FALSE(limits.admit("state", "one more", now));
  EXPECT_TRUE(limits.admit("hidden_row", "one more", now));
  EXPECT_TRUE(limits.admit("state", "one more", now + EventLimits::kWindow)) << "the old are gone";
}

// The table in docs/operations.md: `| \`name\` | level | meaning |` under "Log".
std::set<std::string, std::less<>> documented_events() {
  std::ifstream file(CUCKOOGUARD_OPERATIONS);
  std::set<std::string, std::less<>> names;
  bool is_here = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) {
      is_here = line == "## Log";
    }
    if (is_here && line.starts_with("| `")) {
      const std::string cell = line.substr(0, line.find('|', 1));
      for (std::size_t at = cell.find('`'); at != std::string::npos; at = cell.find('`', at + 1)) {
        const std::size_t end = cell.find('`', at + 1);
        names.insert(cell.substr(at + 1, end - at - 1));
        at = end;
      }
    }
  }
  return names;
}

TEST(EventNames, the_documents_have_every_event_and_no_other) {
  const std::set<std::string, std::less<>> names(kEventNames.begin(), kEventNames.end());
  EXPECT_EQ(names.size(), kEventNames.size()) << "one is there twice";
  EXPECT_EQ(documented_events(), names);
  EXPECT_TRUE(std::ranges::is_sorted(kEventNames));
  for (const std::string_view name : kUnlimitedEvents) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

}  // namespace
}  // namespace cuckooguard::log
