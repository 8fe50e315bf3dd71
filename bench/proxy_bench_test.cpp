#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proxy_bench_cells.h"
#include "proxy_bench_cluster.h"
#include "proxy_bench_floors.h"
#include "proxy_bench_picture.h"
#include "proxy_bench_report.h"
#include "proxy_bench_results.h"

namespace cuckooguard::bench {
namespace {

using testing::Contains;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr std::string_view kCsv =
    "WARNING: Could not fetch server CONFIG\n"
    R"("test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms")"
    "\n"
    R"("GET user:1__rand_int__","27027.03","10.394","2.296","11.239","15.215","17.215","17.695")"
    "\n";

Cell hit(unsigned pipeline) {
  return {.load = Load::hit, .clients = kPromisedClients, .pipeline = pipeline};
}

Sample throughput(double per_second) {
  return {.per_second = per_second, .p50_ms = 1, .p99_ms = 2, .redis_microseconds = 1};
}

constexpr Field kThroughput = &Sample::per_second;

// Round by round the machine gets slower; the guard is 1.2, 0.9 and 1.1 times as fast as Redis, and
// at its median 0.9.
CellRounds slowing_down() {
  CellRounds cell{.cell = hit(1), .rounds = {}};
  for (const auto& [direct, guard] : {std::pair{1000.0, 1200.0}, {500.0, 450.0}, {100.0, 110.0}}) {
    cell.rounds.push_back({{std::string(kDirect), throughput(direct)},
                           {std::string(kPinned), throughput(guard)},
                           {std::string(kTwemproxy), throughput(direct * 0.8)},
                           {std::string(kHaproxy), throughput(direct * 0.5)}});
  }
  return cell;
}

Results made_results() {
  Results results;
  results.targets = {
      std::string(kDirect), std::string(kPinned), std::string(kTwemproxy), std::string(kHaproxy)};
  results.cells.push_back(slowing_down());
  results.memory.push_back({.target = std::string(kPinned),
                            .connections = 1000,
                            .idle = 900,
                            .first_use = 7000,
                            .burst = 9000,
                            .settled = 7100});
  return results;
}

const Floor& floor_about(const std::vector<Floor>& all, std::string_view words) {
  return *std::ranges::find_if(all, [&](const Floor& floor) { return floor.what.contains(words); });
}

TEST(ProxyBenchCsv, throughput_and_latencies_are_read_behind_whatever_stands_before) {
  const auto sample = parse_csv(kCsv);
  ASSERT_TRUE(sample);
  EXPECT_DOUBLE_EQ(sample->per_second, 27027.03);
  EXPECT_DOUBLE_EQ(sample->p50_ms, 11.239);
  EXPECT_DOUBLE_EQ(sample->p99_ms, 17.215);
}

TEST(ProxyBenchCsv, a_text_that_ends_anywhere_before_the_figures_is_no_measurement) {
  const std::size_t behind_p99 = kCsv.find(R"(,"17.695")");
  for (std::size_t bytes = 0; bytes < behind_p99; ++bytes) {
    EXPECT_FALSE(parse_csv(kCsv.substr(0, bytes))) << bytes;
  }
}

TEST(ProxyBenchCsv, a_rate_of_nothing_or_of_no_number_is_no_measurement) {
  for (const std::string_view rate : {"0.00", "inf?", ""}) {
    std::string text(kCsv);
    text.replace(text.find("27027.03"), 8, rate);
    EXPECT_FALSE(parse_csv(text)) << rate;
  }
}

TEST(ProxyBenchCells, every_load_meets_every_pipeline_and_number_of_clients_once) {
  auto cells = all_cells();
  EXPECT_THAT(cells, SizeIs(45 + 4));
  std::ranges::sort(cells);
  EXPECT_EQ(std::ranges::adjacent_find(cells), cells.end());
  EXPECT_EQ(std::ranges::count_if(cells, is_promised), 6);
}

TEST(ProxyBenchCells, only_half_of_the_keys_of_half_are_rows) {
  Cell cell = hit(16);
  EXPECT_EQ(load_command(cell, 6379, 800),
            (std::vector<std::string>{"redis-benchmark",
                                      "-h",
                                      "127.0.0.1",
                                      "-p",
                                      "6379",
                                      "-c",
                                      "50",
                                      "-P",
                                      "16",
                                      "-n",
                                      "800",
                                      "-r",
                                      "100000",
                                      "--csv",
                                      "GET",
                                      "user:1__rand_int__"}));
  cell.load = Load::half;
  EXPECT_THAT(load_command(cell, 6379, 800), Contains("200000"));
  cell.load = Load::mget;
  EXPECT_THAT(load_command(cell, 6379, 800), Contains("user:1__rand_int__").Times(5));
  EXPECT_THAT(load_command(cell, 6379, 800), Contains("user:2__rand_int__").Times(5));
  cell.load = Load::hit_64k;
  EXPECT_THAT(load_command(cell, 6379, 800), Contains("500"));
}

TEST(ProxyBenchCells, redis_benchmark_writes_the_keys_of_rows_and_for_absent_ones_others) {
  // It puts twelve digits in place of __rand_int__.
  EXPECT_EQ(key(kFirstRow), "user:1000000000000");
  EXPECT_EQ(key(kFirstRow + kRows - 1), "user:1000000099999");
  EXPECT_EQ(key(kFirstAbsent), "user:2000000000000");
  EXPECT_EQ(load_command({Load::absent, 1, 1}, 1, 1).back(), "user:2__rand_int__");
}

TEST(ProxyBenchCells, requests_are_whole_pipelines_of_every_client_and_at_least_one) {
  EXPECT_EQ(requests_for(hit(16), 100'000, 0.4), 40'000);
  EXPECT_EQ(requests_for(hit(64), 100'000, 0.1) % (50 * 64), 0);
  EXPECT_EQ(requests_for(hit(64), 1, 0.1), 50 * 64);
}

TEST(ProxyBenchResults, ratios_are_taken_within_rounds) {
  const Spread spread = ratio(slowing_down(), {kPinned, kThroughput}, {kDirect, kThroughput});
  EXPECT_DOUBLE_EQ(spread.median, 1.1);
  EXPECT_DOUBLE_EQ(spread.min, 0.9);
  EXPECT_DOUBLE_EQ(spread.max, 1.2);
}

TEST(ProxyBenchResults, a_round_without_one_of_the_two_does_not_count) {
  CellRounds cell = slowing_down();
  cell.rounds[0].erase(std::string(kDirect));
  cell.rounds[1].erase(std::string(kPinned));
  const Spread spread = ratio(cell, {kPinned, kThroughput}, {kDirect, kThroughput});
  EXPECT_DOUBLE_EQ(spread.min, 1.1);
  EXPECT_DOUBLE_EQ(spread.max, 1.1);
  EXPECT_EQ(ratio(cell, {kShared, kThroughput}, {kDirect, kThroughput}).median, 0);
}

TEST(ProxyBenchResults, the_best_other_proxy_is_chosen_in_every_round_and_is_never_a_guard) {
  CellRounds cell = slowing_down();
  cell.rounds[1].find(kHaproxy)->second.per_second = 4500;
  const Spread spread = ratio_to_best_other(cell, kPinned);
  EXPECT_DOUBLE_EQ(spread.min, 0.1);
  EXPECT_DOUBLE_EQ(spread.max, 1.5);
}

TEST(ProxyBenchFloors, each_is_met_on_its_side_of_its_limit_only) {
  EXPECT_TRUE((Floor{.what = {}, .measured = 1, .bound = Bound::at_least, .limit = 1}.is_met()));
  EXPECT_FALSE((Floor{.what = {}, .measured = 0.9, .bound = Bound::at_least, .limit = 1}.is_met()));
  EXPECT_TRUE((Floor{.what = {}, .measured = 1, .bound = Bound::at_most, .limit = 1}.is_met()));
  EXPECT_FALSE((Floor{.what = {}, .measured = 1.1, .bound = Bound::at_most, .limit = 1}.is_met()));
  EXPECT_TRUE((Floor{.what = {}, .measured = 1.1, .bound = Bound::above, .limit = 1}.is_met()));
  EXPECT_FALSE((Floor{.what = {}, .measured = 1, .bound = Bound::above, .limit = 1}.is_met()));
}

TEST(ProxyBenchFloors, they_are_about_the_shared_guard_if_there_is_one) {
  Results results = made_results();
  EXPECT_DOUBLE_EQ(floor_about(floors(results), "throughput to direct, hit P=1").measured, 1.1);
  results.targets.emplace_back(kShared);
  for (Round& round : results.cells.front().rounds) {
    round[std::string(kShared)] = throughput(round.find(kDirect)->second.per_second * 2);
  }
  EXPECT_DOUBLE_EQ(floor_about(floors(results), "throughput to direct, hit P=1").measured, 2);
}

TEST(ProxyBenchFloors, what_was_not_measured_is_not_missed) {
  for (const Floor& floor : floors(made_results())) {
    EXPECT_THAT(floor.what, Not(HasSubstr("absent")));
    EXPECT_THAT(floor.what, Not(HasSubstr("P=16")));
  }
  EXPECT_TRUE(floors({}).empty());
}

TEST(ProxyBenchFloors, the_cell_in_which_another_proxy_comes_nearest_is_named) {
  Results results = made_results();
  CellRounds mget = slowing_down();
  mget.cell.load = Load::mget;
  for (Round& round : mget.rounds) {
    round.find(kHaproxy)->second.per_second *= 4;
  }
  results.cells.push_back(mget);
  const auto all = floors(results);
  const Floor& floor = floor_about(all, "best other");
  EXPECT_THAT(floor.what, HasSubstr("above in 1 of 2; least in mget P=1 c=50"));
  EXPECT_FALSE(floor.is_met());
}

TEST(ProxyBenchFloors, memory_is_held_to_that_before_the_burst) {
  const auto all = floors(made_results());
  EXPECT_TRUE(floor_about(all, "idle client").is_met());
  EXPECT_FALSE(floor_about(all, "after its first use").is_met());
  EXPECT_THAT(floor_about(all, "after a burst").measured, DoubleNear(1.0143, 0.0001));
}

TEST(ProxyBenchFloors, the_machines_line_has_every_figure_in_its_place) {
  Results results = made_results();
  for (Round& round : results.cells.front().rounds) {
    round.find(kPinned)->second.proxy_microseconds = 6;
    round.find(kPinned)->second.redis_microseconds = 0.25;
    round.find(kTwemproxy)->second.proxy_microseconds = 8;
  }
  EXPECT_EQ(machine_line(results),
            "bench-proxy: hit_p1=1.10 hit_p16=0.00 hit_p64=0.00 absent_p1=0.00 absent_p16=0.00 "
            "absent_p64=0.00 cpu_hit_p1_over_twemproxy=0.75 redis_cpu_hit_p1_over_direct=0.25 "
            "idle_client_bytes=900");
}

TEST(ProxyBenchReport, the_table_has_a_line_per_target_and_says_what_is_met) {
  const std::string text = table(made_results());
  EXPECT_THAT(text,
              HasSubstr("hit P=1 c=50, 3 rounds\n  direct        1.00 [1.00 1.00]          500"));
  EXPECT_THAT(text, HasSubstr("  pinned        1.10 [0.90 1.20]          450"));
  EXPECT_THAT(text,
              HasSubstr("  met        1.10 >= 1.05     throughput to direct, hit P=1 c=50\n"));
  EXPECT_THAT(text,
              HasSubstr("  missed  7000.00 <= 6144.00  bytes of a client after its first use\n"));
}

TEST(ProxyBenchReport, the_json_has_null_for_what_was_not_measured) {
  Results results = made_results();
  EXPECT_THAT(json(results), HasSubstr(R"("burst": 9000, "settled": 7100})"));
  results.memory.front().burst.reset();
  EXPECT_THAT(json(results), HasSubstr(R"("burst": null, "settled": 7100})"));
  EXPECT_THAT(
      json(results),
      HasSubstr(R"("pinned": {"ratio_to_direct": {"median": 1.1, "min": 0.9, "max": 1.2})"));
}

TEST(ProxyBenchReport, the_json_closes_what_it_opens) {
  const std::string text = json(made_results());
  for (const std::string_view pair : {"{}", "[]"}) {
    EXPECT_EQ(std::ranges::count(text, pair[0]), std::ranges::count(text, pair[1]));
  }
  EXPECT_THAT(text, Not(HasSubstr(",\n  ]")));
}

TEST(ProxyBenchPicture, every_target_but_redis_has_a_bar_in_every_group_and_one_in_the_legend) {
  Results results = made_results();
  CellRounds deeper = slowing_down();
  deeper.cell = hit(16);
  results.cells.push_back(deeper);
  CellRounds aside = slowing_down();
  aside.cell.load = Load::set;
  results.cells.push_back(aside);
  const std::string drawing = picture(results);
  const auto count = [&](std::string_view words) {
    int found = 0;
    for (std::size_t at = drawing.find(words); at != std::string::npos;
         at = drawing.find(words, at + 1)) {
      ++found;
    }
    return found;
  };
  for (const std::string_view target : {kPinned, kTwemproxy, kHaproxy}) {
    EXPECT_EQ(count("class=\"bar " + std::string(target) + "\""), 2 + 1);
  }
  EXPECT_EQ(count("class=\"bar direct\""), 0);
  EXPECT_EQ(count("row exists, P = "), 2);
  EXPECT_EQ(count(">guard, pinned</text>"), 1);
  EXPECT_EQ(count(">haproxy</text>"), 1);
  EXPECT_EQ(count("prefers-color-scheme: dark"), 1);
}

TEST(ProxyBenchPicture, nothing_measured_is_an_empty_picture_without_a_division_by_zero) {
  const std::string drawing = picture({});
  EXPECT_THAT(drawing, HasSubstr("</svg>"));
  EXPECT_THAT(drawing, Not(HasSubstr("nan")));
  EXPECT_THAT(drawing, Not(HasSubstr("inf")));
}

TEST(ProxyBenchCluster, keys_are_of_the_node_that_redis_benchmark_asks) {
  const Cell cell = hit(1);
  const auto command = load_command(cell, 7000, 100, true);
  EXPECT_THAT(command, Contains("--cluster"));
  EXPECT_THAT(command, Contains("user:{tag}:1__rand_int__"));
  EXPECT_THAT(load_command(cell, 7000, 100), Not(Contains("--cluster")));
}

TEST(ProxyBenchCluster, compares_the_guard_with_the_cluster_itself) {
  const Results results = made_results();
  EXPECT_THAT(cluster_machine_line(results), HasSubstr(" pinned_hit_p1=1.10 "));
  EXPECT_THAT(cluster_table(results), HasSubstr("1.10       [0.90 1.20]"));
}

}  // namespace
}  // namespace cuckooguard::bench
