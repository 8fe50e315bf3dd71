#include <array>
#include <thread>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/options.h"

namespace cuckooguard::cli {
namespace {

using testing::HasSubstr;

// A port of 127.0.0.1 on which somebody listens.
class Port {
 public:
  Port() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_, raw, size), 0);
    EXPECT_EQ(::listen(socket_, 1), 0);
    EXPECT_EQ(::getsockname(socket_, raw, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  ~Port() { ::close(socket_); }

  Ping ping(std::chrono::milliseconds timeout = std::chrono::seconds(10)) const {
    return {.address = {.host = "127.0.0.1", .port = port_, .unix_path = {}}, .timeout = timeout};
  }

  // Reads what the first client sends, and says this; "" closes without a word.
  std::string serve_one(std::string_view reply) const {
    pollfd ready{.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 10'000) != 1) {
      return "nobody came";
    }
    const int client = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    std::array<char, 100> asked{};
    const ssize_t size = ::recv(client, asked.data(), asked.size(), 0);
    EXPECT_EQ(::send(client, reply.data(), reply.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(reply.size()));
    ::close(client);
    return {asked.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

 private:
  int socket_;
  std::uint16_t port_ = 0;
};

TEST(Ping, sends_ping_and_tells_what_came_back) {
  const Port port;
  std::string asked;
  std::jthread server([&] { asked = port.serve_one("+PONG\r\n"); });
  EXPECT_EQ(ping(port.ping()), "PONG\n");
  server.join();
  EXPECT_EQ(asked, "*1\r\n$4\r\nPING\r\n");
}

TEST(Ping, an_error_is_an_answer_too) {
  const Port port;
  std::jthread server([&] { port.serve_one("-NOAUTH Authentication required.\r\n"); });
  EXPECT_EQ(ping(port.ping()), "NOAUTH Authentication required.\n");
}

TEST(Ping, asks_the_guard_itself_whether_it_is_alive) {
  const Port port;
  std::string asked;
  std::jthread server([&] { asked = port.serve_one("+PONG\r\n"); });
  Ping alive = port.ping();
  alive.alive = true;
  EXPECT_EQ(ping(alive), "PONG\n");
  server.join();
  EXPECT_EQ(asked, "*1\r\n$10\r\nGUARD.PING\r\n");
}

TEST(Ping, what_redis_says_to_a_command_it_does_not_know_is_no_sign_of_a_guard) {
  for (const auto* const reply : {"-ERR unknown command 'GUARD.PING', with args beginning with: ",
                                  "-NOAUTH Authentication required.",
                                  "-NOPERM User default has no permissions"}) {
    const Port port;
    std::jthread server([&] { port.serve_one(std::string(reply) + "\r\n"); });
    Ping alive = port.ping();
    alive.alive = true;
    const auto outcome = ping(alive);
    ASSERT_FALSE(outcome) << *outcome;
    EXPECT_THAT(outcome.error(), HasSubstr("not a guard"));
  }
}

TEST(Ping, a_guard_that_closes_since_its_redis_does_is_asked_again) {
  const Port port;
  std::jthread server([&] {
    port.serve_one("");
    port.serve_one("+PONG\r\n");
  });
  Ping alive = port.ping();
  alive.alive = true;
  EXPECT_EQ(ping(alive), "PONG\n");
}

TEST(Ping, a_guard_that_is_full_lives) {
  const Port port;
  std::jthread server([&] { port.serve_one("-ERR max number of clients reached\r\n"); });
  Ping alive = port.ping();
  alive.alive = true;
  EXPECT_EQ(ping(alive), "ERR max number of clients reached\n");
}

TEST(Ping, fails_if_the_connection_is_closed_without_a_reply) {
  const Port port;
  std::jthread server([&] { port.serve_one(""); });
  const auto outcome = ping(port.ping());
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error(), HasSubstr("no reply"));
}

TEST(Ping, fails_if_what_comes_back_is_not_resp) {
  const Port port;
  std::jthread server([&] { port.serve_one("HTTP/1.1 400 Bad Request\r\n\r\n"); });
  EXPECT_FALSE(ping(port.ping()));
}

TEST(Ping, fails_after_its_timeout_if_nobody_answers) {
  const Port port;  // it takes the connection, and nothing is read
  const auto begin = std::chrono::steady_clock::now();
  const auto outcome = ping(port.ping(std::chrono::milliseconds(20)));
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error(), HasSubstr("no reply"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(Ping, fails_where_nobody_listens_and_names_the_address) {
  for (const config::Address& address :
       {config::Address{.host = {}, .port = 0, .unix_path = "/nowhere/redis.sock"},
        config::Address{.host = "127.0.0.1", .port = 1, .unix_path = {}}}) {
    const auto outcome = ping({.address = address, .timeout = std::chrono::seconds(10)});
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error(), HasSubstr(address.text() + ": cannot connect"));
  }
}

}  // namespace
}  // namespace cuckooguard::cli
