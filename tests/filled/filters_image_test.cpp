#include "filled/filters_image.h"

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filled/filters.h"
#include "filled/hashes.h"

namespace cuckooguard::filled {
namespace {

using enum Operation::Kind;
using testing::hash_of;

const filter::HashSecret kSecret{};

class FiltersImageTest : public ::testing::Test {
 protected:
  static Shape shape_of(std::uint64_t filter) {
    return {.kind = filter % 2 == 0 ? Kind::cuckoo : Kind::bloom,
            .capacity = 200,
            .exact = filter % 4 == 0};
  }

  // Fills, empties, makes and drops filters, and has them grow.
  void change(int operations) {
    for (int i = 0; i < operations; ++i) {
      const std::uint64_t filter = random_() % 12;
      Operation operation{.filter = "f" + std::to_string(filter),
                          .missing = Operation::Missing::is_made,
                          .shape = shape_of(filter)};
      const std::uint64_t what = random_() % 100;
      if (what < 2) {
        operation.kind = drop;
      } else if (what < 4) {
        operation.kind = expire;
        operation.until = 1 + random_();
      } else {
        operation.kind = what < 20 && filter % 2 == 0 ? erase : what < 50 ? add : add_if_new;
        for (int item = 0; item < 20; ++item) {
          operation.hashes.push_back(hash_of(random_() % 3000));
        }
      }
      filters_.apply(operation);
    }
  }

  std::mt19937_64 random_{1};
  Filters filters_{kSecret};
};

TEST_F(FiltersImageTest, is_the_dump_of_the_moment_whatever_is_done_meanwhile) {
  for (int round = 0; round < 20; ++round) {
    change(300);
    const std::string dump = filters_.dump();
    const auto image = filters_.image();
    EXPECT_EQ(image->bytes(), dump.size());
    std::string read;
    while (image->step(read)) {
      change(static_cast<int>(random_() % 5));
    }
    EXPECT_FALSE(image->is_lost());
    ASSERT_TRUE(read == dump) << round;
  }
}

// As of the pieces that have come, whatever becomes of the rest.
TEST_F(FiltersImageTest, has_what_is_being_loaded) {
  change(50);
  filters_.apply({.kind = add, .filter = "a", .missing = Operation::Missing::is_made});
  const std::string bytes = filters_.apply({.kind = dump, .filter = "a"}).blob;
  const auto load_piece = [&](std::uint64_t piece, std::string blob) {
    filters_.apply({.kind = load, .filter = "b", .piece = piece, .blob = std::move(blob)});
  };
  load_piece(1, bytes.substr(0, 3000));
  const std::string before = filters_.dump();
  const auto image = filters_.image();
  load_piece(2, bytes.substr(3000));
  ASSERT_NE(filters_.directory()->find("b"), nullptr);
  std::string read;
  while (image->step(read)) {
  }
  EXPECT_TRUE(read == before);
}

// Each takes memory that no limit counts, and a step.
TEST_F(FiltersImageTest, has_many_small_pieces_as_few) {
  filters_.apply({.kind = add, .filter = "a", .missing = Operation::Missing::is_made});
  const std::string bytes = filters_.apply({.kind = dump, .filter = "a"}).blob;
  std::uint64_t piece = 0;
  const auto load_piece = [&](std::string blob) {
    filters_.apply({.kind = load, .filter = "b", .piece = ++piece, .blob = std::move(blob)});
  };
  load_piece(bytes.substr(0, 100));
  for (std::size_t i = 100; i < 200; ++i) {
    load_piece(bytes.substr(i, 1));
    load_piece("");
  }
  const auto image = filters_.image();
  std::string read;
  int steps = 0;
  while (image->step(read)) {
    ++steps;
  }
  EXPECT_LT(steps, 50);
  load_piece(bytes.substr(200));
  EXPECT_NE(filters_.directory()->find("b"), nullptr);
}

TEST_F(FiltersImageTest, is_lost_when_another_one_is_begun) {
  change(50);
  const auto first = filters_.image();
  const auto second = filters_.image();
  EXPECT_TRUE(first->is_lost());
  EXPECT_FALSE(second->is_lost());
}

}  // namespace
}  // namespace cuckooguard::filled
