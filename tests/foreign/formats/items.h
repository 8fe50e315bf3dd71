// Items for tests of foreign filters, and what is asked of each filter.
//
// A test's own writer sets its bits by the published definition, and says of any item whether they
// are set: the filter must agree, on members and on others. What is broken must be refused in
// words, or be a filter that can be asked.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foreign/filter.h"

namespace cuckooguard::foreign::testing {

inline constexpr int kMembers = 10'000;

// Of all lengths that hashes treat in their own way, and with bytes that are no text.
inline std::string nth_item(int kind, int i) {
  std::string item = (kind == 0 ? "user:" : "other:") + std::to_string(i);
  item.append(static_cast<std::size_t>(i % 67), static_cast<char>(i * 31));
  return item;
}
inline std::string member(int i) {
  return nth_item(0, i);
}
inline std::string other(int i) {
  return nth_item(1, i);
}

using Reference = std::function<bool(std::string_view)>;

// Of the others, how many pass.
inline int expect_agrees(const Filter& filter, const Reference& reference) {
  int found = 0;
  int passed = 0;
  int disagreed = 0;
  for (int i = 0; i < kMembers; ++i) {
    found += filter.may_contain(member(i)) ? 1 : 0;
    passed += filter.may_contain(other(i)) ? 1 : 0;
    disagreed += filter.may_contain(other(i)) != reference(other(i)) ? 1 : 0;
  }
  EXPECT_EQ(found, kMembers);
  EXPECT_EQ(disagreed, 0);
  return passed;
}

inline void expect_agrees_at_its_rate(const Filter& filter, const Reference& reference) {
  const int passed = expect_agrees(filter, reference);
  // Five standard deviations.
  const double expected = filter.facts().false_positive_rate * kMembers;
  EXPECT_NEAR(passed, expected, 5 * std::sqrt(expected) + 1);
}

// Those that could not be put in.
inline int add_members(Filter& filter) {
  int refused = 0;
  for (int i = 0; i < kMembers; ++i) {
    refused += filter.add(member(i)) ? 0 : 1;
  }
  return refused;
}

using Read = std::function<FilterOrWhyNot(std::string)>;

inline void expect_refused(const FilterOrWhyNot& read, std::string_view why) {
  ASSERT_FALSE(read.has_value()) << why;
  EXPECT_THAT(read.error(), ::testing::HasSubstr(std::string(why)));
}

inline void expect_every_prefix_refused(const std::string& bytes, const Read& read) {
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto filter = read(bytes.substr(0, size));
    EXPECT_TRUE(!filter && !filter.error().empty()) << size;
  }
}

inline void expect_survives(const FilterOrWhyNot& filter) {
  if (!filter) {
    EXPECT_FALSE(filter.error().empty());
    return;
  }
  for (int i = 0; i < 20; ++i) {
    (*filter)->may_contain(member(i));
  }
  const Facts facts = (*filter)->facts();
  EXPECT_TRUE(facts.fill >= 0 && facts.fill <= 1) << facts.fill;
  EXPECT_TRUE(facts.false_positive_rate >= 0 && facts.false_positive_rate <= 1);
}

inline void expect_survives_any_change(const std::string& bytes, const Read& read) {
  std::mt19937_64 random(20'240'607);
  for (int round = 0; round < 2'000; ++round) {
    std::string changed = bytes;
    for (std::uint64_t flips = 1 + random() % 4; flips > 0; --flips) {
      // Half of them near the beginning, where headers are.
      const std::size_t within =
          random() % 2 == 0 ? changed.size() : std::min<std::size_t>(changed.size(), 64);
      changed[random() % within] ^= static_cast<char>(1U << (random() % 8));
    }
    if (random() % 8 == 0) {
      changed.resize(random() % (changed.size() + 9));
    }
    expect_survives(read(std::move(changed)));
  }
}

// A string of Redis to which SETBIT has been done.
class RedisBitmap {
 public:
  void set(std::uint64_t offset) {
    if (bytes_.size() <= offset / 8) {
      bytes_.resize(offset / 8 + 1);
    }
    bytes_[offset / 8] |= static_cast<char>(128 >> (offset % 8));
  }
  bool get(std::uint64_t offset) const {
    return offset / 8 < bytes_.size() && (bytes_[offset / 8] & (128 >> (offset % 8))) != 0;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace cuckooguard::foreign::testing
