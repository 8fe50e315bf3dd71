// A guard that starts does not know which keys were written just before: they pass for one
// `overlay.ttl`, unless it goes on where another one ended a moment ago.

#include <chrono>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class PassingAtStart : public GuardedMariaDb {
 protected:
  void prepare() override {
    run("CREATE TABLE user (id BIGINT UNSIGNED PRIMARY KEY)");
    run("INSERT INTO user SELECT seq FROM seq_1_to_1000");
  }

  void start(const std::string& overlay_ttl, milliseconds max_lag) {
    GuardedMariaDb::start(
        Configuration{.upstream = redis_->address(),
                      .source = mysql_source(unix_address(*server_), max_lag),
                      .namespaces = Guarded{.overlay = "{ ttl: " + overlay_ttl + " }"}.yaml(),
                      .more = storage(folder_ / "kept", "30s")}
            .yaml());
    ASSERT_TRUE(eventually([this] {
      return guard_->call({"GUARD.INFO", "users"}).find("\r\nfresh:1\r\n") != std::string::npos;
    })) << guard_->log();
  }
  std::filesystem::path file() const { return folder_ / "kept" / "shop.users.user.filter"; }
  void end_when_kept() {
    ASSERT_TRUE(eventually([this] { return std::filesystem::exists(file()); })) << guard_->log();
    guard_.reset();
  }
};

TEST_F(PassingAtStart, lasts_for_one_ttl) {
  start("8s", milliseconds{500});
  EXPECT_FALSE(is_absent("user:5000"));
  EXPECT_THAT(
      guard_->call({"GUARD.EXPLAIN", "user:5000"}),
      AllOf(HasSubstr("all keys pass for another "), HasSubstr(" s: the guard has just started")));
  EXPECT_THAT(
      guard_->call({"GUARD.INFO", "users"}),
      AllOf(
          HasSubstr(
              "\r\nstate:ready\r\nfresh:1\r\nwhy:the guard has just started and does not know "
              "which keys were written before\r\nhint:this ends automatically after overlay.ttl ("),
          Not(HasSubstr("passing_seconds:0\r\n"))));
  EXPECT_TRUE(eventually([this] {
    return guard_->log().contains(
        "event=state namespace=users state=ready why=\"all keys pass for another ");
  })) << guard_->log();
  EXPECT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_FALSE(is_absent("user:1"));
  EXPECT_THAT(guard_->call({"GUARD.INFO", "users"}),
              HasSubstr("\r\nfresh:1\r\nwhy:\r\nhint:\r\npassing_seconds:0\r\n"));
}

TEST_F(PassingAtStart, is_not_needed_behind_a_checkpoint_of_just_now) {
  start("1h", milliseconds{10000});
  EXPECT_FALSE(is_absent("user:5000")) << "there is no checkpoint yet";
  end_when_kept();
  start("1h", milliseconds{10000});
  EXPECT_TRUE(is_absent("user:5000")) << guard_->log();
  EXPECT_THAT(guard_->log(), HasSubstr("filter=none_yet"));
  EXPECT_THAT(guard_->log(), HasSubstr("event=namespace namespace=users filter=restored"));
  EXPECT_FALSE(is_absent("user:1"));
  end_when_kept();
  for (const auto& kept : std::filesystem::directory_iterator(file().parent_path())) {
    std::filesystem::last_write_time(
        kept, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(5));
  }
  start("1h", milliseconds{10000});
  EXPECT_FALSE(is_absent("user:5000")) << "the checkpoint is too old";
  EXPECT_THAT(guard_->log(),
              AllOf(HasSubstr("event=namespace namespace=users filter=restored"),
                    HasSubstr("state=ready why=\"all keys pass for another 36")));
}

}  // namespace
}  // namespace cuckooguard::harness
