#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "sqlite/trigger_log.h"
#include "text/ascii.h"
#include "text/try.h"

namespace cuckooguard::source::sqlite {
namespace {

using text::lower_case;

struct Index {
  std::string name;
  bool is_primary_key = false;
};

struct Columns {
  std::vector<std::string> names;        // in lower case
  std::vector<std::string> primary_key;  // as the schema spells them
  bool is_integer = false;               // the last of the primary key
};

Expected<bool> has_rowid(const Database& database, const std::string& table) {
  bool without = false;
  TRY(each_row(database,
               "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?1",
               table,
               [&without](const Statement& row) { without = row.integer(0) != 0; }));
  return !without;
}

std::optional<std::string> rowid_name(const Columns& columns, bool primary_key_has_index) {
  if (columns.primary_key.size() == 1 && columns.is_integer && !primary_key_has_index) {
    return columns.primary_key.front();
  }
  static constexpr std::array<std::string_view, 3> kNames = {"rowid", "_rowid_", "oid"};
  for (const std::string_view name : kNames) {
    if (std::ranges::find(columns.names, name) == columns.names.end()) {
      return std::string(name);
    }
  }
  return std::nullopt;
}

// Nothing if it is over an expression.
Expected<std::optional<UniqueKey>> key_of(const Database& database, const std::string& index) {
  UniqueKey key;
  bool is_plain = true;
  TRY(each_row(database,
               "SELECT name, coll FROM pragma_index_xinfo(?1) WHERE key = 1 ORDER BY seqno",
               index,
               [&](const Statement& row) {
                 is_plain = is_plain && row.type(0) != SQLITE_NULL;
                 key.push_back(
                     {.name = std::string(row.bytes(0)), .collation = std::string(row.bytes(1))});
               }));
  return is_plain && !key.empty() ? std::optional(std::move(key)) : std::nullopt;
}

Expected<std::vector<std::string>> column_names(const Database& database,
                                                const std::string& table) {
  std::vector<std::string> names;
  const auto read = each_row(database,
                             "SELECT name FROM pragma_table_xinfo(?1) WHERE hidden <> 1",
                             table,
                             [&names](const Statement& row) { names.emplace_back(row.bytes(0)); });
  return read ? Expected<std::vector<std::string>>(std::move(names))
              : std::unexpected(read.error());
}

// One that it does not speak of could not be dropped.
UniqueText with_columns(IndexText index, const std::vector<std::string>& names) {
  UniqueText text{.index = std::move(index), .columns = {}};
  std::ranges::copy_if(names, std::back_inserter(text.columns), [&text](const std::string& name) {
    return std::ranges::find(text.index.words, lower_case(name), lower_case) !=
           text.index.words.end();
  });
  return text;
}

}  // namespace

Expected<std::vector<UniqueKey>> unique_keys(const Database& database, const std::string& table) {
  Columns columns;
  TRY(each_row(database,
               "SELECT name, type, pk FROM pragma_table_xinfo(?1)",
               table,
               [&columns](const Statement& row) {
                 columns.names.push_back(lower_case(row.bytes(0)));
                 if (row.integer(2) != 0) {
                   columns.primary_key.emplace_back(row.bytes(0));
                   columns.is_integer = lower_case(row.bytes(1)) == "integer";
                 }
               }));
  std::vector<Index> indexes;
  TRY(each_row(database,
               "SELECT name, origin FROM pragma_index_list(?1) WHERE \"unique\" AND NOT "
               "partial ORDER BY origin <> 'pk', name",
               table,
               [&indexes](const Statement& row) {
                 indexes.push_back(
                     {.name = std::string(row.bytes(0)), .is_primary_key = row.bytes(1) == "pk"});
               }));
  std::vector<UniqueKey> keys;
  const bool has_one = TRY(has_rowid(database, table));
  if (has_one) {
    const bool has_index = std::ranges::any_of(indexes, &Index::is_primary_key);
    if (const auto name = rowid_name(columns, has_index)) {
      keys.push_back({{.name = *name, .collation = ""}});
    }
  }
  for (const Index& index : indexes) {
    if (auto key = TRY(key_of(database, index.name))) {
      keys.push_back(*std::move(key));
    }
  }
  return keys;
}

Planned<std::vector<UniqueText>> unique_texts(const Database& database, const std::string& table) {
  struct Index {
    std::string name;
    bool is_partial = false;
    std::string sql{};
  };
  std::vector<Index> indexes;
  TRY(each_row(database,
               "SELECT list.name, partial, sql FROM pragma_index_list(?1) AS list "
               "JOIN main.sqlite_schema AS schema ON "
               "schema.type = 'index' AND schema.name = list.name WHERE \"unique\" "
               "AND sql IS NOT NULL ORDER BY 1",
               table,
               [&indexes](const Statement& row) {
                 indexes.push_back({.name = std::string(row.bytes(0)),
                                    .is_partial = row.integer(1) != 0,
                                    .sql = std::string(row.bytes(2))});
               }));
  const auto names = TRY(column_names(database, table));
  std::vector<UniqueText> texts;
  for (const Index& index : indexes) {
    const auto key = TRY(key_of(database, index.name));
    if (key && !index.is_partial) {
      continue;
    }
    auto text = read_index_text(index.sql);
    if (!text || text->condition.empty() == index.is_partial) {
      return std::unexpected("the unique index \"" + index.name + "\" of table \"" + table +
                             "\" has a definition that the guard cannot parse, so triggers could "
                             "not log which rows a REPLACE removes; use follow: rescan");
    }
    texts.push_back(with_columns(*std::move(text), names));
  }
  return texts;
}

}  // namespace cuckooguard::source::sqlite
