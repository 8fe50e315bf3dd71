// One table of a binary log: rows of events become changes (follow/table_changes.h).
//
//   map(TABLE_MAP) ─▶ rows(WRITE|UPDATE|DELETE) … ─▶ what a TableChanges does with them
//
// Threads: the source's. Errors: a sentence, after which the table is not to be trusted: the log
// was not understood, and the table must be read again.
#pragma once

#include <array>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "binlog/rows.h"
#include "binlog/table_layout.h"
#include "follow/table_changes.h"
#include "mysql/log.h"
#include "source/uuid_bytes.h"

namespace cuckooguard::source {

class FollowedTable final : public TableChanges<MysqlLog> {
 public:
  using TableChanges::TableChanges;

  bool is(std::string_view schema, std::string_view table) const {
    return plan().schema == schema && plan().name == table;
  }

  Done map(const binlog::TableMap& map, bool is_mariadb);
  Done rows(const binlog::Rows& rows);

 private:
  using Values = std::vector<std::optional<std::string_view>>;
  using UuidTexts = std::vector<std::array<char, kUuidTextBytes>>;  // as needed()

  Done check(const binlog::TableLayout& layout) const;
  // The row at hand, before or after its change.
  std::expected<RowValues, std::string> read(bool is_after, Values& values);
  Done add_row(binlog::RowsKind kind);

  std::optional<binlog::TableLayout> layout_;
  std::unique_ptr<binlog::RowReader> reader_;
  Values before_;
  Values after_;
  std::array<UuidTexts, 2> uuid_texts_;  // of the two
};

}  // namespace cuckooguard::source
