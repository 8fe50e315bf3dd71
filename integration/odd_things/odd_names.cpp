// Names that are hard to read in a definition, and definitions that are hard to read.
#include "odd_things/odd_thing.h"

namespace cuckooguard::harness {

// Tables of cases, as long as there are cases; a statement may need two lines.
// NOLINTBEGIN(readability-function-size,bugprone-suspicious-missing-comma)
namespace {

// A table of that name, already in quotes as SQL has them.
OddThing called(const std::string& name, const std::string& table, const std::string& quoted) {
  return {.name = name,
          .steps = {"ALTER TABLE " + quoted + " ADD COLUMN more INT FIRST",
                    "INSERT INTO " + quoted + " (id, g) VALUES (20, 21)",
                    "RENAME TABLE " + quoted + " TO zz_{t}",
                    "RENAME TABLE zz_{t} TO " + quoted,
                    "DELETE FROM " + quoted + " WHERE id = 1",
                    "TRUNCATE TABLE " + quoted,
                    "INSERT INTO " + quoted + " (id, g) VALUES (30, 31)"},
          .before = {"CREATE TABLE " + quoted + " (id BIGINT UNSIGNED PRIMARY KEY, g INT UNSIGNED)",
                     "INSERT INTO " + quoted + " VALUES (1, 1), (2, NULL)"},
          .table = table,
          .pattern = table + "*",
          .goes_on = false};
}

// A definition that adds a column in front, spelt so.
OddThing spelt(const std::string& name, const std::string& sql, On on = On::both) {
  return {.name = name,
          .steps = {sql, "INSERT INTO {t} (id, g) VALUES (20, 21)", "DELETE FROM {t} WHERE id = 1"},
          .on = on};
}

}  // namespace

OddThings odd_names() {
  return {
      called("a reserved word", "select", "`select`"),
      called("the word table", "table", "`table`"),
      called("a name with a blank", "my {t}", "`my {t}`"),
      called("a name with a quote of each kind", "q'\"``{t}", "`q'\"````{t}`"),
      called("a name with a dot and a slash", "a.b/{t}", "`a.b/{t}`"),
      called("a name with letters of other alphabets", "таблица_表_é_{t}", "`таблица_表_é_{t}`"),
      called("a name of digits", "4711", "`4711`"),
      called("a name with a hash and a dollar", "a#b$c{t}", "`a#b$c{t}`"),
      called("a name with a comment in it", "a/*b*/--{t}", "`a/*b*/--{t}`"),
      called("a name of 64 letters",
             "a2345678901234567890123456789012345678901234567890123456789{t}",
             "`a2345678901234567890123456789012345678901234567890123456789{t}`"),
      called("a name in capitals", "T_{t}_T", "T_{t}_T"),

      spelt("a comment in front", "/* no */ ALTER TABLE {t} ADD COLUMN more INT FIRST"),
      spelt("a line of comment in front", "-- no\nALTER TABLE {t} ADD COLUMN more INT FIRST"),
      spelt("another line of comment in front", "# no\n ALTER TABLE {t} ADD COLUMN more INT FIRST"),
      spelt("comments in between",
            "ALTER/**/TABLE/*;*/{t}/*'*/ADD COLUMN more INT FIRST -- behind"),
      spelt("a comment that is executed", "/*!50000 ALTER TABLE {t} ADD COLUMN more INT FIRST */"),
      spelt("half of it in a comment that is executed",
            "ALTER /*!50000 TABLE {t} */ ADD COLUMN more INT FIRST"),
      spelt("the name in a comment that is executed",
            "ALTER TABLE /*!50000 {t} */ ADD COLUMN more INT FIRST"),
      spelt("a comment that MariaDB executes",
            "/*M!100000 ALTER TABLE {t} */ ADD COLUMN more INT FIRST",
            On::mariadb),
      spelt("small letters and odd blanks", "\n\talter\ttable\n`{t}`\nadd more int first ;"),
      spelt(
          "words in between",
          "ALTER ONLINE IGNORE TABLE IF EXISTS {t} WAIT 60 ADD COLUMN IF NOT EXISTS more INT FIRST",
          On::mariadb),
      spelt("a blank before the dot", "ALTER TABLE {db} . {t} ADD COLUMN more INT FIRST"),
      spelt("quotes around both names", "ALTER TABLE `{db}`.`{t}` ADD COLUMN more INT FIRST"),
      {.name = "double quotes around the name",
       .steps = {"SET sql_mode = 'ANSI_QUOTES'",
                 "ALTER TABLE \"{t}\" ADD COLUMN \"more\" INT FIRST",
                 "INSERT INTO {t} (id, g) VALUES (20, 21)"}},
      {.name = "the name is that of a column and an alias as well",
       .steps = {"ALTER TABLE {t} ADD COLUMN {t} INT FIRST",
                 "UPDATE {t} {t} SET {t}.{t} = 1, {t}.id = {t}.id + 100"}},
      {.name = "statements of a client of one byte a letter",
       .steps = {"SET NAMES latin1",
                 "ALTER TABLE {t} ADD COLUMN `m\xe4r` INT FIRST",
                 "INSERT INTO {t} (id, g) VALUES (20, 21)"}},
      {.name = "statements of a client whose letters have backslashes",
       .steps = {"SET NAMES sjis",
                 "ALTER TABLE {t} ADD COLUMN more INT DEFAULT 1 COMMENT '\x95\x5c' FIRST",
                 "INSERT INTO {t} (id, g) VALUES (20, 21)"},
       .on = On::mariadb},
      {.name = "columns with odd names",
       .steps = {"ALTER TABLE {t} ADD COLUMN `a``b` INT FIRST",
                 "ALTER TABLE {t} ADD COLUMN ` x, y` INT FIRST",
                 "ALTER TABLE {t} ADD COLUMN `id2)` INT FIRST",
                 "INSERT INTO {t} (id, g) VALUES (20, 21)"}},
      {.name = "a name that another begins with",
       .steps = {"CREATE TABLE {t}2 (x INT PRIMARY KEY, id BIGINT UNSIGNED, g INT)",
                 "INSERT INTO {t}2 VALUES (1, 50, 51)",
                 "ALTER TABLE {t}2 ADD COLUMN y INT FIRST",
                 "DROP TABLE {t}2"},
       .is_unique = false},
      {.name = "the same name in other letters is another table",
       .steps = {"CREATE TABLE T_x{t} (id INT)",
                 "DROP TABLE T_x{t}",
                 "CREATE TABLE t_X{t} (id INT)",
                 "INSERT INTO t_X{t} VALUES (77)"}},
      {.name = "temporary tables of its name",
       .steps = {"CREATE TEMPORARY TABLE {t} (x INT, id INT, g INT)",
                 "INSERT INTO {t} VALUES (1, 50, 51)",
                 "ALTER TABLE {t} ADD COLUMN y INT",
                 "DELETE FROM {t}",
                 "b: INSERT INTO {t} (id, g) VALUES (20, 21)",
                 "TRUNCATE TABLE {t}",
                 "DROP TEMPORARY TABLE {t}",
                 "INSERT INTO {t} (id, g) VALUES (22, 23)"}},
      {.name = "a temporary table of its name that goes with its session",
       .steps = {"CREATE TEMPORARY TABLE {t} (id INT, g INT)",
                 "INSERT INTO {t} (id, g) VALUES (50, 51)",
                 "leave",
                 "INSERT INTO {t} (id, g) VALUES (20, 21)"}},
      {.name = "a temporary table of its name in a transaction",
       .steps = {"BEGIN",
                 "INSERT INTO {t} (id, g) VALUES (20, 21)",
                 "CREATE TEMPORARY TABLE x (id INT)",
                 "INSERT INTO x VALUES (1)",
                 "INSERT INTO {t} (id, g) SELECT id + 40, 5 FROM x",
                 "DROP TEMPORARY TABLE x",
                 "ROLLBACK"}},
  };
}

// NOLINTEND(readability-function-size,bugprone-suspicious-missing-comma)

}  // namespace cuckooguard::harness
