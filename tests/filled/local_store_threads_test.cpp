// A local store that several workers use while it writes its file.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "filled/hashes.h"
#include "filled/local_store.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::filled {
namespace {

using testing::hash_of;

// Nothing that is submitted stays undone, and of each item one submitter hears that it was new.
TEST(LocalStoreOfManyWorkers, does_each_change_once) {
  constexpr std::uint64_t kItems = 20'000;
  constexpr unsigned kWorkers = 3;
  const harness::TemporaryDirectory folder;
  Filters filters(filter::HashSecret{});
  std::atomic<std::uint64_t> fresh{0};
  std::atomic<std::uint64_t> undone{0};
  {
    LocalStore store(filters,
                     {.path = folder.file("filled"),
                      .every = std::chrono::milliseconds(1),
                      .wall_time = [] { return std::uint64_t{1}; }});
    store.start();
    std::vector<std::jthread> workers;
    for (unsigned worker = 0; worker < kWorkers; ++worker) {
      workers.emplace_back([&] {
        for (std::uint64_t i = 0; i < kItems; ++i) {
          const auto change = std::make_shared<Change>(
              Operation{.kind = Operation::Kind::add_if_new,
                        .filter = "a",
                        .missing = Operation::Missing::is_made,
                        .shape = {.capacity = 100, .false_positive_rate = 0.000'001},
                        .hashes = {hash_of(i)}});
          store.submit(change);
          const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
          while (!change->is_done() && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::yield();
          }
          if (!change->is_done()) {
            ++undone;
            return;
          }
          fresh += change->outcome().items.front() == ItemOutcome::done ? 1 : 0;
        }
      });
    }
  }
  EXPECT_EQ(undone, 0U);
  EXPECT_LE(fresh, kItems);
  EXPECT_GE(fresh, kItems - 10) << "some are false positives";
}

}  // namespace
}  // namespace cuckooguard::filled
