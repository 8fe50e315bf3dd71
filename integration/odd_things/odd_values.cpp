// Values that keys are made of, and those of columns beside them, over which the log must be read
// rightly.
#include "odd_things/odd_thing.h"

namespace cuckooguard::harness {

// Tables of cases, as long as there are cases; a statement may need two lines.
// NOLINTBEGIN(readability-function-size,bugprone-suspicious-missing-comma)
namespace {

// A table of one text, which is its key.
std::vector<std::string> text_table(const std::string& type, const std::string& rows) {
  return {"CREATE TABLE {t} (n " + type + " PRIMARY KEY, note VARCHAR(40))",
          "INSERT INTO {t} (n) VALUES " + rows};
}

OddThing refused(const std::string& name, const std::string& type, const std::string& words) {
  return {.name = name,
          .steps = {},
          .end = End::refused,
          .words = words,
          .before = {"CREATE TABLE {t} (n " + type + " PRIMARY KEY)"},
          .id = "{n}",
          .group = "",
          .goes_on = false};
}

OddThings numbers() {
  return {
      {.name = "the largest numbers",
       .steps = {"INSERT INTO {t} (id, g) VALUES (18446744073709551615, 4294967295), "
                 "(9223372036854775808, 2147483648)",
                 "UPDATE {t} SET id = 18446744073709551614 WHERE id = 18446744073709551615"},
       .goes_on = false},
      {.name = "numbers below zero",
       .steps = {"INSERT INTO {t} (id, g) VALUES (-128, -32768), (127, 32767)",
                 "UPDATE {t} SET id = -id WHERE id = -5",
                 "DELETE FROM {t} WHERE id = -128"},
       .before = {"CREATE TABLE {t} (id TINYINT PRIMARY KEY, g SMALLINT)",
                  "INSERT INTO {t} VALUES (-5, -5), (-1, -1), (0, 0), (1, 1)"},
       .id = "{id:int64}",
       .group = "{g:int64}",
       .goes_on = false},
      {.name = "numbers of three and eight bytes",
       .steps = {"INSERT INTO {t} (id, g) VALUES (-8388608, -9223372036854775808), (8388607, "
                 "9223372036854775807)",
                 "UPDATE {t} SET g = g + 1 WHERE g < 0",
                 "DELETE FROM {t} WHERE id = 1"},
       .before = {"CREATE TABLE {t} (id MEDIUMINT PRIMARY KEY, g BIGINT)",
                  "INSERT INTO {t} VALUES (-1, -1), (1, 1)"},
       .id = "{id:int64}",
       .group = "{g:int64}",
       .goes_on = false},
      {.name = "a number below zero where keys have none",
       .steps = {"INSERT INTO {t} (id, g) VALUES (20, -5)"},
       .before = {"CREATE TABLE {t} (id INT PRIMARY KEY, g INT)", "INSERT INTO {t} VALUES (1, 1)"},
       .goes_on = false},
      {.name = "a number below zero where keys have none, which goes again",
       .steps = {"INSERT INTO {t} (id, g) VALUES (20, -5)", "DELETE FROM {t} WHERE g < 0"},
       .before = {"CREATE TABLE {t} (id INT PRIMARY KEY, g INT)", "INSERT INTO {t} VALUES (1, 1)"}},
      {.name = "numbers as text, and one that is none",
       .steps = {"INSERT INTO {t} (id, g) VALUES (20, '21')",
                 "INSERT INTO {t} (id, g) VALUES (21, '007')",
                 "DELETE FROM {t} WHERE id = 21"},
       .before = {"CREATE TABLE {t} (id INT PRIMARY KEY, g VARCHAR(9) CHARACTER SET ascii)",
                  "INSERT INTO {t} VALUES (1, '1')"}},
      refused("a decimal number", "DECIMAL(10,2)", "can be found by several spellings"),
      refused("a number with zeros in front", "INT ZEROFILL", "is ZEROFILL"),
      refused("a date", "DATE", "can be found by several spellings"),
      refused("a time stamp", "TIMESTAMP", "has a type whose text"),
      refused("a year", "YEAR", "has a type whose text"),
      refused("a time", "TIME", "has a type whose text"),
      refused("bits", "BIT(8)", "has a type whose text"),
      refused("an enum", "ENUM('a','b')", "has a type whose text"),
      refused("a set", "SET('a','b')", "has a type whose text"),
      refused("a floating number", "FLOAT", "has a type whose text"),
      refused("a text of one byte a letter",
              "VARCHAR(20) CHARACTER SET latin1",
              "has the character set latin1"),
      refused("a text of two bytes a letter",
              "VARCHAR(20) CHARACTER SET ucs2",
              "has the character set ucs2"),
      refused("a text that pads",
              "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
              "in which trailing spaces are ignored"),
  };
}

OddThings texts() {
  const std::string exact = "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE {bin}";
  return {
      {.name = "texts with blanks at their ends",
       .steps = {"INSERT INTO {t} (n) VALUES ('b'), ('b '), (' b'), ('b\\t')",
                 "DELETE FROM {t} WHERE n = 'a '",
                 "UPDATE {t} SET n = 'a  ' "
                 "WHERE n = 'a'"},
       .before = text_table(exact, "('a'), ('a '), ('A')"),
       .id = "{n}",
       .group = "",
       .goes_on = false},
      {.name = "texts with bytes of all kinds",
       .steps = {"INSERT INTO {t} (n) VALUES ('\\0'), ('a\\0b'), ('\\n'), ('ü€😀'), ('''\"`\\\\')",
                 "DELETE FROM {t} WHERE n = 'é'",
                 "UPDATE {t} SET n = CONCAT(n, '\\r\\n')"},
       .before = text_table(exact, "('a'), ('é'), ('😀')"),
       .id = "{n:rest}",
       .group = "",
       .goes_on = false},
      {.name = "an empty text",
       .steps = {"INSERT INTO {t} (n) VALUES ('')", "INSERT INTO {t} (n) VALUES ('b')"},
       .before = text_table(exact, "('a')"),
       .id = "{n:rest}",
       .group = "",
       .goes_on = false},
      {.name = "a text with the sign that parts the key's values",
       .steps = {"INSERT INTO {t} (n, m) VALUES ('a', 'b:c')",
                 "INSERT INTO {t} (n, m) VALUES ('a:b', 'c')",
                 "DELETE FROM {t} WHERE n = 'a:b'"},
       .before = {"CREATE TABLE {t} (n " + exact + ", m " + exact + ", PRIMARY KEY (n, m))",
                  "INSERT INTO {t} VALUES ('x', 'y')"},
       .id = "{n}:{m:rest}",
       .group = "",
       .goes_on = false},
      {.name = "long texts",
       .steps = {"INSERT INTO {t} (n) VALUES (REPEAT('b', 700)), (REPEAT('€', 700))",
                 "UPDATE {t} SET n = CONCAT(n, 'x')",
                 "DELETE FROM {t} WHERE n LIKE 'b%'"},
       .before = text_table("VARCHAR(750) CHARACTER SET utf8mb4 COLLATE {bin}",
                            "('a'), (REPEAT('a', 255)), (REPEAT('a', 256))"),
       .id = "{n}",
       .group = "",
       .goes_on = false},
      {.name = "texts of a fixed length",
       .steps = {"INSERT INTO {t} (n) VALUES ('b'), ('ccc'), ('ü')",
                 "UPDATE {t} SET n = CONCAT(n, 'x')",
                 "DELETE FROM {t} WHERE n = 'bx'"},
       .before = text_table("CHAR(200) CHARACTER SET utf8mb4 COLLATE {bin}", "('a'), ('d ')"),
       .id = "{n}",
       .group = "",
       .goes_on = false},
      {.name = "texts that fold",
       .steps = {"INSERT INTO {t} (n) VALUES ('Bob'), ('carl ')",
                 "UPDATE {t} SET n = 'BOB' WHERE n = 'bob'",
                 "UPDATE {t} SET n = 'Ann' WHERE n = "
                 "'ann'",
                 "DELETE FROM {t} WHERE n = 'CARL'"},
       .before = text_table("VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
                            "('ann'), ('Dora')"),
       .id = "{n|ci}",
       .group = "",
       .goes_on = false},
      {.name = "texts that fold, with a letter that is not folded",
       .steps = {"INSERT INTO {t} (n) VALUES ('Ü')"},
       .before = text_table("VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
                            "('ann'), ('Dora')"),
       .id = "{n|ci}",
       .group = "",
       .goes_on = false},
      {.name = "bytes",
       .steps = {"INSERT INTO {t} (n) VALUES (X'00'), (X'FF00'), (X'0000'), (X'61')",
                 "UPDATE {t} SET n = CONCAT(n, X'0001')",
                 "DELETE FROM {t} WHERE n = X'610001'"},
       .before = text_table("VARBINARY(16)", "(X'62'), (X'6200')"),
       .id = "{n:rest}",
       .group = "",
       .goes_on = false},
      {.name = "bytes of a fixed length",
       .steps = {"INSERT INTO {t} (n) VALUES (X'00'), (X'FF00'), (X'0001'), (X'61')",
                 "UPDATE {t} SET n = X'6162' WHERE n = X'6200000000000000'",
                 "DELETE FROM {t} WHERE n = X'6100000000000000'"},
       .before = text_table("BINARY(8)", "(X'62'), (X'6263')"),
       .id = "{n:rest}",
       .group = "",
       .goes_on = false},
      {.name = "texts of three bytes a letter, and of one",
       .steps = {"INSERT INTO {t} (n, m) VALUES ('€', 'b'), ('ü', 'c')",
                 "UPDATE {t} SET m = 'd' WHERE n = 'ü'"},
       .on = On::mariadb,
       .before = {"CREATE TABLE {t} (n VARCHAR(90) CHARACTER SET utf8mb3 COLLATE "
                  "utf8mb3_nopad_bin, m VARCHAR(9) CHARACTER SET ascii COLLATE "
                  "ascii_nopad_bin, PRIMARY KEY (n, m))",
                  "INSERT INTO {t} VALUES ('a', 'a')"},
       .id = "{n}:{m}",
       .group = "",
       .goes_on = false},
      {.name = "texts that are stored compressed",
       .steps = {"INSERT INTO {t} (id, g) VALUES (20, REPEAT('b', 300)), (21, 'c')",
                 "UPDATE {t} SET g = REPEAT('d', 300) WHERE id = 1",
                 "DELETE FROM {t} WHERE id = 21"},
       .end = End::refused,
       .words = "COMPRESSED",
       .whose = Whose::groups,
       .on = On::mariadb,
       .before = {"CREATE TABLE {t} (id INT PRIMARY KEY, g VARCHAR(400) COMPRESSED CHARACTER SET "
                  "utf8mb4 COLLATE {bin})",
                  "INSERT INTO {t} VALUES (1, REPEAT('a', 300)), (2, 'b')"},
       .group = "{g}"},
      {.name = "columns beside them that are stored compressed",
       .steps = {"INSERT INTO {t} (id, g, c, d) VALUES (20, 21, REPEAT('b', 300), REPEAT('x', "
                 "70000)), (22, NULL, NULL, NULL)",
                 "UPDATE {t} SET g = 23, c = 'x' WHERE id = 20",
                 "DELETE FROM {t} WHERE id = 1"},
       .on = On::mariadb,
       .before = {"CREATE TABLE {t} (c VARCHAR(400) COMPRESSED, d MEDIUMTEXT COMPRESSED, id INT "
                  "PRIMARY KEY, g INT)",
                  "INSERT INTO {t} (c, id, g) VALUES (REPEAT('a', 300), 1, 1), ('b', 2, 2)"}},
  };
}

OddThings computed() {
  return {
      {.name = "an identity that is computed",
       .steps = {"INSERT INTO {t} (id, a) VALUES (20, 21)",
                 "UPDATE {t} SET a = a + 50 WHERE id = 1",
                 "UPDATE {t} SET note = 'x'",
                 "DELETE FROM {t} WHERE id = 2"},
       .before = {"CREATE TABLE {t} (id INT PRIMARY KEY, a INT, g INT AS (a + 1) VIRTUAL, note "
                  "VARCHAR(9))",
                  "INSERT INTO {t} (id, a) VALUES (1, 1), (2, 2), (3, NULL)"},
       .goes_on = false},
      {.name = "an identity that is computed and indexed",
       .steps = {"INSERT INTO {t} (id, a) VALUES (20, 21)",
                 "UPDATE {t} SET a = a + 50 WHERE id = 1",
                 "UPDATE {t} SET note = 'x'",
                 "REPLACE INTO {t} (id, a) VALUES (3, 5)",
                 "DELETE FROM {t} WHERE id = 2"},
       .before = {"CREATE TABLE {t} (note VARCHAR(9), g INT AS (a + 1) VIRTUAL UNIQUE, id INT "
                  "PRIMARY KEY, a INT)",
                  "INSERT INTO {t} (id, a) VALUES (1, 1), (2, 2), (3, NULL)"},
       .goes_on = false},
      {.name = "an identity that is computed and stored",
       .steps = {"INSERT INTO {t} (id, a) VALUES (20, 21)",
                 "UPDATE {t} SET a = a + 50 WHERE id = 1",
                 "UPDATE {t} SET note = 'x'",
                 "ALTER TABLE {t} MODIFY g INT AS (a + 2) STORED",
                 "DELETE FROM {t} WHERE id = 2"},
       .before = {"CREATE TABLE {t} (note VARCHAR(9), g INT AS (a + 1) STORED, id INT PRIMARY KEY, "
                  "a INT)",
                  "INSERT INTO {t} (id, a) VALUES (1, 1), (2, 2), (3, NULL)"},
       .goes_on = false},
      {.name = "columns that are computed beside it, in rows without what has not changed",
       .steps = {"SET SESSION binlog_row_image = 'MINIMAL'",
                 "INSERT INTO {t} (id, a) VALUES (20, 21)",
                 "UPDATE {t} SET id = 30 WHERE id = 1",
                 "UPDATE {t} SET a = 9 WHERE id = 2",
                 "DELETE FROM {t} WHERE id = 3"},
       .before = {"CREATE TABLE {t} (v INT AS (a + 1) VIRTUAL, s INT AS (a + 2) STORED, id INT "
                  "PRIMARY KEY, a INT, g INT)",
                  "INSERT INTO {t} (id, a, g) VALUES (1, 1, 1), (2, 2, 2), (3, NULL, 3)"},
       .goes_on = false},
      {.name = "columns of every type beside it",
       .steps = {"INSERT INTO {t} VALUES (1, -2, 3, -4, 5.5, 6.6, 777.77, b'101010101', "
                 "'2020-01-01', '-11:22:33.123456', '2020-01-01 "
                 "01:02:03.999', NOW(6), 1999, 'a', REPEAT('b', 300), 'c', X'00FF', 'd', "
                 "REPEAT('e', 70000), 'b', 'a,c', POINT(1, 2), "
                 "'{\"a\": [1]}', 20, 21)",
                 "UPDATE {t} SET g = 22, dc = -0.01, ts = NULL, bl = NULL",
                 "UPDATE {t} SET id = 23",
                 "DELETE FROM {t}"},
       .before = {"CREATE TABLE {t} (a TINYINT, b SMALLINT, c MEDIUMINT, d BIGINT, f FLOAT, e "
                  "DOUBLE, dc DECIMAL(30, 11), bi BIT(9), da DATE, "
                  "ti TIME(6), dt DATETIME(3), ts TIMESTAMP(6) NULL, y YEAR, ch CHAR(200) "
                  "CHARACTER SET utf8mb4, vc VARCHAR(500), bn BINARY(5), "
                  "vb VARBINARY(300), tt TINYTEXT, bl LONGBLOB, en ENUM('a', 'b'), se SET('a', "
                  "'b', 'c'), ge GEOMETRY, js JSON, id INT PRIMARY "
                  "KEY, g INT)"}},
      {.name = "columns of MariaDB's own types beside it",
       .steps = {"INSERT INTO {t} VALUES (UUID(), '1.2.3.4', '::1', 20, 21)",
                 "UPDATE {t} SET g = 22, u = NULL",
                 "UPDATE {t} SET id = 23, i4 = NULL",
                 "DELETE FROM {t}"},
       .on = On::mariadb,
       .before = {"CREATE TABLE {t} (u UUID, i4 INET4, i6 INET6, id INT PRIMARY KEY, g INT)"}},
      {.name = "a key of a time, a number and an enum",
       .steps = {"INSERT INTO {t} (id, c, e, g) VALUES (20, '2020-02-02 02:02:02', 'b', 21), (20, "
                 "'2020-02-02 02:02:03', 'b', 22)",
                 "UPDATE {t} SET c = '2021-01-01' WHERE id = 1",
                 "UPDATE {t} SET e = 'b', g = 33 WHERE id = 2",
                 "DELETE FROM {t} WHERE g = 22"},
       .before = {"CREATE TABLE {t} (id INT, c DATETIME, e ENUM('a', 'b'), g INT, PRIMARY KEY (id, "
                  "c, e))",
                  "INSERT INTO {t} VALUES (1, '2020-01-01', 'a', 1), (2, '2020-01-01', 'a', 2)"},
       .is_unique = false,
       .goes_on = false},
      {.name = "a key of a beginning of a text",
       .steps = {"INSERT INTO {t} (n, id, g) VALUES (REPEAT('b', 50), 20, 21)",
                 "UPDATE {t} SET n = CONCAT(n, 'x'), id = id + 1",
                 "DELETE FROM {t} WHERE id = 2"},
       .before = {"CREATE TABLE {t} (n VARCHAR(200) NOT NULL, id INT, g INT, PRIMARY KEY (n(10)))",
                  "INSERT INTO {t} VALUES ('aaaaaaaaaaaa', 1, 1)"},
       .is_unique = false,
       .goes_on = false},
      {.name = "a unique key over a long text",
       .steps = {"INSERT INTO {t} (id, g, n) VALUES (20, 21, REPEAT('b', 3000))",
                 "UPDATE {t} SET n = CONCAT(n, 'x')",
                 "REPLACE INTO {t} (id, g, n) "
                 "VALUES (22, 23, CONCAT(REPEAT('b', 3000), 'x'))",
                 "DELETE FROM {t} WHERE id = 1"},
       .on = On::mariadb,
       .before = {"CREATE TABLE {t} (id INT PRIMARY KEY, g INT, n TEXT, UNIQUE (n))",
                  "INSERT INTO {t} VALUES (1, 1, 'a'), (2, 2, 'b')"},
       .goes_on = false},
  };
}

}  // namespace

OddThings odd_values() {
  OddThings all;
  for (const OddThings& some : {numbers(), texts(), computed()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// NOLINTEND(readability-function-size,bugprone-suspicious-missing-comma)

}  // namespace cuckooguard::harness
