#include "app/load_report.h"

#include <string>

#include <gtest/gtest.h>

#include "io/clock.h"
#include "log/written_log.h"

namespace cuckooguard::app {
namespace {

using filter::State;
using std::chrono::milliseconds;

TEST(LoadReport, a_load_shows_rows_percent_rate_and_time_left) {
  EXPECT_EQ(describe({.ns = "users",
                      .rows = 410'000,
                      .rows_expected = 1'000'000,
                      .rows_per_second = 3'100'000.4,
                      .fraction = 0.41,
                      .elapsed = milliseconds(132),
                      .remaining = milliseconds(190)}),
            "users: 410,000 of 1,000,000 rows, 41 %, 3,100,000 rows/s, 0.2 s left");
}

TEST(LoadReport, what_is_not_known_is_not_shown) {
  EXPECT_EQ(describe({.ns = "users", .rows = 999, .rows_per_second = 100, .fraction = 0.5}),
            "users: 999 rows, 50 %, 100 rows/s");
}

TEST(LoadReport, a_finished_load_says_how_long_it_took) {
  EXPECT_EQ(describe({.ns = "users",
                      .rows = 1'000'000,
                      .rows_expected = 1'000'000,
                      .rows_per_second = 4'000'000,
                      .fraction = 1,
                      .elapsed = milliseconds(250),
                      .complete = true}),
            "users: 1,000,000 rows, 4,000,000 rows/s, in 0.25 s");
}

TEST(LoadReport, the_page_is_told_of_a_load_while_it_goes_on) {
  log::WrittenLog log;
  views::LoadBoard board;
  LoadReport report(log.log, &board);
  report.on_progress({.ns = "users", .rows = 41, .rows_expected = 100, .fraction = 0.41});
  const auto load = board.of("users", io::now_since_boot());
  ASSERT_TRUE(load);
  EXPECT_EQ(load->rows, 41U);
  EXPECT_EQ(load->fraction, 0.41);
  report.on_progress({.ns = "users", .rows = 100, .fraction = 1, .complete = true});
  EXPECT_FALSE(board.of("users", io::now_since_boot()));
}

TEST(LoadReport, trouble_is_counted_by_source) {
  log::WrittenLog log;
  views::LoadBoard board;
  LoadReport report(log.log, &board);
  report.on_trouble("shop", "no space left");
  report.on_trouble("shop", "no space left");
  EXPECT_EQ(board.troubles("shop"), 2U);
  EXPECT_EQ(board.troubles("other"), 0U);
}

TEST(LoadReport, a_namespace_that_is_taken_up_from_checkpoints_says_so) {
  log::WrittenLog log;
  LoadReport report(log.log);
  report.on_restored("users");
  EXPECT_EQ(log.take(), "info event=namespace namespace=users filter=restored;");
}

TEST(LoadReport, why_keys_pass_of_what_is_ready_is_told_once) {
  log::WrittenLog log;
  LoadReport report(log.log);
  report.on_progress({.ns = "users", .rows = 1, .fraction = 1, .complete = true});
  log.take();
  const std::string line = "info event=state namespace=users state=ready why=\"60 s more\";";
  for (const std::string& told : {line, std::string()}) {
    report.on_state("users", State::loading, "rows have changed");
    report.on_state("users", State::ready, "60 s more");
    EXPECT_EQ(log.take(), told);
  }
  report.on_state("users", State::ready, "");
  report.on_state("users", State::ready, "60 s more");
  EXPECT_EQ(log.take(), line);
}

TEST(LoadReport, the_end_of_trouble_is_told_as_its_begin_is_and_routine_is_not) {
  log::WrittenLog log;
  LoadReport report(log.log);
  report.on_progress({.ns = "users",
                      .rows = 1,
                      .rows_per_second = 4.5,
                      .elapsed = milliseconds(250),
                      .complete = true});
  EXPECT_EQ(log.take(), "info event=loaded namespace=users rows=1 seconds=0.25 rows_per_second=4;");
  report.on_state("users", State::lagging, "");
  report.on_state("users", State::ready, "");
  EXPECT_EQ(log.take(), "");
  report.on_state("users", State::down, "it is gone");
  EXPECT_EQ(log.take(), "warning event=state namespace=users state=down why=\"it is gone\";");
  report.on_state("orders", State::lagging, "");
  log.take();
  report.on_state("users", State::lagging, "");
  EXPECT_EQ(log.take(), "");
  report.on_state("users", State::ready, "");
  EXPECT_EQ(log.take(), "info event=state namespace=users state=ready;");
  report.on_state("users", State::ready, "");
  EXPECT_EQ(log.take(), "");
}

}  // namespace
}  // namespace cuckooguard::app
