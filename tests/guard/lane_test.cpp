#include "guard/lane.h"

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::guard {
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

TEST(Lane, what_leaves_nothing_behind_and_does_not_wait_is_shared) {
  for (const char* const words : {"GET k",
                                  "mget a b",
                                  "SET k v EX 1",
                                  "DEL k",
                                  "PING",
                                  "HGETALL h",
                                  "ZADD z 1 m",
                                  "XREAD COUNT 1 STREAMS s 0",
                                  "PUBLISH c m",
                                  "INFO",
                                  "SCAN 0",
                                  "FLUSHALL",
                                  "SORT l STORE d",
                                  "OBJECT ENCODING k"}) {
    EXPECT_EQ(lane_of_words(words), Lane::shared) << words;
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
                                  "SUBSCRIBE c",
                                  "SELECT 1",
                                  "AUTH p",
                                  "HELLO 3",
                                  "RESET",
                                  "WAIT 1 0",
                                  "CLIENT SETNAME n",
                                  "client list",
                                  "CLIENT KILL TYPE normal",
                                  "CONFIG GET *",
                                  "ACL WHOAMI",
                                  "DEBUG SLEEP 1",
                                  "MIGRATE h 1 k 0 5",
                                  "SOME.MODULE k",
                                  "SCRIPT LOAD s"}) {
    EXPECT_EQ(lane_of_words(words), Lane::own) << words;
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
                                  "MONITOR",
                                  "PSYNC ? -1",
                                  "QUIT",
                                  "SCRIPT DEBUG YES",
                                  "READONLY",
                                  "ASKING"}) {
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
}  // namespace cuckooguard::guard
