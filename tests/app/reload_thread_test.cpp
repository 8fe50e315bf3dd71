#include <atomic>
#include <chrono>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/assembly.h"
#include "log/written_log.h"

namespace cuckooguard::app {
namespace {

using Lines = ReloadThread::Lines;

// Asks until there is an outcome of a reload that began at `since` or later.
guard::ReloadOutcome outcome_of(ReloadThread& reloads, io::TimePoint since) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < deadline) {
    if (auto outcome = reloads.outcome(since, "test")) {
      return *std::move(outcome);
    }
    std::this_thread::yield();
  }
  throw std::runtime_error("no outcome");
}

TEST(ReloadThread, who_asks_is_told_what_came_of_it) {
  log::EventLog log{config::Log{}};
  ReloadThread::Loaded next = ReloadThread::Taken{.needs_restart = {"upstream.mode"}};
  ReloadThread reloads([&](const std::stop_token&) { return next; }, log);
  reloads.start();
  const auto first = outcome_of(reloads, io::now_since_boot());
  EXPECT_THAT(first.errors, testing::IsEmpty());
  EXPECT_THAT(first.needs_restart, testing::ElementsAre("upstream.mode"));
  next = std::unexpected(Lines{"one", "two"});
  const auto second = outcome_of(reloads, io::now_since_boot());
  EXPECT_THAT(second.errors, testing::ElementsAre("one", "two"));
  EXPECT_EQ(second.loaded_at, first.loaded_at) << "of the one in force";
  EXPECT_THAT(reloads.last().errors, testing::ElementsAre("one", "two"));
}

TEST(ReloadThread, of_a_file_that_says_what_it_said_is_told_with_what_may_be_the_cause) {
  log::WrittenLog log;
  bool is_unchanged = true;
  ReloadThread reloads(
      [&](const std::stop_token&) { return ReloadThread::Taken{.is_unchanged = is_unchanged}; },
      log.log);
  reloads.start();
  EXPECT_TRUE(outcome_of(reloads, io::now_since_boot()).is_unchanged);
  EXPECT_THAT(log.take(),
              testing::HasSubstr("event=reloaded unchanged=true hint=\"no setting has changed"));
  is_unchanged = false;
  EXPECT_FALSE(outcome_of(reloads, io::now_since_boot()).is_unchanged);
  EXPECT_THAT(log.take(), testing::EndsWith("event=reloaded;"));
}

TEST(ReloadThread, who_asks_while_one_runs_is_told_of_the_next_one_and_all_share_it) {
  log::EventLog log{config::Log{}};
  std::atomic<int> begun = 0;
  std::counting_semaphore<> may_end(0);
  ReloadThread reloads(
      [&](const std::stop_token&) -> ReloadThread::Loaded {
        const int number = ++begun;
        may_end.acquire();
        return ReloadThread::Taken{.needs_restart = {std::to_string(number)}};
      },
      log);
  reloads.start();
  reloads.ask("test");
  while (begun == 0) {
    std::this_thread::yield();
  }
  const io::TimePoint asked = io::now_since_boot();
  EXPECT_FALSE(reloads.outcome(asked, "one"));
  EXPECT_FALSE(reloads.outcome(asked, "two"));
  reloads.ask("three");
  may_end.release();
  while (begun == 1) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(reloads.outcome(asked, "one")) << "the first began before it was asked for";
  may_end.release();
  EXPECT_THAT(outcome_of(reloads, asked).needs_restart, testing::ElementsAre("2"));
  EXPECT_EQ(begun, 2);
}

TEST(ReloadThread, an_exception_is_an_outcome) {
  log::EventLog log{config::Log{}};
  ReloadThread reloads(
      [](const std::stop_token&) -> ReloadThread::Loaded { throw std::runtime_error("no memory"); },
      log);
  reloads.start();
  EXPECT_THAT(outcome_of(reloads, io::now_since_boot()).errors, testing::ElementsAre("no memory"));
}

TEST(ReloadThread, the_end_is_told_to_a_reload_that_runs) {
  log::EventLog log{config::Log{}};
  std::atomic<bool> has_begun = false;
  ReloadThread reloads(
      [&](const std::stop_token& stop) -> ReloadThread::Loaded {
        has_begun = true;
        while (!stop.stop_requested()) {
          std::this_thread::yield();
        }
        return {};
      },
      log);
  reloads.start();
  reloads.ask("test");
  while (!has_begun) {
    std::this_thread::yield();
  }
  reloads.stop();
  SUCCEED() << "it has ended";
}

}  // namespace
}  // namespace cuckooguard::app
