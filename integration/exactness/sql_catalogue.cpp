// What can be changed and changed back in MariaDB and MySQL, below tables that are followed.
//
//   users, numbers   one table, two identities, both unique
//   moods            text, whose character set and collation can change
//   orders           an identity that many rows have; deletes are exact
//   visits           partitioned; partitions can be exchanged with a table
//   living           a condition
#include "exactness/catalogue_changes.h"

namespace cuckooguard::harness {
// Tables of cases, as long as there are cases.
// NOLINTBEGIN(readability-function-size)
namespace {

// The only collations by which nothing but equal bytes is equal.
std::string text(bool is_mariadb) {
  return std::string("VARCHAR(20) CHARACTER SET utf8mb4 COLLATE ") +
         (is_mariadb ? "utf8mb4_nopad_bin" : "utf8mb4_0900_bin");
}

std::vector<std::string> create(bool is_mariadb) {
  return {
      "SET GLOBAL read_only = OFF",
      "SET GLOBAL binlog_format = ROW",
      "SET GLOBAL binlog_row_image = FULL",
      "SET SESSION binlog_format = ROW, SESSION binlog_row_image = FULL, SESSION sql_mode = "
      "DEFAULT",
      "DROP DATABASE IF EXISTS elsewhere",
      "DROP DATABASE IF EXISTS shop",
      "CREATE DATABASE shop",
      "CREATE DATABASE elsewhere",
      "USE shop",
      "CREATE TABLE account (id BIGINT PRIMARY KEY, number BIGINT NOT NULL UNIQUE, note TEXT)",
      "CREATE TABLE mood (name " + text(is_mariadb) + " PRIMARY KEY)",
      "CREATE TABLE orders (id BIGINT PRIMARY KEY, number BIGINT)",
      "CREATE TABLE visit (id BIGINT, part INT, code BIGINT NOT NULL, PRIMARY KEY (id, part)) "
      "PARTITION BY LIST (part) (PARTITION p1 VALUES IN (1), PARTITION p2 VALUES IN (2))",
      "CREATE TABLE visit_3 (id BIGINT, part INT, code BIGINT NOT NULL, PRIMARY KEY (id, part))",
      "CREATE TABLE life (id BIGINT PRIMARY KEY, gone INT)",
      "CREATE TABLE nobodys (commits INT)",
      "INSERT INTO nobodys VALUES (0)",
      "INSERT INTO account (id, number) VALUES (0, 100), (1, 101), (2, 102), (3, 103)",
      "INSERT INTO mood VALUES ('good')",
      "INSERT INTO orders VALUES (1, 1), (2, 1), (3, 2)",
      "INSERT INTO visit VALUES (1, 1, 1), (2, 1, 2), (2, 2, 3)",
      "INSERT INTO visit_3 VALUES (1, 2, 1), (5, 2, 2), (6, 2, 3)",
      "INSERT INTO life VALUES (1, NULL), (2, 1), (3, NULL)",
      "GRANT SELECT ON shop.* TO guard@localhost"};
}

std::vector<Change> changes(bool is_mariadb) {
  constexpr const char* kSwap =
      "ALTER TABLE shop.account CHANGE id number BIGINT NOT NULL, CHANGE number id BIGINT NOT NULL";
  constexpr const char* kExchange =
      "ALTER TABLE shop.visit EXCHANGE PARTITION p2 WITH TABLE shop.visit_3";
  const char* const text_back =
      is_mariadb ? "ALTER TABLE shop.mood MODIFY name VARCHAR(20) CHARACTER SET utf8mb4 COLLATE "
                   "utf8mb4_nopad_bin"
                 : "ALTER TABLE shop.mood MODIFY name VARCHAR(20) CHARACTER SET utf8mb4 COLLATE "
                   "utf8mb4_0900_bin";
  std::vector<Change> all{
      {"other_characters",
       "ALTER TABLE shop.mood MODIFY name VARCHAR(20) CHARACTER SET latin1",
       text_back},
      {"other_collation",
       "ALTER TABLE shop.mood MODIFY name VARCHAR(20) CHARACTER SET utf8mb4 COLLATE "
       "utf8mb4_general_ci",
       text_back},
      {"other_database",
       "RENAME TABLE shop.account TO elsewhere.account",
       "RENAME TABLE elsewhere.account TO shop.account"},
      {"other_name",
       "RENAME TABLE shop.account TO shop.other",
       "RENAME TABLE shop.other TO shop.account"},
      {"swapped_columns", kSwap, kSwap},
      {"renamed_column",
       "ALTER TABLE shop.account CHANGE number x BIGINT NOT NULL",
       "ALTER TABLE shop.account CHANGE x number BIGINT NOT NULL"},
      {"another_in_its_place",
       "RENAME TABLE shop.account TO shop.kept; CREATE TABLE shop.account LIKE shop.kept; INSERT "
       "INTO shop.account SELECT id + 5, number + 5, note FROM shop.kept",
       "DROP TABLE shop.account; RENAME TABLE shop.kept TO shop.account"},
      {"swapped_tables",
       "CREATE TABLE shop.spare LIKE shop.account; RENAME TABLE shop.account TO shop.x, shop.spare "
       "TO shop.account, shop.x TO shop.spare",
       "RENAME TABLE shop.account TO shop.x, shop.spare TO shop.account, shop.x TO shop.spare; "
       "DROP "
       "TABLE shop.spare"},
      {"view_in_its_place",
       "RENAME TABLE shop.account TO shop.below; CREATE VIEW shop.account AS SELECT * FROM "
       "shop.below",
       "DROP VIEW shop.account; RENAME TABLE shop.below TO shop.account"},
      {"exchanged_part", kExchange, kExchange},
      {"other_parts",
       "ALTER TABLE shop.visit REMOVE PARTITIONING",
       "DELETE FROM shop.visit WHERE part > 2; ALTER TABLE shop.visit PARTITION BY LIST (part) "
       "(PARTITION p1 VALUES IN (1), PARTITION p2 VALUES IN (2))"},
      {"another_part",
       "ALTER TABLE shop.visit ADD PARTITION (PARTITION p3 VALUES IN (3))",
       "ALTER TABLE shop.visit DROP PARTITION p3"},
      {"another_column",
       "ALTER TABLE shop.account ADD COLUMN more BIGINT DEFAULT 7 FIRST",
       "ALTER TABLE shop.account DROP COLUMN more"},
      {"columns_in_another_order",
       "ALTER TABLE shop.account MODIFY number BIGINT NOT NULL FIRST",
       "ALTER TABLE shop.account MODIFY number BIGINT NOT NULL AFTER id"},
      {"another_type",
       "ALTER TABLE shop.account MODIFY id INT UNSIGNED NOT NULL",
       "ALTER TABLE shop.account MODIFY id BIGINT NOT NULL"},
      {"another_column_of_its_name",
       "ALTER TABLE shop.orders CHANGE number was BIGINT, ADD number BIGINT DEFAULT 5",
       "ALTER TABLE shop.orders DROP number, CHANGE was number BIGINT"},
      {"without_its_key",
       "ALTER TABLE shop.account DROP PRIMARY KEY, ADD KEY plain (id)",
       "ALTER TABLE shop.account DROP KEY plain, ADD PRIMARY KEY (id)"},
      {"another_engine",
       "ALTER TABLE shop.orders ENGINE = MyISAM",
       "ALTER TABLE shop.orders ENGINE = InnoDB"},
      {"no_right",
       "REVOKE SELECT ON shop.* FROM guard@localhost",
       "GRANT SELECT ON shop.* TO guard@localhost"},
      {"image_of_the_session",
       "SET SESSION binlog_row_image = MINIMAL",
       "SET SESSION binlog_row_image = FULL"},
      {"image", "SET GLOBAL binlog_row_image = MINIMAL", "SET GLOBAL binlog_row_image = FULL"},
      {"format_of_the_session",
       "SET SESSION binlog_format = STATEMENT",
       "SET SESSION binlog_format = ROW"},
      {"mixed_format_of_the_session",
       "SET SESSION binlog_format = MIXED",
       "SET SESSION binlog_format = ROW"},
      {"format", "SET GLOBAL binlog_format = STATEMENT", "SET GLOBAL binlog_format = ROW"},
      {"reads_only", "SET GLOBAL read_only = ON", "SET GLOBAL read_only = OFF"},
      {"quotes", "SET SESSION sql_mode = 'ANSI_QUOTES'", "SET SESSION sql_mode = DEFAULT"},
      {"trigger",
       "CREATE TRIGGER shop.copies AFTER INSERT ON shop.orders FOR EACH ROW INSERT IGNORE INTO "
       "shop.life VALUES (NEW.id, NULL)",
       "DROP TRIGGER shop.copies"},
      {"cascade",
       "DELETE FROM shop.orders WHERE number NOT IN (SELECT id FROM shop.account); ALTER TABLE "
       "shop.orders ADD CONSTRAINT child FOREIGN KEY (number) REFERENCES shop.account (id) ON "
       "DELETE "
       "CASCADE ON UPDATE CASCADE",
       "ALTER TABLE shop.orders DROP FOREIGN KEY child"},
      {"log_of_before", "FLUSH BINARY LOGS", "FLUSH BINARY LOGS"},
      {"generated",
       "ALTER TABLE shop.life CHANGE gone was INT, ADD gone INT AS (was) STORED",
       "ALTER TABLE shop.life DROP gone, CHANGE was gone INT"},
  };
  if (is_mariadb) {
    all.push_back({"versioned",
                   "ALTER TABLE shop.life ADD SYSTEM VERSIONING",
                   "ALTER TABLE shop.life DROP SYSTEM VERSIONING"});
    all.push_back({"history",
                   "SET SESSION system_versioning_alter_history = KEEP",
                   "SET SESSION system_versioning_alter_history = ERROR"});
    all.push_back({"compressed_log",
                   "SET GLOBAL log_bin_compress = ON",
                   "SET GLOBAL log_bin_compress = OFF"});
    all.push_back({"metadata",
                   "SET GLOBAL binlog_row_metadata = MINIMAL",
                   "SET GLOBAL binlog_row_metadata = NO_LOG"});
  } else {
    all.push_back({"compressed_transactions",
                   "SET SESSION binlog_transaction_compression = ON",
                   "SET SESSION binlog_transaction_compression = OFF"});
    all.push_back({"invisible",
                   "ALTER TABLE shop.account ALTER COLUMN number SET INVISIBLE",
                   "ALTER TABLE shop.account ALTER COLUMN number SET VISIBLE"});
  }
  return all;
}

std::vector<std::string> rows() {
  std::vector<std::string> all{
      "INSERT IGNORE INTO shop.mood VALUES ('good')",
      "INSERT IGNORE INTO shop.mood VALUES ('GOOD')",
      "INSERT IGNORE INTO shop.mood VALUES (_utf8mb4 x'7a6fc3ab')",
      "DELETE FROM shop.mood WHERE name = 'good'",
      "UPDATE IGNORE shop.mood SET name = UPPER(name)",
      "UPDATE IGNORE shop.mood SET name = LOWER(name)",
      "INSERT IGNORE INTO shop.orders (id, number) VALUES ({n}, {m})",
      "REPLACE INTO shop.orders (id, number) VALUES ({n}, {m})",
      "UPDATE shop.orders SET number = {m} WHERE id = {n}",
      "DELETE FROM shop.orders WHERE id = {n}",
      "INSERT IGNORE INTO shop.visit VALUES ({n}, 1, {m})",
      "INSERT IGNORE INTO shop.visit VALUES ({n}, 2, {m})",
      "INSERT IGNORE INTO shop.visit VALUES ({n}, 3, {m})",
      "INSERT IGNORE INTO shop.visit_3 VALUES ({n}, 2, {m})",
      "UPDATE IGNORE shop.visit SET id = {m} WHERE id = {n} AND part = 1",
      "UPDATE IGNORE shop.visit SET part = 2 WHERE id = {n} AND part = 1",
      "DELETE FROM shop.visit WHERE id = {n} AND part <> 2",
      "DELETE FROM shop.visit WHERE id = {n}",
      "DELETE FROM shop.visit_3 WHERE id = {n}",
      "INSERT IGNORE INTO shop.life (id) VALUES ({n})",
      "UPDATE shop.life SET gone = {m} WHERE id = {n}",
      "UPDATE shop.life SET gone = NULL WHERE id = {n}",
      "UPDATE shop.life SET was = NULL WHERE id = {n}",
      "DELETE FROM shop.life WHERE id = {n}",
      "TRUNCATE TABLE shop.orders",
      "TRUNCATE TABLE shop.visit",
      "CREATE TEMPORARY TABLE shop.orders LIKE shop.life; INSERT INTO shop.orders VALUES ({n}, "
      "{m}); "
      "DROP TEMPORARY TABLE shop.orders",
  };
  for (const std::string table : {"shop.account",
                                  "shop.account",
                                  "elsewhere.account",
                                  "shop.other",
                                  "shop.kept",
                                  "shop.spare"}) {
    all.push_back("INSERT IGNORE INTO " + table + " (id, number) VALUES ({n}, {m})");
    all.push_back("REPLACE INTO " + table + " (number, id) VALUES ({n}, {m})");
    all.push_back("DELETE FROM " + table + " WHERE id = {n}");
    all.push_back("UPDATE IGNORE " + table + " SET id = {m} WHERE id = {n}");
  }
  return all;
}

}  // namespace

Catalogue sql_catalogue(bool is_mariadb) {
  return {.rolls_back = false,
          .create = create(is_mariadb),
          // Its key may have gone with a table that came back later than it.
          .mend = {"ALTER TABLE shop.account CHANGE x number BIGINT NOT NULL",
                   std::string("ALTER ") + (is_mariadb ? "IGNORE " : "") +
                       "TABLE shop.account ADD PRIMARY KEY (id)"},
          .changes = changes(is_mariadb),
          .rows = rows(),
          .commit = "UPDATE shop.nobodys SET commits = commits + 1"};
}

// NOLINTEND(readability-function-size)

}  // namespace cuckooguard::harness
