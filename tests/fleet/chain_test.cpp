#include "fleet/chain.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "fleet/keys.h"

namespace cuckooguard::fleet {
namespace {

constexpr TableId kTable = 7;

class ChainTest : public testing::Test {
 protected:
  // Of the next entry its bytes; after `change`.
  std::string entry(const auto& change) const {
    Entry next{.seq = chain_.at().seq + 1,
               .epoch = 1,
               .before = chain_.at().tag,
               .position = "b",
               .root = {},
               .list = {},
               .tables = {{.table = kTable, .version = 3, .is_ready = true, .inserted = {5}}}};
    next.tables[0].digest.add(5);
    change(next);
    return signed_bytes(text_of(next), key_);
  }
  Break::Kind why_not(const std::string& bytes) {
    const auto taken = chain_.take(bytes);
    EXPECT_FALSE(taken);
    return taken ? Break::Kind::old : taken.error().kind;
  }

  const KeyFiles files_;
  const SigningKey key_ = files_.signing();
  const VerifyingKeys keys_ = files_.verifying();
  Chain chain_{{.seq = 9,
                .tag = std::string(kHashBytes, 't'),
                .epoch = 1,
                .position = "a",
                .list = "tables",
                .tables = {{kTable, {.version = 3, .is_ready = true}}}},
               keys_};
};

TEST_F(ChainTest, an_entry_is_applied_to_the_state_that_it_was_made_for) {
  ASSERT_TRUE(chain_.take(entry([](Entry&) {})));
  EXPECT_EQ(chain_.at().seq, 10U);
  EXPECT_EQ(chain_.at().position, "b");
  EXPECT_EQ(chain_.at().list, "tables") << "as before";
  EXPECT_EQ(chain_.at().tables.at(kTable).digest.count, 1U);
  EXPECT_EQ(chain_.at().tables.at(kTable).changed_at, 10U);
}

TEST_F(ChainTest, one_of_another_history_is_a_fork_and_one_too_far_a_gap) {
  EXPECT_EQ(why_not(entry([](Entry& next) { next.before[3] = 'x'; })), Break::Kind::fork);
  EXPECT_EQ(why_not(entry([](Entry& next) { ++next.seq; })), Break::Kind::gap);
  EXPECT_EQ(why_not(entry([](Entry& next) { --next.seq; })), Break::Kind::old);
  EXPECT_EQ(why_not("bytes"), Break::Kind::forged);
  EXPECT_EQ(chain_.at().seq, 9U);
  EXPECT_TRUE(chain_.take(entry([](Entry&) {}))) << "nothing has changed";
}

TEST_F(ChainTest, what_does_not_lead_to_its_digest_is_wrong) {
  EXPECT_EQ(why_not(entry([](Entry& next) { next.tables[0].inserted.push_back(6); })),
            Break::Kind::wrong);
  EXPECT_EQ(chain_.at().tables.at(kTable).digest.count, 0U);
}

TEST_F(ChainTest, rows_that_are_deleted_wait_until_they_are_erased_or_the_version_ends) {
  ASSERT_TRUE(chain_.take(entry([](Entry& next) { next.tables[0].deleted = {5}; })));
  EXPECT_EQ(chain_.at().tables.at(kTable).deleted, (Hashes{{5, 1}}));
  ASSERT_TRUE(chain_.take(entry([](Entry& next) { next.tables[0] = {.table = kTable}; })));
  EXPECT_TRUE(chain_.at().tables.at(kTable).deleted.empty());
}

TEST(Manifest, is_read_as_it_was_written_and_only_if_it_was_signed) {
  const KeyFiles files;
  const Manifest manifest{.begin = {.seq = 9,
                                    .tag = std::string(kHashBytes, 't'),
                                    .epoch = 2,
                                    .position = "p",
                                    .list = "l",
                                    .tables = {{kTable,
                                                {.version = 3,
                                                 .is_ready = true,
                                                 .largest_id = 8,
                                                 .digest = {.count = 1, .sum = 2, .sum_high = 3},
                                                 .changed_at = 4,
                                                 .deleted = {{5, 6}}}}}},
                          .snapshots = {{.table = kTable,
                                         .version = 3,
                                         .seq = 4,
                                         .tag = "t",
                                         .digest = {.count = 1},
                                         .name = "n",
                                         .is_at_builder = true,
                                         .bytes = 10,
                                         .hash = "h"}}};
  const std::string bytes = signed_manifest(manifest, files.signing());
  const auto read = read_manifest(bytes, files.verifying());
  ASSERT_TRUE(read);
  EXPECT_EQ(signed_manifest(*read, files.signing()), bytes);
  ASSERT_NE(read->find(kTable), nullptr);
  EXPECT_EQ(read->find(kTable)->name, "n");
  EXPECT_TRUE(read->find(kTable)->is_at_builder);
  EXPECT_EQ(read->find(kTable + 1), nullptr);
  EXPECT_FALSE(read_manifest(bytes, KeyFiles().verifying()));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string wrong = bytes;
    wrong[at] ^= 1;
    EXPECT_FALSE(read_manifest(wrong, files.verifying())) << at;
  }
}

}  // namespace
}  // namespace cuckooguard::fleet
