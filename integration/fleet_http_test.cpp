// What followers of a fleet ask a builder's admin server: rows of the database, of which they see
// values in Redis that no filter has, and snapshots that are not in Redis. Real guards, a real
// database, a real Redis.

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <list>
#include <optional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filter/key_hash.h"
#include "fixtures/guarded_mariadb.h"
#include "fleet/chain.h"
#include "fleet/keys.h"
#include "fleet/layout.h"
#include "harness/admin_client.h"
#include "harness/deadline.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;

constexpr auto kSecretIsPrivate =
    std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;

class FleetOverHttp : public GuardedMariaDb {
 protected:
  void prepare() override {
    write("secret", std::string(filter::kSecretBytes, 's'));
    std::filesystem::permissions(folder_ / "secret", kSecretIsPrivate);
    write("token", "word\n");
    run("CREATE TABLE user (id BIGINT UNSIGNED PRIMARY KEY, deleted_at DATETIME)");
    make_rows();
    start(builder_yaml());
  }

  virtual void make_rows() { run("INSERT INTO user (id) VALUES (1), (2)"); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  static Guarded users(const std::string& table = "user, where: deleted_at IS NULL") {
    return {.table = table, .mode = "observe", .absent_reply = ""};
  }
  std::string yaml(const std::string& source,
                   const std::string& more,
                   const std::string& storage = "",
                   const Guarded& guarded = users()) const {
    return Configuration{.upstream = redis_->address(),
                         .source = source,
                         .namespaces = guarded.yaml(),
                         .more = more + "fleet: { signing_key_file: " + keys_.private_path() +
                                 ", public_key_files: " + keys_.public_path() + snapshots_ +
                                 " }\nstorage: { secret_file: " + file("secret") + storage + " }\n"}
        .yaml();
  }
  std::string builder_yaml(const std::string& name = "one") const {
    return yaml(mysql_source(unix_address(*server_), kMaxLag, ", publish: redis"),
                "admin: { address: \"127.0.0.1:0\", token_file: " + file("token") + " }\n",
                ", directory: " + file(name));
  }
  std::string asking(const std::string& token = "token") const {
    return ", builder: \"127.0.0.1:" + std::to_string(admin_port(*guard_)) +
           "\", builder_token_file: " + file(token);
  }
  GuardProcess follower(const std::string& more, const Guarded& guarded = users()) const {
    auto made = GuardProcess::on_port(
        yaml("type: fleet, name: shop, max_lag: 1s" + more, std::string(kAdmin), "", guarded));
    EXPECT_TRUE(becomes(made, "fresh", "1")) << made.log() << guard_->log();
    return made;
  }
  static bool becomes(const GuardProcess& guard,
                      const std::string& field,
                      const std::string& value) {
    return eventually([&] { return info_field(guard, "users", field) == value; });
  }
  void cache_and_read(const GuardProcess& guard, const std::string& key) {
    redis_->call({"SET", key, "cached"});
    EXPECT_EQ(guard.call({"GET", key}), "$6\r\ncached\r\n");
  }
  HttpAnswer ask_builder(const std::string& row, const std::string& identity) const {
    return AdminClient(*guard_).post(
        "/v1/fleet/row/" + row, identity, "Authorization: Bearer word\r\n");
  }

  std::optional<fleet::Manifest> manifest() {
    const std::string reply = redis_->call({"GET", "{cuckooguard:fleet:shop}:manifest"});
    const std::size_t begins = reply.find("\r\n") + 2;
    return reply.size() < begins + 2
               ? std::nullopt
               : fleet::read_manifest(reply.substr(begins, reply.size() - begins - 2),
                                      keys_.verifying());
  }
  std::string published_definition() {
    const auto published = manifest();
    const auto list = fleet::read_list(published ? published->begin.list : "");
    return list ? list->find("users")->definition : "none";
  }

  fleet::KeyFiles keys_;
  std::string snapshots_;
};

// What is not logged is in no filter.
TEST_F(FleetOverHttp, a_follower_hears_from_its_builder_whether_the_database_has_a_row) {
  const GuardProcess asks = follower(asking());
  run("SET sql_log_bin = 0");
  run("INSERT INTO user VALUES (500000, NULL), (600000, NOW())");
  cache_and_read(asks, "user:500000");
  cache_and_read(asks, "user:600000");
  cache_and_read(asks, "user:700000");
  EXPECT_TRUE(becomes(asks, "hidden_rows", "1")) << asks.log();
  EXPECT_TRUE(becomes(asks, "hidden_values", "2")) << asks.log();
}

TEST_F(FleetOverHttp, a_follower_that_may_not_ask_says_why_it_does_not_know) {
  write("wrong", "wort\n");
  const GuardProcess refused = follower(asking("wrong"));
  const GuardProcess silent = follower("");
  cache_and_read(refused, "user:700000");
  EXPECT_EQ(silent.call({"GET", "user:700000"}), "$6\r\ncached\r\n");
  for (const auto& [guard, why] :
       {std::pair(&refused, "HTTP 401: This is not the token in admin.token_file."),
        std::pair(&silent, "this type of source does not support row look-ups")}) {
    EXPECT_TRUE(eventually([&] {
      return guard->log().find("event=contradiction_unknown") != std::string::npos;
    })) << guard->log();
    EXPECT_THAT(guard->log(), HasSubstr(why));
  }
}

TEST_F(FleetOverHttp, a_builder_answers_for_namespaces_that_are_defined_as_its_own) {
  EXPECT_THAT(ask_builder("users/1", "1").body, HasSubstr("other keys, tables or conditions"));
  EXPECT_THAT(ask_builder("items/1", "1").body, HasSubstr("does not have this namespace"));
  EXPECT_EQ(AdminClient(*guard_).post("/v1/fleet/row/users/1", "1").status, 401);
}

TEST_F(FleetOverHttp, a_database_that_hangs_holds_up_no_page_of_the_builder) {
  const GuardProcess asks = follower("");
  const std::string definition = published_definition();
  ASSERT_EQ(ask_builder("users/" + definition, "1").body, "{\"row\":\"present\"}\n");
  constexpr int kAskers = 30;
  std::atomic<int> unknown{0};
  std::atomic<int> left{kAskers};
  std::list<std::jthread> askers;
  server_->send_signal(SIGSTOP);
  for (int i = 0; i < kAskers; ++i) {
    askers.emplace_back([&] {
      unknown += ask_builder("users/" + definition, "1").body.contains("unknown") ? 1 : 0;
      --left;
    });
  }
  int pages = 0;
  while (left > 0) {
    EXPECT_EQ(AdminClient(*guard_).get("/livez").status, 200);
    ++pages;
  }
  server_->send_signal(SIGCONT);
  EXPECT_EQ(unknown, kAskers);
  EXPECT_GT(pages, 10);
  EXPECT_TRUE(eventually(
      [&] { return ask_builder("users/" + definition, "1").body == "{\"row\":\"present\"}\n"; }));
}

class FleetWithoutPiecesInRedis : public FleetOverHttp {
 protected:
  void prepare() override {
    snapshots_ = ", snapshots: http";
    FleetOverHttp::prepare();
  }
  void make_rows() override {
    run("INSERT INTO user (id) SELECT seq FROM seq_1_to_700000");  // of more than one piece
  }
  bool has_pieces() { return redis_->call({"KEYS", "*:piece:*"}) != "*0\r\n"; }
  static std::string at_admin_of(const GuardProcess& guard) {
    return "127.0.0.1:" + std::to_string(admin_port(guard));
  }
};

TEST_F(FleetWithoutPiecesInRedis, followers_fetch_snapshots_from_their_builder) {
  const GuardProcess follows = follower(asking());
  EXPECT_FALSE(has_pieces());
  const auto published = manifest();
  ASSERT_TRUE(published && published->snapshots.size() == 1);
  EXPECT_GT(published->snapshots[0].bytes, fleet::kPieceBytes);
  EXPECT_EQ(info_field(follows, "users", "items"), "700000");
}

TEST_F(FleetWithoutPiecesInRedis, a_follower_that_does_not_know_its_builder_says_what_to_set) {
  const GuardProcess lost = GuardProcess::on_port(yaml("type: fleet, name: shop", ""));
  write("wrong", "wort\n");
  const GuardProcess refused =
      GuardProcess::on_port(yaml("type: fleet, name: shop" + asking("wrong"), ""));
  for (const auto& [guard, why] :
       {std::pair(&lost, "set `builder` of this source"),
        std::pair(&refused, "HTTP 401: This is not the token in admin.token_file.")}) {
    EXPECT_TRUE(eventually([&] { return info_field(*guard, "users", "why").contains(why); }))
        << info_field(*guard, "users", "why") << guard->log();
    EXPECT_EQ(info_field(*guard, "users", "fresh"), "0");
  }
}

TEST_F(FleetWithoutPiecesInRedis, who_begins_after_a_builder_was_killed_has_the_other_ones) {
  const GuardProcess before = follower(asking());
  const GuardProcess second = GuardProcess::on_port(builder_yaml("two"));
  ASSERT_TRUE(becomes(second, "fresh", "1")) << second.log();
  const std::string both = ", builder: [\"" + at_admin_of(*guard_) + "\", \"" +
                           at_admin_of(second) + "\"], builder_token_file: " + file("token");
  const std::string name = manifest().value().snapshots.at(0).name;
  guard_->kill();
  const GuardProcess after = follower(both);  // which begins with snapshots that nobody has
  run("INSERT INTO user (id) VALUES (700001)");
  const auto now = manifest();
  ASSERT_TRUE(now && now->snapshots.size() == 1);
  EXPECT_NE(now->snapshots[0].name, name);
  for (const GuardProcess* const guard : {&before, &after}) {
    EXPECT_TRUE(becomes(*guard, "items", "700001")) << guard->log();
    EXPECT_TRUE(becomes(*guard, "fresh", "1")) << guard->log();
  }
  EXPECT_FALSE(has_pieces());
}

}  // namespace
}  // namespace cuckooguard::harness
