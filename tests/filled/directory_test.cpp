#include "filled/directory.h"

#include <cstddef>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace cuckooguard::filled {
namespace {

constexpr std::size_t kFilters = 2000;

std::string key(std::size_t number) {
  return "bf:" + std::to_string(number);
}

Named named(std::uint64_t incarnation) {
  return {.filter = std::make_shared<FilledFilter>(Shape{}, 0, "of a test"),
          .incarnation = incarnation};
}

Directory of_all() {
  Directory all;
  for (std::size_t i = 0; i < kFilters; ++i) {
    all.set(key(i), named(i + 1));
  }
  return all;
}

TEST(Directory, has_what_was_set_and_not_erased) {
  Directory all = of_all();
  EXPECT_EQ(all.size(), kFilters);
  all.set(key(7), named(5000));
  all.erase(key(8));
  all.erase("none");
  EXPECT_EQ(all.size(), kFilters - 1);
  EXPECT_EQ(all.find(key(7))->second.incarnation, 5000U);
  EXPECT_EQ(all.find(key(8)), nullptr);
  std::size_t seen = 0;
  for (const auto& [name, each] : all.all()) {
    seen += all.find(name)->second.incarnation == each.incarnation ? 1 : 0;
  }
  EXPECT_EQ(seen, kFilters - 1);
  EXPECT_TRUE(Directory().empty());
  EXPECT_EQ(Directory().find("a"), nullptr);
}

// Who has a copy sees nothing of later changes, and whoever makes them copies little.
TEST(Directory, shares_with_a_copy_all_but_the_parts_that_were_changed_since) {
  Directory all = of_all();
  const Directory before(all);
  all.set(key(1), named(5000));
  all.set(key(1), named(5001));
  all.erase(key(2));
  EXPECT_EQ(before.find(key(1))->second.incarnation, 2U);
  EXPECT_NE(before.find(key(2)), nullptr);
  EXPECT_EQ(before.size(), kFilters);
  std::size_t copied = 0;
  for (std::size_t i = 3; i < kFilters; ++i) {
    copied += all.find(key(i)) == before.find(key(i)) ? 0 : 1;
  }
  EXPECT_LE(copied, 2 * 3 * kFilters / Directory::kParts);
  const auto* const own = all.find(key(3));
  all.set(key(3), named(6000));
  const auto* const copy = all.find(key(3));
  all.set(key(3), named(6001));
  EXPECT_NE(own, copy);
  EXPECT_EQ(all.find(key(3)), copy) << "once for all changes of it";
}

}  // namespace
}  // namespace cuckooguard::filled
