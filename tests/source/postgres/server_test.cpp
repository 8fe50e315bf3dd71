// What a server that is asked says of itself is asked of a real one
// (integration/postgres_connection_test.cpp); here, what is made of it.
#include "postgres/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuckooguard::source::postgres {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const Place kPlace{.schema = "pub\"lic", .publication = "cuckooguard"};

Server good() {
  return {.version = 150020,
          .account = "guard",
          .wal_level = "logical",
          .may_replicate = true,
          .has_publication = true,
          .slots_left = 1,
          .walsenders_left = 1};
}

TEST(PostgresRefusals, say_what_mends_each) {
  EXPECT_THAT(refusals(good(), kPlace, false), IsEmpty());
  Server bad = good();
  bad.wal_level = "replica";
  bad.may_replicate = false;
  bad.publication_lacks = "delete";
  EXPECT_THAT(refusals(bad, kPlace, false),
              ElementsAre(HasSubstr("ALTER SYSTEM SET wal_level = logical"),
                          HasSubstr("ALTER ROLE guard REPLICATION"),
                          AllOf(HasSubstr("(delete)"),
                                HasSubstr("ALTER PUBLICATION \"cuckooguard\" SET (publish = "
                                          "'insert, update, delete, truncate')"))));
  EXPECT_THAT(refusals(bad, kPlace, false), Not(Contains(HasSubstr("max_slot_wal_keep_size"))));
  bad.keeps_wal_for_ever = true;
  EXPECT_THAT(refusals(bad, kPlace, false),
              Contains(HasSubstr("ALTER SYSTEM SET max_slot_wal_keep_size = '10GB'")));
  bad = good();
  bad.has_publication = false;
  EXPECT_THAT(refusals(bad, kPlace, false),
              ElementsAre(HasSubstr("CREATE PUBLICATION \"cuckooguard\" FOR TABLE "
                                    "\"pub\"\"lic\".TABLE (COLUMNS) WITH (")));
  bad.version = 140020;
  EXPECT_THAT(refusals(bad, kPlace, false), ElementsAre(HasSubstr("\"lic\".TABLE WITH (")));
}

TEST(PostgresRefusals, ask_for_room_only_where_there_is_no_slot_yet) {
  Server full = good();
  full.slots_left = 0;
  full.walsenders_left = 0;
  EXPECT_THAT(refusals(full, kPlace, true), IsEmpty());
  EXPECT_THAT(refusals(full, kPlace, false),
              ElementsAre(HasSubstr("max_replication_slots"), HasSubstr("max_wal_senders")));
}

TEST(PostgresRefusals, name_nothing_else_of_a_server_that_cannot_be_followed_at_all) {
  Server standby{.version = 150020, .is_standby = true};
  EXPECT_THAT(refusals(standby, kPlace, false), ElementsAre(HasSubstr("primary")));
  EXPECT_THAT(refusals({.version = 120005}, kPlace, false),
              ElementsAre(AllOf(HasSubstr("PostgreSQL 12.5"), HasSubstr("13.21 is the oldest"))));
}

TEST(PostgresRefusals, name_the_minor_release_whose_log_has_all_rows) {
  Server server = good();
  const auto said = [&server](int version) {
    server.version = version;
    const auto all = refusals(server, kPlace, false);
    return all.empty() ? "" : all.front();
  };
  for (const int good : {130021, 140018, 150013, 150018, 160009, 170005, 180000, 190001}) {
    EXPECT_EQ(said(good), "") << good;
  }
  EXPECT_THAT(said(130020), AllOf(HasSubstr("13.20, which"), HasSubstr("update it to 13.21 ")));
  EXPECT_THAT(said(140017), HasSubstr("update it to 14.18 "));
  EXPECT_THAT(said(150012), HasSubstr("update it to 15.13 "));
  EXPECT_THAT(said(160000), HasSubstr("update it to 16.9 "));
  EXPECT_THAT(said(170004), HasSubstr("update it to 17.5 "));
}

TEST(PostgresRefusals, keep_commits_from_waiting_for_the_guard) {
  Server server = good();
  for (const char* const names : {"*",
                                  "cuckooguard",
                                  "a, CuckooGuard",
                                  "FIRST 1 (a, \"cuckooguard\")",
                                  "ANY 2 (*)",
                                  "2(\"*\")"}) {
    server.synchronous_standbys = names;
    EXPECT_THAT(refusals(server, kPlace, true), ElementsAre(HasSubstr("synchronous_standby_names")))
        << names;
  }
  for (const char* const names : {"", "a, b", "FIRST 1 (cuckooguard2, my-cuckooguard)"}) {
    server.synchronous_standbys = names;
    EXPECT_THAT(refusals(server, kPlace, true), IsEmpty()) << names;
  }
}

TEST(PostgresAccountSql, quotes_names) {
  config::PostgresSource settings;
  settings.user = "gu\"ard";
  settings.database = "shop";
  EXPECT_THAT(account_sql(settings, {.state = "28P01", .what = "password authentication failed"}),
              AllOf(HasSubstr("CREATE ROLE \"gu\"\"ard\" LOGIN REPLICATION PASSWORD 'PASSWORD';"),
                    HasSubstr("ON DATABASE \"shop\" TO \"gu\"\"ard\";"),
                    HasSubstr("GRANT SELECT ON \"public\".TABLE TO \"gu\"\"ard\";")))
      << "for each table, not for those that are none of its business";
  EXPECT_EQ(account_sql(settings, {.state = "3D000", .what = "database does not exist"}),
            "List the server's databases with psql --list.")
      << "no account helps";
}

TEST(PostgresError, is_a_refusal_where_somebody_must_mend_something) {
  for (const char* const state : {"28P01", "28000", "3D000", "42501", "42P01", "53400", "0A000"}) {
    EXPECT_TRUE(Error{.state = state}.is_refusal()) << state;
  }
  for (const char* const state : {"", "57P01", "57P03", "53300", "40001", "55006"}) {
    EXPECT_FALSE(Error{.state = state}.is_refusal()) << state;
  }
  EXPECT_TRUE(refused("x").error().is_refusal());
  EXPECT_FALSE(failed("x").error().is_refusal());
}

TEST(QuotedPostgresName, doubles_quotes) {
  EXPECT_EQ(quoted_name("a\"b"), "\"a\"\"b\"");
}

}  // namespace
}  // namespace cuckooguard::source::postgres
