// The admin server beside a real Redis and a real database: what gateways hear of rows that exist,
// that do not, and of which the guard is not sure.

#include <list>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/admin_client.h"
#include "harness/ports.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string check(std::uint64_t id) {
  return "/v1/check/users/" + std::to_string(id);
}

class HttpCheck : public testing::Test {
 protected:
  HttpCheck() { shop_.wait_until_it_answers(); }

  Shop shop_{{.more = std::string(kAdmin)}};
  AdminClient admin_{shop_.guard()};
};

TEST_F(HttpCheck, a_row_that_exists_is_200_and_one_that_does_not_404_and_redis_is_not_asked) {
  const std::uint64_t gets = shop_.redis().calls("get");
  for (std::uint64_t id = 1; id <= kUsers; id += 99) {
    EXPECT_EQ(admin_.get(check(id)).status, 200) << id;
  }
  const HttpAnswer absent = admin_.get(check(kAbsent));
  EXPECT_EQ(absent.status, 404);
  EXPECT_EQ(absent.body,
            "{\"may_exist\":false,\"verdict\":\"absent\",\"reason\":\"no row has this key\"}\n");
  EXPECT_THAT(absent.header, HasSubstr("\r\nCache-Control: no-store\r\n"));
  EXPECT_EQ(admin_.ask("HEAD", check(kAbsent), {}, {}).status, 404);
  EXPECT_EQ(admin_.get("/v1/check/tags/red").status, 200);
  EXPECT_EQ(admin_.get("/v1/check/tags/r%65d").status, 200);
  EXPECT_EQ(admin_.get("/v1/check/tags/blue").status, 404);
  EXPECT_EQ(admin_.get("/v1/check/tags/a%2Fb%00%0D%0AHTTP%2F1.1%FF").status, 404);
  EXPECT_EQ(shop_.redis().calls("get"), gets);
}

TEST_F(HttpCheck, a_list_is_answered_in_its_order) {
  const HttpAnswer answer =
      admin_.post("/v1/check/users", "[1, \"1000000\", 1000, 2000000, \"007\"]");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "[true,false,true,false,true]\n");
  EXPECT_EQ(admin_.post("/v1/check/tags", "[\"red\", \"blue\"]").body, "[true,false]\n");
}

