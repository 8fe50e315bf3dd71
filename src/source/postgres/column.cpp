#include <algorithm>
#include <string_view>
#include <vector>

#include "keyspace/canonical_text.h"
#include "postgres/table.h"
#include "text/words.h"

namespace cuckooguard::source::postgres {
namespace {

using keyspace::Placeholder;
using keyspace::ValueType;

// Those that PostgreSQL is built with have the same numbers everywhere (pg_type.dat).
constexpr std::uint32_t kBool = 16;
constexpr std::uint32_t kBytea = 17;
constexpr std::uint32_t kInt8 = 20;
constexpr std::uint32_t kInt2 = 21;
constexpr std::uint32_t kInt4 = 23;
constexpr std::uint32_t kText = 25;
constexpr std::uint32_t kChar = 1042;
constexpr std::uint32_t kVarchar = 1043;
constexpr std::uint32_t kDate = 1082;
constexpr std::uint32_t kNumeric = 1700;
constexpr std::uint32_t kUuid = 2950;

constexpr std::string_view kNeverGivenBack = "\u00A6";

std::string subject(const Column& column) {
  return "column \"" + column.name + "\" (" + column.type_name + ") ";
}

std::string blurred(const Column& column) {
  return subject(column) +
         "has a nondeterministic collation, in which different bytes can be equal; ALTER it to a "
         "deterministic one, such as COLLATE \"C\"";
}

// How SQL tells one value from another.
std::string rule_of(ColumnKind type) {
  switch (type) {
    case ColumnKind::integer:
      return "is compared as a number (007 finds 7)";
    case ColumnKind::text:
      return "is compared byte by byte";
    case ColumnKind::blended_text:
      return "belongs to a database in EUC_JP, which treats \u00A6 (U+00A6) as \uFFE4 (U+FFE4)";
    case ColumnKind::padded_text:
      return "is compared without trailing blanks";
    case ColumnKind::folded_text:
      return "is compared case-insensitively";
    default:
      return "can be found by several spellings of one value";
  }
}

// Of placeholders that find what SQL finds.
std::vector<ValueType> types_for(ColumnKind type) {
  switch (type) {
    case ColumnKind::integer:
      return {ValueType::uint64, ValueType::int64};
    case ColumnKind::text:
      return {ValueType::text};
    case ColumnKind::blended_text:
    case ColumnKind::padded_text:
    case ColumnKind::folded_text:
      return {ValueType::text_ci};
    case ColumnKind::uuid:
      return {ValueType::uuid};
    case ColumnKind::numeric:
      return {ValueType::numeric};
    case ColumnKind::date:
      return {ValueType::date};
    case ColumnKind::bytea:
      return {ValueType::bytea};
    case ColumnKind::boolean:
    case ColumnKind::composite:
    case ColumnKind::other:
      break;
  }
  return {};
}

// What it is compared with, by = or <>.
std::optional<std::string> incomparable(const Column& column, const keyspace::ColumnUse& use) {
  switch (column.type) {
    case ColumnKind::integer:
      for (const std::string_view literal : use.literals) {
        if (!keyspace::canonical_int64(literal)) {
          return subject(column) + "is compared as a number, but '" + std::string(literal) +
                 "' is not written as the server prints numbers; write it that way";
        }
      }
      return std::nullopt;
    case ColumnKind::boolean:
      for (const std::string_view literal : use.literals) {
        if (literal != "t" && literal != "f") {
          return subject(column) + "is compared as printed, t or f; write 't' or 'f'";
        }
      }
      return std::nullopt;
    case ColumnKind::blended_text:
      if (std::ranges::any_of(use.literals, [](std::string_view literal) {
            return literal.contains(kNeverGivenBack);
          })) {
        return subject(column) + rule_of(column.type) + "; use that spelling in the condition";
      }
      [[fallthrough]];
    case ColumnKind::text:
      if (use.has_integers) {
        return subject(column) + "is text, which SQL does not compare with the number " +
               std::string(use.literals.front()) + "; quote the value";
      }
      if (!column.is_deterministic && !use.only_excludes) {
        return blurred(column);
      }
      return std::nullopt;
    case ColumnKind::padded_text:
    case ColumnKind::folded_text:
      return subject(column) + rule_of(column.type) +
             ", but a condition compares byte by byte; ALTER it to text";
    default:
      return subject(column) +
             "allows several spellings of one value; test it only with IS NULL or IS NOT NULL, or "
             "use an integer, boolean or text column";
  }
}

}  // namespace

bool blends_characters(std::string_view server_encoding) {
  return server_encoding == "EUC_JP";
}

ColumnKind column_kind(std::uint32_t oid, char kind, std::string_view name) {
  switch (oid) {
    case kInt2:
    case kInt4:
    case kInt8:
      return ColumnKind::integer;
    case kText:
    case kVarchar:
      return ColumnKind::text;
    case kChar:
      return ColumnKind::padded_text;
    case kUuid:
      return ColumnKind::uuid;
    case kNumeric:
      return ColumnKind::numeric;
    case kDate:
      return ColumnKind::date;
    case kBytea:
      return ColumnKind::bytea;
    case kBool:
      return ColumnKind::boolean;
    default:
      break;
  }
  if (kind == 'e') {
    return ColumnKind::text;
  }
  if (kind == 'c' || name == "record") {
    return ColumnKind::composite;
  }
  return name == "citext" ? ColumnKind::folded_text : ColumnKind::other;
}

std::optional<std::string> unreadable(const Column& column) {
  if (types_for(column.type).empty()) {
    return subject(column) + rule_of(column.type) +
           "; use an integer, text, varchar, uuid, numeric, date or bytea column";
  }
  return std::nullopt;
}

std::optional<std::string> ambiguous(const Column& column, const Placeholder& placeholder) {
  const std::vector<ValueType> types = types_for(column.type);
  const bool is_text = column.type == ColumnKind::text;
  if (auto why = unreadable(column)) {
    return why;
  }
  if (!column.is_deterministic) {
    return blurred(column);
  }
  if (is_text ? !keyspace::is_of_own_type(placeholder.type)
              : std::ranges::count(types, placeholder.type) > 0) {
    return std::nullopt;
  }
  const std::string better = text::joined(types, ", or ", [&placeholder](ValueType type) {
    return Placeholder{.name = placeholder.name,
                       .type = type,
                       .rest = placeholder.rest && type <= ValueType::text_ci}
        .text();
  });
  return subject(column) + rule_of(column.type) + "; instead of " + placeholder.text() + " write " +
         better + (column.type == ColumnKind::integer ? " if it has negative values" : "");
}

std::optional<std::string> undecidable(const Column& column, const keyspace::ColumnUse& use) {
  if (column.type == ColumnKind::composite) {
    return subject(column) +
           "is a composite type, which is NULL in SQL if all its fields are; use another column";
  }
  if (use.asks_is_null && !column.nullable) {  // no row would count
    return subject(column) + "is NOT NULL, so IS NULL never matches";
  }
  return use.compares() ? incomparable(column, use) : std::nullopt;
}

}  // namespace cuckooguard::source::postgres
