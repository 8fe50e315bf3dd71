// Rows that cannot be told by their bytes, since a collation takes other texts for them: they are
// isolated, and the rest of their namespace is guarded.
#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/guard_process.h"
#include "harness/redis_command.h"
#include "keyspace/keyspace.h"

namespace cuckooguard::harness {
namespace {

// What a MariaDB takes for equal is never said to be absent.
TEST(MariaDbIsolatedRows, no_text_that_a_collation_takes_for_a_row_is_absent) {
  SKIP_IF_MISSING(MariaDbServer::missing());
  const MariaDbServer server;
  SqlSession session = server.session();
  session.run("CREATE TABLE pieces (p VARCHAR(4) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)");
  session.run(
      "INSERT INTO pieces VALUES ('a'), ('E'), ('y'), (' '), (''), ('aa'), ('(20)'), ('\u2487'), "
      "('\u00e9'), "
      "('\u00e5'), ('\u00df'), ('u\u0308'), ('\u0308'), ('\u00ad'), ('\t'), ('\uff21'), "
      "('\u0438'), ('\u65e5'), ('ss'), "
      "('\u3000'), ('\u01c4'), ('dz')");
  session.run(
      "CREATE TABLE texts (t VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin) SELECT "
      "DISTINCT "
      "CONCAT(a.p, b.p, c.p) t FROM pieces a, pieces b, pieces c");
  auto template_of_names = keyspace::KeyTemplate::parse("user:{name:rest|ci}");
  ASSERT_TRUE(template_of_names);
  const auto keys = keyspace::Keyspace::build({{"users", {*template_of_names}, false}});
  ASSERT_TRUE(keys);
  keyspace::IdentityBuffer of_row;
  keyspace::IdentityBuffer of_key;
  for (const std::string collation : {"utf8mb4_unicode_ci",
                                      "utf8mb4_general_ci",
                                      "utf8mb4_uca1400_ai_ci",
                                      "utf8mb4_unicode_520_nopad_ci",
                                      "utf8mb4_danish_ci",
                                      "utf8mb4_german2_ci",
                                      "utf8mb4_croatian_ci"}) {
    session.run("CREATE OR REPLACE TABLE compared (t VARCHAR(16) CHARACTER SET utf8mb4 COLLATE " +
                collation + ", KEY (t)) SELECT t FROM texts");
    std::size_t isolated = 0;
    for (const auto& pair : session.run("SELECT x.t, y.t FROM compared x JOIN compared y ON x.t = "
                                        "y.t WHERE x.t <> y.t COLLATE "
                                        "utf8mb4_bin AND y.t REGEXP '^[ -~]+$'")) {
      const std::string& row = pair[0].value();
      const std::string& asked = pair[1].value();
      const std::array<std::optional<std::string_view>, 1> values = {row};
      const auto identity = keys->identity_of_row(0, values, of_row);
      ASSERT_TRUE(identity) << identity.error().what;
      const auto found = keys->match("user:" + asked, of_key);
      ASSERT_EQ(found.kind, keyspace::Lookup::Kind::guarded);
      const auto& known = *identity;
      ASSERT_TRUE(known) << collation << ": \"" << asked << "\" is \"" << row << '"';
      isolated += known->is_isolated ? 1 : 0;
      EXPECT_TRUE(known->is_isolated ? keys->pattern_of_row(0, values).matches(found.identity)
                                     : known->identity == found.identity)
          << collation << ": \"" << asked << "\" is \"" << row << '"';
    }
    EXPECT_GT(isolated, 300U) << collation;
  }
}

class IsolatedRows : public GuardedMariaDb {
 protected:
  void prepare() override {
    run("CREATE TABLE user (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(40) CHARACTER SET "
        "utf8mb4 "
        "COLLATE utf8mb4_unicode_ci)");
    run("INSERT INTO user (name) VALUES ('bob'), ('M\u00fcller'), (''), ('a:b'), ('\u65e5\u672c')");
  }

  std::string yaml() const {
    return configuration(Guarded{.keys = "user:{name|ci}",
                                 .fresh_ids = "",
                                 .filter = "{ false_positive_rate: 0.0001%, deletes: exact }"}
                             .yaml(),
                         storage(folder_ / "kept"));
  }
  void start() { GuardedMariaDb::start(yaml()); }
  std::string isolated() const { return info_field(*guard_, "users", "isolated_rows"); }
};

TEST_F(IsolatedRows, pass_alone_and_come_and_go_with_the_log_and_with_checkpoints) {
  start();
  ASSERT_TRUE(becomes_absent("user:alice")) << guard_->log();
  EXPECT_FALSE(is_absent("user:muller"));
  EXPECT_FALSE(is_absent("user:MULLER "));
  EXPECT_FALSE(is_absent("user:   "));
  EXPECT_TRUE(is_absent("user:miller junior"));
  EXPECT_EQ(isolated(), "1");
  EXPECT_NE(guard_->log().find(R"(row name=\"M\\xc3\\xbcller\" is isolated)"), std::string::npos)
      << guard_->log();

  run("INSERT INTO user (name) VALUES ('J\u00f6rg')");
  ASSERT_TRUE(becomes_present("user:jorg")) << guard_->log();
  run("UPDATE user SET name = 'muller' WHERE name = 'M\u00fcller' COLLATE utf8mb4_bin");
  ASSERT_TRUE(eventually([this] { return isolated() == "1"; }));
  EXPECT_FALSE(is_absent("user:muller"));
  ASSERT_TRUE(becomes_absent("user:moller")) << guard_->log();

  ASSERT_TRUE(becomes_kept(folder_ / "kept" / "shop.users.user.filter"));
  guard_->send_signal(SIGKILL);
  guard_->exit_code();
  start();
  ASSERT_TRUE(becomes_absent("user:alice")) << guard_->log();
  EXPECT_EQ(guard_->log().find("event=loaded"), std::string::npos) << guard_->log();
  EXPECT_FALSE(is_absent("user:jorg"));
  EXPECT_EQ(isolated(), "1");
  run("DELETE FROM user WHERE name = 'J\u00f6rg'");
  EXPECT_TRUE(becomes_absent("user:jorg")) << guard_->log();
  EXPECT_EQ(isolated(), "0");
}

// Whoever makes very many opens the namespace, and it is said how that is mended.
TEST_F(IsolatedRows, beyond_the_limit_open_the_namespace_and_are_told_of) {
  start();
  ASSERT_TRUE(becomes_absent("user:alice")) << guard_->log();
  run("INSERT INTO user (name) SELECT CONCAT(seq, '\u00e9') FROM seq_1_to_1001");
  ASSERT_TRUE(becomes_present("user:alice")) << guard_->log();
  ASSERT_TRUE(eventually([this] {
    return guard_->log().find("is one of more than 1000 isolated rows") != std::string::npos;
  })) << guard_->log();
  EXPECT_NE(guard_->log().find("utf8mb4_nopad_bin"), std::string::npos);
}

}  // namespace
}  // namespace cuckooguard::harness
