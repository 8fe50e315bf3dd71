// Rows whose key another namespace claims: they are not hidden, and open nothing but their own key.
#include <csignal>
#include <string>

#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/guard_process.h"

namespace cuckooguard::harness {
namespace {

// The key of the page `draft:42` is one that drafts claim.
class SharedKeys : public GuardedMariaDb {
 protected:
  void prepare() override {
    run("CREATE TABLE page (slug VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin "
        "PRIMARY KEY)");
    run("CREATE TABLE draft (id INT UNSIGNED PRIMARY KEY)");
    run("CREATE TABLE pair (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(40) CHARACTER SET utf8mb4 "
        "COLLATE utf8mb4_nopad_bin, b VARCHAR(40) CHARACTER SET utf8mb4 COLLATE "
        "utf8mb4_nopad_bin)");
    run("INSERT INTO page VALUES ('home')");
    run("INSERT INTO draft VALUES (1)");
    guard_.emplace(GuardProcess::on_port(yaml()));
  }

  std::string yaml() const {
    const auto line = [](const char* name, const char* keys, const char* table, const char* more) {
      return Guarded{.name = name,
                     .keys = keys,
                     .table = table,
                     .fresh_ids = "",
                     .filter = "{ false_positive_rate: 0.0001%, deletes: exact }",
                     .more = more}
          .yaml();
    };
    return configuration(
        line("pages", R"(["page:{slug}", "p:{slug}"])", "page", "") +
            line("drafts", "page:draft:{id:uint64}", "draft", ", canonical_keys: true") +
            line("pairs", R"(["pair:{a}-{b}", "riap:{b}-{a}"])", "pair", "") +
            line("doubles", "pair:double-{id:uint64}", "draft", ", canonical_keys: true"),
        storage(folder_ / "kept"));
  }
};

TEST_F(SharedKeys, are_absent_only_as_long_as_no_namespace_has_their_row) {
  ASSERT_TRUE(becomes_absent("page:draft:42")) << guard_->log();
  EXPECT_FALSE(is_absent("page:draft:1"));
  run("INSERT INTO page VALUES ('draft:42'), ('draft:new')");
  ASSERT_TRUE(becomes_present("page:draft:42")) << guard_->log();
  EXPECT_FALSE(is_absent("page:draft:new")) << "to drafts no row can have it";
  for (int id = 100; id < 200; ++id) {
    EXPECT_TRUE(is_absent("page:draft:" + std::to_string(id)));
    EXPECT_TRUE(is_absent("page:other" + std::to_string(id)));
  }
  EXPECT_FALSE(is_absent("page:draft:42"));
  EXPECT_EQ(info_field(*guard_, "pages", "isolated_rows"), "0");

  ASSERT_TRUE(becomes_kept(folder_ / "kept" / "shop.pages.page.filter"));
  guard_->send_signal(SIGKILL);
  guard_->exit_code();
  guard_.emplace(GuardProcess::on_port(yaml()));
  ASSERT_TRUE(becomes_absent("page:draft:43")) << guard_->log();
  EXPECT_EQ(guard_->log().find("event=loaded"), std::string::npos) << guard_->log();
  EXPECT_FALSE(is_absent("page:draft:42"));
  run("DELETE FROM page WHERE slug LIKE 'draft:%'");
  EXPECT_TRUE(becomes_absent("page:draft:42")) << guard_->log();
  EXPECT_TRUE(becomes_absent("page:draft:new")) << guard_->log();
}

// What has left one table for the other, in one transaction, was there all the time.
TEST_F(SharedKeys, are_not_absent_while_their_row_moves) {
  run("INSERT INTO page VALUES ('draft:42')");
  ASSERT_TRUE(becomes_absent("page:draft:43")) << guard_->log();
  ASSERT_TRUE(becomes_present("page:draft:42")) << guard_->log();
  for (int i = 0; i < 20; ++i) {
    run("BEGIN");
    run(i % 2 == 0 ? "DELETE FROM page WHERE slug = 'draft:42'"
                   : "DELETE FROM draft WHERE id = 42");
    run(i % 2 == 0 ? "INSERT INTO draft VALUES (42)" : "INSERT INTO page VALUES ('draft:42')");
    run("COMMIT");
    for (int k = 0; k < 50; ++k) {
      ASSERT_FALSE(is_absent("page:draft:42"));
    }
  }
}

TEST_F(SharedKeys, pass_while_one_of_their_namespaces_is_not_known) {
  ASSERT_TRUE(becomes_absent("page:draft:42")) << guard_->log();
  run("RENAME TABLE page TO away");
  ASSERT_TRUE(becomes_present("page:draft:42")) << guard_->log();
  EXPECT_TRUE(becomes_absent("pair:double-42")) << guard_->log();
  EXPECT_FALSE(is_absent("page:draft:42"));
  run("RENAME TABLE away TO page");
  EXPECT_TRUE(becomes_absent("page:draft:42")) << guard_->log();
}

// Rows whose keys carry different values are isolated; so many of them open their namespace, and
// what it may have keys of.
TEST_F(SharedKeys, pass_when_one_of_their_namespaces_has_too_many_isolated_rows) {
  ASSERT_TRUE(becomes_absent("pair:double-42")) << guard_->log();
  ASSERT_TRUE(becomes_absent("pair:double-4-2")) << guard_->log();
  run("INSERT INTO pair (a, b) VALUES ('double-4', '2')");
  ASSERT_TRUE(becomes_present("pair:double-4-2")) << guard_->log();
  EXPECT_FALSE(is_absent("riap:2-double-4"));
  EXPECT_TRUE(is_absent("pair:double-42"));
  EXPECT_TRUE(is_absent("pair:other-42"));
  EXPECT_EQ(info_field(*guard_, "pairs", "isolated_rows"), "1");
  run("INSERT INTO pair (a, b) SELECT CONCAT('x-', seq), 'y' FROM seq_1_to_1001");
  ASSERT_TRUE(eventually([this] {
    return guard_->log().find("is one of more than 1000") != std::string::npos;
  })) << guard_->log();
  EXPECT_FALSE(is_absent("pair:double-42"));
  EXPECT_FALSE(is_absent("pair:other-42"));
  EXPECT_TRUE(becomes_absent("page:draft:42"));
}

}  // namespace
}  // namespace cuckooguard::harness