TEST_F(HttpCheck, no_mistake_of_who_asks_is_404) {
  for (const char* const target : {"/v1/check/user/1000000",
                                   "/v1/check/users/",
                                   "/v1/check/users/1/1000000",
                                   "/v1/check/tags/blue?",
                                   "/v1/check/tags/%zz",
                                   "/check/users/1000000"}) {
    EXPECT_EQ(admin_.get(target).status, 400) << target;
  }
  EXPECT_EQ(admin_.get("/v1/check/users").status, 405);
  EXPECT_EQ(admin_.post("/v1/check/users", "[").status, 400);
  EXPECT_EQ(admin_.post("/v1/check/users", std::string(70'000, ' ')).status, 413);
}

TEST_F(HttpCheck, a_row_that_was_written_through_the_guard_or_added_may_exist) {
  ASSERT_EQ(admin_.get(check(kAbsent)).status, 404);
  shop_.guard().call({"SET", absent_user(), "x"});
  EXPECT_EQ(admin_.get(check(kAbsent)).status, 200);
  shop_.guard().call({"GUARD.ADD", absent_user(1)});
  EXPECT_THAT(admin_.get(check(kAbsent + 1)).body, HasSubstr("\"overlaid\""));
}

TEST_F(HttpCheck, many_clients_are_served_and_those_that_are_silent_make_room) {
  std::list<RawClient> silent;
  for (int i = 0; i < 200; ++i) {
    silent.push_back(admin_.connection());
  }
  EXPECT_EQ(admin_.get("/livez").status, 200);
  EXPECT_EQ(admin_.get("/readyz").status, 200);
  EXPECT_EQ(admin_.get(check(kAbsent)).status, 404);
}

TEST_F(HttpCheck, is_live_and_ready) {
  EXPECT_EQ(admin_.get("/livez").body, "{\"live\":true}\n");
  EXPECT_THAT(admin_.get("/readyz?verbose").body,
              StartsWith("{\"ready\":true,\"listening\":true,\"draining\":false,\"namespaces\":"));
}

class HttpCheckOfAChangingDatabase : public testing::Test {
 protected:
  bool becomes(std::uint64_t id, int status) const {
    return eventually([&] { return admin_.get(check(id)).status == status; });
  }

  Shop shop_{{.max_lag = "400ms", .more = std::string(kAdmin), .journal = Journal::rollback}};
  AdminClient admin_{shop_.guard()};
};

TEST_F(HttpCheckOfAChangingDatabase, a_row_that_is_inserted_may_exist_and_one_that_goes_cannot) {
  ASSERT_TRUE(becomes(kAbsent, 404));
  shop_.database().insert_user(kAbsent);
  EXPECT_TRUE(becomes(kAbsent, 200));
  EXPECT_TRUE(becomes(kAbsent - 1000, 404)) << "it has been read again";
  EXPECT_EQ(admin_.get(check(kAbsent)).status, 200);
  shop_.database().delete_user(kAbsent);
  EXPECT_TRUE(becomes(kAbsent, 404));
}

TEST_F(HttpCheckOfAChangingDatabase, nothing_is_404_while_nobody_knows_whether_it_has_changed) {
  ASSERT_TRUE(becomes(kAbsent, 404));
  shop_.database().run("BEGIN EXCLUSIVE");  // nobody can read it
  EXPECT_TRUE(becomes(kAbsent, 200));
  EXPECT_THAT(admin_.get(check(kAbsent)).body, HasSubstr("\"not_fresh\""));
  EXPECT_EQ(admin_.post("/v1/check/users", "[1, 1000000]").body, "[true,true]\n");
  EXPECT_EQ(admin_.get("/readyz").status, 200) << "taking the pod out of service would help nobody";
  shop_.database().run("COMMIT");
  EXPECT_TRUE(becomes(kAbsent, 404));
}

TEST(HttpCheckObserved, nothing_is_404_in_a_namespace_that_is_only_observed) {
  Shop shop({.more = "  seen:\n    keys: \"seen:{name}\"\n"
                     "    source: { from: shop, table: tag }\n"
                     "    overlay: { pass_at_start: false }\n" +
                     std::string(kAdmin)});
  shop.wait_until_it_answers();
  const AdminClient admin(shop.guard());
  EXPECT_TRUE(eventually([&] {
    return admin.get("/v1/check/seen/blue").body.find("\"observed\"") != std::string::npos;
  }));
  EXPECT_EQ(admin.get("/v1/check/seen/blue").status, 200);
  EXPECT_EQ(admin.get("/v1/check/tags/blue").status, 404);
}

TEST(HttpCheckWithToken, nobody_hears_anything_without_it_and_it_can_be_changed) {
  const TemporaryDirectory folder;
  const auto file = folder / "token";
  write_whole_file(file, "first\n");
  Shop shop(
      {.more = "admin: { address: \"127.0.0.1:0\", token_file: \"" + file.string() + "\" }\n"});
  shop.wait_until_it_answers();
  const AdminClient admin(shop.guard());
  EXPECT_EQ(admin.get("/livez").status, 200);
  EXPECT_EQ(admin.get("/readyz").status, 200);
  const HttpAnswer none = admin.get(check(kAbsent));
  EXPECT_EQ(none.status, 401);
  EXPECT_THAT(none.header, HasSubstr("\r\nWWW-Authenticate: Bearer"));
  EXPECT_EQ(admin.get(check(kAbsent), "Authorization: Bearer second\r\n").status, 401);
  EXPECT_EQ(admin.get(check(kAbsent), "Authorization: Bearer first\r\n").status, 404);
  write_whole_file(file, "second\n");
  EXPECT_EQ(admin.get(check(kAbsent), "Authorization: Bearer first\r\n").status, 401);
  EXPECT_EQ(admin.get(check(kAbsent), "Authorization: Bearer second\r\n").status, 404);
}

TEST(HttpCheckWithToken, a_file_that_cannot_be_read_is_refused_at_the_start) {
  const TemporaryDirectory folder;
  const auto config = folder / "guard.yaml";
  write_whole_file(
      config, "listen: 127.0.0.1:0\nadmin: { address: \"127.0.0.1:0\", token_file: /nowhere }\n");
  const Ended ended = run_guard({"--config", config.string()});
  EXPECT_EQ(ended.exit_code, 78);
  EXPECT_THAT(ended.standard_error,
              HasSubstr("admin: token_file /nowhere: it is unreadable: No such file"));
}

TEST(HttpCheckAddress, one_that_is_taken_is_said_at_the_start) {
  const TakenPort taken;
  const TemporaryDirectory folder;
  const auto config = folder / "guard.yaml";
  write_whole_file(config,
                   "listen: 127.0.0.1:0\nadmin: { address: \"127.0.0.1:" +
                       std::to_string(taken.port()) + "\" }\n");
  const Ended ended = run_guard({"--config", config.string()});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.standard_error, HasSubstr("cannot listen on 127.0.0.1:"));
}

}  // namespace
}  // namespace cuckooguard::harness
