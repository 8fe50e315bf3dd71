// Against an admin server of the test's own, whose pages are what a test says.
#include "follower/builder_client.h"

#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/deadline.h"
#include "harness/ports.h"
#include "harness/temporary_directory.h"
#include "http/server.h"

namespace cuckooguard::fleet {
namespace {

using source::RowPresence;
using testing::HasSubstr;

config::Address at(std::uint16_t port) {
  return {.host = "127.0.0.1", .port = port, .unix_path = {}};
}

class Builder {
 public:
  using Answer = std::function<http::Response(const http::Request&)>;

  explicit Builder(Answer answer)
      : server_(at(0),
                {},
                {.answer =
                     [this, tell = std::move(answer)](const http::Request& request) {
                       target = request.target;
                       body = request.body;
                       host = request.host;
                       authorization = request.authorization;
                       ++asked;
                       return tell(request);
                     },
                 .on_failure = [](std::error_code) {}}) {
    server_.start();
  }
  config::Address address() const { return at(server_.port()); }

  // Of the last request, once that has been answered.
  std::string target;
  std::string body;
  std::string host;
  std::string authorization;
  std::atomic<int> asked{0};

 private:
  http::Server server_;
};

Builder::Answer says(const std::string& json) {
  return [json](const http::Request&) { return http::Response{.body = json}; };
}

source::RowAnswer ask(const BuilderClient& client, const std::string& identity = "7") {
  return client.look_up_row("users", "12", identity, {});
}

TEST(BuilderClient, asks_for_a_row_by_all_bytes_of_its_namespace_and_identity) {
  Builder builder(says("{\"row\":\"present\"}"));
  const BuilderClient client({builder.address()}, "");
  const std::string identity("\0/%41?\r\n\r\n\xff", 11);
  EXPECT_EQ(client.look_up_row("a/b c", "12", identity, {}).presence, RowPresence::present);
  EXPECT_EQ(builder.target, "/v1/fleet/row/a%2Fb%20c/12");
  EXPECT_EQ(builder.body, identity);
  EXPECT_EQ(builder.host, builder.address().text());
  EXPECT_EQ(builder.authorization, "");
  const std::string large(60'000, 'x');
  EXPECT_EQ(ask(client, large).presence, RowPresence::present);
  EXPECT_EQ(builder.body, large);
}

TEST(BuilderClient, an_answer_that_is_none_is_unknown) {
  EXPECT_THAT(ask(BuilderClient({at(harness::free_port())}, "")).why, HasSubstr("refused"));
  std::string json;
  const Builder builder([&json](const http::Request&) { return http::Response{.body = json}; });
  const BuilderClient client({builder.address()}, "");
  json = "{\"row\":\"absent\"}";
  EXPECT_EQ(ask(client).presence, RowPresence::absent);
  for (const char* const wrong : {"", "[", "{}", "{\"row\":1}", "{\"row\":\"\"}", "\"absent\""}) {
    json = wrong;
    EXPECT_EQ(ask(client).presence, RowPresence::unknown) << wrong;
    EXPECT_THAT(ask(client).why, HasSubstr("its response cannot be parsed")) << wrong;
  }
  json = "{\"row\":\"unknown\",\"why\":\"busy\"}";
  EXPECT_EQ(ask(client).why, builder.address().text() + ": busy");
  json = std::string(BuilderClient::kAnswerBytesMax + 1, ' ') + "{\"row\":\"absent\"}";
  EXPECT_EQ(ask(client).presence, RowPresence::unknown) << "it is too long";
}

TEST(BuilderClient, has_the_token_of_its_file_at_each_request_and_says_what_it_is_told) {
  const harness::TemporaryDirectory folder;
  const std::string file = folder.file("token");
  const http::BearerToken token(file);
  const Builder builder([&token](const http::Request& request) {
    return token.judge(request.authorization) == http::BearerToken::Verdict::allowed
               ? http::Response{.body = "{\"row\":\"absent\"}"}
               : http::refusal(401, "unauthorized", "Not that one.");
  });
  const BuilderClient client({builder.address()}, file);
  EXPECT_THAT(ask(client).why, HasSubstr("builder_token_file: it is unreadable"));
  for (const char* const word : {"first", "second"}) {
    std::ofstream(file) << word << "\n";
    EXPECT_EQ(ask(client).presence, RowPresence::absent) << word;
  }
  EXPECT_EQ(ask(BuilderClient({builder.address()}, "")).why,
            builder.address().text() + ": HTTP 401: Not that one.");
}

TEST(BuilderClient, asks_the_next_one_and_that_first_from_then_on) {
  const Builder unsure(says("{\"row\":\"unknown\",\"why\":\"no source\"}"));
  const Builder sure(says("{\"row\":\"present\"}"));
  const BuilderClient client({at(harness::free_port()), unsure.address(), sure.address()}, "");
  EXPECT_EQ(ask(client).presence, RowPresence::present);
  EXPECT_EQ(ask(client).presence, RowPresence::present);
  EXPECT_EQ(unsure.asked, 1);
  EXPECT_EQ(sure.asked, 2);
}

TEST(BuilderClient, a_piece_is_gone_only_if_each_builder_says_so) {
  const Builder has_none(
      [](const http::Request&) { return http::refusal(400, "no_piece", "No."); });
  Builder has_it(says(std::string(kPieceBytes, '\0')));
  const Builder is_busy([](const http::Request&) { return http::refusal(503, "busy", "Later."); });
  const BuilderClient knows({has_none.address(), has_it.address()}, "");
  EXPECT_EQ(knows.piece("a1", 12, {}), std::string(kPieceBytes, '\0'));
  EXPECT_EQ(has_it.target, "/v1/fleet/piece/a1/12");
  const auto gone = BuilderClient({has_none.address(), has_none.address()}, "").piece("a1", 0, {});
  ASSERT_FALSE(gone);
  EXPECT_TRUE(gone.error().is_gone);
  EXPECT_THAT(gone.error().why, HasSubstr("HTTP 400: No."));
  for (const config::Address& other : {is_busy.address(), at(harness::free_port())}) {
    const auto missing = BuilderClient({has_none.address(), other}, "").piece("a1", 0, {});
    ASSERT_FALSE(missing);
    EXPECT_FALSE(missing.error().is_gone) << "that one may have it";
    EXPECT_THAT(missing.error().why, HasSubstr(other.text())) << "of the other it is known";
  }
}

TEST(PieceFetch, has_pieces_in_a_row_or_what_is_wrong_with_one) {
  const Builder builder([](const http::Request& request) {
    return request.target.ends_with("/5") ? http::refusal(400, "no_piece", "No.")
                                          : http::Response{.body = std::string(request.target)};
  });
  const auto client =
      std::make_shared<const BuilderClient>(std::vector{builder.address()}, std::string());
  std::optional<PieceFetch::Fetched> fetched;
  PieceFetch some(client, "a1", 3, 2);
  ASSERT_TRUE(harness::eventually([&] { return (fetched = some.take()).has_value(); }));
  EXPECT_EQ(*fetched, (PieceFetch::Pieces{"/v1/fleet/piece/a1/3", "/v1/fleet/piece/a1/4"}));
  PieceFetch beyond(client, "a1", 4, 2);
  ASSERT_TRUE(harness::eventually([&] { return (fetched = beyond.take()).has_value(); }));
  EXPECT_FALSE(*fetched);
}

TEST(PieceFetch, ends_without_the_builder) {
  const harness::TakenPort silent;
  const auto client =
      std::make_shared<const BuilderClient>(std::vector{at(silent.port())}, std::string());
  const auto begun = harness::SteadyClock::now();
  {
    PieceFetch fetch(client, "a1", 0, 4);
    EXPECT_TRUE(harness::eventually([&] { return silent.was_called(); }));
    EXPECT_FALSE(fetch.take());
  }
  EXPECT_LT(harness::SteadyClock::now() - begun, BuilderClient::kPieceWithin);
}

TEST(BuilderClient, one_that_says_nothing_leaves_time_for_the_next) {
  const harness::TakenPort silent;
  const Builder builder(says("{\"row\":\"present\"}"));
  const BuilderClient client({at(silent.port()), builder.address()}, "");
  const auto begun = harness::SteadyClock::now();
  EXPECT_EQ(ask(client).presence, RowPresence::present);
  EXPECT_LT(harness::SteadyClock::now() - begun, BuilderClient::kRowWithin);
}

TEST(BuilderClient, ends_at_once_when_it_is_told_to) {
  const harness::TakenPort silent;
  const BuilderClient client({at(silent.port())}, "");
  std::stop_source stop;
  const auto begun = harness::SteadyClock::now();
  const std::jthread ends([&] {
    EXPECT_TRUE(harness::eventually([&] { return silent.was_called(); }));
    stop.request_stop();
  });
  EXPECT_EQ(client.look_up_row("users", "12", "7", stop.get_token()).presence,
            RowPresence::unknown);
  EXPECT_LT(harness::SteadyClock::now() - begun, BuilderClient::kRowWithin);
}

}  // namespace
}  // namespace cuckooguard::fleet
