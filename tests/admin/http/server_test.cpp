#include "http/server.h"

#include <atomic>
#include <iterator>
#include <list>
#include <semaphore>
#include <set>
#include <stdexcept>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuckooguard::http {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kGet = "GET /page HTTP/1.1\r\nHost: x\r\n\r\n";

// A client in bytes. What it waits for comes, or the test program's own deadline ends it.
class Client {
 public:
  explicit Client(std::uint16_t port) {
    socket_.connect({asio::ip::make_address("127.0.0.1"), port});
  }
  void send(std::string_view bytes) { asio::write(socket_, asio::buffer(bytes)); }
  // As much as goes: the server may have closed.
  void try_send(std::string_view bytes) {
    boost::system::error_code ignored;
    asio::write(socket_, asio::buffer(bytes), ignored);
  }
  // As much as goes without waiting.
  void send_some(std::string_view bytes) {
    socket_.non_blocking(true);
    boost::system::error_code ignored;
    asio::write(socket_, asio::buffer(bytes), ignored);
    socket_.non_blocking(false);
  }
  std::string read_header() {
    const std::size_t bytes =
        asio::read_until(socket_, asio::dynamic_buffer(received_), "\r\n\r\n");
    std::string header = received_.substr(0, bytes);
    received_.erase(0, bytes);
    return header;
  }
  // Header and body, by Content-Length.
  std::string read_response() {
    std::string response = read_header();
    const std::size_t field = response.find("Content-Length: ");
    const std::size_t bytes = std::stoul(response.substr(field + 16));
    if (received_.size() < bytes) {
      asio::read(socket_,
                 asio::dynamic_buffer(received_),
                 asio::transfer_exactly(bytes - received_.size()));
    }
    response += received_.substr(0, bytes);
    received_.erase(0, bytes);
    return response;
  }
  std::string read_to_end() {
    boost::system::error_code end;
    asio::read(socket_, asio::dynamic_buffer(received_), end);
    return received_;
  }
  std::string ask(std::string_view request) {
    send(request);
    return read_response();
  }
  void finish() { socket_.shutdown(asio::socket_base::shutdown_send); }

 private:
  asio::io_context io_;
  asio::ip::tcp::socket socket_{io_};
  std::string received_;
};

class ServerTest : public testing::Test {
 protected:
  explicit ServerTest(const Limits& limits = {})
      : server_({.host = "127.0.0.1", .port = 0, .unix_path = {}},
                limits,
                {.answer =
                     [this](const Request& request) {
                       if (request.target.starts_with("/to-come")) {
                         if (to_come_.emplace(request.target).second) {
                           asked_.release();
                         }
                         return has_come_ ? Response{.body = "it has come"}
                                          : Response{.is_to_come = true};
                       }
                       if (request.target == "/throw") {
                         throw std::runtime_error("no page");
                       }
                       if (request.target == "/kept") {
                         return Response{
                             .status = request.if_none_match == "\"1\"" ? kNotModified : 200,
                             .body = request.if_none_match == "\"1\"" ? "" : "a page",
                             .content_type = "text/html",
                             .etag = "\"1\"",
                             .content_security_policy = "default-src 'none'"};
                       }
                       std::string text(request.method);
                       text.append(" ").append(request.target).append(" ");
                       text.append(request.authorization).append(" ").append(request.body);
                       return Response{.body = std::move(text), .allow = "PUT"};
                     },
                 .on_failure = [](std::error_code) {}}) {
    server_.start();
  }

  Client client() const { return Client(server_.port()); }

  std::set<std::string> to_come_;  // the server's thread's: what was asked for, and is asked again
  std::counting_semaphore<> asked_{0};  // of those, each once
  std::atomic<bool> has_come_{false};
  Server server_;
};

