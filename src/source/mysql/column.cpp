#include "mysql/column.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "keyspace/canonical_text.h"
#include "source/uuid_bytes.h"

namespace cuckooguard::source::mysql {
namespace {

using keyspace::Placeholder;
using keyspace::ValueType;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// Equal only if the bytes are.
bool compares_bytes(const Column& column) {
  return column.charset.empty() || column.collation == "binary" ||
         column.collation == "utf8mb4_0900_bin" || column.collation.ends_with("_nopad_bin");
}

std::string subject(const Column& column) {
  return "column `" + column.name + "` (" + column.column_type + ") ";
}

// Of a column that does not compare bytes.
std::string blurred(const Column& column) {
  return subject(column) + "has the collation " + column.collation + ", in which " +
         (column.collation.ends_with("_bin") ? "trailing spaces are ignored"
                                             : "different bytes can be equal");
}

bool is_bits(const Column& column) {
  return column.data_type == "bit";
}

// Of a column that SQL compares with whatever literal as a number.
std::optional<std::string> unlike_a_number(const Column& column, const keyspace::ColumnUse& use) {
  for (const std::string_view literal : use.literals) {
    if (!keyspace::canonical_int64(literal) && !keyspace::canonical_uint64(literal)) {
      return subject(column) + "is compared as a number, but '" + std::string(literal) +
             "' is not written as the server prints numbers; write it that way";
    }
  }
  return std::nullopt;
}

// Of a column that is readable: what it is compared with.
std::optional<std::string> incomparable(const Column& column, const keyspace::ColumnUse& use) {
  switch (column.type()) {
    case ColumnKind::integer:
      return unlike_a_number(column, use);
    case ColumnKind::text:
    case ColumnKind::bytes:
      if (use.has_integers) {
        return subject(column) + "is text, which SQL compares with " +
               std::string(use.literals.front()) + " as a number; quote the value";
      }
      if (!compares_bytes(column) && !use.only_excludes) {
        return blurred(column) + "; MODIFY it to " + column.charset +
               "_nopad_bin, or utf8mb4_0900_bin in MySQL";
      }
      return std::nullopt;
    default:
      return subject(column) +
             "allows several spellings of one value; use an integer or text column";
  }
}

}  // namespace

ColumnKind Column::type() const {
  if (is_one_of(data_type, {"tinyint", "smallint", "mediumint", "int", "bigint"})) {
    return ColumnKind::integer;
  }
  if (is_one_of(data_type, {"char", "varchar"})) {
    return charset == "binary" ? ColumnKind::bytes : ColumnKind::text;
  }
  if (is_one_of(data_type, {"binary", "varbinary"})) {
    return ColumnKind::bytes;
  }
  if (data_type == "decimal") {
    return ColumnKind::decimal;
  }
  return data_type == "date" ? ColumnKind::date : ColumnKind::other;
}

bool Column::is_unsigned() const {
  return column_type.contains("unsigned");
}

KeyText key_text(const Column& column) {
  const bool is_padded = column.column_type.contains("zerofill");
  switch (column.type()) {
    case ColumnKind::integer:
      return is_padded ? KeyText::number : KeyText::plain;
    case ColumnKind::decimal:
      return is_padded ? KeyText::none : KeyText::plain;
    case ColumnKind::text:
    case ColumnKind::bytes:
    case ColumnKind::date:
      return KeyText::plain;
    case ColumnKind::other:
      break;
  }
  if (is_one_of(column.data_type, {"enum", "set", "bit"})) {
    return KeyText::number;
  }
  const bool is_plain = is_one_of(column.data_type,
                                  {"datetime",
                                   "timestamp",
                                   "time",
                                   "tinytext",
                                   "text",
                                   "mediumtext",
                                   "longtext",
                                   "tinyblob",
                                   "blob",
                                   "mediumblob",
                                   "longblob"}) ||
                        (column.data_type == "year" && column.column_type != "year(2)");
  return is_plain ? KeyText::plain : KeyText::none;
}

bool folds_no_more_than_case(std::string_view collation) {
  constexpr std::array<std::string_view, 7> kTailored = {
      "roman", "lithuanian", "hungarian", "_la_0900", "_lt_0900", "_lv_0900", "_hu_0900"};
  return std::ranges::none_of(
      kTailored, [collation](std::string_view word) { return collation.contains(word); });
}

std::optional<std::string> unreadable(const Column& column) {
  if (column.type() == ColumnKind::other) {
    return subject(column) +
           "has a type whose text cannot be derived reliably from the log; use an integer, CHAR, "
           "VARCHAR, BINARY, VARBINARY, DECIMAL or DATE column";
  }
  if (column.column_type.contains("zerofill")) {
    return subject(column) +
           "is ZEROFILL, which queries show but the log does not; remove ZEROFILL with ALTER TABLE";
  }
  if (column.column_type.contains("compressed")) {
    return subject(column) + "is COMPRESSED, also in the log; remove COMPRESSED with MODIFY";
  }
  if (!column.charset.empty() &&
      !is_one_of(column.charset, {"utf8mb4", "utf8mb3", "utf8", "ascii"})) {
    return subject(column) + "has the character set " + column.charset +
           ", whose bytes differ from those in keys; CONVERT it to utf8mb4";
  }
  return std::nullopt;
}

std::optional<std::string> ambiguous(const Column& column, const Placeholder& placeholder) {
  const ColumnKind type = column.type();
  const bool has_16_bytes = column.column_type == "binary(16)";
  if (placeholder.is_integer() && type != ColumnKind::date && !has_16_bytes) {
    return std::nullopt;  // what else a text is taken for is known (keyspace::equal_integer())
  }
  const bool is_uuid =
      placeholder.type == ValueType::uuid && (type == ColumnKind::text || has_16_bytes);
  const bool is_date = type == ColumnKind::date && placeholder.type == ValueType::date;
  if (keyspace::is_of_own_type(placeholder.type) && !is_uuid && !is_date) {
    return subject(column) + "does not work with " + placeholder.text() +
           ": use :uuid for CHAR, VARCHAR and BINARY(16), and :date for DATE";
  }
  const std::string name = placeholder.name + (placeholder.rest ? ":rest" : "");
  switch (type) {
    case ColumnKind::integer:
      return subject(column) + "is compared as a number (007 finds 7), but {" + placeholder.name +
             "} compares bytes; write {" + placeholder.name + ":uint64}, or {" + placeholder.name +
             ":int64} if it has negative values";
    case ColumnKind::decimal:
      return subject(column) +
             "can be found by several spellings of one value; use an integer or text column";
    case ColumnKind::date:
      if (is_date) {
        return std::nullopt;
      }
      return subject(column) + "can be found by several spellings of one value; write {" +
             placeholder.name + ":date}";
    case ColumnKind::text:
      if (compares_bytes(column)) {
        return std::nullopt;
      }
      if (!folds_no_more_than_case(column.collation)) {
        return subject(column) + "has the collation " + column.collation +
               ", in which different letters can be equal; MODIFY it to utf8mb4_unicode_ci";
      }
      if (keyspace::is_folded(placeholder.type)) {
        return std::nullopt;
      }
      return blurred(column) + "; write {" + name + "|ci}";
    case ColumnKind::bytes:
      if (const auto why = has_16_bytes ? why_not_text(placeholder) : std::nullopt) {
        return subject(column) + *why;
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<std::string> undecidable(const Column& column, const keyspace::ColumnUse& use) {
  // No row would count; and of a DATE that is NOT NULL, SQL finds '0000-00-00' so.
  if (use.asks_is_null && !column.nullable) {
    return subject(column) + "is NOT NULL, so IS NULL never matches";
  }
  if (!use.compares()) {
    return std::nullopt;
  }
  if (is_bits(column)) {  // SELECT gives the number that the log has (TablePlan::selected)
    return unlike_a_number(column, use);
  }
  if (auto why = unreadable(column)) {
    return *why + "; without that, a condition can test it only with IS NULL or IS NOT NULL";
  }
  for (const std::string_view literal : use.literals) {
    if (literal.contains("\\")) {
      return subject(column) +
             "is compared with a text that has a backslash, which SQL treats as an escape; remove "
             "the backslash";
    }
  }
  return incomparable(column, use);
}

}  // namespace cuckooguard::source::mysql
