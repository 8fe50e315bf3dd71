// The namespaces of these tests are in db 0: a client in another db is served by Redis, and is
// guarded again in db 0.

#include <string>

#include <gtest/gtest.h>

#include "fixtures/side_by_side.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

class SelectAndSwapdb : public SideBySide {
 protected:
  SelectAndSwapdb() { client_.expect_answered(); }

  std::string reads() const {
    return get_absent() + command({"MGET", absent_user(), user(1)}) +
           command({"EXISTS", absent_user(), user(1)});
  }

  Connection client_ = connect();
};

TEST_F(SelectAndSwapdb, another_db_is_redis_own) {
  tell_both({"SET", absent_user(), "in db 0, without a row"});
  client_.same({"SELECT", "1"});
  client_.same(reads(), 3);
  client_.same(command({"SET", absent_user(), "in db 1"}) + reads(), 4);
  client_.same({"SELECT", "15"});
  client_.same(reads(), 3);
  client_.same({"SELECT", "0"});
  client_.expect_answered();
}

TEST_F(SelectAndSwapdb, a_refused_select_leaves_the_db) {
  for (const std::string_view db :
       {"16", "999", "-1", "x", "", "1x", "01", " 1", "+1", "1.0", "99999999999999999999"}) {
    client_.same({"SELECT", db});
    client_.same(command({"GET", user(1)}), 1);
    client_.expect_answered();
  }
  client_.same({"SELECT"});
  client_.same({"SELECT", "1", "2"});
  client_.expect_answered();
  client_.same({"SELECT", "1"});
  client_.same({"SELECT", "999"});
  client_.same(reads(), 3);
  client_.same({"SELECT", "x"});
  client_.same(reads(), 3);
  client_.same({"SELECT", "0"});
  client_.expect_answered();
}

TEST_F(SelectAndSwapdb, within_a_pipeline_each_read_is_of_its_db) {
  std::string request;
  constexpr std::size_t kRounds = 50;
  for (std::size_t i = 0; i < kRounds; ++i) {
    request += command({"SELECT", std::to_string(i % 3)}) +
               command({"SET", "plain", std::to_string(i)}) + command({"GET", "plain"}) + reads();
  }
  client_.same(request, kRounds * 6);
  client_.same({"SELECT", "0"});
  client_.expect_answered();
}

TEST_F(SelectAndSwapdb, is_each_connection_s_own) {
  Connection other = connect();
  client_.same({"SELECT", "1"});
  other.expect_answered();
  client_.same(reads(), 3);
  other.same({"GET", user(1)});
}

TEST_F(SelectAndSwapdb, what_is_brought_into_db_0_is_found_there) {
  client_.same({"SELECT", "1"});
  client_.same({"SET", absent_user(1), "moved"});
  client_.same({"SET", absent_user(2), "copied"});
  client_.same({"MOVE", absent_user(1), "0"});
  client_.same({"COPY", absent_user(2), absent_user(3), "DB", "0"});
  client_.same({"SELECT", "0"});
  client_.same({"MGET", absent_user(1), absent_user(3), user(1)});
  client_.expect_answered();
}

TEST_F(SelectAndSwapdb, rows_are_found_in_swapped_dbs) {
  client_.same({"SELECT", "1"});
  client_.same({"SET", user(1), "from db 1"});
  client_.same({"SWAPDB", "0", "1"});
  client_.same({"GET", user(1)});
  client_.same({"SELECT", "0"});
  EXPECT_EQ(client_.same({"GET", user(1)}), bulk("from db 1"));
  client_.expect_answered();
  client_.same({"SWAPDB", "1", "0"});
  EXPECT_EQ(client_.same({"GET", user(1)}), bulk("one"));
  client_.expect_answered();
  client_.same({"SWAPDB", "0", "99"});
  client_.same({"SWAPDB", "0"});
  client_.same({"SWAPDB", "x", "0"});
  client_.expect_answered();
}

TEST_F(SelectAndSwapdb, a_swapped_db_aborts_the_watch_of_what_it_changes) {
  client_.same({"WATCH", user(1)});
  Connection other = connect();
  other.same({"SWAPDB", "0", "1"});
  EXPECT_TRUE(
      client_.same(command({"MULTI"}) + get_absent() + command({"EXEC"}), 3).ends_with("*-1\r\n"));
  client_.expect_answered();
  client_.same({"WATCH", "in neither"});
  other.same({"SWAPDB", "0", "1"});
  EXPECT_TRUE(
      client_.same(command({"MULTI"}) + command({"PING"}) + command({"EXEC"}), 3).ends_with(kPong));
  client_.expect_answered();
}

TEST_F(SelectAndSwapdb, a_swapped_db_wakes_those_who_wait_for_its_keys) {
  const std::string wait = command({"BLPOP", "queue", "0"});
  client_.straight().send(wait);
  client_.guarded().send(wait);
  wait_until_blocked(1);
  Connection other = connect();
  other.same(
      command({"SELECT", "9"}) + command({"RPUSH", "queue", "x"}) + command({"SWAPDB", "0", "9"}),
      3);
  client_.same({}, 1);
  client_.expect_answered();
}

TEST_F(SelectAndSwapdb, emptied_dbs_are_empty_and_absent_keys_absent) {
  client_.same({"FLUSHDB"});
  client_.same({"GET", user(1)});
  client_.expect_answered();
  client_.same({"FLUSHALL", "SYNC"});
  client_.same({"DBSIZE"});
  client_.expect_answered();
}

}  // namespace
}  // namespace cuckooguard::harness
