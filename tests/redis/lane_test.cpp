#include "redis/lane.h"

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::redis {
namespace {

Lane lane_of_words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    words.push_back(word);
  }
  const std::vector<std::string_view> views(words.begin(), words.end());
  return lane_of(find_command(views.front()), views);
}

TEST(Lane, reads_that_leave_nothing_behind_and_do_not_wait_are_shared) {
  for (const char* const words : {"GET k",
                                  "mget a b",
                                  "PING",
                                  "HGETALL h",
                                  "XREAD COUNT 1 STREAMS s 0",
                                  "INFO",
                                  "SCAN 0",
                                  "OBJECT ENCODING k",
                                  "SCRIPT KILL",
                                  "SCRIPT LOAD s",
                                  "HTTL h FIELDS 1 f",
                                  "VCARD k"}) {
    EXPECT_EQ(lane_of_words(words), Lane::reads) << words;
  }
}

TEST(Lane, what_redis_postpones_in_a_pause_of_writes_is_shared_apart_from_reads) {
  for (const char* const words : {"SET k v EX 1",
                                  "DEL k",
                                  "ZADD z 1 m",
                                  "GETEX k",
                                  "PFCOUNT k",
                                  "PUBLISH c m",
                                  "SPUBLISH c m",
                                  "FLUSHALL",
                                  "HGETEX h FIELDS 1 f",
                                  "MSETEX 1 k v",
                                  "SORT l STORE d",
                                  "FUNCTION KILL"}) {
    EXPECT_EQ(lane_of_words(words), Lane::writes) << words;
  }
}

TEST(Lane, what_waits_or_changes_its_connection_for_a_while_gets_its_own) {
  for (const char* const words : {"BLPOP l 0",
                                  "BZMPOP 0 1 z MIN",
                                  "XREAD BLOCK 0 STREAMS s $",
                                  "xreadgroup group g c block 0 streams s >",
                                  "EVAL s 0",
                                  "FCALL_RO f 0",
                                  "MULTI",
                                  "EXEC",
                                  "WATCH k",
                                  "SELECT 1",
                                  "AUTH p",
                                  "HELLO 3",
                                  "RESET",
                                  "WAIT 1 0",
                                  "WAITAOF 1 0 0",
                                  "VSIM k ELE a",
                                  "VADD k VALUES 1 1 a",
                                  "CLIENT SETNAME n",
                                  "client list",
                                  "CLIENT KILL TYPE normal",
                                  "CONFIG GET *",
                                  "ACL WHOAMI",
                                  "READONLY",
                                  "READWRITE",
                                  "ASKING",
                                  "MIGRATE h 1 k 0 5",
                                  "SOME.MODULE k"}) {
    EXPECT_EQ(lane_of_words(words), Lane::own) << words;
  }
}

TEST(Lane, where_redis_sends_unasked_nobody_has_been_before) {
  for (const char* const words : {"SUBSCRIBE c", "psubscribe c*", "SSUBSCRIBE c", "UNSUBSCRIBE"}) {
    EXPECT_EQ(lane_of_words(words), Lane::new_own) << words;
  }
}

TEST(Lane, what_asks_who_it_is_or_cannot_be_taken_back_keeps_it) {
  for (const char* const words : {"CLIENT ID",
                                  "CLIENT INFO",
                                  "CLIENT",
                                  "CLIENT TRACKING ON",
                                  "CLIENT REPLY OFF",
                                  "CLIENT NO-EVICT ON",
                                  "CLIENT SOMETHING-NEW",
                                  "CLIENT NO-TOUCH ON",
                                  "CLIENT CAPA redirect",
                                  "CLIENT IMPORT-SOURCE ON",
                                  "MONITOR",
                                  "PSYNC ? -1",
                                  "QUIT",
                                  "SCRIPT DEBUG YES",
                                  "DEBUG PROTOCOL push"}) {
    EXPECT_EQ(lane_of_words(words), Lane::for_good) << words;
  }
}

TEST(Lane, wait_is_known_in_any_case) {
  const std::vector<std::string_view> wait{"WaIt", "1", "0"};
  const std::vector<std::string_view> other{"WAITS"};
  EXPECT_TRUE(waits_for_writes(wait));
  EXPECT_FALSE(waits_for_writes(other));
}

}  // namespace
}  // namespace cuckooguard::redis
