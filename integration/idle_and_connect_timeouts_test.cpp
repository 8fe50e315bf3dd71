// Who says nothing, and a Redis that says nothing: neither holds a connection for ever.

#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/ports.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

bool connected_clients_are(const RedisServer& redis, std::string_view number) {
  return eventually([&] { return redis.info("clients", "connected_clients") == number; });
}

TEST(IdleTimeout, closes_the_silent_and_spares_who_waits_listens_or_talks) {
  Shop shop({.more = "limits: { idle_timeout: 1s }\n"});
  shop.wait_until_it_answers();
  RawClient waiting = shop.client();
  waiting.send(command({"BLPOP", "queue", "0"}));
  RawClient subscribed = shop.client();
  subscribed.call({"SUBSCRIBE", "news"});
  RawClient monitoring = shop.client();
  EXPECT_EQ(monitoring.call({"MONITOR"}), kOk);
  RawClient talking = shop.client();
  RawClient unfinished = shop.client();
  unfinished.send("*2\r\n$3\r\nGET\r\n$4\r\n");
  const auto began = SteadyClock::now();
  RawClient silent = shop.client();
  ASSERT_TRUE(eventually([&] {
    EXPECT_EQ(talking.call({"GET", absent_user()}), absent_reply());
    return silent.is_closed_by_peer() && unfinished.is_closed_by_peer();
  }));
  EXPECT_GE(SteadyClock::now() - began, milliseconds(1000));
  // Those who are left: four, the guard's own, and the one that asks.
  // The one that talks asks for nothing that Redis has: with shared connections it has none.
  EXPECT_TRUE(connected_clients_are(shop.redis(), upstream_mode() == "pinned" ? "6" : "5"));

  shop.redis().call({"RPUSH", "queue", "x"});
  EXPECT_EQ(waiting.read_reply(), "*2\r\n" + bulk("queue") + bulk("x"));
  shop.redis().call({"PUBLISH", "news", "rain"});
  EXPECT_EQ(subscribed.read_reply(), "*3\r\n" + bulk("message") + bulk("news") + bulk("rain"));
  EXPECT_FALSE(monitoring.is_closed_by_peer());
  EXPECT_EQ(waiting.read_until_closed(), "") << "it has its reply, and is silent from then on";
  subscribed.call({"UNSUBSCRIBE"});
  EXPECT_EQ(subscribed.read_until_closed(), "");
}

TEST(IdleTimeout, of_redis_itself_closes_through_the_guard) {
  Shop shop({.mode = "pinned", .redis_arguments = {"--timeout", "1"}});
  RawClient silent = shop.client();
  EXPECT_EQ(silent.read_until_closed(), "");
}

// Redis hears nothing of what the guard answers; it must not take who asks for silent.
TEST(IdleTimeout, of_redis_itself_spares_who_asks_for_nothing_but_absent_keys) {
  Shop shop({.redis_arguments = {"--timeout", "1"}});
  shop.wait_until_it_answers();
  RawClient asking = shop.client();
  std::size_t answered = 0;
  const auto began = SteadyClock::now();
  while (SteadyClock::now() - began < milliseconds(3500)) {
    const std::string reply = asking.call({"GET", absent_user()});
    ASSERT_TRUE(reply == absent_reply() || reply == kNil) << shown(reply);
    answered += reply == absent_reply() ? 1 : 0;
  }
  EXPECT_GT(answered, 100U);
}

TEST(IdleTimeout, closes_who_is_silent_while_redis_is_down) {
  Shop shop({.more = "limits: { idle_timeout: 1s }\n"});
  shop.redis().kill();
  RawClient silent = shop.client();
  EXPECT_EQ(silent.read_until_closed(), "");
}

// A port that takes no more connections and refuses none: the kernel answers nothing to who wants
// one.
class DeafPort {
 public:
  DeafPort() {
    constexpr int kMoreThanItTakes = 8;
    for (int i = 0; i < kMoreThanItTakes; ++i) {
      const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(port_.port());
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      sockets_.push_back(socket);
      if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
          errno != EINPROGRESS) {
        throw std::system_error(errno, std::system_category(), "connect");
      }
    }
  }
  ~DeafPort() {
    for (const int socket : sockets_) {
      ::close(socket);
    }
  }
  DeafPort(const DeafPort&) = delete;
  DeafPort& operator=(const DeafPort&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_.port()); }

 private:
  TakenPort port_;
  std::vector<int> sockets_;
};

TEST(ConnectTimeout, a_redis_that_never_answers_the_connect_closes_who_needs_it) {
  const DeafPort deaf;
  GuardProcess guard = GuardProcess::on_port("upstream: { address: \"" + deaf.address() +
                                             "\", connect_timeout: 300ms }\n");
  for (int i = 0; i < 3; ++i) {
    const auto began = SteadyClock::now();
    RawClient client = guard.client();
    client.send(command({"PING"}));
    EXPECT_EQ(client.read_until_closed(), "");
    EXPECT_GE(SteadyClock::now() - began, milliseconds(300));
    EXPECT_LT(SteadyClock::now() - began, milliseconds(4000)) << "the default would be 5 s";
  }
}

// One that has accepted and then says nothing is for the client to judge, as without the guard: it
// may be at a long script, or at a BLPOP.
TEST(ConnectTimeout, does_not_hurry_a_redis_that_has_accepted) {
  Shop shop({.upstream_settings = "connect_timeout: 100ms"});
  shop.wait_until_it_answers();
  RawClient client = shop.client();
  const auto began = SteadyClock::now();
  EXPECT_EQ(client.call({"BLPOP", "queue", "0.5"}), "*-1\r\n");
  EXPECT_GE(SteadyClock::now() - began, milliseconds(500));
  EXPECT_EQ(client.call({"PING"}), kPong);
}

}  // namespace
}  // namespace cuckooguard::harness
