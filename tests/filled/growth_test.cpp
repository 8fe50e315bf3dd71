// Filters while others ask.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "filled/filters.h"
#include "filled/hashes.h"

namespace cuckooguard::filled {
namespace {

using testing::hash_of;

// What was added before somebody looks is there, whatever grows meanwhile.
TEST(FiltersThatGrow, hide_nothing_from_whoever_asks_meanwhile) {
  constexpr std::uint64_t kItems = 60'000;
  for (const bool exact : {false, true}) {
    Filters filters(filter::HashSecret{});
    const Shape shape{.kind = Kind::cuckoo, .capacity = 100, .exact = exact};
    std::atomic<std::uint64_t> added{0};
    std::atomic<bool> hides{false};
    std::vector<std::jthread> readers;
    for (unsigned reader = 0; reader < 2; ++reader) {
      readers.emplace_back([&, reader] {
        std::uint64_t version = 0;
        std::shared_ptr<const Directory> directory = filters.directory();
        for (std::uint64_t i = reader; added < kItems; i = i * 6364136223846793005U + 1) {
          const std::uint64_t there = added;
          if (version != filters.version()) {
            version = filters.version();
            directory = filters.directory();
          }
          if (there != 0 &&
              !directory->find("a")->second.filter->may_contain(hash_of((i >> 20U) % there))) {
            hides = true;
          }
        }
      });
    }
    for (std::uint64_t i = 0; i < kItems; ++i) {
      filters.apply({.kind = Operation::Kind::add,
                     .filter = "a",
                     .missing = Operation::Missing::is_made,
                     .shape = shape,
                     .hashes = {hash_of(i)}});
      added = i + 1;
    }
    readers.clear();
    EXPECT_FALSE(hides) << "exact: " << exact;
  }
}

}  // namespace
}  // namespace cuckooguard::filled
