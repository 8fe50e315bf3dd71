// Against a real Redis, and against ports that say what no Redis would.
#include "upstream/redis_client.h"

#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/certificates.h"
#include "harness/ports.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"
#include "io/sockets.h"

namespace cuckooguard::upstream {
namespace {

using std::chrono::milliseconds;
using Login = RedisClient::Login;

constexpr std::chrono::seconds kPatience{2};

config::Upstream at(std::uint16_t port) {
  return {.address = {.host = "127.0.0.1", .port = port}};
}

class RedisClients : public testing::Test {
 protected:
  std::unique_ptr<RedisClient> open(std::uint16_t port, milliseconds patience = kPatience) {
    return RedisClient::open(loop_, at(port), patience).value();
  }
  // Its other end is `peer`.
  std::unique_ptr<RedisClient> open(const io::Port& port, io::Fd& peer, milliseconds patience) {
    auto client = open(port.number(), patience);
    peer = port.accept();
    return client;
  }
  // Why it is not open.
  std::string why_not(const config::Upstream& settings) {
    const auto opened = RedisClient::open(loop_, settings, kPatience);
    return opened ? "" : opened.error().why;
  }

  io::AsioLoop loop_{{}};
};

TEST_F(RedisClients, get_replies_in_the_order_of_what_was_sent) {
  const harness::RedisServer redis;
  const auto client = open(redis.port());
  std::vector<std::string> heard;
  client->append({"PING", "one"});
  client->send({"PING", "two"}, [&](const Reply& reply) {
    heard.emplace_back(text_of(*reply));
    client->send({"PING", "four"}, [&](const Reply& last) { heard.emplace_back(text_of(*last)); });
  });
  client->append({"PING", "three"});
  EXPECT_EQ(text_of(*client->next()), "one");
  EXPECT_EQ(text_of(*client->next()), "three");
  EXPECT_EQ(text_of(*client->call({"PING", "five"})), "five");
  EXPECT_EQ(heard, (std::vector<std::string>{"two", "four"}));
}

TEST_F(RedisClients, take_what_is_larger_than_any_buffer_both_ways) {
  const harness::RedisServer redis;
  const auto client =
      RedisClient::open(nullptr, {.address = {.unix_path = redis.unix_path()}}, kPatience);
  ASSERT_TRUE(client);
  const std::string large(std::size_t{20} << 20U, 'x');
  EXPECT_EQ(text_of(*(*client)->call({"SET", "large", large})), "OK");
  EXPECT_EQ(text_of(*(*client)->call({"GET", "large"})), large);
}

TEST_F(RedisClients, log_in_as_control_says_and_tell_who_has_refused) {
  const harness::RedisServer redis({"--user", "ops", "on", ">pass", "+ping", "--requirepass", "x"},
                                   "x");
  config::Upstream settings = at(redis.port());
  settings.control = {.username = "ops", .password = "pass"};
  const auto let_in = RedisClient::open(loop_, settings, kPatience);
  ASSERT_TRUE(let_in);
  EXPECT_EQ(text_of(*(*let_in)->call({"PING"})), "PONG");
  settings.control.password = "wrong";
  const auto refused = RedisClient::open(loop_, settings, kPatience);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().why.starts_with("WRONGPASS ")) << refused.error().why;
  EXPECT_TRUE(refused.error().is_connected);
  EXPECT_TRUE(refused.error().is_from_redis);
  EXPECT_TRUE(RedisClient::open(loop_, settings, kPatience, Login::none));
}

TEST_F(RedisClients, say_why_nothing_is_reached) {
  EXPECT_EQ(why_not(at(io::Port(false).number())), "Connection refused");
  EXPECT_EQ(why_not({.address = {.unix_path = "/nonexistent/redis.sock"}}),
            "No such file or directory");
  EXPECT_EQ(why_not({.address = {.host = "no.such.name.invalid", .port = 1}}),
            "Name or service not known");
}

TEST_F(RedisClients, are_lost_when_redis_has_gone_and_stay_so) {
  harness::RedisServer redis;
  const auto client = open(redis.port());
  redis.kill();
  EXPECT_FALSE(client->call({"PING"}));
  EXPECT_TRUE(client->is_lost());
  EXPECT_FALSE(client->has_timed_out());
  EXPECT_NE(client->why_lost(), "");
  redis.start_again();
  EXPECT_FALSE(client->call({"PING"}));
}

TEST_F(RedisClients, wait_for_as_long_as_something_comes_and_no_longer) {
  const io::Port port;
  io::Fd peer;
  const auto client = open(port, peer, milliseconds(400));
  std::vector<std::unique_ptr<io::Timer>> pieces;
  for (const char* const piece : {"$", "4", "\r\n", "lo", "ng", "\r\n"}) {
    const milliseconds when(100 * (pieces.size() + 1));
    pieces.push_back(loop_.after(when, [&peer, piece] { peer.send(piece); }));
  }
  EXPECT_EQ(text_of(*client->call({"GET", "key"})), "long");
  EXPECT_FALSE(client->call({"GET", "key"}));
  EXPECT_TRUE(client->has_timed_out());
  EXPECT_EQ(client->why_lost(), "no reply within 400 ms");
}

TEST_F(RedisClients, are_lost_by_what_is_no_reply_or_was_not_asked_for) {
  const io::Port port;
  io::Fd peer;
  const auto client = open(port, peer, kPatience);
  peer.send("nonsense\r\n");
  EXPECT_FALSE(client->call({"PING"}));
  EXPECT_EQ(client->why_lost(), "Protocol error, got \"n\" as reply type byte");
  const auto idle = open(port, peer, kPatience);
  peer.send("-ERR max number of clients reached\r\n");
  for (const auto until = loop_.now() + kPatience; !idle->is_lost() && loop_.now() < until;) {
    loop_.run_one(until);
  }
  EXPECT_EQ(idle->why_lost(), "ERR max number of clients reached");
}

TEST_F(RedisClients, that_have_subscribed_are_told_of_messages) {
  const harness::RedisServer redis;
  const auto client = open(redis.port());
  int messages = 0;
  client->on_message([&] { ++messages; });
  ASSERT_TRUE(client->call({"SUBSCRIBE", "news"}));
  redis.call({"PUBLISH", "news", "hello"});
  for (const auto until = loop_.now() + kPatience; messages == 0 && loop_.now() < until;) {
    loop_.run_one(until);
  }
  EXPECT_EQ(messages, 1);
  EXPECT_FALSE(client->is_lost());
}

TEST_F(RedisClients, end_their_waits_when_the_loop_is_stopped) {
  const io::Port port;
  io::Fd peer;
  const auto client = open(port.number(), std::chrono::minutes(1));
  const std::jthread ends([&] {
    peer = port.accept();
    peer.receive(1);
    loop_.stop();
  });
  EXPECT_FALSE(client->call({"PING"}));
  EXPECT_EQ(client->why_lost(), "the guard is shutting down");
  EXPECT_EQ(why_not(at(port.number())), "the guard is shutting down");
}

TEST_F(RedisClients, speak_tls_and_say_why_they_cannot) {
  const harness::TemporaryDirectory folder;
  harness::write_certificates(folder.path());
  const std::uint16_t port = harness::free_port();
  const harness::RedisServer redis(harness::redis_tls_arguments(folder.path(), port, "no"));
  io::TlsSlot credentials;
  credentials.set(
      io::TlsCredentials::load(config::UpstreamTls{.ca = folder.path() / "ca.crt"}).value());
  const auto client = RedisClient::open(&credentials, at(port), kPatience);
  ASSERT_TRUE(client) << client.error().why;
  EXPECT_EQ(text_of(*(*client)->call({"PING"})), "PONG");
  config::Upstream plain = at(redis.port());
  plain.connect_timeout = milliseconds(200);
  const auto refused = RedisClient::open(&credentials, plain, kPatience);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().why, "TLS: the handshake timed out");
  EXPECT_FALSE(refused.error().is_connected);
}

// Of a socket that a child has, too, epoll would go on to report what comes.
TEST_F(RedisClients, that_are_gone_are_not_told_of_what_a_forked_child_still_holds) {
  const io::Port port;
  io::Fd peer;
  auto client = open(port, peer, kPatience);
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  client.reset();
  loop_.run_one({});
  peer.send("+HELLO\r\n");
  loop_.run_until(loop_.now() + milliseconds(50));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace cuckooguard::upstream
