// The text of a unique index over expressions or with a WHERE, as SQLite's schema keeps it: what it
// compares.
//
//   CREATE UNIQUE INDEX i ON t(lower(mail), note DESC) WHERE gone IS NULL
//   ─▶ {"lower(mail)", "note"}, "gone IS NULL", {"lower", "mail", "note", "gone" …}
//
// No SQL is parsed but quotes, comments and parentheses. Comments are left out, so that a text can
// stand on a line with others.
//
// Threads: free functions. Errors: nothing for a text that is not of this form.
// Source: sqlite.org/lang_createindex.html, lang_keywords.html (quotes).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cuckooguard::source {

struct SqliteIndexText {
  std::vector<std::string> parts;
  std::string condition{};  // empty: all rows are in it
  std::vector<std::string>
      words{};  // of both, without quotes: among them the names of the columns that they speak of

  bool operator==(const SqliteIndexText&) const = default;
};

std::optional<SqliteIndexText> read_index_text(std::string_view create_index);

}  // namespace cuckooguard::source
