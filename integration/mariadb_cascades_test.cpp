// Rows of a real MariaDB that change with those of another table: its log does not tell, so that
// nothing of such a table is answered from the moment on at which the log tells of the foreign key.

#include <string>

#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/deadline.h"

namespace cuckooguard::harness {
namespace {

class MariaDbCascades : public GuardedMariaDb {
 protected:
  void prepare() override {
    run("CREATE TABLE parent (id BIGINT UNSIGNED PRIMARY KEY)");
    run("CREATE TABLE user (id BIGINT UNSIGNED PRIMARY KEY)");
    run("INSERT INTO parent SELECT seq FROM seq_1_to_100");
    run("INSERT INTO user SELECT seq FROM seq_1_to_100");
    start(configuration());
    ASSERT_TRUE(becomes_absent("user:1000")) << guard_->log();
  }
  bool is_refused_for(const std::string& words) const {
    return eventually([&] { return guard_->log().contains(words); });
  }
};

TEST_F(MariaDbCascades, of_updates_are_refused_when_they_come) {
  run("ALTER TABLE user ADD CONSTRAINT moves FOREIGN KEY (id) REFERENCES parent (id) ON UPDATE "
      "CASCADE");
  EXPECT_TRUE(is_refused_for("foreign key `moves` of table `user`")) << guard_->log();
  run("UPDATE parent SET id = 1000 WHERE id = 1");
  run("INSERT INTO parent VALUES (2000)");
  EXPECT_FALSE(is_absent("user:1000"));
  EXPECT_FALSE(is_absent("user:3000"));
}

TEST_F(MariaDbCascades, of_updates_are_followed_again_when_they_have_gone) {
  run("ALTER TABLE user ADD CONSTRAINT moves FOREIGN KEY (id) REFERENCES parent (id) ON UPDATE "
      "CASCADE");
  ASSERT_TRUE(is_refused_for("foreign key `moves` of table `user`")) << guard_->log();
  run("UPDATE parent SET id = 1000 WHERE id = 1");
  run("ALTER TABLE user DROP FOREIGN KEY moves");
  EXPECT_TRUE(becomes_absent("user:1")) << guard_->log();
  EXPECT_FALSE(is_absent("user:1000"));
  run("UPDATE parent SET id = 2000 WHERE id = 2");
  EXPECT_FALSE(is_absent("user:2"));
}

TEST_F(MariaDbCascades, of_deletes_are_refused_when_they_come) {
  run("ALTER TABLE user ADD CONSTRAINT goes FOREIGN KEY (id) REFERENCES parent (id) ON DELETE "
      "CASCADE");
  EXPECT_TRUE(is_refused_for("foreign key `goes` of table `user`")) << guard_->log();
  EXPECT_FALSE(is_absent("user:1000"));
}

TEST_F(MariaDbCascades, of_a_table_that_is_made_anew_are_refused) {
  run("DROP TABLE user");
  run("CREATE TABLE user (id BIGINT UNSIGNED PRIMARY KEY, CONSTRAINT moves FOREIGN KEY (id) "
      "REFERENCES parent (id) ON UPDATE CASCADE)");
  run("INSERT INTO user VALUES (1)");
  EXPECT_TRUE(is_refused_for("foreign key `moves` of table `user`")) << guard_->log();
  run("UPDATE parent SET id = 1000 WHERE id = 1");
  EXPECT_FALSE(is_absent("user:1000"));
}

// The guard does not know the column, and the row stays.
TEST_F(MariaDbCascades, of_columns_that_are_not_read_do_no_harm) {
  run("ALTER TABLE user ADD other BIGINT UNSIGNED, ADD CONSTRAINT other FOREIGN KEY (other) "
      "REFERENCES parent (id) ON UPDATE CASCADE ON DELETE SET NULL");
  run("INSERT INTO user VALUES (1000, 5)");
  ASSERT_TRUE(becomes_present("user:1000"));
  EXPECT_TRUE(becomes_absent("user:3000")) << guard_->log();
  run("DELETE FROM parent WHERE id = 5");
  run("UPDATE user SET id = 2000 WHERE id = 1000 AND other IS NULL");
  EXPECT_TRUE(becomes_absent("user:1000")) << guard_->log();
  EXPECT_FALSE(is_absent("user:2000"));
}

}  // namespace
}  // namespace cuckooguard::harness
