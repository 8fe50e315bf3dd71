#include "source/row_counts.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <variant>

#include "source/chosen_deletes.h"
#include "source/input_file.h"
#include "source/mysql_connection.h"
#include "source/mysql_table.h"
#include "source/mysql_tables.h"
#include "source/record_reader.h"
#include "source/sqlite_database.h"
#include "source/sqlite_table.h"
#include "source/sqlite_tables.h"
#include "source/sqlite_trigger_log.h"

namespace cuckooguard::source {
namespace {

using Sizes = std::expected<std::vector<TableSize>, std::string>;

std::string words_of(const SqliteError& error) {
  return error.what;
}

std::string words_of(const MysqlError& error) {
  return error.what;
}

// A sentence, or what the database said.
template <class Error>
std::string words_of(const std::variant<std::string, Error>& trouble) {
  const auto* const sentence = std::get_if<std::string>(&trouble);
  return sentence != nullptr ? *sentence : words_of(std::get<Error>(trouble));
}

std::expected<std::uint64_t, SqliteError> count(const SqliteDatabase& database,
                                                const std::string& sql) {
  std::uint64_t rows = 0;
  const auto done = each_row(database, sql, "", [&rows](const SqliteStatement& row) {
    rows = static_cast<std::uint64_t>(std::max<std::int64_t>(0, row.integer(0)));
  });
  if (!done) {
    return std::unexpected(done.error());
  }
  return rows;
}

Sizes count_of(const config::SqliteSource& settings, const Target& target) {
  const auto database = SqliteDatabase::open_read_only(settings.path);
  if (!database) {
    return std::unexpected(settings.path + ": " + database.error().what);
  }
  const auto tables = list_sqlite_tables(*database, target.settings.source.tables);
  if (!tables) {
    return std::unexpected(tables.error().what);
  }
  std::vector<TableSize> sizes;
  for (const std::string& table : *tables) {
    const auto plan = plan_table(*database, target, table);
    if (!plan) {
      return std::unexpected(words_of(plan.error()));
    }
    const auto rows = count(*database, plan->count_sql());
    if (!rows) {
      return std::unexpected(rows.error().what);
    }
    TableSize& size = sizes.emplace_back(TableSize{.table = plan->table, .rows = *rows});
    if (settings.follow == config::Follow::triggers) {
      const auto logged = plan_logged_table(*database, target, table);
      if (!logged) {
        return std::unexpected(words_of(logged.error()));
      }
      size.deletes = chosen_deletes(target.settings.filter.deletes, logged->identity_is_unique);
    }
  }
  return sizes;
}

// The first that lets us in; those that a guard would ask one after the other, too.
std::expected<MysqlConnection, std::string> connect(const config::MysqlSource& settings) {
  std::string why;
  for (const config::Address& address : settings.addresses) {
    auto connection = MysqlConnection::open(login_to(settings, address));
    if (connection) {
      return *std::move(connection);
    }
    why += (why.empty() ? "" : "; ") + address.text() + ": " + connection.error().what;
  }
  return std::unexpected(why);
}

Sizes count_of(const config::MysqlSource& settings, const Target& target) {
  auto connection = connect(settings);
  if (!connection) {
    return std::unexpected(connection.error());
  }
  const auto tables = list_mysql_tables(*connection, target.settings.source.tables);
  if (!tables) {
    return std::unexpected(words_of(tables.error()));
  }
  std::vector<TableSize> sizes;
  for (const std::string& table : *tables) {
    const auto plan = plan_mysql_table(*connection, target, table);
    if (!plan) {
      return std::unexpected(words_of(plan.error()));
    }
    const auto size = size_of_mysql_table(*connection, plan->name);
    if (!size) {
      return std::unexpected(size.error().what);
    }
    sizes.push_back(
        {.table = plan->name,
         .rows = size->rows,
         .is_estimate = true,
         .deletes = chosen_deletes(target.settings.filter.deletes, plan->identity_is_unique)});
  }
  return sizes;
}

Sizes count_of(const config::FileSource& settings, const Target& /*target*/) {
  auto file = InputFile::open(settings.path);
  if (!file) {
    return std::unexpected(file.error());
  }
  RecordReader records(settings.format,
                       [&file](std::span<char> buffer) { return file->read(buffer); });
  std::uint64_t rows = 0;
  for (;;) {
    const auto next = records.next();
    if (!next) {
      return std::unexpected(settings.path + ": " + next.error());
    }
    if (next->empty()) {
      break;
    }
    ++rows;
  }
  const bool has_header = settings.format == config::FileFormat::csv && rows > 0;
  return std::vector{TableSize{.table = "", .rows = rows - (has_header ? 1 : 0)}};
}

}  // namespace

std::expected<std::vector<TableSize>, std::string> count_rows(const config::Source& source,
                                                              const Target& target) {
  return std::visit([&target](const auto& kind) { return count_of(kind, target); }, source.kind);
}

}  // namespace cuckooguard::source
