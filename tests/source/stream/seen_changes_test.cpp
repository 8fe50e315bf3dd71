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
  SeenChanges seen(100);
  for (const std::uint64_t pos : {1U, 2U, 3U, 4U, 5U}) {
    EXPECT_EQ(seen.add(at(pos)), Kind::fresh);
  }
  for (const std::uint64_t pos : {3U, 4U, 2U, 3U, 4U, 5U}) {
    EXPECT_EQ(seen.add(at(pos)), Kind::again) << pos;
  }
  EXPECT_EQ(seen.add(at(6)), Kind::fresh);
}

TEST(SeenChanges, are_known_by_position_row_and_kind) {
  SeenChanges seen(100);
  seen.add(at(1));
  seen.add(at(9));
  EXPECT_EQ(seen.add(at(1, "2")), Kind::unknown);
  EXPECT_EQ(seen.add(at(1, "1", Op::remove)), Kind::unknown);
  EXPECT_EQ(seen.add(at(2)), Kind::unknown);
  EXPECT_EQ(seen.add(at(1)), Kind::again);
}

TEST(SeenChanges, at_one_place_are_of_different_rows) {
  SeenChanges seen(100);
  EXPECT_EQ(seen.add(at(1, "1")), Kind::fresh);
  EXPECT_EQ(seen.add(at(1, "2")), Kind::fresh);
  EXPECT_EQ(seen.add(at(1, "1")), Kind::again);
  EXPECT_EQ(seen.add(at(1, "3")), Kind::fresh);
}

TEST(SeenChanges, of_one_commit_come_in_any_order) {
  SeenChanges seen(100);
  EXPECT_EQ(seen.add(in_commit(7, 90)), Kind::fresh);
  EXPECT_EQ(seen.add(in_commit(7, 80)), Kind::fresh);
  EXPECT_EQ(seen.add(in_commit(7, 80)), Kind::again);
  EXPECT_EQ(seen.add(in_commit(6, 95)), Kind::unknown);
}

// What has been forgotten of a commit could otherwise be taken for new.
TEST(SeenChanges, of_a_commit_larger_than_what_is_kept_are_unknown) {
  SeenChanges seen(3);
  for (const std::uint64_t lsn : {1U, 2U, 3U, 4U}) {
    EXPECT_EQ(seen.add(in_commit(7, lsn)), Kind::fresh);
  }
  EXPECT_EQ(seen.add(in_commit(7, 3)), Kind::again);
  EXPECT_EQ(seen.add(in_commit(7, 1)), Kind::unknown);
}

TEST(SeenChanges, of_another_server_are_unknown) {
  SeenChanges seen(100);
  seen.add(at(5));
  const Origin other{.connector = Connector::mysql, .server = "mall", .log = "binlog"};
  Change change = at(6);
  change.origin = &other;
  EXPECT_EQ(seen.add(change), Kind::unknown);
  seen.forget();
  EXPECT_EQ(seen.add(change), Kind::fresh);
}

TEST(SeenChanges, behind_a_snapshot_are_new) {
  SeenChanges seen(100);
  seen.snapshot_at(at(5));
  EXPECT_EQ(seen.add(at(6)), Kind::fresh);
  EXPECT_EQ(seen.add(at(4)), Kind::unknown);
}

// Rows without a key are told apart by their values.
TEST(SeenChanges, without_a_key_are_known_by_their_values) {
  const debezium::Value one{.state = debezium::Value::State::text, .text = "1"};
  const debezium::Value two{.state = debezium::Value::State::text, .text = "2"};
  SeenChanges seen(100);
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
