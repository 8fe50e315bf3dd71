#include "sqlite/column.h"

#include <algorithm>

#include "keyspace/canonical_text.h"
#include "source/uuid_bytes.h"

namespace cuckooguard::source::sqlite {
namespace {

std::string subject_of(const Column& column) {
  return "column \"" + column.name + "\" of table \"" + column.table + "\" ";
}

}  // namespace

std::string upper_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char byte) {
    return byte >= 'a' && byte <= 'z' ? static_cast<char>(byte - ('a' - 'A')) : byte;
  });
  return result;
}

bool Column::has_bytes() const {
  const std::string type = upper_case(declared_type);
  return type.contains("BLOB") || type.contains("BINARY");
}

// The five rules of datatype3.html, in their order.
Affinity affinity_of(std::string_view declared_type, bool strict) {
  const std::string type = upper_case(declared_type);
  const auto mentions = [&type](std::string_view word) {
    return type.find(word) != std::string::npos;
  };
  if (mentions("INT")) {
    return Affinity::integer;
  }
  if (mentions("CHAR") || mentions("CLOB") || mentions("TEXT")) {
    return Affinity::text;
  }
  if (type.empty() || mentions("BLOB") || (strict && type == "ANY")) {
    return Affinity::blob;
  }
  if (mentions("REAL") || mentions("FLOA") || mentions("DOUB")) {
    return Affinity::real;
  }
  return Affinity::numeric;
}

std::optional<std::string> ambiguous(const Column& column,
                                     const keyspace::Placeholder& placeholder) {
  using keyspace::ValueType;
  const std::string subject = subject_of(column);
  if (column.affinity == Affinity::real) {
    return subject + "is " + column.declared_type +
           ": a floating point number has no canonical text; use an INTEGER or TEXT column";
  }
  if (placeholder.is_integer()) {
    return std::nullopt;  // only canonical integers are guarded, and equal whatever compares them
  }
  if (column.affinity == Affinity::integer) {
    return subject + "is " + column.declared_type +
           ", so SQL compares it as a number (007 finds 7) while {" + placeholder.name +
           "} compares bytes; write {" + placeholder.name + ":uint64} or {" + placeholder.name +
           ":int64}";
  }
  if (upper_case(column.declared_type) == "BINARY(16)") {
    if (const auto why = why_not_text(placeholder)) {
      return subject + *why;
    }
  }
  const std::string& collation = column.collation;
  if (collation == "BINARY") {
    return std::nullopt;
  }
  if (collation != "NOCASE" && collation != "RTRIM") {
    return subject + "has the collation " + collation +
           ", by which different bytes can be equal; only BINARY, NOCASE and RTRIM are understood";
  }
  if (placeholder.type == ValueType::text_ci) {
    return std::nullopt;
  }
  return subject + "has the collation " + collation +
         ", by which different bytes can be equal; write {" + placeholder.name +
         (placeholder.rest ? ":rest" : "") + "|ci}";
}

std::optional<std::string> undecidable(const Column& column, const keyspace::ColumnUse& use) {
  if (!use.compares()) {
    return std::nullopt;
  }
  const std::string subject = subject_of(column);
  switch (column.affinity) {
    case Affinity::integer:
    case Affinity::numeric:
      for (const std::string_view literal : use.literals) {
        if (!keyspace::canonical_int64(literal)) {
          return subject + "is " + column.declared_type +
                 ", so SQL compares it as a number, and '" + std::string(literal) +
                 "' is not one as SQLite prints it; write it so, or use a TEXT column";
        }
      }
      return std::nullopt;
    case Affinity::text:
      if (column.collation != "BINARY" && !use.only_excludes) {
        return subject + "has the collation " + column.collation +
               ", by which different bytes can be equal; a condition can only ask <>, IS NULL or "
               "IS NOT NULL of it";
      }
      return std::nullopt;
    case Affinity::real:
    case Affinity::blob:
      break;
  }
  return subject + "is " + (column.declared_type.empty() ? "of no type" : column.declared_type) +
         ", whose values have no certain text; use an INTEGER or TEXT column, or ask IS NULL or IS "
         "NOT "
         "NULL";
}

}  // namespace cuckooguard::source::sqlite
