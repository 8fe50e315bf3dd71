// What a server that is asked says of itself is asked of a real one
// (integration/mariadb_start_checks_test.cpp); here, what only a cluster could say.
#include "mysql/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuckooguard::source::mysql {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Server good() {
  return {.is_mariadb = true, .has_log = true, .log_format = "ROW"};
}

TEST(MysqlServer, is_refused_as_a_member_of_a_cluster_whose_others_may_be_ahead) {
  EXPECT_THAT(refusals(good()), IsEmpty());
  Server galera = good();
  galera.is_galera_node = true;
  EXPECT_THAT(refusals(galera), ElementsAre(HasSubstr("Galera")));
  Server group = good();
  group.is_group_member = true;
  EXPECT_THAT(refusals(group), ElementsAre(HasSubstr("Group Replication")));
}

TEST(AccountSql, is_for_the_account_that_the_server_has_named) {
  config::MysqlSource settings;
  settings.user = "guard";
  settings.database = "my`shop";
  EXPECT_THAT(
      account_sql(settings, "Access denied for user 'guard'@'10.0.0.7' (using password: NO)"),
      testing::AllOf(testing::HasSubstr("CREATE USER IF NOT EXISTS 'guard'@'10.0.0.7' "),
                     testing::HasSubstr("GRANT SELECT ON `my``shop`.* TO 'guard'@'10.0.0.7';")));
  for (const char* const other : {"Host 'x' is not allowed to connect", "'guard'@'", ""}) {
    EXPECT_THAT(account_sql(settings, other), testing::HasSubstr(" TO 'guard'@'%';"));
  }
}

}  // namespace
}  // namespace cuckooguard::source::mysql