TEST_F(ServerTest, hands_over_what_was_asked_and_sends_what_comes_back) {
  Client one = client();
  const std::string response = one.ask(
      "POST /a%00b?c HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer w\r\nContent-Length: "
      "4\r\n\r\nbody");
  EXPECT_THAT(response, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(response, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(response, HasSubstr("Cache-Control: no-store\r\n"));
  EXPECT_THAT(response, HasSubstr("Allow: PUT\r\n"));
  EXPECT_THAT(response, EndsWith("\r\n\r\nPOST /a%00b?c Bearer w body"));
}

TEST_F(ServerTest, answers_one_request_after_the_other_on_one_connection) {
  Client one = client();
  EXPECT_THAT(one.ask(kGet), EndsWith("GET /page  "));
  one.send(std::string(kGet) + "GET /2 HTTP/1.1\r\nHost: x\r\n\r\n" + std::string(kGet));
  EXPECT_THAT(one.read_response(), EndsWith("GET /page  "));
  EXPECT_THAT(one.read_response(), EndsWith("GET /2  "));
  EXPECT_THAT(one.read_response(), EndsWith("GET /page  "));
  EXPECT_THAT(one.ask("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                      "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"),
              EndsWith("POST /  abc"));
}

TEST_F(ServerTest, closes_where_the_client_does_not_want_to_go_on) {
  Client one = client();
  one.send("GET /page HTTP/1.0\r\n\r\n");
  EXPECT_THAT(one.read_to_end(), AllOf(StartsWith("HTTP/1.0 200"), EndsWith("GET /page  ")));
  Client other = client();
  other.send("GET /page HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(other.read_to_end(), HasSubstr("Connection: close\r\n"));
  Client third = client();
  third.send(kGet);
  third.finish();
  EXPECT_THAT(third.read_to_end(), EndsWith("GET /page  "));
}

TEST_F(ServerTest, head_has_the_length_and_no_body) {
  Client one = client();
  one.send("HEAD /page HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(one.read_header(), HasSubstr("Content-Length: 12\r\n"));
  EXPECT_THAT(one.ask(kGet), StartsWith("HTTP/1.1 200")) << "nothing was in between";
}

TEST_F(ServerTest, a_page_that_may_be_kept_is_sent_once_and_says_what_it_may_do) {
  Client one = client();
  const std::string page = one.ask("GET /kept HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(page,
              AllOf(HasSubstr("ETag: \"1\"\r\n"),
                    HasSubstr("Cache-Control: no-cache\r\n"),
                    HasSubstr("Content-Security-Policy: default-src 'none'\r\n"),
                    HasSubstr("X-Content-Type-Options: nosniff\r\n"),
                    EndsWith("a page")));
  one.send("GET /kept HTTP/1.1\r\nHost: x\r\nIf-None-Match: \"1\"\r\n\r\n");
  EXPECT_THAT(one.read_header(),
              AllOf(StartsWith("HTTP/1.1 304 "), testing::Not(HasSubstr("Content-Length"))));
  EXPECT_THAT(one.ask(kGet), EndsWith("GET /page  ")) << "nothing was left behind it";
}

TEST_F(ServerTest, who_asks_whether_to_send_a_body_is_told_to) {
  Client one = client();
  one.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(one.read_header(), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_THAT(one.ask("ab"), EndsWith("POST /  ab"));
}

TEST_F(ServerTest, a_page_that_cannot_be_made_is_500_and_the_next_is_made) {
  Client one = client();
  EXPECT_THAT(one.ask("GET /throw HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(one.ask(kGet), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, what_is_no_http_is_400) {
  for (const std::string_view bytes :
       {std::string_view("*1\r\n$4\r\nPING\r\n\r\n"),
        std::string_view("GET\r\n\r\n"),
        std::string_view("GET / HTTP/1.1\r\nno colon\r\n\r\n"),
        std::string_view("GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"),
        std::string_view("GET /\0 HTTP/1.1\r\n\r\n", 18)}) {
    Client one = client();
    one.send(bytes);
    EXPECT_THAT(one.read_to_end(), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("bad_request")))
        << bytes;
  }
}

TEST_F(ServerTest, a_header_that_is_too_large_is_431) {
  Client one = client();
  one.try_send("GET /" + std::string(8 * 1024, 'x') + " HTTP/1.1\r\n\r\n");
  EXPECT_THAT(one.read_to_end(), StartsWith("HTTP/1.1 431"));
  Client other = client();
  other.try_send("GET / HTTP/1.1\r\n" + std::string(1 << 20, 'x'));
  EXPECT_THAT(other.read_to_end(), StartsWith("HTTP/1.1 431"));
  Client third = client();
  EXPECT_THAT(third.ask("GET /" + std::string(7 * 1024, 'x') + " HTTP/1.1\r\n\r\n"),
              StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, a_body_that_is_too_large_is_413_however_it_is_sent) {
  const std::string length = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ";
  Client told = client();
  told.send(length + "65537\r\n\r\n");
  EXPECT_THAT(told.read_to_end(), StartsWith("HTTP/1.1 413")) << "before any of it has come";
  Client sent = client();
  sent.try_send(length + "1000000\r\n\r\n" + std::string(1'000'000, 'x'));
  EXPECT_THAT(sent.read_to_end(), StartsWith("HTTP/1.1 413"));
  Client chunked = client();
  chunked.try_send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n20000\r\n" +
                   std::string(0x20000, 'x'));
  EXPECT_THAT(chunked.read_to_end(), StartsWith("HTTP/1.1 413"));
  Client fits = client();
  EXPECT_THAT(fits.ask(length + "65536\r\n\r\n" + std::string(65536, 'x')),
              StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, ends_while_clients_are_in_the_middle_of_things) {
  Client idle = client();
  EXPECT_THAT(idle.ask(kGet), StartsWith("HTTP/1.1 200"));
  Client half = client();
  half.send("GET / HT");
  Client refused = client();
  refused.send("nonsense\r\n\r\n");
  EXPECT_THAT(refused.read_response(), StartsWith("HTTP/1.1 400"));
}

class ImpatientServer : public ServerTest {
 protected:
  ImpatientServer() : ServerTest({.idle_max = 60s, .request_max = 200ms, .linger_max = 200ms}) {}
};

TEST_F(ImpatientServer, a_request_that_takes_too_long_is_408_however_it_trickles) {
  Client header = client();
  header.send("GET /pa");
  EXPECT_THAT(header.read_to_end(), AllOf(StartsWith("HTTP/1.1 408"), HasSubstr("timeout")));
  Client body = client();
  body.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab");
  EXPECT_THAT(body.read_to_end(), StartsWith("HTTP/1.1 408"));
  Client continued = client();
  continued.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_THAT(continued.read_to_end(), HasSubstr("\r\n\r\nHTTP/1.1 408"));
  Client second = client();
  EXPECT_THAT(second.ask(kGet), StartsWith("HTTP/1.1 200"));
  second.send("G");
  EXPECT_THAT(second.read_to_end(), StartsWith("HTTP/1.1 408")) << "not only the first request";
}

class ServerThatCloses : public ServerTest {
 protected:
  ServerThatCloses() : ServerTest({.idle_max = 100ms}) {}
};

TEST_F(ServerThatCloses, who_asks_nothing_for_too_long_is_closed_without_a_word) {
  Client silent = client();
  EXPECT_EQ(silent.read_to_end(), "");
  Client other = client();
  EXPECT_THAT(other.ask(kGet), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(other.read_to_end(), "");
}

TEST_F(ServerTest, one_more_client_takes_the_place_of_the_one_that_was_silent_longest) {
  std::list<Client> clients;
  for (std::size_t i = 0; i < Limits{}.connections_max; ++i) {
    clients.emplace_back(server_.port());
    EXPECT_THAT(clients.back().ask(kGet), StartsWith("HTTP/1.1 200"));
  }
  EXPECT_THAT(clients.front().ask(kGet), StartsWith("HTTP/1.1 200")) << "silent for less now";
  Client more = client();
  EXPECT_THAT(more.ask(kGet), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(std::next(clients.begin())->read_to_end(), "");
  EXPECT_THAT(clients.front().ask(kGet), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(clients.back().ask(kGet), StartsWith("HTTP/1.1 200"));
}

// The oldest half request goes; a whole one that is new is answered.
TEST_F(ServerTest, half_requests_are_replaced_by_newer_ones) {
  std::list<Client> halves;
  for (std::size_t i = 0; i < 500; ++i) {
    halves.emplace_back(server_.port());
    halves.back().send("GET /half HTTP/1.1\r\nA: ");
  }
  EXPECT_THAT(client().ask(kGet), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(halves.front().read_to_end(), "");
  halves.back().send("b\r\n\r\n");
  EXPECT_THAT(halves.back().read_response(), EndsWith("GET /half  "));
}

TEST_F(ServerTest, who_does_not_read_is_replaced_too) {
  std::string requests;
  for (int i = 0; i < 2000; ++i) {
    requests += "GET /" + std::string(7000, 'x') + " HTTP/1.1\r\nHost: x\r\n\r\n";
  }
  std::list<Client> deaf;
  for (std::size_t i = 0; i < Limits{}.connections_max; ++i) {
    deaf.emplace_back(server_.port());
    deaf.back().send_some(requests);
  }
  EXPECT_THAT(client().ask(kGet), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, one_more_client_is_refused_while_all_are_busy) {
  std::list<Client> clients;
  for (std::size_t i = 0; i < Limits{}.connections_max; ++i) {
    clients.emplace_back(server_.port());
    clients.back().send("GET /to-come/" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n");
    asked_.acquire();
  }
  Client more = client();
  EXPECT_THAT(more.read_to_end(),
              AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("too_many_connections")));
  has_come_ = true;
  EXPECT_THAT(clients.front().read_response(), EndsWith("it has come"));
}

}  // namespace
}  // namespace cuckooguard::http
