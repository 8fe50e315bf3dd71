#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "foreign/formats/items.h"
#include "formats/formats.h"
#include "formats/hashes.h"

namespace cuckooguard::foreign {
namespace {

using namespace testing;

// Inserts as the paper says: into either bucket, else by moving others.
class Made {
 public:
  explicit Made(std::uint64_t buckets) : buckets_(buckets), bytes_(buckets * 4, '\0') {}

  bool insert(std::string_view item) {
    auto [first, second, fingerprint] = places(item);
    if (put(first, fingerprint) || put(second, fingerprint)) {
      return true;
    }
    std::uint64_t bucket = random_() % 2 == 0 ? first : second;
    for (int kick = 0; kick < 500; ++kick) {
      std::swap(bytes_[bucket * 4 + random_() % 4], fingerprint);
      bucket = (bucket ^ hash_of(fingerprint)) % buckets_;
      if (put(bucket, fingerprint)) {
        return true;
      }
    }
    return false;
  }

  bool has(std::string_view item) const {
    const auto [first, second, fingerprint] = places(item);
    for (std::uint64_t i = 0; i < 4; ++i) {
      if (bytes_[first * 4 + i] == fingerprint || bytes_[second * 4 + i] == fingerprint) {
        return true;
      }
    }
    return false;
  }

  const std::string& bytes() const { return bytes_; }

 private:
  struct Places {
    std::uint64_t first;
    std::uint64_t second;
    char fingerprint;
  };

  static std::uint64_t hash_of(char fingerprint) {
    return metro_hash_64(std::string(1, fingerprint), 1337);
  }

  Places places(std::string_view item) const {
    const std::uint64_t hash = metro_hash_64(item, 1337);
    const char fingerprint = static_cast<char>(hash % 255 + 1);
    const std::uint64_t first = (hash >> 32U) % buckets_;
    return {first, (first ^ hash_of(fingerprint)) % buckets_, fingerprint};
  }

  bool put(std::uint64_t bucket, char fingerprint) {
    for (std::uint64_t i = 0; i < 4; ++i) {
      if (bytes_[bucket * 4 + i] == '\0') {
        bytes_[bucket * 4 + i] = fingerprint;
        return true;
      }
    }
    return false;
  }

  std::uint64_t buckets_;
  std::string bytes_;
  std::mt19937_64 random_{7};
};

TEST(Seiflotfy, agrees_with_its_definition) {
  Made made(4096);
  for (int i = 0; i < kMembers; ++i) {
    ASSERT_TRUE(made.insert(member(i)));
  }
  const auto filter = read_seiflotfy(made.bytes());
  ASSERT_TRUE(filter) << filter.error();
  expect_agrees_at_its_rate(**filter, [&](std::string_view item) { return made.has(item); });
  const Facts facts = (*filter)->facts();
  EXPECT_EQ(facts.format, "seiflotfy");
  EXPECT_EQ(facts.items, kMembers);
  EXPECT_EQ(facts.bits_or_slots, 16'384);
  EXPECT_NEAR(facts.fill, 10'000.0 / 16'384, 1e-9);
}

// As long as nobody must be moved, an item goes to the first of its buckets that has room.
TEST(Seiflotfy, what_is_added_goes_where_it_would) {
  Made reference(4096);
  const auto filter = make_seiflotfy(4096 * 4).value();
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(reference.insert(member(i)));
    ASSERT_TRUE(filter->add(member(i)));
  }
  EXPECT_EQ(filter->bytes(), reference.bytes());
}

TEST(Seiflotfy, what_is_added_is_found_after_others_were_moved) {
  const auto filter = make_seiflotfy(kMembers).value();
  EXPECT_EQ(filter->facts().bits_or_slots, 16'384);
  for (int i = 0; i < kMembers * 3 / 2; ++i) {  // 92 % of the slots
    ASSERT_TRUE(filter->add(member(i))) << i;
  }
  const Facts facts = filter->facts();
  EXPECT_EQ(facts.items, kMembers * 3 / 2);
  const auto read = read_seiflotfy(filter->bytes()).value();
  EXPECT_EQ(read->facts().items, kMembers * 3 / 2);
  for (int i = kMembers; i < kMembers * 3 / 2; ++i) {
    EXPECT_TRUE(filter->may_contain(member(i))) << i;
  }
  expect_agrees_at_its_rate(*filter,
                            [&](std::string_view item) { return read->may_contain(item); });
}

TEST(Seiflotfy, an_item_without_room_changes_nothing) {
  const auto filter = make_seiflotfy(64).value();
  int members = 0;
  std::string before = filter->bytes();
  while (filter->add(member(members))) {
    before = filter->bytes();
    ++members;
  }
  EXPECT_GT(members, 48);
  EXPECT_EQ(filter->bytes(), before);
  EXPECT_EQ(filter->facts().items, members);
  for (int i = 0; i < members; ++i) {
    EXPECT_TRUE(filter->may_contain(member(i))) << i;
  }
}

TEST(Seiflotfy, a_capacity_becomes_the_next_power_of_two) {
  const auto slots = [](std::uint64_t capacity) {
    return make_seiflotfy(capacity).value()->facts().bits_or_slots;
  };
  EXPECT_EQ(slots(1), 4);
  EXPECT_EQ(slots(5), 8);
  EXPECT_EQ(slots(1000), 1024);
  EXPECT_EQ(slots(1024), 1024);
  expect_refused(make_seiflotfy(0), "items, not 0");
  expect_refused(make_seiflotfy((std::uint64_t{1} << 34U) + 1), "items, not ");
}

TEST(Seiflotfy, one_bucket_is_a_filter) {
  Made made(1);
  ASSERT_TRUE(made.insert("a"));
  const auto filter = read_seiflotfy(made.bytes());
  ASSERT_TRUE(filter);
  EXPECT_TRUE((*filter)->may_contain("a"));
  EXPECT_FALSE((*filter)->may_contain("b"));
}

TEST(Seiflotfy, what_no_encode_gives_is_refused) {
  for (const std::size_t size : {0U, 1U, 3U, 5U, 12U, 17U, 20U, 24U}) {
    expect_refused(read_seiflotfy(std::string(size, 'x')), std::to_string(size) + " bytes");
  }
}

TEST(Seiflotfy, any_bytes_are_refused_or_a_filter) {
  Made made(16);
  for (int i = 0; i < 40; ++i) {
    made.insert(member(i));
  }
  expect_survives_any_change(made.bytes(),
                             [](std::string bytes) { return read_seiflotfy(std::move(bytes)); });
}

}  // namespace
}  // namespace cuckooguard::foreign
