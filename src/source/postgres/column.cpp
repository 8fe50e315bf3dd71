#include "postgres/column.h"

#include <string_view>

#include "keyspace/canonical_integer.h"

namespace cuckooguard::source {
namespace {

using keyspace::Placeholder;
using keyspace::ValueType;

// Those that PostgreSQL is built with have the same numbers everywhere (pg_type.dat).
constexpr std::uint32_t kBool = 16;
constexpr std::uint32_t kInt8 = 20;
constexpr std::uint32_t kInt2 = 21;
constexpr std::uint32_t kInt4 = 23;
constexpr std::uint32_t kText = 25;
constexpr std::uint32_t kChar = 1042;
constexpr std::uint32_t kVarchar = 1043;

std::string subject(const PostgresColumn& column) {
  return "column \"" + column.name + "\" (" + column.type_name + ") ";
}

std::string blurred(const PostgresColumn& column) {
  return subject(column) +
         "has a nondeterministic collation, by which different bytes can be equal; ALTER it to a "
         "deterministic one, such as COLLATE \"C\"";
}

// Which blanks and letters SQL does not tell apart.
std::string_view folding(const PostgresColumn& column) {
  return column.type == PostgresType::padded_text ? "is compared without blanks at its end"
                                                  : "is compared without regard to case";
}

// What it is compared with, by = or <>.
std::optional<std::string> incomparable(const PostgresColumn& column,
                                        const keyspace::ColumnUse& use) {
  switch (column.type) {
    case PostgresType::integer:
      for (const std::string_view literal : use.literals) {
        if (!keyspace::canonical_int64(literal)) {
          return subject(column) + "is compared as a number, and '" + std::string(literal) +
                 "' is not one as the server prints it; write it so";
        }
      }
      return std::nullopt;
    case PostgresType::boolean:
      for (const std::string_view literal : use.literals) {
        if (literal != "t" && literal != "f") {
          return subject(column) + "is printed as t or f, and compared so here; write 't' or 'f'";
        }
      }
      return std::nullopt;
    case PostgresType::text:
      if (use.has_integers) {
        return subject(column) + "is text, which SQL does not compare with the number " +
               std::string(use.literals.front()) + "; put quotes around it";
      }
      if (!column.is_deterministic) {
        return blurred(column);
      }
      return std::nullopt;
    case PostgresType::padded_text:
    case PostgresType::folded_text:
      return subject(column) + std::string(folding(column)) +
             ", and a condition byte by byte; ALTER it to text";
    default:
      return subject(column) +
             "has several spellings of one value; a condition can only ask IS NULL or IS NOT NULL "
             "of it, or use an integer, boolean or text column";
  }
}

}  // namespace

PostgresType postgres_type(std::uint32_t oid, char kind, std::string_view name) {
  switch (oid) {
    case kInt2:
    case kInt4:
    case kInt8:
      return PostgresType::integer;
    case kText:
    case kVarchar:
      return PostgresType::text;
    case kChar:
      return PostgresType::padded_text;
    case kBool:
      return PostgresType::boolean;
    default:
      break;
  }
  if (kind == 'e') {
    return PostgresType::text;
  }
  if (kind == 'c' || name == "record") {
    return PostgresType::composite;
  }
  return name == "citext" ? PostgresType::folded_text : PostgresType::other;
}

std::optional<std::string> unreadable(const PostgresColumn& column) {
  switch (column.type) {
    case PostgresType::boolean:
    case PostgresType::composite:
    case PostgresType::other:
      return subject(column) +
             "can be found by several spellings of one value; use an integer, text or varchar "
             "column";
    default:
      return std::nullopt;
  }
}

std::optional<std::string> ambiguous(const PostgresColumn& column, const Placeholder& placeholder) {
  const std::string name = placeholder.name + (placeholder.rest ? ":rest" : "");
  switch (column.type) {
    case PostgresType::integer:
      if (placeholder.is_integer()) {
        return std::nullopt;
      }
      return subject(column) + "is compared as a number (007 finds 7) while {" + placeholder.name +
             "} compares bytes; write {" + placeholder.name + ":uint64} or {" + placeholder.name +
             ":int64}";
    case PostgresType::text:
      return column.is_deterministic ? std::nullopt : std::optional(blurred(column));
    case PostgresType::padded_text:
    case PostgresType::folded_text:
      if (!column.is_deterministic) {
        return blurred(column);
      }
      if (placeholder.type == ValueType::text_ci) {
        return std::nullopt;
      }
      return subject(column) + std::string(folding(column)) + "; write {" + name + "|ci}";
    default:
      return unreadable(column);
  }
}

std::optional<std::string> undecidable(const PostgresColumn& column,
                                       const keyspace::ColumnUse& use) {
  if (column.type == PostgresType::composite) {
    return subject(column) +
           "is made of several, and NULL for SQL if all of these are; use another column";
  }
  if (use.asks_is_null && !column.nullable) {  // no row would count
    return subject(column) + "is NOT NULL, so that IS NULL never holds";
  }
  return use.compares() ? incomparable(column, use) : std::nullopt;
}

}  // namespace cuckooguard::source
