// What can be changed and changed back in PostgreSQL's catalog, below tables that are followed.
//
//   users, numbers   one table, two identities, both unique
//   moods            an enum, whose labels can be renamed
//   orders           an identity that many rows have: REPLICA IDENTITY FULL, deletes are exact
//   visits           partitioned; rows are named by the key of each partition; deletes are exact
//   living           partitioned, with a condition: REPLICA IDENTITY FULL
#include "exactness/catalogue_changes.h"

namespace cuckooguard::harness {
// Tables of cases, as long as there are cases.
// NOLINTBEGIN(readability-function-size)
namespace {

constexpr const char* kTables = "TABLE shop.account, shop.mood, shop.orders, shop.visit, shop.life";
constexpr const char* kColumns =
    "TABLE shop.account (id, number), shop.mood (name), shop.orders, shop.visit (id, part), "
    "shop.life";

std::string words_of(Published published) {
  return published == Published::schema ? "TABLES IN SCHEMA shop"
                                        : (published == Published::tables ? kTables : kColumns);
}

// Another list of a table's columns, or none.
std::string listed(const std::string& table) {
  return "ALTER PUBLICATION cuckooguard DROP TABLE " + table.substr(0, table.find(' ')) +
         "; ALTER PUBLICATION cuckooguard ADD TABLE " + table;
}

std::vector<std::string> create(Published published) {
  return {
      "ALTER SYSTEM RESET default_transaction_read_only",
      "SELECT pg_reload_conf()",
      "ALTER ROLE guard RESET ALL",
      "ALTER ROLE guard NOBYPASSRLS",
      "DROP PUBLICATION IF EXISTS cuckooguard; DROP PUBLICATION IF EXISTS renamed; DROP SCHEMA IF "
      "EXISTS shop CASCADE; DROP SCHEMA IF EXISTS moved CASCADE; DROP SCHEMA IF EXISTS elsewhere "
      "CASCADE; CREATE SCHEMA shop; CREATE SCHEMA elsewhere",
      "CREATE TABLE shop.account (id bigint PRIMARY KEY, number bigint NOT NULL UNIQUE, note "
      "bigint);"
      "ALTER TABLE shop.account ADD CONSTRAINT id_and_number UNIQUE (id, number);"
      "ALTER TABLE shop.account REPLICA IDENTITY USING INDEX id_and_number",
      "CREATE TYPE shop.feeling AS ENUM ('good', 'bad', 'so so');"
      "CREATE TABLE shop.mood (name shop.feeling PRIMARY KEY)",
      "CREATE TABLE shop.orders (id bigint PRIMARY KEY, number bigint);"
      "ALTER TABLE shop.orders REPLICA IDENTITY FULL",
      "CREATE TABLE shop.visit (id bigint, part int, code bigint NOT NULL, PRIMARY KEY (id, part)) "
      "PARTITION BY LIST (part);"
      "CREATE TABLE shop.visit_1 PARTITION OF shop.visit FOR VALUES IN (1);"
      "CREATE TABLE shop.visit_2 PARTITION OF shop.visit FOR VALUES IN (2);"
      "CREATE TABLE shop.visit_3 (code bigint NOT NULL, id bigint, part int, PRIMARY KEY (id, "
      "part));"
      "CREATE UNIQUE INDEX visit_1_code ON shop.visit_1 (code);"
      "INSERT INTO shop.visit VALUES (1, 1, 1), (2, 1, 2), (2, 2, 3);"
      "INSERT INTO shop.visit_3 (id, part, code) VALUES (1, 3, 1), (2, 3, 2), (3, 3, 3)",
      "CREATE TABLE shop.life (id bigint, part int, gone text, PRIMARY KEY (id, part)) "
      "PARTITION BY LIST (part);"
      "CREATE TABLE shop.life_1 PARTITION OF shop.life FOR VALUES IN (1);"
      "CREATE TABLE shop.life_2 PARTITION OF shop.life FOR VALUES IN (2);"
      "ALTER TABLE shop.life REPLICA IDENTITY FULL; ALTER TABLE shop.life_1 REPLICA IDENTITY FULL;"
      "ALTER TABLE shop.life_2 REPLICA IDENTITY FULL;"
      "INSERT INTO shop.life VALUES (1, 1, NULL), (1, 2, 'x'), (2, 1, 'x'), (2, 2, NULL)",
      "CREATE TABLE shop.whole (id bigint, number bigint, note bigint) PARTITION BY RANGE (id)",
      "INSERT INTO shop.account SELECT n, n + 100 FROM generate_series(0, 3) n;"
      "INSERT INTO shop.mood VALUES ('good'); INSERT INTO shop.orders VALUES (1, 1), (2, 1), (3, "
      "2)",
      "GRANT USAGE ON SCHEMA shop, elsewhere TO guard;"
      "GRANT SELECT ON ALL TABLES IN SCHEMA shop TO guard;"
      "ALTER DEFAULT PRIVILEGES IN SCHEMA shop, elsewhere GRANT SELECT ON TABLES TO guard",
      "CREATE PUBLICATION cuckooguard FOR " + words_of(published) +
          " WITH (publish_via_partition_root = true)"};
}

std::vector<Change> changes() {
  return {
      {"other_schema",
       "ALTER TABLE shop.account SET SCHEMA elsewhere",
       "ALTER TABLE elsewhere.account SET SCHEMA shop"},
      {"other_name",
       "ALTER TABLE shop.account RENAME TO other",
       "ALTER TABLE shop.other RENAME TO account"},
      {"other_name_of_schema",
       "ALTER SCHEMA shop RENAME TO moved",
       "ALTER SCHEMA moved RENAME TO shop"},
      {"swapped_columns",
       "ALTER TABLE shop.account RENAME id TO x; ALTER TABLE shop.account RENAME number TO id; "
       "ALTER TABLE shop.account RENAME x TO number",
       "ALTER TABLE shop.account RENAME id TO x; ALTER TABLE shop.account RENAME number TO id; "
       "ALTER TABLE shop.account RENAME x TO number"},
      {"renamed_column",
       "ALTER TABLE shop.account RENAME number TO x",
       "ALTER TABLE shop.account RENAME x TO number"},
      {"another_in_its_place",
       "ALTER TABLE shop.account RENAME TO kept; CREATE TABLE shop.account (LIKE shop.kept "
       "INCLUDING ALL); INSERT INTO shop.account SELECT id + 5, number + 5 FROM shop.kept",
       "DROP TABLE shop.account; ALTER TABLE shop.kept RENAME TO account"},
      {"view_in_its_place",
       "ALTER TABLE shop.account RENAME TO below; CREATE VIEW shop.account AS SELECT * FROM "
       "shop.below",
       "DROP VIEW shop.account; ALTER TABLE shop.below RENAME TO account"},
      {"label",
       "ALTER TYPE shop.feeling RENAME VALUE 'good' TO 'fine'",
       "ALTER TYPE shop.feeling RENAME VALUE 'fine' TO 'good'"},
      {"swapped_labels",
       "ALTER TYPE shop.feeling RENAME VALUE 'good' TO 'x'; ALTER TYPE shop.feeling RENAME VALUE "
       "'bad' TO 'good'; ALTER TYPE shop.feeling RENAME VALUE 'x' TO 'bad'",
       "ALTER TYPE shop.feeling RENAME VALUE 'good' TO 'x'; ALTER TYPE shop.feeling RENAME VALUE "
       "'bad' TO 'good'; ALTER TYPE shop.feeling RENAME VALUE 'x' TO 'bad'"},
      {"name_of_type",
       "ALTER TYPE shop.feeling RENAME TO sense",
       "ALTER TYPE shop.sense RENAME TO feeling"},
      {"part_by_its_key",
       "ALTER TABLE shop.life_1 REPLICA IDENTITY DEFAULT",
       "ALTER TABLE shop.life_1 REPLICA IDENTITY FULL"},
      {"part_by_nothing",
       "ALTER TABLE shop.visit_2 REPLICA IDENTITY NOTHING",
       "ALTER TABLE shop.visit_2 REPLICA IDENTITY DEFAULT"},
      {"part_by_an_index",
       "ALTER TABLE shop.visit_1 REPLICA IDENTITY USING INDEX visit_1_code",
       "ALTER TABLE shop.visit_1 REPLICA IDENTITY DEFAULT"},
      {"attached_part",
       "ALTER TABLE shop.visit ATTACH PARTITION shop.visit_3 FOR VALUES IN (3)",
       "ALTER TABLE shop.visit DETACH PARTITION shop.visit_3"},
      {"detached_part",
       "ALTER TABLE shop.visit DETACH PARTITION shop.visit_2",
       "ALTER TABLE shop.visit ATTACH PARTITION shop.visit_2 FOR VALUES IN (2)"},
      {"attached_to_a_whole",
       "ALTER TABLE shop.whole ATTACH PARTITION shop.account FOR VALUES FROM (MINVALUE) TO "
       "(MAXVALUE)",
       "ALTER TABLE shop.whole DETACH PARTITION shop.account"},
      {"heir",
       "CREATE TABLE shop.heir () INHERITS (shop.orders); INSERT INTO shop.heir VALUES (7, 7), (8, "
       "1)",
       "DROP TABLE shop.heir"},
      {"unpublished",
       "ALTER PUBLICATION cuckooguard DROP TABLE shop.orders",
       "ALTER PUBLICATION cuckooguard ADD TABLE shop.orders"},
      {"published_by_inserts",
       "ALTER PUBLICATION cuckooguard SET (publish = 'insert')",
       "ALTER PUBLICATION cuckooguard SET (publish = 'insert, update, delete, truncate')"},
      {"published_without_root",
       "ALTER PUBLICATION cuckooguard SET (publish_via_partition_root = false)",
       "ALTER PUBLICATION cuckooguard SET (publish_via_partition_root = true)"},
      {"published_in_part",
       "ALTER PUBLICATION cuckooguard DROP TABLE shop.orders; ALTER PUBLICATION cuckooguard ADD "
       "TABLE shop.orders WHERE (id > 5)",
       "ALTER PUBLICATION cuckooguard DROP TABLE shop.orders; ALTER PUBLICATION cuckooguard ADD "
       "TABLE shop.orders"},
      {"published_by_lists",
       std::string("ALTER PUBLICATION cuckooguard SET ") + kColumns,
       std::string("ALTER PUBLICATION cuckooguard SET ") + kTables},
      {"longer_list", listed("shop.account (id, number, note)"), listed("shop.account")},
      {"list_without_a_key",
       listed("shop.account (id, note)"),
       listed("shop.account (id, number)")},
      {"list_of_one_number", listed("shop.orders (number)"), listed("shop.orders")},
      {"list_without_numbers", listed("shop.orders (id)"), listed("shop.orders")},
      {"list_without_parts", listed("shop.visit (id, code)"), listed("shop.visit (id, part)")},
      {"list_with_what_parts_have", listed("shop.visit (id, part, code)"), listed("shop.visit")},
      {"list_without_what_is_asked", listed("shop.life (id, part)"), listed("shop.life")},
      {"list_that_goes_with_its_column",
       listed("shop.account (id, number, note)") + "; ALTER TABLE shop.account DROP note CASCADE",
       "ALTER TABLE shop.account ADD note bigint; ALTER PUBLICATION cuckooguard ADD TABLE "
       "shop.account"},
      {"other_publication",
       "ALTER PUBLICATION cuckooguard RENAME TO renamed",
       "ALTER PUBLICATION renamed RENAME TO cuckooguard"},
      {"unlogged", "ALTER TABLE shop.orders SET UNLOGGED", "ALTER TABLE shop.orders SET LOGGED"},
      {"by_its_key",
       "ALTER TABLE shop.orders REPLICA IDENTITY DEFAULT",
       "ALTER TABLE shop.orders REPLICA IDENTITY FULL"},
      {"by_its_primary_key",
       "ALTER TABLE shop.account REPLICA IDENTITY DEFAULT",
       "ALTER TABLE shop.account REPLICA IDENTITY USING INDEX id_and_number"},
      {"row_security",
       "ALTER TABLE shop.orders ENABLE ROW LEVEL SECURITY",
       "ALTER TABLE shop.orders DISABLE ROW LEVEL SECURITY"},
      {"another_column",
       "ALTER TABLE shop.account ADD COLUMN more int DEFAULT 7",
       "ALTER TABLE shop.account DROP COLUMN more"},
      {"another_type",
       "ALTER TABLE shop.account ALTER id TYPE numeric",
       "ALTER TABLE shop.account ALTER id TYPE bigint"},
      {"another_column_of_its_name",
       "ALTER TABLE shop.orders RENAME number TO was; ALTER TABLE shop.orders ADD number bigint "
       "DEFAULT 5",
       "ALTER TABLE shop.orders DROP number; ALTER TABLE shop.orders RENAME was TO number"},
      {"without_its_key",
       "ALTER TABLE shop.account DROP CONSTRAINT account_number_key",
       "ALTER TABLE shop.account ADD CONSTRAINT account_number_key UNIQUE (number)"},
      {"no_right",
       "REVOKE SELECT ON shop.account FROM guard",
       "GRANT SELECT ON shop.account TO guard"},
      {"no_right_to_a_column",
       "REVOKE SELECT ON shop.account FROM guard; GRANT SELECT (number) ON shop.account TO guard",
       "REVOKE SELECT (number) ON shop.account FROM guard; GRANT SELECT ON shop.account TO guard"},
      {"no_right_to_the_schema",
       "REVOKE USAGE ON SCHEMA shop FROM guard",
       "GRANT USAGE ON SCHEMA shop TO guard"},
      {"other_path",
       "ALTER ROLE guard SET search_path = elsewhere",
       "ALTER ROLE guard RESET search_path"},
      {"no_replication", "ALTER ROLE guard NOREPLICATION", "ALTER ROLE guard REPLICATION"},
      {"role_reads_only",
       "ALTER ROLE guard SET default_transaction_read_only = on",
       "ALTER ROLE guard RESET default_transaction_read_only"},
      {"silent_triggers",
       "ALTER TABLE shop.account DISABLE TRIGGER ALL",
       "ALTER TABLE shop.account ENABLE TRIGGER ALL"},
  };
}

std::vector<std::string> rows() {
  std::vector<std::string> all{
      "INSERT INTO shop.mood VALUES ('good') ON CONFLICT DO NOTHING",
      "INSERT INTO shop.mood VALUES ('bad') ON CONFLICT DO NOTHING",
      "INSERT INTO shop.mood VALUES ('fine') ON CONFLICT DO NOTHING",
      "DELETE FROM shop.mood WHERE name = 'bad'",
      "UPDATE shop.mood SET name = 'so so' WHERE name = 'good'",
      "UPDATE shop.mood SET name = 'fine' WHERE name = 'so so'",
      "INSERT INTO shop.orders VALUES ({n}, {m}) ON CONFLICT DO NOTHING",
      "UPDATE shop.orders SET number = {m} WHERE id = {n}",
      "DELETE FROM shop.orders WHERE id = {n}",
      "INSERT INTO shop.heir VALUES ({n}, {m})",
      "DELETE FROM shop.heir WHERE id = {n}",
      "INSERT INTO shop.visit VALUES ({n}, 1, 100 * {n} + {m}) ON CONFLICT DO NOTHING",
      "INSERT INTO shop.visit VALUES ({n}, 2, {m}) ON CONFLICT DO NOTHING",
      "INSERT INTO shop.visit VALUES ({n}, 3, {m}) ON CONFLICT DO NOTHING",
      "INSERT INTO shop.visit_3 (id, part, code) VALUES ({n}, 3, {m}) ON CONFLICT DO NOTHING",
      "UPDATE shop.visit SET id = {m} WHERE id = {n} AND part = 1",
      "UPDATE shop.visit SET part = 2 WHERE id = {n} AND part = 1",
      "DELETE FROM shop.visit WHERE id = {n} AND part <> 2",
      "DELETE FROM shop.visit WHERE id = {n}",
      "DELETE FROM shop.visit_2 WHERE id = {n}",
      "INSERT INTO shop.life VALUES ({n}, 1, NULL) ON CONFLICT DO NOTHING",
      "INSERT INTO shop.life VALUES ({n}, 2, 'x') ON CONFLICT DO NOTHING",
      "UPDATE shop.life SET gone = 'x' WHERE id = {n}",
      "UPDATE shop.life SET gone = NULL WHERE id = {n} AND part = 2",
      "DELETE FROM shop.life WHERE id = {n} AND part = 1",
      "TRUNCATE shop.orders",
      "TRUNCATE shop.visit",
  };
  for (const std::string table : {"shop.account",
                                  "shop.account",
                                  "elsewhere.account",
                                  "shop.other",
                                  "moved.account",
                                  "shop.kept",
                                  "shop.whole"}) {
    all.push_back("INSERT INTO " + table + " VALUES ({n}, {m}) ON CONFLICT DO NOTHING");
    all.push_back("INSERT INTO " + table +
                  " (number, id) VALUES ({n}, {m}) ON CONFLICT DO NOTHING");
    all.push_back("DELETE FROM " + table + " WHERE id = {n}");
    all.push_back("UPDATE " + table + " SET id = {m} WHERE id = {n}");
  }
  return all;
}

}  // namespace

Catalogue postgres_catalogue(Published published) {
  return {.rolls_back = true,
          .create = create(published),
          .mend = {"GRANT SELECT ON ALL TABLES IN SCHEMA shop TO guard",
                   "ALTER TABLE shop.account RENAME x TO number"},
          .changes = changes(),
          .rows = rows()};
}

// NOLINTEND(readability-function-size)

}  // namespace cuckooguard::harness
