// Rows that are written in odd ways.
#include "odd_things/odd_thing.h"

namespace cuckooguard::harness {

// Tables of cases, as long as there are cases; a statement may need two lines.
// NOLINTBEGIN(readability-function-size,bugprone-suspicious-missing-comma)
namespace {

const std::vector<std::string> kTwoKeys = {
    "CREATE TABLE {t} (id BIGINT UNSIGNED PRIMARY KEY, g INT UNSIGNED, note VARCHAR(40), u INT "
    "UNIQUE, w INT UNIQUE)",
    "INSERT INTO {t} VALUES (1, 1, 'a', 10, 100), (2, 1, 'b', 20, 200), (3, 2, NULL, 30, 300), (4, "
    "3, 'd', 40, NULL), (5, NULL, 'e', "
    "50, 500)"};

const std::vector<std::string> kTwo = {
    "CREATE TABLE {t} (id BIGINT UNSIGNED PRIMARY KEY, g INT UNSIGNED, note VARCHAR(40))",
    "INSERT INTO {t} VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 2, NULL), (4, 3, NULL)",
    "CREATE TABLE {t}_b LIKE {t}",
    "INSERT INTO {t}_b VALUES (11, 11, 'a'), (12, 11, 'b'), (13, 12, NULL)"};

OddThings statements() {
  return {
      {.name = "an insert that updates",
       .steps = {"INSERT INTO {t} (id, g) VALUES (1, 61), (20, 62) ON DUPLICATE KEY UPDATE g = 63",
                 "INSERT INTO {t} (id, g) VALUES (2, 61) ON DUPLICATE KEY UPDATE id = 22",
                 "INSERT INTO {t} (id, g, u) VALUES (90, 64, 30) ON DUPLICATE KEY UPDATE id = id + "
                 "40, u = u + 1",
                 "INSERT INTO {t} (id) VALUES (4) ON DUPLICATE KEY UPDATE id = id"},
       .before = kTwoKeys},
      {.name = "a replace that removes three rows",
       .steps = {"REPLACE INTO {t} VALUES (1, 61, 'x', 20, 300)",
                 "REPLACE INTO {t} VALUES (4, 3, 'd', 40, NULL)",
                 "REPLACE INTO {t} SELECT id + 70, g, note, u, w FROM {t}"},
       .before = kTwoKeys},
      {.name = "rows that are there are ignored",
       .steps = {"INSERT IGNORE INTO {t} (id, g) VALUES (1, 61), (20, 62), (2, 63)",
                 "UPDATE IGNORE {t} SET id = 3 WHERE id IN (1, 4)",
                 "DELETE IGNORE FROM {t} WHERE id = 20"}},
      {.name = "a statement that fails in the middle",
       .steps = {"! INSERT INTO {t} (id, g) VALUES (20, 21), (21, 22), (1, 1)",
                 "! UPDATE {t} SET id = id + 1 ORDER BY id",
                 "BEGIN",
                 "INSERT INTO {t} (id, g) VALUES (30, 31)",
                 "! INSERT INTO {t} (id, g) VALUES (32, 31), (30, 0)",
                 "COMMIT"}},
      {.name = "all ids move by one, from above and from below",
       .steps = {"UPDATE {t} SET id = id + 1 ORDER BY id DESC",
                 "UPDATE {t} SET id = id - 1 ORDER BY id"}},
      {.name = "two rows swap their ids",
       .steps = {"BEGIN",
                 "UPDATE {t} SET id = 0 WHERE id = 1",
                 "UPDATE {t} SET id = 1 WHERE id = 2",
                 "UPDATE {t} SET id = 2 WHERE id = 0",
                 "COMMIT"}},
      {.name = "a row goes and comes back in one transaction",
       .steps = {"BEGIN",
                 "DELETE FROM {t} WHERE id = 1",
                 "INSERT INTO {t} (id, g) VALUES (1, 1)",
                 "DELETE FROM {t}",
                 "INSERT INTO {t} (id, g) VALUES (1, 1), (3, 2), (9, 9)",
                 "COMMIT"}},
      {.name = "a row that comes and goes in one transaction",
       .steps = {"BEGIN",
                 "INSERT INTO {t} (id, g) VALUES (20, 21)",
                 "UPDATE {t} SET id = 22, g = 1 WHERE id = 20",
                 "DELETE FROM {t} WHERE id = 22",
                 "COMMIT"}},
      {.name = "a row that returns to what it was",
       .steps = {"BEGIN",
                 "UPDATE {t} SET id = 20, g = 21 WHERE id = 1",
                 "UPDATE {t} SET id = 1, g = 1 WHERE id = 20",
                 "COMMIT",
                 "UPDATE {t} SET g = NULL WHERE id = 3",
                 "UPDATE {t} SET g = 2 WHERE id = 3"}},
      {.name = "many rows have one identity, and lose it one by one",
       .steps = {"INSERT INTO {t} (id, g) SELECT 1000 + seq, 77 FROM seq_1_to_600",
                 "UPDATE {t} SET g = 78 WHERE g = 77 AND id > 1001",
                 "DELETE FROM {t} WHERE g = 78 AND id < 1600",
                 "DELETE FROM {t} WHERE id = 1600"},
       .on = On::mariadb},
      {.name = "identities come to be NULL and are no more",
       .steps = {"UPDATE {t} SET g = NULL",
                 "UPDATE {t} SET g = id WHERE id < 4",
                 "UPDATE {t} SET g = NULL WHERE id = 1"}},
      {.name = "rows of two tables are changed by one statement",
       .steps = {"UPDATE {t} x JOIN {t}_b y ON y.id = x.id + 10 SET x.g = y.g, y.g = 99",
                 "UPDATE {t} x, {t}_b y SET x.id = 55, "
                 "y.id = 56 WHERE x.id = 3 AND y.id = 13",
                 "DELETE x, y FROM {t} x JOIN {t}_b y ON y.id = x.id + 10 WHERE x.id = 1",
                 "DELETE {t}_b FROM {t}_b JOIN {t}"},
       .before = kTwo},
      {.name = "rows move from one table to the other",
       .steps = {"BEGIN",
                 "INSERT INTO {t}_b SELECT * FROM {t} WHERE id < 3",
                 "DELETE FROM {t} WHERE id < 3",
                 "COMMIT",
                 "BEGIN",
                 "DELETE FROM {t}_b WHERE id = 2",
                 "INSERT INTO {t} VALUES (2, 1, 'b')",
                 "COMMIT"},
       .before = kTwo},
      {.name = "rows that both tables have",
       .steps = {"INSERT INTO {t}_b SELECT * FROM {t}",
                 "DELETE FROM {t} WHERE id < 3",
                 "DELETE FROM {t}_b WHERE id > 1"},
       .before = kTwo},
      {.name = "all rows go by one word",
       .steps = {"DELETE FROM {t}", "INSERT INTO {t} (id, g) VALUES (1, 1)"}},
      {.name = "rows are returned",
       .steps = {"INSERT INTO {t} (id, g) VALUES (20, 21) RETURNING id",
                 "DELETE FROM {t} WHERE id < 3 RETURNING *",
                 "REPLACE INTO {t} (id, g) VALUES (3, 33) RETURNING id"},
       .on = On::mariadb},
      {.name = "rows are read by a handler",
       .steps = {"HANDLER {t} OPEN",
                 "HANDLER {t} READ FIRST",
                 "b&: ALTER TABLE {t} ADD COLUMN more INT FIRST",
                 "HANDLER {t} READ NEXT",
                 "HANDLER {t} CLOSE",
                 "b: DO 0"}},
      {.name = "rows are loaded from a file",
       .steps =
           {"SELECT id + 100, g, note FROM {t} INTO OUTFILE '{t}.txt'",
            "LOAD DATA INFILE '{t}.txt' INTO TABLE {t} (id, g, note)",
            "LOAD DATA INFILE '{t}.txt' REPLACE INTO TABLE {t} (id, g, @x) SET note = NULL",
            "LOAD DATA INFILE '{t}.txt' IGNORE INTO TABLE {t} (@i, g, note) SET id = @i + 100"},
       .on = On::mariadb},
      {.name = "a big transaction",
       .steps = {"BEGIN",
                 "INSERT INTO {t} (id, g, note) SELECT 1000 + seq, seq, REPEAT('x', 40) FROM "
                 "seq_1_to_40000",
                 "DELETE FROM {t} WHERE id > 1000 AND id % 3 = 0",
                 "UPDATE {t} SET g = g + 1",
                 "COMMIT",
                 "DELETE FROM {t} WHERE id > 800",
                 "FLUSH BINARY LOGS"},
       .on = On::mariadb},
      {.name = "a row of fifteen million bytes",
       .steps = {"ALTER TABLE {t} MODIFY note LONGTEXT",
                 "INSERT INTO {t} VALUES (20, 21, REPEAT('x', 15000000)), (22, 23, REPEAT('y', "
                 "15000000))",
                 "UPDATE {t} SET note = CONCAT(note, 'x'), id = id + 10 WHERE id > 10",
                 "DELETE FROM {t} WHERE id > 10",
                 "FLUSH BINARY LOGS"},
       .on = On::mariadb},
      {.name = "keys are not checked",
       .steps = {"SET unique_checks = 0, foreign_key_checks = 0",
                 "BEGIN",
                 "INSERT INTO {t} (id, g) VALUES (20, 21), (21, 22)",
                 "DELETE FROM {t} WHERE id = 20",
                 "COMMIT"}},
      {.name = "an empty table is filled in bulk",
       .steps = {"DELETE FROM {t}",
                 "SET unique_checks = 0, foreign_key_checks = 0",
                 "BEGIN",
                 "INSERT INTO {t} (id, g) VALUES (20, 21), (21, 22)",
                 "ROLLBACK",
                 "BEGIN",
                 "INSERT INTO {t} (id, g) VALUES (30, 31), (32, 33)",
                 "COMMIT"}},
      {.name = "zero is an id",
       .steps = {"SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
                 "INSERT INTO {t} (id, g) VALUES (0, 0)",
                 "UPDATE {t} SET g = 1 WHERE id = 0",
                 "SET insert_id = 800",
                 "INSERT INTO {t} (g) VALUES (45)"},
       .before = {"CREATE TABLE {t} (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, g INT "
                  "UNSIGNED, note VARCHAR(40))",
                  "INSERT INTO {t} (g) VALUES (1), (2), (3)"}},
  };
}

OddThings programs() {
  return {
      {.name = "a trigger of another table writes to it",
       .steps = {"CREATE TABLE x_{t} (a INT PRIMARY KEY)",
                 "CREATE TRIGGER tr_{t} AFTER INSERT ON x_{t} FOR EACH ROW INSERT INTO {t} (id, g) "
                 "VALUES (NEW.a + 100, NEW.a)",
                 "INSERT INTO x_{t} VALUES (1), (2)",
                 "CREATE TRIGGER ts_{t} BEFORE DELETE ON x_{t} FOR EACH ROW DELETE FROM {t} WHERE "
                 "id = OLD.a + 100",
                 "DELETE FROM x_{t} WHERE a = 1",
                 "DROP TRIGGER ts_{t}",
                 "DELETE FROM x_{t}"}},
      {.name = "a trigger of its own changes what is written",
       .steps = {"CREATE TRIGGER tr_{t} BEFORE INSERT ON {t} FOR EACH ROW SET NEW.id = NEW.id + "
                 "100, NEW.g = NULL",
                 "INSERT INTO {t} (id, g) VALUES (1, 1), (2, 2)",
                 "CREATE TRIGGER tu_{t} BEFORE UPDATE ON {t} FOR EACH ROW SET NEW.id = OLD.id + "
                 "200, NEW.g = 7",
                 "UPDATE {t} SET note = 'x' WHERE id < 3",
                 "DROP TRIGGER tr_{t}",
                 "DROP TRIGGER tu_{t}"}},
      {.name = "a trigger of its own writes to one that the pattern finds",
       .steps = {"CREATE TABLE {t}_x LIKE {t}",
                 "CREATE TRIGGER tr_{t} AFTER DELETE ON {t} FOR EACH ROW INSERT INTO {t}_x VALUES "
                 "(OLD.id, OLD.g, OLD.note)",
                 "DELETE FROM {t} WHERE id < 4",
                 "DROP TRIGGER tr_{t}"}},
      {.name = "a procedure writes",
       .steps = {"CREATE PROCEDURE p() BEGIN INSERT INTO {t} (id, g) VALUES (20, 21); UPDATE {t} "
                 "SET id = 22 WHERE id = 20; "
                 "START TRANSACTION; DELETE FROM {t} WHERE id = 1; ROLLBACK; START TRANSACTION; "
                 "DELETE FROM {t} WHERE id = 2; "
                 "COMMIT; END",
                 "CALL p()",
                 "DROP PROCEDURE p"}},
      {.name = "a procedure defines",
       .steps = {"CREATE PROCEDURE p() BEGIN ALTER TABLE {t} ADD COLUMN more INT FIRST; INSERT "
                 "INTO {t} (id, g) VALUES (20, 21); "
                 "RENAME TABLE {t} TO x_{t}; RENAME TABLE x_{t} TO {t}; END",
                 "CALL p()",
                 "DROP PROCEDURE p"}},
      {.name = "a procedure of another database defines",
       .steps = {"CREATE DATABASE {far}",
                 "CREATE PROCEDURE {far}.p() ALTER TABLE {db}.{t} DROP COLUMN note, ADD COLUMN x "
                 "INT FIRST",
                 "CALL {far}.p()",
                 "INSERT INTO {t} (id, g) VALUES (20, 21)",
                 "DROP DATABASE {far}"}},
      {.name = "a function writes",
       .steps = {"CREATE FUNCTION f(i INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN "
                 "INSERT INTO {t} (id, g) VALUES (i, i); RETURN i; END",
                 "SELECT f(20)",
                 "DO f(21)",
                 "DROP FUNCTION f"},
       .on = On::mariadb},
      {.name = "an event writes",
       .steps = {"CREATE EVENT e ON SCHEDULE AT CURRENT_TIMESTAMP DO INSERT INTO {t} (id, g) "
                 "VALUES (20, 21)",
                 "DROP EVENT IF EXISTS e"}},
      {.name = "prepared statements define and write",
       .steps = {"SET @s = CONCAT('ALTER TABLE ', '{t}', ' ADD COLUMN more INT FIRST')",
                 "PREPARE s FROM @s",
                 "EXECUTE s",
                 "PREPARE s FROM 'INSERT INTO {t} (id, g) VALUES (?, ?)'",
                 "SET @a = 20, @b = 21",
                 "EXECUTE s USING @a, @b",
                 "DEALLOCATE PREPARE s"}},
      {.name = "statements with settings in front of them",
       .steps =
           {"SET STATEMENT max_statement_time = 10 FOR ALTER TABLE {t} ADD COLUMN more INT FIRST",
            "SET STATEMENT sql_mode = '' FOR INSERT INTO {t} (id, g) VALUES (20, 21)",
            "SET STATEMENT lock_wait_timeout = 5 FOR RENAME TABLE {t} TO x_{t}, x_{t} TO {t}"},
       .on = On::mariadb},
  };
}

}  // namespace

OddThings odd_rows() {
  OddThings all = statements();
  const OddThings more = programs();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// NOLINTEND(readability-function-size,bugprone-suspicious-missing-comma)

}  // namespace cuckooguard::harness
