#include "fleet/entry.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "fleet/keys.h"
#include "fleet/layout.h"

namespace cuckooguard::fleet {
namespace {

Entry an_entry() {
  Entry entry{.seq = 7,
              .epoch = 2,
              .before = std::string(kHashBytes, 'b'),
              .position = "0-1-5",
              .root = std::string(kHashBytes, 'r'),
              .trial_below = 9,
              .list = "tables",
              .tables = {}};
  entry.tables.push_back({.table = 1,
                          .version = 9,
                          .definition = 11,
                          .is_on_trial = true,
                          .is_ready = true,
                          .largest_id = 12,
                          .isolated = "rows",
                          .inserted = {1, 2},
                          .deleted = {3},
                          .erased = {4},
                          .digest = {.count = 5, .sum = 6, .sum_high = 7}});
  entry.tables.push_back({.table = 2, .version = 1, .is_ready = false, .why = "a sentence"});
  return entry;
}

TEST(Entry, is_read_as_it_was_written) {
  const KeyFiles files;
  const std::string text = text_of(an_entry());
  const auto read = read_entry(signed_bytes(text, files.signing()), files.verifying());
  ASSERT_TRUE(read);
  EXPECT_EQ(text_of(read->entry), text);
  EXPECT_EQ(read->tag, hash_of(text));
  EXPECT_EQ(read->entry.tables[0].deleted, std::vector<std::uint64_t>{3});
  EXPECT_EQ(read->entry.tables[0].digest, (Digest{.count = 5, .sum = 6, .sum_high = 7}));
  EXPECT_EQ(read->entry.tables[0].isolated, "rows");
  EXPECT_EQ(read->entry.tables[1].why, "a sentence");
  EXPECT_EQ(read->entry.trial_below, 9U);
  EXPECT_EQ(read->entry.tables[0].definition, 11U);
  EXPECT_TRUE(read->entry.tables[0].is_on_trial);
  EXPECT_FALSE(read->entry.tables[1].is_on_trial);
}

TEST(Entry, is_nothing_if_a_bit_differs_or_another_has_signed_it) {
  const KeyFiles files;
  const KeyFiles others;
  const std::string bytes = signed_bytes(text_of(an_entry()), files.signing());
  const VerifyingKeys keys = files.verifying();
  EXPECT_FALSE(read_entry(bytes, others.verifying()));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string wrong = bytes;
    wrong[at] ^= 1;
    EXPECT_FALSE(read_entry(wrong, keys)) << at;
    EXPECT_FALSE(read_entry(bytes.substr(0, at), keys)) << at;
  }
}

TEST(Entry, one_that_is_signed_and_none_all_the_same_is_nothing) {
  const KeyFiles files;
  const SigningKey key = files.signing();
  const VerifyingKeys keys = files.verifying();
  const std::string text = text_of(an_entry());
  for (std::size_t at = 0; at < text.size(); ++at) {
    EXPECT_FALSE(read_entry(signed_bytes(text.substr(0, at), key), keys)) << at;
  }
  EXPECT_FALSE(read_entry(signed_bytes(text + "x", key), keys));
}

// Each change would be held to the digest that was there before, and so would not the sum of both.
TEST(Entry, that_has_a_table_twice_is_nothing) {
  const KeyFiles files;
  Entry entry = an_entry();
  entry.tables[1].table = entry.tables[0].table;
  EXPECT_FALSE(read_entry(signed_bytes(text_of(entry), files.signing()), files.verifying()));
}

TEST(NetChange, is_without_what_comes_and_goes_as_often) {
  const NetChange net({.inserted = {5, 1, 5, 2}, .erased = {5, 3, 1, 1}});
  EXPECT_EQ(net.inserted, (std::vector<std::uint64_t>{2, 5}));
  EXPECT_EQ(net.erased, (std::vector<std::uint64_t>{1, 3}));
}

TEST(Digest, does_not_depend_on_the_order_and_carries) {
  Digest one;
  Digest other;
  for (const std::uint64_t hash : {~0ULL, ~0ULL - 1, 5ULL}) {
    one.add(hash);
  }
  for (const std::uint64_t hash : {5ULL, ~0ULL - 1, ~0ULL}) {
    other.add(hash);
  }
  EXPECT_EQ(one, other);
  EXPECT_EQ(one.sum_high, 2U);
  one.remove(~0ULL);
  one.remove(5);
  one.remove(~0ULL - 1);
  EXPECT_EQ(one, Digest{});
}

TEST(Keys, that_are_none_are_refused_with_their_path) {
  const KeyFiles files;
  EXPECT_EQ(SigningKey::load("/nowhere/fleet.key").error(),
            "/nowhere/fleet.key: cannot open the file");
  EXPECT_EQ(
      SigningKey::load(files.public_path()).error(),
      files.public_path() + ": is not an Ed25519 private key in PEM format without a password");
  const std::string path = files.private_path();
  EXPECT_EQ(VerifyingKeys::load(std::span(&path, 1)).error(),
            path + ": is not an Ed25519 public key in PEM format without a password");
}

TEST(Keys, either_of_two_may_have_signed) {
  const KeyFiles files;
  const KeyFiles next;
  const std::vector<std::string> paths{files.public_path(), next.public_path()};
  const VerifyingKeys keys = VerifyingKeys::load(paths).value();
  EXPECT_TRUE(keys.has_signed("words", files.signing().sign("words")));
  EXPECT_TRUE(keys.has_signed("words", next.signing().sign("words")));
  EXPECT_FALSE(keys.has_signed("other words", next.signing().sign("words")));
}

TEST(EvictionPolicy, is_told_of_a_redis_that_evicts) {
  const auto policy_of = [](const std::string& most, const std::string& policy) {
    return eviction_policy("# Memory\r\nmaxmemory:" + most +
                           "\r\nmaxmemory_human:x\r\nmaxmemory_policy:" + policy +
                           "\r\nallocator_frag_ratio:1\r\n");
  };
  EXPECT_EQ(policy_of("1000000", "allkeys-lru"), "allkeys-lru");
  EXPECT_EQ(policy_of("1000000", "volatile-ttl"), "volatile-ttl");
  EXPECT_EQ(policy_of("1000000", "noeviction"), "");
  EXPECT_EQ(policy_of("0", "allkeys-lru"), "") << "without a limit it evicts nothing";
  EXPECT_EQ(eviction_policy("NOPERM no"), "");
}

}  // namespace
}  // namespace cuckooguard::fleet
