// The program without any guest (`./dev spine`), which has all that one Redis and a file of rows
// need; the whole program does the same.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/configuration.h"
#include "harness/deadline.h"
#include "harness/guard_process.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;

constexpr int kConfiguration = 78;

class Spine : public testing::Test {
 protected:
  Spine() {
    write_whole_file(rows_, "1\n2\n3\n");
    guard_.emplace(GuardProcess::on_port(Configuration{
        .upstream = redis_.address(),
        .source = "type: file, path: \"" + rows_.string() + "\", max_lag: 10s",
        .namespaces =
            "  users: { keys: \"user:{id:uint64}\", source: { from: shop }, mode: enforce, "
            "fresh_ids: 0, overlay: { pass_at_start: false }, absent_reply: "
            "'bytes:__ABSENT__', filter: { false_positive_rate: 0.0001% } }\n"}
                                             .yaml()));
    EXPECT_TRUE(eventually([this] { return get("user:1000") == kAnswer; })) << guard_->log();
  }

  std::string get(const std::string& key) const { return guard_->call({"GET", key}); }

  const TemporaryDirectory folder_;
  const std::filesystem::path rows_ = folder_ / "users.txt";
  RedisServer redis_;
  std::optional<GuardProcess> guard_;
};

TEST_F(Spine, answers_for_absent_rows_and_forwards_all_else) {
  const std::uint64_t before = redis_.calls("get");
  EXPECT_EQ(get("user:1001"), kAnswer);
  EXPECT_EQ(redis_.calls("get"), before);
  EXPECT_EQ(get("user:2"), "$-1\r\n") << "there is a row, which Redis does not have";
  EXPECT_EQ(get("cart:2"), "$-1\r\n") << "nobody guards it";
  EXPECT_EQ(redis_.calls("get"), before + 2);
  EXPECT_EQ(guard_->call({"SET", "user:2", "Ada"}), "+OK\r\n");
  EXPECT_EQ(get("user:2"), "$3\r\nAda\r\n");
}

TEST_F(Spine, does_not_hide_what_is_written_through_it_or_added_to_the_file) {
  EXPECT_EQ(guard_->call({"SET", "user:1002", "Bob"}), "+OK\r\n");
  EXPECT_EQ(get("user:1002"), "$3\r\nBob\r\n");
  std::ofstream(rows_, std::ios::app) << "1003\n";
  EXPECT_TRUE(eventually([this] { return get("user:1003") == "$-1\r\n"; }));
}

TEST_F(Spine, leaves_commands_that_it_does_not_serve_to_redis) {
  for (const char* const command : {"BF.ADD", "CF.EXISTS"}) {
    EXPECT_THAT(guard_->call({command, "seen", "x"}), HasSubstr("unknown command"));
  }
  EXPECT_EQ(guard_->call({"SADD", "seen", "x"}), ":1\r\n");
  EXPECT_THAT(guard_->call({"GUARD.INFO"}), HasSubstr("# Namespace users"));
}

TEST_F(Spine, refuses_a_configuration_that_asks_for_what_was_left_out) {
  const std::filesystem::path file = folder_ / "guard.yaml";
  write_whole_file(file,
                   "sources:\n"
                   "  shop: { type: sqlite, path: /shop.db }\n");
  const Ended checked = run_guard({"check", "--config", file.string()});
  if (CUCKOOGUARD_HAS_SQLITE) {
    EXPECT_EQ(checked.exit_code, 0) << checked.standard_error;
    return;
  }
  EXPECT_EQ(checked.exit_code, kConfiguration);
  EXPECT_EQ(
      checked.standard_error,
      file.string() +
          ":2:17: type: sqlite: this build does not include sqlite (CUCKOOGUARD_WITH_SQLITE)\n");
}

}  // namespace
}  // namespace cuckooguard::harness
