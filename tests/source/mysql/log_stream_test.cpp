#include <gtest/gtest.h>

#include "mysql/log_follower.h"

namespace cuckooguard::source::mysql {
namespace {

TEST(LogStream, a_position_that_the_server_lacks_is_gone) {
  EXPECT_TRUE(is_position_gone({.code = 1236, .what = "Could not find first log file name"}));
  EXPECT_TRUE(is_position_gone({.code = 1955, .what = "not in the master's binlog"}));
}

TEST(LogStream, a_lost_connection_or_server_id_leaves_the_position_as_it_is) {
  EXPECT_FALSE(is_position_gone({.code = 2013, .what = "Lost connection to server"}));
  EXPECT_FALSE(is_position_gone(
      {.code = 1236,
       .what =
           "A replica with the same server_uuid/server_id as this replica has connected to the "
           "source; the first event '' at 4, the last event read from './binlog.000002' at 126"}));
}

}  // namespace
}  // namespace cuckooguard::source::mysql
