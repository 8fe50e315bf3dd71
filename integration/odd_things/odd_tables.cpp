// Tables that come, go, change places, and are made of parts.
#include "odd_things/odd_thing.h"

namespace cuckooguard::harness {

// Tables of cases, as long as there are cases; a statement may need two lines.
// NOLINTBEGIN(readability-function-size,bugprone-suspicious-missing-comma)
namespace {

const std::vector<std::string> kPartitioned = {
    "CREATE TABLE {t} (id BIGINT UNSIGNED PRIMARY KEY, g INT UNSIGNED, note VARCHAR(40)) PARTITION "
    "BY RANGE (id) (PARTITION p0 "
    "VALUES LESS THAN (3), PARTITION p1 VALUES LESS THAN (6), PARTITION p2 VALUES LESS THAN "
    "MAXVALUE)",
    "INSERT INTO {t} VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 2, NULL), (4, 3, 'd'), (5, 4, 'e'), (6, "
    "NULL, 'f'), (7, NULL, NULL), "
    "(8, 5, 'h')"};

// Two tables that the pattern finds, without a row of one in the other.
const std::vector<std::string> kTwo = {
    "CREATE TABLE {t} (id BIGINT UNSIGNED PRIMARY KEY, g INT UNSIGNED, note VARCHAR(40))",
    "INSERT INTO {t} VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 2, NULL)",
    "CREATE TABLE {t}_b LIKE {t}",
    "INSERT INTO {t}_b VALUES (11, 11, 'a'), (12, 11, 'b'), (13, 12, NULL)"};

OddThings swaps() {
  return {
      {.name = "a copy takes its place, as tools do that alter online",
       .steps = {"CREATE TABLE _{t}_new LIKE {t}",
                 "ALTER TABLE _{t}_new ADD COLUMN more INT FIRST",
                 "INSERT INTO _{t}_new (id, g, note) SELECT id, g, note FROM {t}",
                 "RENAME TABLE {t} TO _{t}_old, _{t}_new TO {t}",
                 "DROP TABLE _{t}_old"}},
      {.name = "a copy takes its place that the pattern finds as well",
       .steps = {"CREATE TABLE {t}_new LIKE {t}",
                 "INSERT INTO {t}_new SELECT * FROM {t}",
                 "RENAME TABLE {t} TO {t}_old, {t}_new TO {t}",
                 "DROP TABLE {t}_old"}},
      {.name = "a copy takes its place while it is locked",
       .steps = {"CREATE TABLE x_{t} LIKE {t}",
                 "LOCK TABLES {t} WRITE, x_{t} WRITE",
                 "INSERT INTO x_{t} SELECT * FROM {t}",
                 "ALTER TABLE {t} RENAME TO y_{t}",
                 "UNLOCK TABLES",
                 "RENAME TABLE x_{t} TO {t}",
                 "DROP TABLE y_{t}"}},
      {.name = "two tables change places",
       .steps = {"RENAME TABLE {t} TO x_{t}, {t}_b TO {t}, x_{t} TO {t}_b"},
       .before = kTwo},
      {.name = "it goes by another name and comes back",
       .steps = {"RENAME TABLE {t} TO x_{t}",
                 "INSERT INTO x_{t} (id, g) VALUES (20, 21)",
                 "ALTER TABLE x_{t} RENAME {t}"}},
      {.name = "it goes by another name for good",
       .steps = {"RENAME TABLE {t} TO x_{t}"},
       .end = End::refused,
       .words = "does not exist, or the account has no SELECT grant",
       .whose = Whose::named,
       .before = kTwo,
       .goes_on = false},
      {.name = "it goes to another database and comes back",
       .steps = {"CREATE DATABASE {far}",
                 "RENAME TABLE {t} TO {far}.{t}",
                 "INSERT INTO {far}.{t} (id, g) VALUES (20, 21)",
                 "b: USE {far}",
                 "b: RENAME TABLE {t} TO {db}.{t}"}},
      {.name = "another one takes its place from another database",
       .steps = {"CREATE DATABASE {far}",
                 "CREATE TABLE {far}.x LIKE {t}",
                 "INSERT INTO {far}.x VALUES (50, 51, 'x')",
                 "RENAME TABLE {t} TO {far}.y, {far}.x TO {t}"}},
      {.name = "another database has a table of its name",
       .steps = {"CREATE DATABASE {far}",
                 "CREATE TABLE {far}.{t} LIKE {t}",
                 "INSERT INTO {far}.{t} (id, g) VALUES (20, 21)",
                 "DELETE FROM {far}.{t}",
                 "UPDATE {far}.{t} x, {t} y SET x.id = 30, y.id = 31 WHERE y.id = 3",
                 "DROP DATABASE {far}"}},
      {.name = "it is altered from another database",
       .steps = {"CREATE DATABASE {far}",
                 "b: USE {far}",
                 "b: ALTER TABLE {db}.{t} ADD COLUMN more INT FIRST",
                 "b: INSERT INTO {db}.{t} (id, g) VALUES (20, 21)",
                 "b: DELETE FROM {db}.{t} WHERE id = 1"}},
      {.name = "the database goes and comes back",
       .steps =
           {"DROP DATABASE {db}",
            "CREATE DATABASE {db}",
            "USE {db}",
            "CREATE TABLE {t} (id BIGINT UNSIGNED PRIMARY KEY, g INT UNSIGNED, note VARCHAR(40))",
            "INSERT INTO {t} VALUES (5, 6, 'x')",
            "leave"}},
  };
}

OddThings beginnings() {
  return {
      {.name = "it is emptied",
       .steps = {"TRUNCATE TABLE {t}", "INSERT INTO {t} (id, g) VALUES (1, 1)"}},
      {.name = "it is emptied without the word table",
       .steps = {"TRUNCATE {t}", "/* x */ truncate`{t}`"}},
      {.name = "it is dropped and made anew",
       .steps = {"DROP TABLE {t}",
                 "CREATE TABLE {t} (g INT UNSIGNED, note TEXT, id BIGINT UNSIGNED PRIMARY KEY)",
                 "INSERT INTO {t} VALUES (7, 'x', 8)"}},
      {.name = "it is dropped for good",
       .steps = {"DROP TABLE {t}"},
       .end = End::refused,
       .words = "does not exist, or the account has no SELECT grant",
       .whose = Whose::named,
       .before = kTwo,
       .goes_on = false},
      {.name = "it is made anew in its place",
       .steps = {"CREATE OR REPLACE TABLE {t} (more INT, id BIGINT UNSIGNED PRIMARY KEY, g INT "
                 "UNSIGNED)",
                 "INSERT INTO {t} VALUES (1, 2, 3)"},
       .on = On::mariadb},
      {.name = "it is made anew in its place, with rows",
       .steps = {"CREATE OR REPLACE TABLE {t} (PRIMARY KEY (id)) SELECT CAST(seq AS UNSIGNED) AS "
                 "id, CAST(seq + 1 AS "
                 "UNSIGNED) AS g FROM seq_1_to_50"},
       .on = On::mariadb,
       .goes_on = false},
      {.name = "it is made anew like another one",
       .steps = {"CREATE TABLE x_{t} (note INT, g BIGINT, id INT PRIMARY KEY)",
                 "CREATE OR REPLACE TABLE {t} LIKE x_{t}",
                 "INSERT INTO {t} VALUES (1, 2, 3)"},
       .on = On::mariadb},
      {.name = "it comes when all had begun",
       .steps = {"CREATE TABLE {t} (id BIGINT UNSIGNED PRIMARY KEY, g INT UNSIGNED)",
                 "INSERT INTO {t} VALUES (1, 2)"},
       .words = "does not exist, or the account has no SELECT grant",
       .whose = Whose::named,
       .before = {}},
      {.name = "it comes with rows when all had begun",
       .steps = {"CREATE TABLE {t} (PRIMARY KEY (id)) SELECT CAST(1 AS UNSIGNED) AS id, CAST(2 AS "
                 "UNSIGNED) AS g"},
       .before = {},
       .goes_on = false},
      {.name = "another one comes that the pattern finds",
       .steps =
           {"CREATE TABLE {t}_c LIKE {t}",
            "INSERT INTO {t}_c VALUES (20, 21, 'x')",
            "CREATE TABLE {t}_d (PRIMARY KEY (id)) SELECT id + 100 AS id, g + 100 AS g FROM {t}",
            "CREATE TABLE x LIKE {t}",
            "INSERT INTO x VALUES (40, 41, 'x')",
            "RENAME TABLE x TO {t}_e",
            "DROP TABLE {t}_c"}},
      {.name = "another one comes that the pattern finds and nobody can follow",
       .steps = {"CREATE TABLE {t}_c (id INT, g INT)", "INSERT INTO {t}_c VALUES (20, 21)"},
       .end = End::refused,
       .words = "has no primary key",
       .whose = Whose::matched},
      {.name = "a sequence comes that the pattern finds",
       .steps = {"CREATE SEQUENCE {t}_s", "SELECT NEXT VALUE FOR {t}_s"},
       .end = End::refused,
       .words = "is not a table but a sequence",
       .whose = Whose::matched,
       .on = On::mariadb},
      {.name = "a sequence beside it",
       .steps = {"CREATE SEQUENCE s_{t}",
                 "ALTER TABLE {t} MODIFY id BIGINT UNSIGNED DEFAULT NEXT VALUE FOR s_{t}",
                 "DO SETVAL(s_{t}, 700)",
                 "INSERT INTO {t} (g) VALUES (31), (32)",
                 "DROP SEQUENCE IF EXISTS nothing"},
       .on = On::mariadb},
      {.name = "a view of that name comes",
       .steps = {"RENAME TABLE {t} TO x_{t}; CREATE VIEW {t} AS SELECT * FROM x_{t}"},
       .end = End::refused,
       .words = "is not a table but a view",
       .goes_on = false},
      {.name = "a view comes that the pattern finds",
       .steps = {"CREATE TABLE other_{t} (id INT PRIMARY KEY, g INT)",
                 "CREATE VIEW {t}_v AS SELECT * FROM other_{t}"},
       .end = End::refused,
       .words = "is not a table but a view",
       .whose = Whose::matched},
      {.name = "rows are written by a view",
       .steps = {"CREATE VIEW v_{t} AS SELECT id, g FROM {t} WHERE id > 2",
                 "INSERT INTO v_{t} VALUES (20, 21)",
                 "UPDATE v_{t} SET id = id + 30",
                 "DELETE FROM v_{t} WHERE id = 33",
                 "DROP VIEW v_{t}"}},
      {.name = "it is analysed, optimised, checked, repaired and counted",
       .steps = {"ANALYZE TABLE {t}",
                 "OPTIMIZE TABLE {t}",
                 "CHECK TABLE {t}",
                 "REPAIR TABLE {t}",
                 "CHECKSUM TABLE {t}",
                 "FLUSH TABLES {t}"}},
      {.name = "it is flushed and opened again",
       .steps = {"FLUSH TABLES",
                 "INSERT INTO {t} (id, g) VALUES (20, 21)",
                 "FLUSH TABLES {t} WITH READ LOCK",
                 "UNLOCK TABLES",
                 "DELETE FROM {t} WHERE id = 1"}},
      {.name = "its file goes and comes back",
       .steps = {"ALTER TABLE {t} DISCARD TABLESPACE",
                 "DROP TABLE {t}",
                 "CREATE TABLE {t} (id INT PRIMARY KEY, g INT)"}},
  };
}

OddThings partitions() {
  return {
      {.name = "partitions are emptied and dropped",
       .steps = {"ALTER TABLE {t} TRUNCATE PARTITION p0",
                 "ALTER TABLE {t} DROP PARTITION p1",
                 "INSERT INTO {t} (id, g) VALUES (1, 7), (4, 8)"},
       .before = kPartitioned},
      {.name = "a partition changes places with a table",
       .steps =
           {"CREATE TABLE x_{t} (id BIGINT UNSIGNED PRIMARY KEY, g INT UNSIGNED, note VARCHAR(40))",
            "INSERT INTO x_{t} VALUES (5, 55, 'x')",
            "ALTER TABLE {t} EXCHANGE PARTITION p1 WITH TABLE x_{t}",
            "ALTER TABLE {t} EXCHANGE PARTITION p1 WITH TABLE x_{t}"},
       .before = kPartitioned},
      {.name = "a partition changes places with a table that the pattern finds",
       .steps =
           {"CREATE TABLE {t}_x (id BIGINT UNSIGNED PRIMARY KEY, g INT UNSIGNED, note VARCHAR(40))",
            "INSERT INTO {t}_x VALUES (5, 55, 'x')",
            "ALTER TABLE {t} EXCHANGE PARTITION p1 WITH TABLE {t}_x"},
       .before = kPartitioned,
       .goes_on = false},
      {.name = "a partition becomes a table, and a table a partition",
       .steps = {"ALTER TABLE {t} CONVERT PARTITION p1 TO TABLE {t}_x",
                 "ALTER TABLE {t} CONVERT TABLE {t}_x TO PARTITION p3 VALUES IN (4, 5)"},
       .on = On::mariadb,
       .before =
           {"CREATE TABLE {t} (id BIGINT UNSIGNED PRIMARY KEY, g INT UNSIGNED, note VARCHAR(40)) "
            "PARTITION BY LIST (id) "
            "(PARTITION p0 VALUES IN (1, 2), PARTITION p1 VALUES IN (4, 5), PARTITION p9 DEFAULT)",
            "INSERT INTO {t} VALUES (1, 1, 'a'), (4, 4, 'b'), (5, 4, 'c'), (9, 9, 'd')"},
       .goes_on = false},
      {.name = "partitions are ordered anew",
       .steps =
           {"ALTER TABLE {t} REORGANIZE PARTITION p0, p1 INTO (PARTITION a VALUES LESS THAN (6))",
            "ALTER TABLE {t} REBUILD PARTITION a",
            "ALTER TABLE {t} ANALYZE PARTITION a",
            "ALTER TABLE {t} REMOVE PARTITIONING",
            "ALTER TABLE {t} PARTITION BY KEY (id) PARTITIONS 5",
            "ALTER TABLE {t} COALESCE PARTITION 2",
            "ALTER TABLE {t} ADD PARTITION PARTITIONS 1"},
       .before = kPartitioned},
      {.name = "rows move from partition to partition",
       .steps = {"UPDATE {t} SET id = id + 10 ORDER BY id DESC",
                 "UPDATE {t} SET id = id - 10 WHERE id > 13",
                 "DELETE FROM {t} PARTITION (p2)",
                 "REPLACE INTO {t} (id, g) VALUES (4, 44), (1, 11)"},
       .before = kPartitioned},
      {.name = "partitions by a part of the key",
       .steps = {"INSERT INTO {t} (id, g, d) VALUES (20, 21, '2021-05-05')",
                 "UPDATE {t} SET d = '2021-06-06' WHERE id = 1",
                 "UPDATE {t} SET id = 30, g = 31 WHERE id = 2",
                 "ALTER TABLE {t} TRUNCATE PARTITION b",
                 "DELETE FROM {t} WHERE "
                 "d < '2021-01-01' LIMIT 1"},
       .before = {"CREATE TABLE {t} (id BIGINT UNSIGNED, g INT UNSIGNED, d DATE NOT NULL DEFAULT "
                  "'2020-03-03', PRIMARY KEY (id, "
                  "d)) PARTITION BY RANGE COLUMNS (d) (PARTITION a VALUES LESS THAN "
                  "('2021-01-01'), PARTITION b VALUES LESS "
                  "THAN MAXVALUE)",
                  "INSERT INTO {t} (id, g) VALUES (1, 1), (2, 1), (3, 2), (4, NULL)"},
       .is_unique = false},
      {.name = "partitions within partitions",
       .steps = {"ALTER TABLE {t} PARTITION BY RANGE (id) SUBPARTITION BY HASH (id) SUBPARTITIONS "
                 "3 (PARTITION a VALUES LESS THAN "
                 "(5), PARTITION b VALUES LESS THAN MAXVALUE)",
                 "UPDATE {t} SET id = id + 1 ORDER BY id DESC",
                 "ALTER TABLE {t} TRUNCATE PARTITION a"}},
  };
}

}  // namespace

OddThings odd_tables() {
  OddThings all;
  for (const OddThings& some : {swaps(), beginnings(), partitions()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// NOLINTEND(readability-function-size,bugprone-suspicious-missing-comma)

}  // namespace cuckooguard::harness
