#include <gtest/gtest.h>

#include "proxied_client.h"
#include "proxy/session.h"

namespace cuckooguard::proxy {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kValue = "$1\r\nx\r\n";

class ReplyClockTest : public ProxiedClient {
 protected:
  ReplyClockTest() { connect_both(); }

  std::uint64_t timed() const {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < guard::ReplyTimes::kCounts; ++i) {
      all += times().count(i).value();
    }
    return all;
  }
  milliseconds total() const {
    return std::chrono::floor<milliseconds>(
        std::chrono::nanoseconds(times().nanoseconds().value()));
  }
  const guard::ReplyTimes& times() const { return shop_.guard->counters().reply_times; }

  // loop_.run() may let time pass by itself: so much more.
  void sends_after(milliseconds time, std::string_view bytes) {
    loop_.pass(time);
    redis_sends(bytes);
  }
};

TEST_F(ReplyClockTest, takes_the_time_of_a_read_until_its_reply_is_sent) {
  client_sends(kExistingGet);
  EXPECT_EQ(timed(), 0U) << "it has not come yet";
  sends_after(milliseconds(30), kValue);
  EXPECT_EQ(timed(), 1U);
  EXPECT_GE(total(), milliseconds(30));
  EXPECT_EQ(client_got(), kValue);
}

TEST_F(ReplyClockTest, in_a_pipeline_it_is_the_reply_to_that_read_and_not_another) {
  client_sends("*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n" + std::string(kExistingGet) +
               "*1\r\n$4\r\nPING\r\n");
  sends_after(milliseconds(10), "+PONG\r\n+PONG\r\n");
  EXPECT_EQ(timed(), 0U);
  sends_after(milliseconds(10), kValue);
  EXPECT_EQ(timed(), 1U) << "the PING behind it is still owed";
  EXPECT_GE(total(), milliseconds(20));
  sends_after(milliseconds(100), "+PONG\r\n");
  EXPECT_EQ(timed(), 1U);
}

TEST_F(ReplyClockTest, of_many_reads_at_once_one_is_timed_and_a_millisecond_later_another) {
  client_sends(std::string(kExistingGet) + std::string(kExistingGet));
  redis_sends(std::string(kValue) + std::string(kValue));
  EXPECT_EQ(timed(), 1U);
  loop_.pass(ReplyClock::kEvery);
  client_sends(kExistingGet);
  redis_sends(kValue);
  EXPECT_EQ(timed(), 2U);
}

TEST_F(ReplyClockTest, nothing_is_timed_but_reads_that_redis_answers_at_once) {
  for (const std::string_view command : {"*1\r\n$4\r\nPING\r\n",
                                         "*3\r\n$5\r\nBLPOP\r\n$4\r\nlist\r\n$1\r\n0\r\n",
                                         "*6\r\n$5\r\nXREAD\r\n$5\r\nBLOCK\r\n$1\r\n0\r\n"
                                         "$7\r\nSTREAMS\r\n$1\r\ns\r\n$1\r\n$\r\n",
                                         "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n"}) {
    loop_.pass(ReplyClock::kEvery);
    client_sends(command);
    redis_sends("+OK\r\n");
  }
  client_sends(kAbsentGet);
  EXPECT_EQ(timed(), 0U);
}

}  // namespace
}  // namespace cuckooguard::proxy
