// MULTI and WATCH: what is queued is Redis's, errors and all, and guarding goes on behind EXEC,
// DISCARD, UNWATCH, RESET.

#include <string>

#include <gtest/gtest.h>

#include "fixtures/side_by_side.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

std::string multi() {
  return command({"MULTI"});
}

std::string exec() {
  return command({"EXEC"});
}

class Transactions : public SideBySide {
 protected:
  Connection client_ = connect();
};

TEST_F(Transactions, reads_are_queued_and_then_in_the_array) {
  client_.expect_answered();
  client_.same(multi() + get_absent() + command({"MGET", absent_user(), user(1)}) +
                   command({"EXISTS", absent_user(), user(1)}) + command({"TTL", absent_user()}) +
                   command({"HGETALL", absent_user()}) + command({"STRLEN", absent_user()}) +
                   exec(),
               8);
  client_.expect_answered();
  client_.same({"MULTI"});  // each on its own: nothing is decided by what stands in the same read
  client_.same(get_absent(), 1);
  client_.same({"EXEC"});
  client_.expect_answered();
}

TEST_F(Transactions, discard_ends_them) {
  client_.same(multi() + get_absent() + command({"DISCARD"}), 3);
  client_.expect_answered();
}

TEST_F(Transactions, empty_ones_and_ends_without_a_begin_change_nothing) {
  client_.same(multi() + exec(), 2);
  client_.expect_answered();
  client_.same(exec() + command({"DISCARD"}) + command({"UNWATCH"}), 3);
  client_.expect_answered();
}

TEST_F(Transactions, errors_while_queueing_abort_them) {
  const std::string aborted =
      client_.same(multi() + command({"NOSUCH"}) + get_absent() + command({"GET"}) + exec(), 5);
  EXPECT_TRUE(aborted.contains("-EXECABORT")) << shown(aborted);
  client_.same(multi() + get_absent() + exec(), 3);
  client_.expect_answered();
}

TEST_F(Transactions, guarding_resumes_after_execabort) {
  client_.same(multi() + command({"NOSUCH"}) + exec(), 3);
  connect().expect_answered();
  client_.expect_answered();
}

TEST_F(Transactions, multi_and_watch_inside_multi_are_refused_and_it_goes_on) {
  client_.same(
      multi() + multi() + get_absent() + command({"WATCH", user(1)}) + get_absent() + exec(), 6);
  client_.expect_answered();
}

TEST_F(Transactions, errors_of_commands_that_run_are_elements_of_the_array) {
  client_.same(multi() + command({"INCR", user(1)}) + get_absent() +
                   command({"LPUSH", user(1), "x"}) + command({"SET", "plain", "y"}) + exec(),
               6);
  client_.expect_answered();
}

TEST_F(Transactions, keys_written_in_them_are_read_behind_them) {
  const std::string key = absent_user(7);
  client_.same(multi() + command({"SET", key, "new"}) + command({"GET", key}) + exec() +
                   command({"GET", key}),
               5);
  client_.same({"GET", key});
  connect().same({"GET", key});
  client_.expect_answered();
}

TEST_F(Transactions, an_array_of_many_and_large_replies_is_the_same) {
  client_.same({"SET", "large", std::string(300'000, 'x')});
  std::string request = multi();
  constexpr std::size_t kReads = 2000;
  for (std::size_t i = 0; i < kReads; ++i) {
    request += i % 500 == 0 ? command({"GET", "large"}) : command({"GET", absent_user(i)});
  }
  client_.same(request + exec(), kReads + 2);
  client_.expect_answered();
}

TEST_F(Transactions, select_inside_them_is_done_at_exec) {
  tell_both({"SET", absent_user(), "in db 0"});
  client_.same(multi() + command({"SELECT", "1"}) + get_absent() + exec() + get_absent(), 5);
  client_.same(get_absent(), 1);
  client_.same({"RESET"});
  client_.expect_answered();
  client_.same(multi() + command({"SELECT", "1"}) + command({"DISCARD"}), 3);
  client_.same({"GET", user(1)});
  client_.same({"RESET"});
  client_.expect_answered();
}

TEST_F(Transactions, auth_inside_them_is_done_at_exec) {
  tell_both({"ACL", "SETUSER", "reader", "on", ">word", "~user:1", "+@all"});
  client_.same(multi() + command({"AUTH", "reader", "word"}) + get_absent() + exec() + get_absent(),
               5);
  const std::string refused = client_.same(get_absent(), 1);
  EXPECT_TRUE(refused.starts_with("-NOPERM")) << shown(refused);
  client_.same({"RESET"});
  client_.expect_answered();
}

TEST_F(Transactions, hello_inside_them_changes_the_protocol_within_the_array) {
  client_.same(multi() + get_absent() + command({"HELLO", "3"}) + get_absent() + exec(), 5);
  client_.same(get_absent(), 1);
  client_.same({"CONFIG", "GET", "maxmemory"});  // a map
  client_.same({"RESET"});
  client_.expect_answered();
}

TEST_F(Transactions, reset_ends_them_at_once) {
  client_.same(multi() + get_absent() + command({"RESET"}), 3);
  client_.expect_answered();
  client_.same({"EXEC"});
  client_.expect_answered();
}

TEST_F(Transactions, watch_keeps_reads_with_redis_until_it_has_ended) {
  client_.same(command({"WATCH", user(1)}) + get_absent(), 2);
  client_.same(get_absent(), 1);
  client_.same({"UNWATCH"});
  client_.expect_answered();
  client_.same(command({"WATCH", user(1)}) + multi() + get_absent() + exec(), 4);
  client_.expect_answered();
  client_.same(command({"WATCH", user(1)}) + multi() + command({"DISCARD"}), 3);
  client_.expect_answered();
}

TEST_F(Transactions, a_watched_key_that_another_writes_aborts_them) {
  for (const std::string& key : {user(1), absent_user(3), std::string("plain")}) {
    client_.same(command({"WATCH", key}) + command({"GET", key}), 2);
    tell_both({"SET", key, "changed"});
    EXPECT_EQ(client_.same(multi() + command({"SET", key, "mine"}) + exec(), 3),
              std::string(kOk) + "+QUEUED\r\n*-1\r\n");
    client_.expect_answered();
  }
  // Through the guard: another client's write.
  Connection other = connect();
  client_.same({"WATCH", user(2)});
  other.same({"SET", user(2), "changed"});
  EXPECT_TRUE(client_.same(multi() + get_absent() + exec(), 3).ends_with("*-1\r\n"));
  client_.expect_answered();
}

TEST_F(Transactions, watch_is_about_the_db_it_was_given_in) {
  for (const bool in_the_watched_db : {true, false}) {
    client_.same(command({"SELECT", "1"}) + command({"WATCH", user(1)}) + command({"SELECT", "0"}),
                 3);
    Connection other = connect();
    other.same({"SELECT", in_the_watched_db ? "1" : "0"});
    other.same({"SET", user(1), "changed"});
    const std::string end = client_.same(multi() + get_absent() + exec(), 3);
    EXPECT_EQ(end.ends_with("*-1\r\n"), in_the_watched_db) << shown(end);
    client_.expect_answered();
  }
}

TEST_F(Transactions, of_one_client_do_not_hold_up_another) {
  Connection other = connect();
  client_.same(multi() + get_absent(), 2);
  other.expect_answered();
  client_.same(exec(), 1);
  client_.expect_answered();
}

}  // namespace
}  // namespace cuckooguard::harness
