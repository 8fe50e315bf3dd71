#include "binlog/query_words.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "binlog/sql_words.h"
#include "text/ascii.h"
#include "text/hex.h"
#include "text/number.h"

namespace cuckooguard::binlog {

namespace {

using Word = SqlWords::Word;

bool is_one_of(const Word& word, std::initializer_list<std::string_view> uppers) {
  return std::ranges::any_of(uppers, [&](std::string_view upper) { return word.is(upper); });
}

// Nothing but a semicolon may follow, and no version comment may have been among it all.
bool ends(SqlWords& words) {
  Word word = words.next();
  if (word.kind == SqlWords::Kind::symbol && word.text == ";") {
    word = words.next();
  }
  return word.kind == SqlWords::Kind::end && !words.saw_version_comment();
}

// The kind, if nothing follows.
QueryKind alone(QueryKind kind, SqlWords& words) {
  return ends(words) ? kind : QueryKind::unknown;
}

// X'68657861', as servers write each part of an XA name in the log.
bool take_hex(SqlWords& words, std::array<char, Xid::kPartBytesMax>& bytes, std::size_t& size) {
  const Word mark = words.next();
  const Word quoted = words.next();
  if (!mark.is("X") || quoted.kind != SqlWords::Kind::quoted || quoted.text.front() != '\'') {
    return false;
  }
  const std::string_view digits = quoted.text.substr(1, quoted.text.size() - 2);
  const auto read = text::bytes_of_hex(digits);
  if (!read || read->size() > bytes.size()) {
    return false;
  }
  size = read->size();
  std::ranges::copy(*read, bytes.begin());
  return true;
}

bool take_comma(SqlWords& words) {
  return words.next().text == ",";
}

// X'global',X'branch',format
std::optional<Xid> take_xid(SqlWords& words) {
  std::array<char, Xid::kPartBytesMax> global{};
  std::array<char, Xid::kPartBytesMax> branch{};
  std::size_t global_size = 0;
  std::size_t branch_size = 0;
  if (!take_hex(words, global, global_size) || !take_comma(words) ||
      !take_hex(words, branch, branch_size) || !take_comma(words)) {
    return std::nullopt;
  }
  const Word number = words.next();
  const auto format = text::number_of<std::uint32_t>(number.text);
  if (!format) {
    return std::nullopt;
  }
  return Xid::make(*format, {global.data(), global_size}, {branch.data(), branch_size});
}

// Behind XA.
QueryVerdict judge_xa(SqlWords& words) {
  const Word verb = words.next();
  if (is_one_of(verb, {"START", "BEGIN"})) {
    return {.kind = QueryKind::xa_begin};
  }
  if (verb.is("END")) {
    return {.kind = QueryKind::xa_end};
  }
  if (verb.is("PREPARE")) {
    return {.kind = QueryKind::xa_prepare};
  }
  if (!is_one_of(verb, {"COMMIT", "ROLLBACK"})) {
    return {};
  }
  const std::optional<Xid> xid = take_xid(words);
  if (!xid || !ends(words)) {
    return {};
  }
  return {.kind = verb.is("COMMIT") ? QueryKind::xa_commit : QueryKind::xa_rollback, .xid = xid};
}

// Behind ROLLBACK.
QueryKind judge_rollback(SqlWords words) {
  SqlWords behind = words;
  if (behind.next().is("TO")) {
    return QueryKind::rollback_to_savepoint;
  }
  return alone(QueryKind::rollback, words);
}

bool is_plain(const Word& word) {
  return word.kind != SqlWords::Kind::end && !word.in_version_comment;
}

bool take_plain(SqlWords& words) {
  return is_plain(words.next());
}

// The word behind ALGORITHM = word, DEFINER = user, SQL SECURITY word: what servers write into a
// logged CREATE or ALTER. None if they are not just that.
Word skip_attributes(SqlWords& words) {
  Word word = words.next();
  while (is_plain(word) && is_one_of(word, {"ALGORITHM", "DEFINER", "SQL"})) {
    const Word second = words.next();
    const bool is_known = word.is("SQL") ? second.is("SECURITY") : second.text == "=";
    if (!is_known || !is_plain(second) || !take_plain(words)) {
      return {};
    }
    const bool is_user = word.is("DEFINER");
    word = words.next();
    if (is_user && is_plain(word) && word.text == "@") {
      if (!take_plain(words)) {
        return {};
      }
      word = words.next();
    }
  }
  return is_plain(word) ? word : Word{};
}

// Behind CREATE, ALTER or DROP: `kind`, unless it is about something that has no rows.
QueryKind judge_definition(QueryKind kind, SqlWords& words) {
  const Word word = skip_attributes(words);
  const bool is_without_rows =
      is_one_of(word, {"EVENT", "FUNCTION", "PROCEDURE", "ROLE", "TRIGGER", "USER", "VIEW"});
  return is_without_rows ? QueryKind::administrative : kind;
}

// Behind ANALYZE or OPTIMIZE: MariaDB's ANALYZE also runs statements.
QueryKind judge_maintenance(SqlWords& words) {
  Word word = words.next();
  if (is_plain(word) && is_one_of(word, {"NO_WRITE_TO_BINLOG", "LOCAL"})) {
    word = words.next();
  }
  return is_plain(word) && is_one_of(word, {"TABLE", "TABLES"}) ? QueryKind::administrative
                                                                : QueryKind::unknown;
}

// By the first word alone.
QueryKind kind_of(const Word& first) {
  if (is_one_of(first, {"INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "WITH", "CALL", "DO"})) {
    return QueryKind::dml;
  }
  if (first.is("TRUNCATE")) {
    return QueryKind::truncate;
  }
  if (first.is("RENAME")) {
    return QueryKind::rename;
  }
  if (is_one_of(first, {"GRANT", "REVOKE", "FLUSH"})) {
    return QueryKind::administrative;
  }
  if (is_one_of(first, {"IMPORT", "INSTALL", "UNINSTALL"})) {
    return QueryKind::other_definition;
  }
  return QueryKind::unknown;
}

// The bytes of a name without quotes. A byte that is not ASCII may be a blank in the writer's
// charset.
bool is_plain_name_byte(char c) {
  return text::is_alphanumeric(c) || c == '_' || c == '$';
}

// It is written in one way only: no quote is doubled in it, and no letter is of another charset.
bool is_written_as_it_is(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return text::is_printable(c) && c != '`' && c != '"' && c != '\'' && c != '\\';
  });
}

}  // namespace

QueryVerdict judge_query(std::string_view text) {
  SqlWords words(text);
  const Word first = words.next();
  if (first.in_version_comment) {
    return {};
  }
  if (first.is("XA")) {
    return judge_xa(words);
  }
  if (first.is("BEGIN")) {
    return {.kind = alone(QueryKind::begin, words)};
  }
  if (first.is("COMMIT")) {
    return {.kind = alone(QueryKind::commit, words)};
  }
  if (first.is("ROLLBACK")) {
    return {.kind = judge_rollback(words)};
  }
  if (first.is("SAVEPOINT")) {
    return {.kind = QueryKind::savepoint};
  }
  if (first.is("RELEASE")) {
    return {.kind = words.next().is("SAVEPOINT") ? QueryKind::savepoint : QueryKind::unknown};
  }
  if (first.is("CREATE")) {
    return {.kind = judge_definition(QueryKind::create, words)};
  }
  if (first.is("ALTER")) {
    return {.kind = judge_definition(QueryKind::alter, words)};
  }
  if (first.is("DROP")) {
    return {.kind = judge_definition(QueryKind::drop, words)};
  }
  if (is_one_of(first, {"ANALYZE", "OPTIMIZE"})) {
    return {.kind = judge_maintenance(words)};
  }
  return {.kind = kind_of(first)};
}

bool may_name(std::string_view text, std::string_view name) {
  if (!is_written_as_it_is(name)) {
    return true;
  }
  // The digits of a version comment end where a name begins, without a blank.
  const bool is_any_part = text.contains("/*!") || text.contains("/*M!");
  for (std::string_view rest = text;;) {
    const auto found = std::ranges::search(rest, name, {}, text::to_lower, text::to_lower);
    if (found.empty()) {
      return false;
    }
    const auto at = static_cast<std::size_t>(found.begin() - rest.begin());
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || !is_plain_name_byte(rest[at - 1]);
    const bool ends = end == rest.size() || !is_plain_name_byte(rest[end]);
    if (is_any_part || (begins && ends)) {
      return true;
    }
    rest.remove_prefix(at + 1);
  }
}

bool may_be_about(const Query& query, std::string_view schema, std::string_view table) {
  const bool names_schema = may_name(query.text, schema);
  const bool is_of_schema =
      names_schema && (may_name(query.text, "DATABASE") || may_name(query.text, "SCHEMA"));
  const bool is_in_schema = names_schema || text::equals_in_any_case(query.schema, schema);
  return is_of_schema || (is_in_schema && may_name(query.text, table));
}

}  // namespace cuckooguard::binlog
