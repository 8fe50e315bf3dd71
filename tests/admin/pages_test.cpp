#include "admin/pages.h"

#include <fstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admin/views/two_value_shop.h"
#include "guard/guarded_shop.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::admin {
namespace {

using guard::GuardedShop;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class PagesTest : public testing::Test {
 protected:
  Pages pages_with(http::BearerToken token) {
    return Pages({.guard = *shop_.guard,
                  .reader = epochs_.reader(0),
                  .process_state = process_state_,
                  .token = std::move(token),
                  .now = [this] { return shop_.now; }});
  }
  http::Response get(std::string_view target) {
    return pages_.answer({.method = "GET", .target = target});
  }
  http::Response post(std::string_view target, std::string_view body) {
    return pages_.answer({.method = "POST", .target = target, .body = body});
  }

  GuardedShop shop_;
  filter::Epochs epochs_{1};
  views::ProcessState process_state_;
  Pages pages_ = pages_with(http::BearerToken(""));
};

TEST_F(PagesTest, a_row_that_may_exist_is_found_and_one_that_cannot_is_not) {
  const http::Response exists = get("/v1/check/users/1");
  EXPECT_EQ(exists.status, 200U);
  EXPECT_EQ(exists.content_type, "application/json");
  EXPECT_EQ(exists.body,
            R"({"may_exist":true,"verdict":"may_exist","reason":)"
            R"("the filter contains it, or reports a false positive"})"
            "\n");
  const http::Response absent = get("/v1/check/users/500");
  EXPECT_EQ(absent.status, 404U);
  EXPECT_EQ(absent.body,
            R"({"may_exist":false,"verdict":"absent","reason":"no row has this key"})"
            "\n");
}

TEST_F(PagesTest, in_doubt_a_row_may_exist) {
  EXPECT_EQ(get("/v1/check/users/105").status, 200U);
  EXPECT_EQ(get("/v1/check/users/007").status, 200U);
  EXPECT_EQ(get("/v1/check/items/a:b").status, 200U);
  shop_.now += std::chrono::seconds(2);
  const http::Response old = get("/v1/check/users/500");
  EXPECT_EQ(old.status, 200U);
  EXPECT_THAT(old.body, StartsWith(R"({"may_exist":true,"verdict":"not_fresh")"));
}

// A gateway takes 404 for "no row has it", and looks at nothing else.
TEST_F(PagesTest, no_mistake_of_who_asks_looks_like_a_row_that_cannot_exist) {
  const auto refused = [&](std::string_view target, std::string_view error) {
    const http::Response response = get(target);
    EXPECT_EQ(response.status, 400U) << target;
    EXPECT_THAT(response.body, StartsWith(R"({"error":")" + std::string(error) + '"')) << target;
  };
  refused("/v1/check/user/500", "unknown_namespace");
  refused("/v1/check//500", "unknown_namespace");
  refused("/v1/check/Users/500", "unknown_namespace");
  refused("/v1/check/users%/500", "unknown_namespace");
  refused("/v1/check/users/", "bad_identity");
  refused("/v1/check/users/500/", "bad_identity");
  refused("/v1/check/users/500/1", "bad_identity");
  refused("/v1/check/users//500", "bad_identity");
  refused("/v1/check/items/a%2", "bad_identity");
  refused("/v1/check/items/a%zz", "bad_identity");
  refused("/v1/check/items/brick?x", "bad_identity");
  refused("/v1/check/items/brick?", "bad_identity");
  refused("/v1/check/items/brick#x", "bad_identity");
  refused("/v1/chekc/users/500", "unknown_page");
  refused("/v1/check", "unknown_page");
  refused("/page.html", "unknown_page");
  refused("//", "unknown_page");
  refused("/livez/", "unknown_page");
  refused("", "bad_target");
  refused("*", "bad_target");
  refused("http://guard", "bad_target");
}

TEST_F(PagesTest, an_identity_is_decoded_once_and_may_have_any_byte) {
  EXPECT_EQ(get("/v1/check/items/%61pple").status, 200U);
  EXPECT_EQ(get("/v1/check/items/%2561pple").status, 404U);
  EXPECT_EQ(get("/v1/check/items/a%2Fb%3F%23%00%0D%0A%FF").status, 404U);
  EXPECT_EQ(get("/v1/check/it%65ms/apple").status, 200U);
  EXPECT_EQ(get("http://guard:9180/v1/check/items/brick").status, 404U) << "as proxies ask";
}

TEST_F(PagesTest, a_list_is_answered_in_its_order) {
  const http::Response response = post("/v1/check/users", R"(["1", 500, "007", 105, "501"])");
  EXPECT_EQ(response.status, 200U);
  EXPECT_EQ(response.body, "[true,false,true,true,false]\n");
  EXPECT_EQ(post("/v1/check/users", "[]").body, "[]\n");
  EXPECT_EQ(post("/v1/check/users", "{}").status, 400U);
  EXPECT_EQ(post("/v1/check/nobody", "[1]").status, 400U);
  EXPECT_THAT(post("/v1/check/users", R"([1, ""])").body,
              StartsWith(R"({"error":"bad_list","message":"Element 1 of the list)"));
}

class ToldRows final : public guard::RowQuestions {
 public:
  std::optional<filter::RowAnswer> ask(const guard::RowQuestion& question) override {
    asked = question;
    return answer;
  }
  guard::RowQuestion asked;
  std::optional<filter::RowAnswer> answer;
};

TEST_F(PagesTest, a_row_is_asked_for_by_any_bytes_and_the_answer_is_to_come) {
  using filter::RowPresence;
  EXPECT_EQ(post("/v1/fleet/row/users/12", "7").status, 503U) << "there is nobody to ask";
  ToldRows rows;
  shop_.process.rows = &rows;
  const std::string identity("a\0/%41?\xff", 8);
  EXPECT_TRUE(post("/v1/fleet/row/a%2Fb/12", identity).is_to_come);
  EXPECT_EQ(rows.asked,
            (guard::RowQuestion{.ns = "a/b", .definition = "12", .identity = identity}));
  rows.answer = {.presence = RowPresence::present};
  EXPECT_EQ(post("/v1/fleet/row/users/12", "7").body, "{\"row\":\"present\"}\n");
  rows.answer = {.presence = RowPresence::absent};
  const http::Response absent = post("/v1/fleet/row/users/12", "7");
  EXPECT_EQ(absent.body, "{\"row\":\"absent\"}\n");
  EXPECT_EQ(absent.status, 200U) << "404 is reserved for /v1/check";
  rows.answer = {.why = "gone\xff"};
  EXPECT_EQ(post("/v1/fleet/row/users/12", "7").body,
            "{\"row\":\"unknown\",\"why\":\"\\\"gone\\\\xff\\\"\"}\n");
  for (const char* const target :
       {"/v1/fleet/row/users", "/v1/fleet/row/users/12/3", "/v1/fleet/row/%zz/12"}) {
    EXPECT_EQ(post(target, "7").status, 400U) << target;
  }
}

TEST_F(PagesTest, a_piece_of_a_snapshot_is_its_bytes) {
  class Pieces final : public guard::SourceView {
   public:
    std::size_t size() const override { return 0; }
    std::string_view name(std::size_t /*source*/) const override { return {}; }
    guard::SourceStatus status(std::size_t /*source*/) const override { return {}; }
    guard::Reached reached(std::size_t /*source*/, std::string_view /*position*/) const override {
      return guard::Reached::not_followed;
    }
    std::optional<std::string> piece(std::string_view snapshot,
                                     std::uint32_t number) const override {
      return snapshot == "a/1" && number == 12 ? std::optional(std::string("a\0b", 3))
                                               : std::nullopt;
    }
  };
  const Pieces pieces;
  EXPECT_EQ(get("/v1/fleet/piece/a%2F1/12").status, 400U) << "there are no sources";
  shop_.process.sources = &pieces;
  const http::Response piece = get("/v1/fleet/piece/a%2F1/12");
  EXPECT_EQ(piece.status, 200U);
  EXPECT_EQ(piece.body, std::string("a\0b", 3));
  EXPECT_EQ(piece.content_type, "application/octet-stream");
  for (const char* const target : {"/v1/fleet/piece/a%2F1/13",
                                   "/v1/fleet/piece/a%2F1/4294967308",
                                   "/v1/fleet/piece/a%2F1/12x",
                                   "/v1/fleet/piece/a%2F1/-1",
                                   "/v1/fleet/piece/a%2F1",
                                   "/v1/fleet/piece/a/1/12"}) {
    const http::Response none = get(target);
    EXPECT_EQ(none.status, 400U) << target;
    EXPECT_THAT(none.body, StartsWith(R"({"error":"no_piece")")) << target;
  }
}

TEST_F(PagesTest, each_page_has_its_methods_and_says_which) {
  const auto allow = [&](std::string_view method, std::string_view target) {
    const http::Response response = pages_.answer({.method = method, .target = target});
    EXPECT_EQ(response.status, 405U) << method << " " << target;
    return std::string(response.allow);
  };
  EXPECT_EQ(allow("POST", "/v1/check/users/1"), "GET, HEAD");
  EXPECT_EQ(allow("GET", "/v1/check/users"), "POST");
  EXPECT_EQ(allow("DELETE", "/v1/check/users"), "POST");
  EXPECT_EQ(allow("POST", "/livez"), "GET, HEAD");
  EXPECT_EQ(allow("GET", "/v1/fleet/row/users/12"), "POST");
  EXPECT_EQ(allow("get", "/readyz"), "GET, HEAD") << "methods have a case";
  EXPECT_EQ(pages_.answer({.method = "HEAD", .target = "/v1/check/users/500"}).status, 404U);
}

TEST_F(PagesTest, without_the_token_nothing_is_told_but_life_and_readiness) {
  const harness::TemporaryDirectory folder;
  std::ofstream(folder.file("token")) << "word";
  Pages pages = pages_with(http::BearerToken(folder.file("token")));
  process_state_.is_listening = true;
  for (const char* const target : {"/livez", "/healthz", "/readyz", "/readyz?verbose", "/"}) {
    EXPECT_EQ(pages.answer({.method = "GET", .target = target}).status, 200U) << target;
  }
  for (const char* const target : {"/v1/check/users/500",
                                   "/v1/check/users",
                                   "/v1/check/nobody/1",
                                   "/v1/fleet/row/users/12",
                                   "/v1/fleet/piece/a1/0",
                                   "/page.html",
                                   "/history",
                                   "/metrics",
                                   "/status"}) {
    const http::Response missing = pages.answer({.method = "GET", .target = target});
    EXPECT_EQ(missing.status, 401U) << target;
    EXPECT_EQ(missing.challenge, "Bearer realm=\"cuckooguard\"");
    EXPECT_EQ(
        pages.answer({.method = "GET", .target = target, .authorization = "Bearer wort"}).status,
        401U)
        << target;
  }
  EXPECT_EQ(
      pages
          .answer(
              {.method = "GET", .target = "/v1/check/users/500", .authorization = "Bearer word"})
          .status,
      404U);
  Pages none = pages_with(http::BearerToken(folder.file("none")));
  EXPECT_EQ(
      none.answer(
              {.method = "GET", .target = "/v1/check/users/500", .authorization = "Bearer word"})
          .status,
      503U);
}

TEST_F(PagesTest, the_page_for_people_is_one_file_that_may_ask_nobody_else) {
  const http::Response page = get("/");
  EXPECT_EQ(page.status, 200U);
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_THAT(page.body, StartsWith("<!doctype html>"));
  for (const char* const elsewhere : {"src=", "href=\"http", "href='http", "url(", "@import"}) {
    EXPECT_THAT(page.body.substr(0, page.body.find("<script>")), Not(HasSubstr(elsewhere)));
  }
  EXPECT_THAT(page.body, Not(HasSubstr("<!-- "))) << "a part that was not put in";
  EXPECT_THAT(std::string(page.content_security_policy),
              AllOf(StartsWith("default-src 'none'; script-src 'sha256-"),
                    HasSubstr("connect-src 'self'"),
                    Not(HasSubstr("unsafe"))));
}

TEST_F(PagesTest, a_browser_that_has_the_page_is_not_sent_it_again) {
  const http::Response page = get("/");
  const http::Response again =
      pages_.answer({.method = "GET", .target = "/", .if_none_match = page.etag});
  EXPECT_EQ(again.status, 304U);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(again.etag, page.etag);
  EXPECT_EQ(pages_.answer({.method = "GET", .target = "/", .if_none_match = "\"old\""}).status,
            200U);
}

TEST_F(PagesTest, the_history_is_what_was_remembered_the_oldest_first_and_no_more_than_it_holds) {
  EXPECT_EQ(get("/history").body, "[]\n");
  for (std::size_t i = 0; i < views::History::kLinesMax + 5; ++i) {
    pages_.remember();
    shop_.now += std::chrono::seconds(1);
  }
  const auto lines = boost::json::parse(get("/history").body).as_array();
  EXPECT_EQ(lines.size(), views::History::kLinesMax);
  EXPECT_LT(lines.front().at("at").as_double(), lines.back().at("at").as_double());
}

TEST_F(PagesTest, what_was_remembered_by_number_is_forgotten_when_numbers_change) {
  pages_.remember();
  ASSERT_NE(get("/history").body, "[]\n");
  pages_.forget();
  EXPECT_EQ(get("/history").body, "[]\n");
}

TEST_F(PagesTest, is_ready_while_clients_are_accepted_whatever_the_database_does) {
  EXPECT_EQ(get("/readyz").status, 503U);
  process_state_.is_listening = true;
  for (auto* const filter : shop_.filters) {
    filter->set_state(filter::State::down);
  }
  EXPECT_EQ(get("/readyz").body, "{\"ready\":true}\n");
  EXPECT_EQ(get("/readyz?verbose").body,
            R"({"ready":true,"listening":true,"draining":false,"namespaces":)"
            R"({"users":"down","items":"down","orders":"down","carts":"down"}})"
            "\n");
  process_state_.is_draining = true;
  const http::Response draining = get("/readyz");
  EXPECT_EQ(draining.status, 503U);
  EXPECT_THAT(draining.body, StartsWith(R"({"ready":false,"listening":true,"draining":true)"));
}

TEST_F(PagesTest, lives_while_every_loop_turns) {
  std::vector<std::function<void()>> posted;
  process_state_.heartbeats.emplace_back("worker 0",
                                         [](const std::function<void()>& call) { call(); });
  process_state_.heartbeats.emplace_back(
      "worker 1", [&](std::function<void()> call) { posted.push_back(std::move(call)); });
  EXPECT_EQ(get("/livez").status, 200U);
  shop_.now += views::Heartbeat::kStalledAfter;
  const http::Response stalled = get("/livez");
  EXPECT_EQ(stalled.status, 503U);
  EXPECT_EQ(stalled.body,
            R"({"live":false,"stalled_loops":["worker 1"]})"
            "\n");
  posted.at(0)();
  EXPECT_EQ(get("/livez").status, 200U);
  EXPECT_EQ(get("/livez?verbose").body,
            R"({"live":true,"stalled_loops":[]})"
            "\n");
}

TEST(PagesOfTwoValues, take_a_path_segment_each) {
  views::TwoValueShop shop;
  filter::Epochs epochs(1);
  views::ProcessState process_state;
  Pages pages({.guard = shop.guard(),
               .reader = epochs.reader(0),
               .process_state = process_state,
               .token = http::BearerToken(""),
               .now = [&] { return shop.now; }});
  const auto status = [&](std::string_view target) {
    return pages.answer({.method = "GET", .target = target}).status;
  };
  EXPECT_EQ(status("/v1/check/orders/acme/1"), 200U);
  EXPECT_EQ(status("/v1/check/orders/acme/x%2Fy"), 200U);
  EXPECT_EQ(status("/v1/check/orders/acme/2"), 404U);
  EXPECT_EQ(status("/v1/check/orders/acme"), 400U);
  EXPECT_EQ(status("/v1/check/orders/acme/x/y"), 400U) << "three of them";
  EXPECT_EQ(status("/v1/check/docs/a%2Fb%3Ac"), 200U);
  EXPECT_EQ(status("/v1/check/docs/%00%0D%0A%FF"), 200U);
  EXPECT_EQ(status("/v1/check/docs/%00%0D%0A%FE"), 404U);
  EXPECT_EQ(pages
                .answer({.method = "POST",
                         .target = "/v1/check/orders",
                         .body = R"([["acme", 1], ["acme", 2]])"})
                .body,
            "[true,false]\n");
}

// As a browser sends it on behalf of somebody else's page.
TEST_F(PagesTest, a_foreign_name_or_page_gets_nothing_but_whether_it_lives) {
  pages_.set_access(http::BearerToken(""),
                    http::AllowedHosts({.host = "127.0.0.1", .port = 9180}, {"guard.svc"}));
  const auto status = [&](std::string_view target, std::string_view host, std::string_view origin) {
    return pages_.answer({.method = "GET", .target = target, .host = host, .origin = origin})
        .status;
  };
  for (const std::string_view host :
       {"127.0.0.1:9180", "10.1.2.3:9180", "[::1]:9180", "localhost:9180", "Guard.SVC", ""}) {
    EXPECT_EQ(status("/status", host, ""), 200U) << host;
    EXPECT_EQ(status("/", host, ""), 200U) << host;
    EXPECT_EQ(status("/status", host, "http://evil.example"), 403U) << host;
    EXPECT_EQ(status("/status", host, "null"), 403U) << host;
  }
  EXPECT_EQ(status("/status", "127.0.0.1:9180", "http://127.0.0.1:9180"), 200U) << "its own page";
  EXPECT_EQ(status("/status", "guard.svc", "https://guard.svc"), 200U) << "behind a TLS proxy";
  for (const std::string_view target :
       {"/status", "/", "/metrics", "/history", "/v1/check/users/500", "/nothing"}) {
    for (const std::string_view host : {"evil.example",
                                        "127.0.0.1.evil.example:9180",
                                        "guard.svc.evil",
                                        "[evil]",
                                        "localhost.x"}) {
      EXPECT_EQ(status(target, host, ""), 403U) << target << " " << host;
    }
  }
  EXPECT_EQ(pages_
                .answer({.method = "POST",
                         .target = "/-/reload",
                         .host = "127.0.0.1:9180",
                         .origin = "http://evil.example"})
                .status,
            403U);
  EXPECT_EQ(status("/livez", "evil.example", "http://evil.example"), 200U);
  EXPECT_NE(status("/readyz", "evil.example", "http://evil.example"), 403U);
}

}  // namespace
}  // namespace cuckooguard::admin
