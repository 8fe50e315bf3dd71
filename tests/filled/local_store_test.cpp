#include "filled/local_store.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "filled/dump.h"
#include "filled/hashes.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::filled {
namespace {

using testing::hash_of;

const filter::HashSecret kSecret{};

// What this thread has computed, whatever else the machine does.
std::chrono::nanoseconds thread_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

class LocalStoreTest : public ::testing::Test {
 protected:
  LocalStore::Settings settings() {
    return {.path = folder_.file("filled"),
            .every = std::chrono::hours(1),
            .wall_time = [this] { return wall_time_; },
            .on_trouble = [this](const std::string& what) { troubles_.push_back(what); }};
  }
  static std::shared_ptr<Change> submit(LocalStore& store, Operation operation) {
    auto change = std::make_shared<Change>(std::move(operation));
    store.submit(change);
    return change;
  }
  static Operation adding(std::uint64_t item) {
    return {.kind = Operation::Kind::add_if_new,
            .filter = "a",
            .missing = Operation::Missing::is_made,
            .hashes = {hash_of(item)}};
  }

  harness::TemporaryDirectory folder_;
  std::uint64_t wall_time_ = 1000;
  std::vector<std::string> troubles_;
};

TEST_F(LocalStoreTest, does_at_once_what_is_submitted) {
  Filters filters(kSecret);
  LocalStore store(filters, {});
  const auto first = submit(store, adding(1));
  ASSERT_TRUE(first->is_done());
  EXPECT_EQ(first->outcome().items.front(), ItemOutcome::done);
  EXPECT_EQ(submit(store, adding(1))->outcome().items.front(), ItemOutcome::not_done);
}

// It takes as long as the filter is large: whoever asks does not make it himself.
TEST_F(LocalStoreTest, makes_a_dump_on_its_own_thread_with_all_that_was_submitted_before) {
  Filters filters(kSecret);
  LocalStore store(filters, settings());
  store.start();
  for (std::uint64_t i = 0; i < 20; ++i) {
    submit(store, adding(i));
    const auto dump = submit(store, {.kind = Operation::Kind::dump, .filter = "a"});
    const auto behind = submit(store, adding(1000 + i));
    while (!dump->is_done() || !behind->is_done()) {
      std::this_thread::yield();
    }
    const auto read = read_dump(dump->outcome().blob, kSecret);
    ASSERT_TRUE(read.has_value());
    EXPECT_TRUE((*read)->may_contain(hash_of(i)));
    EXPECT_TRUE(filters.directory()->find("a")->second.filter->may_contain(hash_of(1000 + i)));
  }
}

// The store's thread makes it in turns, and does between them what comes.
TEST_F(LocalStoreTest, does_what_comes_while_a_large_dump_is_made) {
  Filters filters(kSecret);
  LocalStore store(filters, settings());
  store.start();
  submit(store,
         {.kind = Operation::Kind::create, .filter = "b", .shape = {.capacity = 60'000'000}});
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now();
  const auto dump = submit(store, {.kind = Operation::Kind::dump, .filter = "b"});
  Clock::duration longest{};
  for (std::uint64_t item = 0; !dump->is_done(); ++item) {
    const auto at = Clock::now();
    const auto change = submit(store, adding(item));
    while (!change->is_done()) {
      std::this_thread::yield();
    }
    longest = std::max(longest, Clock::now() - at);
  }
  EXPECT_LT(longest, (Clock::now() - begun) / 2);
  EXPECT_GT(dump->outcome().blob.size(), std::size_t{60'000'000});
}

// Whoever loads it is a worker, on which others wait.
TEST_F(LocalStoreTest, checks_a_large_dump_that_is_loaded_on_its_own_thread) {
  const Shape exact{.kind = Kind::cuckoo, .capacity = 300'000, .exact = true};
  FilledFilter filter(exact, kSecret);
  for (std::uint64_t i = 0; i < exact.capacity; ++i) {
    filter.add(hash_of(i));
  }
  Operation load{.kind = Operation::Kind::load, .filter = "b", .shape = exact, .piece = 1};
  DumpImage image(filter);
  while (image.step(load.blob)) {
  }
  Operation first = load;
  first.blob.resize(load.blob.size() - 100);
  load.blob.erase(0, first.blob.size());
  load.piece = 2;
  Filters filters(kSecret);
  LocalStore store(filters, settings());
  store.start();
  submit(store, first);
  auto begun = thread_time();
  ASSERT_TRUE(
      read_dump(first.blob + load.blob, kSecret, filter::FilterFileOrigin::stranger).has_value());
  const auto at_once = thread_time() - begun;
  begun = thread_time();
  const auto loaded = submit(store, std::move(load));
  EXPECT_LT(thread_time() - begun, at_once / 4);
  while (!loaded->is_done()) {
    std::this_thread::yield();
  }
  EXPECT_EQ(loaded->outcome(), Outcome());
  EXPECT_TRUE(filters.directory()->find("b")->second.filter->may_contain(hash_of(0)));
}

TEST_F(LocalStoreTest, has_after_a_restart_what_it_had_before) {
  {
    Filters filters(kSecret);
    LocalStore store(filters, settings());
    ASSERT_TRUE(store.restore().has_value());  // there is none yet
    store.start();
    for (std::uint64_t i = 0; i < 1000; ++i) {
      submit(store, adding(i));
    }
  }
  Filters filters(kSecret);
  LocalStore store(filters, settings());
  ASSERT_TRUE(store.restore().has_value());
  for (std::uint64_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(submit(store, adding(i))->outcome().items.front(), ItemOutcome::not_done) << i;
  }
  EXPECT_TRUE(troubles_.empty());
}

TEST_F(LocalStoreTest, says_that_what_was_kept_is_damaged) {
  std::ofstream(settings().path) << "nothing of the kind";
  Filters filters(kSecret);
  LocalStore store(filters, settings());
  const auto restored = store.restore();
  ASSERT_FALSE(restored.has_value());
  EXPECT_NE(restored.error().find(settings().path), std::string::npos) << restored.error();
}

TEST_F(LocalStoreTest, says_that_it_cannot_write) {
  {
    Filters filters(kSecret);
    LocalStore::Settings nowhere = settings();
    nowhere.path = folder_.file("no/such/folder/filled");
    LocalStore store(filters, nowhere);
    store.start();
    submit(store, adding(1));
  }
  ASSERT_EQ(troubles_.size(), 1U);
  EXPECT_NE(troubles_.front().find("no/such/folder"), std::string::npos) << troubles_.front();
}

}  // namespace
}  // namespace cuckooguard::filled
