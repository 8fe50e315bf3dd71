// What is refused of PostgreSQL's tables is accepted once the SQL in its words was run; and a
// table's fingerprint changes with all by which rows can change unseen, and with nothing else.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config_file.h"
#include "filter/live_parts.h"
#include "fixtures/on_postgres.h"
#include "keyspace/keyspace.h"
#include "postgres/connection.h"
#include "postgres/fingerprints.h"
#include "postgres/table.h"

namespace cuckooguard::source::postgres {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// A namespace with these settings.
struct Wanted {
  explicit Wanted(const std::string& settings)
      : config(parsed(settings)),
        keyspace(keyspace::Keyspace::build(config::namespace_templates(config)).value()),
        parts(epochs, filter::HashSecret{}) {}

  static config::Config parsed(const std::string& settings) {
    auto config = config::parse_config(
        "sources: { shop: { type: postgres, addresses: db, user: guard, database: shop } }\n"
        "namespaces: { users: { " +
            settings + " } }\n",
        "f",
        [](std::string_view) { return std::nullopt; });
    if (!config) {
      throw std::invalid_argument(config.error().front().text());
    }
    return *std::move(config);
  }
  Target target() { return {keyspace, 0, config.namespaces.front(), parts}; }

  config::Config config;
  keyspace::Keyspace keyspace;
  filter::Epochs epochs{1};
  filter::LiveParts parts;
};

class PostgresTables : public harness::OnPostgres {
 protected:
  void prepare() override {
    run("CREATE SCHEMA app; CREATE ROLE guard LOGIN REPLICATION PASSWORD 'word'; GRANT USAGE ON "
        "SCHEMA app TO guard; ALTER DEFAULT PRIVILEGES IN SCHEMA app GRANT SELECT ON TABLES TO "
        "guard; CREATE PUBLICATION cuckooguard WITH (publish_via_partition_root = true)");
    connection_.emplace(Connection::open(login()).value());
  }

  Login login() const {
    return {.addresses = {{.host = "127.0.0.1", .port = server_->port(), .unix_path = {}}},
            .user = "guard",
            .password = "word",
            .password_file = {},
            .database = harness::PostgresServer::kDatabase,
            .ca_file = {}};
  }
  void make(const std::string& columns, const std::string& more = "") {
    run("CREATE TABLE app.users (" + columns + ")" + more +
        "; ALTER PUBLICATION cuckooguard ADD TABLE app.users");
  }

  std::expected<TablePlan, TableTrouble> plan(const std::string& settings = kById,
                                              const std::string& table = "users") {
    Wanted wanted(settings);
    return plan_table(*connection_, place_, wanted.target(), table);
  }
  std::string refusal(const std::string& settings = kById, const std::string& table = "users") {
    const auto planned = plan(settings, table);
    return planned ? "" : words_of(planned.error());
  }
  // It is refused in these words, until the SQL in them was run.
  void expect_mended(const std::string& words, const std::string& settings = kById) {
    expect_mended_at_first(words, settings);
    EXPECT_EQ(refusal(settings), "");
  }
  // Something else may be refused then.
  void expect_mended_at_first(const std::string& words, const std::string& settings = kById) {
    const std::string why = refusal(settings);
    EXPECT_THAT(why, HasSubstr(words));
    const std::size_t sql =
        std::min({why.find(": ALTER "), why.find(": CREATE "), why.find(": GRANT ")});
    ASSERT_NE(sql, std::string::npos) << why;
    run(why.substr(sql + 2));
    EXPECT_NE(refusal(settings), why);
  }
  static std::vector<std::string> names(const TablePlan& table) {
    std::vector<std::string> all;
    for (const Column& column : table.columns) {
      all.push_back(column.name);
    }
    return all;
  }
  // Of what is read by the guard's role, as the log tells it.
  std::vector<std::string> read(const TablePlan& table) {
    auto rows = connection_->stream(table.copy_sql(), table.needed().size());
    std::vector<std::string> all;
    while (true) {
      const auto next = rows.value().next();
      if (!next.value()) {
        return all;
      }
      std::string text;
      for (const auto& value : **next) {
        text += (text.empty() ? "" : "|") + std::string(value.value_or("NULL"));
      }
      all.push_back(text);
    }
  }
  std::string fingerprint() {
    const std::string table = "users";
    const std::vector<std::string> names{table};
    const auto all = ask_fingerprints(*connection_, place_.schema, place_.publication, names);
    if (!probe_) {
      probe_.emplace(Connection::open(login()).value());
      EXPECT_TRUE(prepare_fingerprints(*probe_, place_.schema, place_.publication, names));
    }
    const auto prepared = probe_->ask("EXECUTE fingerprints");
    EXPECT_EQ(fingerprints_of(prepared.value(), names), all.value())
        << "although it was planned before";
    return all.value().contains(table) ? all->at(table) : "";
  }
  void expect_changes(const std::vector<std::string>& statements) {
    for (const std::string& sql : statements) {
      const std::string before = fingerprint();
      run(sql);
      EXPECT_NE(fingerprint(), before) << sql;
    }
  }
  void expect_same(const std::vector<std::string>& statements) {
    for (const std::string& sql : statements) {
      const std::string before = fingerprint();
      run(sql);
      EXPECT_EQ(fingerprint(), before) << sql;
    }
  }

