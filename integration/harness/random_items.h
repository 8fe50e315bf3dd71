// Rows of a table of MariaDB with a column of many a type, and conditions on them that a namespace
// may have.
//
// Threads: each object one.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace cuckooguard::harness {

class RandomItems {
 public:
  static constexpr const char* kCreateTable =
      "CREATE TABLE item (id INT UNSIGNED PRIMARY KEY, i INT, u BIGINT UNSIGNED, "
      "t VARCHAR(20) COLLATE utf8mb4_nopad_bin, b VARBINARY(20), z BINARY(3), "
      "c CHAR(5) COLLATE utf8mb4_nopad_bin, d DATETIME(3), s TIMESTAMP NULL, f DOUBLE, "
      "e ENUM('x', 'y'), j TEXT, o BIT(1), w BIT(10)) CHARACTER SET utf8mb4";

  explicit RandomItems(std::uint32_t seed) : random_(seed) {}

  unsigned pick(unsigned count) { return static_cast<unsigned>(random_() % count); }
  std::string one_of(const std::vector<std::string>& words) {
    return words[pick(static_cast<unsigned>(words.size()))];
  }

  std::string condition() {
    std::string all = term();
    for (unsigned more = pick(3); more > 0; --more) {
      all += " AND " + term();
    }
    return all;
  }
  // Of a column of table item, in SQL.
  std::string value(char column) {
    if (pick(4) == 0) {
      return "NULL";
    }
    switch (column) {
      case 'i':
        return one_of({"0", "1", "-1", "7", "2147483647", "-2147483648"});
      case 'u':
        return one_of({"0", "1", "7", "18446744073709551615"});
      case 'd':
      case 's':
        return one_of({"'2024-01-01 00:00:00'", "'1999-12-31 23:59:59'"});
      case 'f':
        return "1.5";
      case 'e':
        return "'y'";
      case 'o':
        return one_of({"b'0'", "b'1'", "1", "FALSE", "true"});
      case 'w':
        return one_of({"b'1000000001'", "513", "0"});
      case 'z':
        return one_of({"'a'", "'abc'", "'ab'"});
      default:
        return one_of({"''", "'a'", "'A'", "'a '", "'abc'", "'ab'", "'it''s'", "'7'", "'é'"});
    }
  }
  std::string row(unsigned id) {
    std::string all = "(" + std::to_string(id);
    for (const char column : std::string_view("iutbzcdsfejow")) {
      all += ", " + value(column);
    }
    return all + ")";
  }

 private:
  std::string literal(char column) {
    if (column == 'w' && pick(2) == 0) {
      return one_of({"'513'", "'0'", "-1", "FALSE"});  // which are compared, and not inserted
    }
    std::string text = value(column);
    while (text == "NULL") {
      text = value(column);
    }
    return text;
  }
  std::string term() {
    const std::string any =
        one_of({"i", "u", "t", "b", "z", "c", "d", "s", "f", "e", "j", "o", "w"});
    const std::string compared = one_of({"i", "u", "t", "b", "z", "c", "o", "w"});
    const auto next = [&] { return literal(compared[0]); };
    switch (pick(5)) {
      case 0:
        return any + " IS NULL";
      case 1:
        return any + " IS NOT NULL";
      case 2:
        return compared + " = " + next();
      case 3:
        return compared + " <> " + next();
      default:
        return compared + " IN (" + next() + ", " + next() + ", " + next() + ")";
    }
  }

  std::mt19937 random_;
};

}  // namespace cuckooguard::harness
