#include "filter/questions.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::filter {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

TEST(Questions, a_want_is_served_by_the_question_that_begins_after_it) {
  Questions questions;
  EXPECT_FALSE(questions.is_wanted());
  questions.want();
  EXPECT_TRUE(questions.is_wanted());
  questions.begin();
  EXPECT_FALSE(questions.is_wanted());
}

TEST(Questions, a_want_after_a_question_has_begun_is_remembered_for_the_next_one) {
  Questions questions;
  questions.want();
  questions.begin();
  questions.want();
  EXPECT_TRUE(questions.is_wanted());
  EXPECT_TRUE(questions.wait(1h, 0ms, {}));
}

TEST(Questions, a_wait_that_nobody_cuts_short_lasts_as_long_as_it_may) {
  Questions questions;
  const auto begin = steady_clock::now();
  EXPECT_TRUE(questions.wait(20ms, 1ms, {}));
  EXPECT_GE(steady_clock::now() - begin, 20ms);
}

TEST(Questions, are_no_closer_than_their_pace_and_no_rarer_than_without_readers) {
  Questions questions;
  questions.begin();
  const auto begin = steady_clock::now();
  questions.want();
  EXPECT_TRUE(questions.wait(1h, 30ms, {}));
  EXPECT_GE(steady_clock::now() - begin, 29ms);
  questions.begin();
  questions.want();
  EXPECT_TRUE(questions.wait(1ms, 1h, {}));
}

TEST(Questions, a_want_wakes_whoever_waits_and_so_does_a_stop) {
  Questions questions;
  std::atomic<bool> went_on{false};
  std::atomic<int> asked{0};
  std::jthread source([&](const std::stop_token& stop) {
    while (questions.wait(1h, 0ms, stop)) {
      questions.begin();
      asked.fetch_add(1);
      asked.notify_all();
    }
    went_on = true;
  });
  for (int round = 0; round < 100; ++round) {
    questions.want();
    asked.wait(round);
  }
  EXPECT_GE(asked.load(), 100);
  source.request_stop();
  source.join();
  EXPECT_TRUE(went_on.load());
}

TEST(Questions, tell_readers_of_each_proof) {
  int told = 0;
  const Questions questions([&told] { ++told; });
  questions.proven();
  questions.proven();
  EXPECT_EQ(told, 2);
  Questions().proven();  // nobody listens
}

TEST(Questions, serve_strict_reads_when_their_source_says_so) {
  Questions questions;
  EXPECT_FALSE(questions.serves_strict());
  questions.set_serves_strict(true);
  EXPECT_TRUE(questions.serves_strict());
}

// Time is a counter. Each reader needs a proof of a later time than its own, and nobody asks but
// for a reader: one that was overlooked would wait for ever.
TEST(Questions, no_reader_is_overlooked_however_they_meet_the_source) {
  constexpr int kReaders = 4;
  constexpr int kReads = 5000;
  std::atomic<std::uint64_t> time{0};
  std::atomic<std::uint64_t> proven{0};
  Questions questions([&proven] { proven.notify_all(); });
  std::jthread source([&](const std::stop_token& stop) {
    while (questions.wait(1h, 0ms, stop)) {
      questions.begin();
      proven.store(time.fetch_add(1) + 1);
      questions.proven();
    }
  });
  std::vector<std::jthread> readers;
  readers.reserve(kReaders);
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      for (int read = 0; read < kReads; ++read) {
        const std::uint64_t read_at = time.fetch_add(1) + 1;
        questions.want();
        for (std::uint64_t last = proven.load(); last <= read_at; last = proven.load()) {
          proven.wait(last);
        }
      }
    });
  }
  readers.clear();
  EXPECT_GT(proven.load(), 0U);
}

}  // namespace
}  // namespace cuckooguard::filter