  static constexpr const char* kById =
      "keys: 'user:{id:int64}', source: { from: shop, table: users }";
  static constexpr const char* kActive =
      "keys: 'user:{id:int64}', source: { from: shop, table: users, where: \"gone IS NULL\" }";

  Place place_{.schema = "app", .publication = "cuckooguard"};
  std::optional<Connection> connection_;
  std::optional<Connection> probe_;  // asks prepared questions
};

TEST_F(PostgresTables, an_ordinary_table_is_planned) {
  make("id bigserial PRIMARY KEY, name text NOT NULL, gone timestamptz");
  run("INSERT INTO app.users (name) VALUES ('a'), ('b')");
  const auto planned = plan().value();
  EXPECT_EQ(planned.columns.size(), 3U);
  EXPECT_THAT(planned.needed(), ElementsAre(0));
  EXPECT_TRUE(planned.grows);
  EXPECT_TRUE(planned.identity_is_unique);
  EXPECT_FALSE(planned.has_full_rows);
  EXPECT_EQ(planned.fingerprint, fingerprint());
  EXPECT_THAT(read(planned), ElementsAre("1", "2"));
  EXPECT_EQ(connection_->value(planned.count_sql()).value(), "2");
  EXPECT_EQ(size_of_table(*connection_, planned)->next_id, 3U);
}

TEST_F(PostgresTables, what_the_log_must_name_rows_by_is_said) {
  make("id bigint NOT NULL, gone timestamptz");
  expect_mended("has no replica identity");
  EXPECT_TRUE(plan()->has_full_rows);
  run("ALTER TABLE app.users REPLICA IDENTITY DEFAULT, ADD PRIMARY KEY (id)");
  EXPECT_EQ(refusal(), "");
  expect_mended("is logged without column \"gone\"", kActive);
  run("ALTER TABLE app.users REPLICA IDENTITY NOTHING");
  expect_mended("has no replica identity");
  EXPECT_FALSE(plan()->has_full_rows) << "the key is enough";
}

// Each may be run while the application writes.
TEST_F(PostgresTables, what_is_advised_does_not_stop_the_application) {
  run("CREATE TABLE app.users (id bigint NOT NULL, name text); INSERT INTO app.users VALUES (1)");
  const auto application_goes_on = [this] {
    return session_->try_run("UPDATE app.users SET name = 'n'; DELETE FROM app.users WHERE id < 0");
  };
  EXPECT_THAT(refusal(), HasSubstr("the whole old row; nothing else changes"));
  expect_mended_at_first("has no replica identity");
  EXPECT_EQ(application_goes_on(), "");
  expect_mended("does not have the table; nothing changes for the application");
  EXPECT_EQ(application_goes_on(), "");
  run("ALTER TABLE app.users REPLICA IDENTITY DEFAULT");
  EXPECT_EQ(application_goes_on(), "55000") << "what the order is for";
}

TEST_F(PostgresTables, a_type_that_is_mistaken_is_said_before_what_the_log_lacks_for_it) {
  make("id bigint PRIMARY KEY, email text NOT NULL");
  EXPECT_THAT(refusal("keys: 'user:{email:uint64}', source: { from: shop, table: users }"),
              testing::StartsWith(
                  "column \"email\" (text) is text, and {email:uint64} matches only numbers: write "
                  "{email} unless it contains only numbers. In that case: table "));
}

TEST_F(PostgresTables, an_index_with_all_that_is_needed_is_preferred) {
  make("id bigint PRIMARY KEY, name text NOT NULL UNIQUE");
  const std::string by_name = "keys: 'user:{name}', source: { from: shop, table: users }";
  EXPECT_THAT(refusal(by_name), HasSubstr("REPLICA IDENTITY USING INDEX \"users_name_key\""));
  expect_mended("is logged without column \"name\"", by_name);
  EXPECT_TRUE(plan(by_name)->identity_is_unique);
}

TEST_F(PostgresTables, rights_are_asked_for) {
  make("id bigint PRIMARY KEY");
  run("REVOKE SELECT ON app.users FROM guard");
  expect_mended("the account may not read");
  run("REVOKE USAGE ON SCHEMA app FROM guard");
  expect_mended("the account lacks USAGE on the schema");
  run("ALTER TABLE app.users ENABLE ROW LEVEL SECURITY");
  expect_mended("row-level security would hide rows");
}

TEST_F(PostgresTables, the_publication_must_have_all) {
  run("CREATE TABLE app.users (id bigint PRIMARY KEY, name text)");
  expect_mended("does not have the table");
  run("DROP PUBLICATION cuckooguard");
  expect_mended("does not exist in this database");
  run("ALTER PUBLICATION cuckooguard SET (publish = 'insert, update')");
  expect_mended("does not publish all kinds of changes");
  run("ALTER PUBLICATION cuckooguard SET TABLE app.users WHERE (id > 7)");
  expect_mended("omits rows");
  run("ALTER PUBLICATION cuckooguard DROP TABLE app.users; ALTER PUBLICATION cuckooguard ADD "
      "TABLES "
      "IN SCHEMA app");
  EXPECT_EQ(refusal(), "");
}

TEST_F(PostgresTables, a_list_of_columns_must_have_what_is_needed) {
  run("CREATE TABLE app.users (email text, id bigint PRIMARY KEY, gone int NOT NULL, code text NOT "
      "NULL UNIQUE, UNIQUE (id, gone)); ALTER TABLE app.users REPLICA IDENTITY USING INDEX "
      "users_id_gone_key; INSERT INTO app.users VALUES ('e', 7, 0, 'c')");
  const std::string living =
      "keys: 'user:{id:int64}', source: { from: shop, table: users, where: \"gone = 0\" }";
  expect_mended("does not have the table", living);
  EXPECT_THAT(names(plan(living).value()), ElementsAre("id", "gone"));
  EXPECT_THAT(read(plan(living).value()), ElementsAre("7|0"));
  // Beside what it had.
  run("ALTER PUBLICATION cuckooguard SET TABLE app.users (code)");
  expect_mended("omits column \"id\", \"gone\" of table \"users\"", living);
  EXPECT_THAT(names(plan().value()), ElementsAre("id", "gone", "code"));
  run("ALTER PUBLICATION cuckooguard SET TABLE app.users (id, gone) WHERE (id > 7)");
  expect_mended("omits rows", living);
  EXPECT_THAT(names(plan().value()), ElementsAre("id", "gone"));
  // What the log names rows by need not be the primary key.
  const std::string by_code = "keys: 'user:{code}', source: { from: shop, table: users }";
  expect_mended_at_first("omits column \"code\" of table \"users\"", by_code);
  expect_mended("is logged without column \"code\"", by_code);
  run("ALTER PUBLICATION cuckooguard SET TABLE app.users (code)");
  const auto planned = plan(by_code).value();
  EXPECT_THAT(names(planned), ElementsAre("code"));
  EXPECT_TRUE(planned.identity_is_unique);
  EXPECT_THAT(read(planned), ElementsAre("c"));
  run("ALTER TABLE app.users REPLICA IDENTITY DEFAULT");
  expect_mended_at_first("omits column \"id\" of table \"users\"", by_code);
}

TEST_F(PostgresTables, a_list_of_columns_does_not_go_with_whole_rows) {
  make("id bigint PRIMARY KEY, gone timestamptz, email text");
  run("INSERT INTO app.users VALUES (7)");
  const auto application_goes_on = [this] {
    return session_->try_run("UPDATE app.users SET email = 'e'");
  };
  run("ALTER PUBLICATION cuckooguard SET TABLE app.users (id)");
  expect_mended_at_first("omits column \"gone\" of table \"users\"", kActive);
  EXPECT_EQ(application_goes_on(), "");
  expect_mended("after you remove the publication's column list", kActive);
  EXPECT_EQ(application_goes_on(), "");
  EXPECT_EQ(names(plan().value()).size(), 3U);
  run("ALTER PUBLICATION cuckooguard SET TABLE app.users (id, gone, email)");
  EXPECT_EQ(application_goes_on(), "42P10");
  expect_mended("although it has REPLICA IDENTITY FULL");
  EXPECT_EQ(application_goes_on(), "");
  run("ALTER PUBLICATION cuckooguard DROP TABLE app.users");
  EXPECT_THAT(refusal(), testing::EndsWith("ADD TABLE \"app\".\"users\""));
  run("ALTER TABLE app.users REPLICA IDENTITY DEFAULT; CREATE SCHEMA other; ALTER PUBLICATION "
      "cuckooguard ADD TABLES IN SCHEMA other");
  expect_mended("does not have the table");  // the server refuses a list beside schemas
  EXPECT_EQ(names(plan().value()).size(), 3U);
}

TEST_F(PostgresTables, a_list_of_columns_is_that_of_all_partitions) {
  run("CREATE TABLE app.users (id bigint, part int, code bigint NOT NULL, email text, PRIMARY KEY "
      "(id, part)) PARTITION BY LIST (part); CREATE TABLE app.users_1 PARTITION OF app.users FOR "
      "VALUES IN (1); CREATE TABLE app.users_2 (email text, code bigint NOT NULL, id bigint, part "
      "int, PRIMARY KEY (id, part)); CREATE UNIQUE INDEX by_code ON app.users_1 (id, part, code)");
  expect_mended("does not have the table");
  EXPECT_THAT(names(plan().value()), ElementsAre("id", "part"));
  run("ALTER TABLE app.users_1 REPLICA IDENTITY USING INDEX by_code");
  expect_mended("omits column \"code\" of table \"users\"");
  run("ALTER TABLE app.users_1 REPLICA IDENTITY FULL");
  expect_mended("although it has REPLICA IDENTITY FULL");
  run("ALTER TABLE app.users_1 REPLICA IDENTITY DEFAULT; ALTER PUBLICATION cuckooguard SET TABLE "
      "app.users (id, part); ALTER TABLE app.users ATTACH PARTITION app.users_2 FOR VALUES IN (2)");
  expect_mended("whose partition \"app\".\"users_2\" has its columns in a different order");
  run("ALTER PUBLICATION cuckooguard DROP TABLE app.users");
  EXPECT_THAT(refusal(), testing::EndsWith("ADD TABLE \"app\".\"users\""));
}

TEST_F(PostgresTables, partitions_are_read_as_the_whole) {
  make("id bigint, part int, gone timestamptz, PRIMARY KEY (id, part)",
       " PARTITION BY LIST (part)");
  run("CREATE TABLE app.users_1 PARTITION OF app.users FOR VALUES IN (1); CREATE TABLE app.users_2 "
      "PARTITION OF app.users FOR VALUES IN (2); INSERT INTO app.users VALUES (7, 1), (8, 2)");
  EXPECT_THAT(read(plan().value()), ElementsAre("7|1", "8|2"));
  run("ALTER PUBLICATION cuckooguard SET (publish_via_partition_root = false)");
  expect_mended("publishes rows of partitions under the partitions' names");
  expect_mended("is logged without column \"gone\"", kActive);
  EXPECT_TRUE(plan(kActive)->has_full_rows);
  run("CREATE TABLE app.users_3 PARTITION OF app.users FOR VALUES IN (3)");
  expect_mended("REPLICA IDENTITY FULL", kActive);
  run("ALTER TABLE app.users_3 SET UNLOGGED");
  expect_mended("has an unlogged partition");
  EXPECT_THAT(refusal("keys: 'user:{id:int64}', source: { from: shop, table: users_1 }", "users_1"),
              HasSubstr("is a partition"));
  const std::vector<std::string> pattern{"users*"};
  EXPECT_THAT(find_tables(*connection_, place_, pattern).value(), ElementsAre("users"));
  const std::vector<std::string> named{"users_?", "none"};
  EXPECT_THAT(find_tables(*connection_, place_, named).value(),
              ElementsAre("users_1", "users_2", "users_3", "none"));
}

TEST_F(PostgresTables, what_is_no_table_of_logged_rows_is_refused) {
  make("id bigint PRIMARY KEY");
  run("CREATE VIEW app.v AS TABLE app.users; CREATE MATERIALIZED VIEW app.m AS TABLE app.users");
  EXPECT_THAT(refusal(kById, "v"), HasSubstr("not a table but a view"));
  EXPECT_THAT(refusal(kById, "app.users"),
              HasSubstr("table \"app.users\" does not exist in the schema \"app\"; set the schema "
                        "in the source's settings"));
  EXPECT_THAT(refusal(kById, "m"), HasSubstr("not a table but a materialized view"));
  EXPECT_THAT(
      refusal(kById, "user"),
      AllOf(HasSubstr("table \"user\" does not exist"), HasSubstr("did you mean \"users\"?")));
  run("CREATE TABLE app.heir () INHERITS (app.users)");
  expect_mended("inheriting tables");
  run("ALTER PUBLICATION cuckooguard DROP TABLE app.users; ALTER TABLE app.users SET UNLOGGED");
  EXPECT_THAT(refusal(), HasSubstr("unlogged: ALTER TABLE \"app\".\"users\" SET LOGGED"));
  place_.schema = "none";
  EXPECT_THAT(refusal(), HasSubstr("the schema \"none\" does not exist"));
}

TEST_F(PostgresTables, columns_are_judged_by_what_they_are_made_of) {
  run("CREATE TYPE app.mood AS ENUM ('good', 'bad'); CREATE DOMAIN app.code AS text; CREATE DOMAIN "
      "app.deep AS app.code");
  make(
      "id bigint, code app.deep, mood app.mood, twice bigint GENERATED ALWAYS AS (id * 2) STORED, "
      "u "
      "uuid, padded char(5), ok boolean, PRIMARY KEY (id)");
  run("ALTER TABLE app.users REPLICA IDENTITY FULL; INSERT INTO app.users VALUES (1, 'c', 'bad', "
      "DEFAULT, NULL, 'x', true)");
  const auto with = [](const std::string& key, const std::string& where = "id <> -1") {
    return "keys: 'k:" + key + "', source: { from: shop, table: users, where: \"" + where + "\" }";
  };
  EXPECT_THAT(refusal(with("{twice:int64}")),
              HasSubstr("\"twice\" of table \"users\" is generated"));
  EXPECT_THAT(refusal(with("{u}")), HasSubstr("instead of {u} write {u:uuid}"));
  EXPECT_EQ(refusal(with("{u:uuid}")), "");
  EXPECT_THAT(refusal(with("{u:date}")), HasSubstr("instead of {u:date} write {u:uuid}"));
  EXPECT_THAT(refusal(with("{code:uuid}")), HasSubstr("instead of {code:uuid} write {code}"));
  EXPECT_THAT(refusal(with("{ok}")), HasSubstr("several spellings"));
  EXPECT_THAT(refusal(with("{padded}")), HasSubstr("write {padded|ci}"));
  EXPECT_THAT(refusal(with("{id}")), HasSubstr("write {id:uint64}, or {id:int64} if it has"));
  EXPECT_THAT(refusal(with("{nothing}")), HasSubstr("has no column \"nothing\""));
  EXPECT_THAT(refusal(with("{id:int64}", "ok = 'true'")), HasSubstr("write 't' or 'f'"));
  const auto good = plan(with("{code}:{mood}", "ok = 't' AND u IS NULL"));
  ASSERT_TRUE(good) << words_of(good.error());
  EXPECT_THAT(read(*good), ElementsAre("c|bad|t|NULL|1"));
}

// A key has the bytes that the application has, which the server may give back as others. Of all
// encodings all characters were asked once, by hand; here of those with several bytes, and a part
// of some others'.
TEST_F(PostgresTables, encodings_that_take_two_characters_for_one_are_known) {
  run("CREATE FUNCTION given_back(code int, encoding name) RETURNS boolean LANGUAGE plpgsql AS $$ "
      "BEGIN RETURN convert_from(convert_to(chr(code), encoding), encoding) = chr(code); EXCEPTION "
      "WHEN OTHERS THEN RETURN NULL; END $$");
  const auto changed = [this](const std::string& encoding, const std::string& last) {
    return session_->value("SELECT string_agg(upper(to_hex(code)), ' ') FROM generate_series(1, " +
                           last +
                           ") code WHERE code NOT BETWEEN 55296 AND 57343 AND NOT "
                           "given_back(code, '" +
                           encoding + "')");
  };
  for (const char* const encoding :
       {"EUC_JP", "EUC_CN", "EUC_KR", "EUC_TW", "EUC_JIS_2004", "LATIN1", "WIN1252", "KOI8R"}) {
    const bool is_of_many = std::string_view(encoding).starts_with("EUC");
    EXPECT_EQ(changed(encoding, is_of_many ? "196607" : "12288"),
              blends_characters(encoding) ? "A6" : "")
        << encoding;
  }
}

TEST_F(PostgresTables, keyed_tables_are_listed_with_the_keys_that_suit_them) {
  make("id bigint PRIMARY KEY");
  run("CREATE TABLE app.names (name text PRIMARY KEY); CREATE TABLE app.hidden (id int PRIMARY "
      "KEY); "
      "REVOKE SELECT ON app.hidden FROM guard; CREATE TABLE app.none (id boolean PRIMARY KEY); "
      "CREATE TABLE app.days (id uuid, d date, n numeric, b bytea, PRIMARY KEY (id, d, n, b))");
  std::vector<std::string> all;
  const auto tables = list_keyed_tables(*connection_, place_);
  for (const KeyedTable& table : tables.value()) {
    all.push_back(table.name + " " + table.placeholders());
  }
  EXPECT_THAT(all,
              ElementsAre("days {id:uuid}:{d:date}:{n:numeric}:{b:bytea}",
                          "names {name}",
                          "none ",
                          "users {id:int64}"));
}

TEST_F(PostgresTables, fingerprints_change_with_all_that_changes_rows_unseen) {
  run("CREATE TYPE app.mood AS ENUM ('good', 'bad'); CREATE DOMAIN app.feeling AS app.mood");
  make("id bigint NOT NULL, name varchar(9), mood app.feeling");
  run("CREATE TABLE app.other (LIKE app.users)");
  expect_changes(
      {"ALTER TABLE app.users ALTER name TYPE text",
       "ALTER TABLE app.users ADD more int",
       "ALTER TABLE app.users RENAME more TO most",
       "ALTER TABLE app.users DROP most",
       "ALTER TABLE app.users ADD PRIMARY KEY (id)",
       "CREATE UNIQUE INDEX ON app.users (name)",
       "ALTER TABLE app.users REPLICA IDENTITY FULL",
       "ALTER TABLE app.users ENABLE ROW LEVEL SECURITY",
       "ALTER TYPE app.mood RENAME VALUE 'bad' TO 'worse'",
       "TRUNCATE app.users",
       "VACUUM FULL app.users",
       "ALTER PUBLICATION cuckooguard SET (publish = 'insert')",
       "ALTER PUBLICATION cuckooguard SET TABLE app.users WHERE (id > 1)",
       "ALTER PUBLICATION cuckooguard SET TABLE app.users (id)",
       "ALTER PUBLICATION cuckooguard SET TABLE app.users (id, mood)",
       "ALTER PUBLICATION cuckooguard DROP TABLE app.users",
       "CREATE TABLE app.heir () INHERITS (app.users)",
       "DROP TABLE app.heir",
       "BEGIN; ALTER TABLE app.users RENAME TO t; ALTER TABLE app.other RENAME TO users; "
       "ALTER TABLE app.t RENAME TO other; COMMIT",
       "DROP PUBLICATION cuckooguard",
       "DROP TABLE app.users"});
}

TEST_F(PostgresTables, fingerprints_change_with_what_is_changed_and_changed_back) {
  run("CREATE SCHEMA elsewhere; CREATE TYPE app.mood AS ENUM ('good', 'bad'); CREATE DOMAIN "
      "app.feeling AS app.mood");
  make("id bigint PRIMARY KEY, mood app.feeling, name text");
  expect_changes(
      {"BEGIN; ALTER TABLE app.users SET SCHEMA elsewhere; ALTER TABLE elsewhere.users SET SCHEMA "
       "app; COMMIT",
       "BEGIN; ALTER TABLE app.users RENAME TO t; ALTER TABLE app.t RENAME TO users; COMMIT",
       "BEGIN; ALTER TYPE app.mood RENAME VALUE 'bad' TO 'b'; ALTER TYPE app.mood RENAME VALUE 'b' "
       "TO 'bad'; COMMIT",
       "BEGIN; ALTER PUBLICATION cuckooguard DROP TABLE app.users; ALTER PUBLICATION cuckooguard "
       "ADD TABLE app.users; COMMIT",
       "BEGIN; ALTER PUBLICATION cuckooguard SET TABLE app.users (id); ALTER PUBLICATION "
       "cuckooguard "
       "SET TABLE app.users; COMMIT"});
  // What columns are called, each row says before it comes.
  expect_same(
      {"BEGIN; ALTER TABLE app.users RENAME name TO n; ALTER TABLE app.users RENAME n TO name; "
       "COMMIT",
       "GRANT SELECT (name) ON app.users TO PUBLIC",
       "ALTER TABLE app.users ALTER name SET DEFAULT 'n'"});
}

TEST_F(PostgresTables, fingerprints_change_with_partitions) {
  make("id bigint, part int, PRIMARY KEY (id, part)", " PARTITION BY LIST (part)");
  run("CREATE TABLE app.one (id bigint, part int NOT NULL, PRIMARY KEY (id, part))");
  expect_changes({"ALTER TABLE app.users ATTACH PARTITION app.one FOR VALUES IN (1)",
                  "TRUNCATE app.one",
                  "ALTER TABLE app.one REPLICA IDENTITY FULL",
                  "ALTER TABLE app.users DETACH PARTITION app.one CONCURRENTLY",
                  "CREATE TABLE app.two PARTITION OF app.users FOR VALUES IN (2)",
                  "DROP TABLE app.two",
                  "ALTER PUBLICATION cuckooguard SET (publish_via_partition_root = false)"});
}

TEST_F(PostgresTables, fingerprints_do_not_change_with_the_rest) {
  make("id bigserial PRIMARY KEY, name text");
  run("CREATE TABLE app.other (id int)");
  expect_same({"INSERT INTO app.users (name) SELECT 'n' FROM generate_series(1, 1000)",
               "UPDATE app.users SET name = 'm'",
               "DELETE FROM app.users WHERE id > 500",
               "VACUUM app.users",
               "ANALYZE app.users",
               "CREATE INDEX ON app.users (name)",
               "REINDEX TABLE app.users",
               "GRANT SELECT ON app.users TO PUBLIC",
               "REVOKE SELECT ON app.users FROM PUBLIC",
               "GRANT ALL ON ALL TABLES IN SCHEMA app TO PUBLIC",
               "GRANT USAGE ON SCHEMA app TO PUBLIC",
               "ALTER TABLE app.users SET (fillfactor = 90)",
               "COMMENT ON TABLE app.users IS 'of the shop'",
               "VACUUM FREEZE app.users",
               "VACUUM FULL pg_catalog.pg_type",
               "VACUUM FULL pg_catalog.pg_attribute",
               "ALTER PUBLICATION cuckooguard ADD TABLE app.other",
               "DROP TABLE app.other",
               "CHECKPOINT"});
}

}  // namespace
}  // namespace cuckooguard::source::postgres
