// Which changes are new: one channel's, with everything that comes again.
#include "stream/seen_changes.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "simulation/random.h"

namespace cuckooguard::source::stream {
namespace {

using debezium::Change;
using debezium::Connector;
using debezium::Op;
using debezium::Origin;
using debezium::Position;
using Kind = SeenChanges::Kind;

const filter::KeyHash kDigest{filter::random_secret()};

const Origin kOrigin{.connector = Connector::mysql, .server = "shop", .log = "binlog"};
const Origin kPostgres{.connector = Connector::postgresql, .server = "shop", .log = ""};

Change at(std::uint64_t pos, std::string_view key = "1", Op op = Op::create) {
  return {.op = op,
          .key_json = key,
          .origin = &kOrigin,
          .position = Position{.connector = Connector::mysql, .place = {1, pos, 0, 0}}};
}

Change in_commit(std::uint64_t commit, std::uint64_t lsn, std::string_view key = "1") {
  return {.op = Op::create,
          .key_json = key,
          .origin = &kPostgres,
          .position = Position{.connector = Connector::postgresql, .place = {commit, lsn, 0, 0}}};
}

TEST(SeenChanges, are_new_once) {
  SeenChanges seen(100, kDigest);
  for (const std::uint64_t pos : {1U, 2U, 3U, 4U, 5U}) {
    EXPECT_EQ(seen.add(at(pos)), Kind::fresh);
  }
  for (const std::uint64_t pos : {3U, 4U, 2U, 3U, 4U, 5U}) {
    EXPECT_EQ(seen.add(at(pos)), Kind::again) << pos;
  }
  EXPECT_EQ(seen.add(at(6)), Kind::fresh);
}

TEST(SeenChanges, are_known_by_position_row_and_kind) {
  SeenChanges seen(100, kDigest);
  seen.add(at(1));
  seen.add(at(9));
  EXPECT_EQ(seen.add(at(1, "2")), Kind::unknown);
  EXPECT_EQ(seen.add(at(1, "1", Op::remove)), Kind::unknown);
  EXPECT_EQ(seen.add(at(2)), Kind::unknown);
  EXPECT_EQ(seen.add(at(1)), Kind::again);
}

TEST(SeenChanges, at_one_place_are_of_different_rows) {
  SeenChanges seen(100, kDigest);
  EXPECT_EQ(seen.add(at(1, "1")), Kind::fresh);
  EXPECT_EQ(seen.add(at(1, "2")), Kind::fresh);
  EXPECT_EQ(seen.add(at(1, "1")), Kind::again);
  EXPECT_EQ(seen.add(at(1, "3")), Kind::fresh);
}

// As an entry that was refused and written again behind the next.
TEST(SeenChanges, of_one_commit_that_come_late_are_unknown) {
  SeenChanges seen(100, kDigest);
  EXPECT_EQ(seen.add(in_commit(7, 90)), Kind::fresh);
  EXPECT_EQ(seen.add(in_commit(7, 80)), Kind::unknown);
  EXPECT_EQ(seen.add(in_commit(7, 90, "2")), Kind::fresh) << "of another row, at the same place";
}

// What has been forgotten of a place could otherwise be taken for new.
TEST(SeenChanges, of_a_place_with_more_than_what_is_kept_are_unknown) {
  SeenChanges seen(3, kDigest);
  for (const std::string_view key : {"1", "2", "3", "4"}) {
    EXPECT_EQ(seen.add(at(7, key)), key == "4" ? Kind::unknown : Kind::fresh) << key;
  }
}

TEST(SeenChanges, of_another_server_are_unknown) {
  SeenChanges seen(100, kDigest);
  seen.add(at(5));
  const Origin other{.connector = Connector::mysql, .server = "mall", .log = "binlog"};
  Change change = at(6);
  change.origin = &other;
  EXPECT_EQ(seen.add(change), Kind::unknown);
  seen.forget();
  EXPECT_EQ(seen.add(change), Kind::fresh);
}

TEST(SeenChanges, behind_a_snapshot_are_new) {
  SeenChanges seen(100, kDigest);
  seen.snapshot_at(at(5));
  EXPECT_EQ(seen.add(at(6)), Kind::fresh);
  EXPECT_EQ(seen.add(at(4)), Kind::unknown);
}

TEST(SeenChanges, come_again_behind_a_snapshot_of_an_earlier_time) {
  SeenChanges seen(100, kDigest);
  for (const std::uint64_t pos : {5U, 6U, 7U}) {
    seen.add(at(pos));
  }
  EXPECT_TRUE(seen.snapshot_at(at(8)));
  EXPECT_EQ(seen.add(at(7)), Kind::again);
  EXPECT_FALSE(seen.snapshot_at(at(5)));
  EXPECT_EQ(seen.add(at(6)), Kind::fresh);
  EXPECT_EQ(seen.add(at(6)), Kind::again);
}

// A row of a snapshot has no commit before it: [null, its LSN].
TEST(SeenChanges, of_postgresql_before_a_snapshot_are_unknown) {
  SeenChanges seen(100, kDigest);
  seen.add(in_commit(7, 80));
  EXPECT_TRUE(seen.snapshot_at(in_commit(0, 90)));
  EXPECT_EQ(seen.add(in_commit(7, 80)), Kind::again);
  EXPECT_EQ(seen.add(in_commit(8, 85)), Kind::unknown);
  EXPECT_EQ(seen.add(in_commit(8, 91)), Kind::fresh);
  EXPECT_EQ(seen.add(in_commit(92, 89)), Kind::fresh) << "a transaction that began before it";
}

TEST(SeenChanges, are_replayed_up_to_the_last_one) {
  SeenChanges seen(100, kDigest);
  for (const std::uint64_t pos : {1U, 2U, 3U}) {
    seen.add(at(pos));
    EXPECT_FALSE(seen.is_replaying());
  }
  seen.add(at(2));
  EXPECT_TRUE(seen.is_replaying());
  seen.add(at(3));
  EXPECT_FALSE(seen.is_replaying());
}

TEST(SeenChanges, are_known_again_from_a_checkpoint) {
  SeenChanges seen(100, kDigest);
  seen.add(at(1));
  seen.add(at(2));
  std::string bytes;
  seen.put(bytes);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    SeenChanges cut(100, kDigest);
    text::LittleEndianCursor from(std::string_view(bytes).substr(0, length));
    EXPECT_FALSE(cut.take(from)) << length;
  }
  SeenChanges later(100, kDigest);
  text::LittleEndianCursor from(bytes);
  ASSERT_TRUE(later.take(from));
  EXPECT_EQ(later.last(), seen.last());
  EXPECT_EQ(later.add(at(1)), Kind::again);
  EXPECT_EQ(later.add(at(1, "2")), Kind::unknown);
  EXPECT_EQ(later.add(at(3)), Kind::fresh);
}

// Rows without a key are told apart by their values.
TEST(SeenChanges, without_a_key_are_known_by_their_values) {
  const debezium::Value one{.state = debezium::Value::State::text, .text = "1"};
  const debezium::Value two{.state = debezium::Value::State::text, .text = "2"};
  SeenChanges seen(100, kDigest);
  Change first = at(1, "");
  first.after = {&one, 1};
  Change second = at(1, "");
  second.after = {&two, 1};
  EXPECT_EQ(seen.add(first), Kind::fresh);
  EXPECT_EQ(seen.add(second), Kind::fresh);
  EXPECT_EQ(seen.add(second), Kind::again);
}

}  // namespace
}  // namespace cuckooguard::source::stream
