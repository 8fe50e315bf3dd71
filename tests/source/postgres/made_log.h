// Messages of pgoutput made by hand, of a table of an id and a name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "postgres/log.h"
#include "postgres/log_applier.h"

namespace cuckooguard::source::postgres {

inline constexpr std::uint32_t kUserOid = 16384;
inline constexpr std::uint32_t kBigint = 20;
inline constexpr std::uint32_t kText = 25;

// As the protocol writes a column's value.
struct MadeValue {
  static MadeValue null() { return {'n', ""}; }
  static MadeValue unchanged() { return {'u', ""}; }
  static MadeValue binary(std::string bytes) { return {'b', std::move(bytes)}; }
  static MadeValue text(std::string bytes) { return {'t', std::move(bytes)}; }

  char state;
  std::string bytes;
};

using MadeRow = std::vector<MadeValue>;

inline MadeRow row_of(const std::string& id) {
  return {MadeValue::text(id), MadeValue::text("name of " + id)};
}
// A row's key alone, as old rows of the default replica identity have it.
inline MadeRow key_of(const std::string& id) {
  return {MadeValue::text(id), MadeValue::null()};
}

struct MadeColumn {
  std::string name;
  std::uint32_t type = kText;
  bool is_key = false;
  std::int32_t modifier = -1;
};

struct MadeRelation {
  std::uint32_t oid = kUserOid;
  std::string schema = "public";
  std::string name = "user";
  char identity = 'd';
  std::vector<MadeColumn> columns{{.name = "id", .type = kBigint, .is_key = true},
                                  {.name = "name"}};
};

inline std::string big_endian(std::uint64_t number, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = bytes; i > 0; --i) {
    text[i - 1] = static_cast<char>(number);
    number >>= 8U;
  }
  return text;
}

// Its transactions take ten bytes of log each, of which the commit is the last two.
class MadeLog {
 public:
  explicit MadeLog(std::uint64_t at = 1000) : at_(at) {}

  std::uint64_t end() const { return at_; }
  void move_to(std::uint64_t at) { at_ = at; }

  // Committed at this microsecond.
  std::string begin(std::uint64_t xid, std::uint64_t time = 0) {
    at_ += 10;
    return 'B' + big_endian(at_ - 2, 8) + big_endian(time, 8) + big_endian(xid, 4);
  }
  std::string commit() const {
    return 'C' + big_endian(0, 1) + big_endian(at_ - 2, 8) + big_endian(at_, 8) + big_endian(0, 8);
  }
  static std::string relation(const MadeRelation& relation = {}) {
    std::string message = 'R' + big_endian(relation.oid, 4) + relation.schema + '\0' +
                          relation.name + '\0' + relation.identity +
                          big_endian(relation.columns.size(), 2);
    for (const MadeColumn& column : relation.columns) {
      message += big_endian(column.is_key ? 1 : 0, 1) + column.name + '\0' +
                 big_endian(column.type, 4) +
                 big_endian(static_cast<std::uint32_t>(column.modifier), 4);
    }
    return message;
  }
  static std::string insert(const MadeRow& row, std::uint32_t oid = kUserOid) {
    return 'I' + big_endian(oid, 4) + 'N' + tuple(row);
  }
  // `kind` of the old row: K, O; 0: there is none.
  static std::string update(char kind,
                            const MadeRow& before,
                            const MadeRow& after,
                            std::uint32_t oid = kUserOid) {
    const std::string old = kind == 0 ? std::string() : kind + tuple(before);
    return 'U' + big_endian(oid, 4) + old + 'N' + tuple(after);
  }
  static std::string erase(const MadeRow& row, char kind = 'K', std::uint32_t oid = kUserOid) {
    return 'D' + big_endian(oid, 4) + kind + tuple(row);
  }
  static std::string truncate(const std::vector<std::uint32_t>& oids) {
    std::string message = 'T' + big_endian(oids.size(), 4) + '\0';
    for (const std::uint32_t oid : oids) {
      message += big_endian(oid, 4);
    }
    return message;
  }
  // A whole transaction.
  std::vector<std::string> transaction(std::uint64_t xid, std::vector<std::string> changes) {
    std::vector<std::string> messages{begin(xid)};
    messages.insert(messages.end(), changes.begin(), changes.end());
    messages.push_back(commit());
    return messages;
  }

 private:
  static std::string tuple(const MadeRow& row) {
    std::string bytes = big_endian(row.size(), 2);
    for (const MadeValue& value : row) {
      bytes += value.state;
      if (value.state == 't' || value.state == 'b') {
        bytes += big_endian(value.bytes.size(), 4) + value.bytes;
      }
    }
    return bytes;
  }

  std::uint64_t at_;
};

// What the table of the messages above is planned as.
inline TablePlan planned(const std::string& name = "user", std::uint32_t oid = kUserOid) {
  TablePlan table;
  table.schema = "public";
  table.name = name;
  table.oid = oid;
  table.columns = {{.name = "id",
                    .type_name = "bigint",
                    .type_oid = kBigint,
                    .logged_oid = kBigint,
                    .type = ColumnKind::integer,
                    .nullable = false,
                    .replica_key = 1},
                   {.name = "name",
                    .type_name = "text",
                    .type_oid = kText,
                    .logged_oid = kText,
                    .type = ColumnKind::text}};
  table.identity = {0};
  table.primary_key = {0};
  table.identity_is_unique = true;
  table.fingerprint = "as planned";
  return table;
}

// A namespace's filter, as a multiset of what is needed of rows.
class MadeTarget final : public RowTarget<Log> {
 public:
  std::expected<Transaction::Image, std::string> image(RowValues values) override {
    std::string all;
    for (const auto& value : values) {
      all += (all.empty() ? "" : "|") + std::string(value.value_or("NULL"));
    }
    names_.push_back(all);
    const auto found = std::ranges::find(names_, all);
    return static_cast<std::uint64_t>(found - names_.begin());
  }
  bool has(const CommitId& id) const override { return since_ && since_->covers(id); }
  std::expected<void, std::string> insert(const CommitMark&,
                                          const Transaction& transaction) override {
    transaction.for_each_insert([this](std::uint64_t name) { rows_.insert(names_[name]); });
    return {};
  }
  std::expected<void, std::string> erase(const CommitMark& mark,
                                         const Transaction& transaction) override {
    last_ = mark;
    transaction.for_each_erase([this](std::uint64_t name) { rows_.extract(names_[name]); });
    return {};
  }
  const std::multiset<std::string>& rows() const { return rows_; }
  const CommitMark& last() const { return last_; }
  // As from a checkpoint.
  void has_all_up_to(std::uint64_t lsn) { since_ = LogPosition({lsn}); }

 private:
  std::vector<std::string> names_;
  std::multiset<std::string> rows_;
  CommitMark last_{};
  std::optional<LogPosition> since_;
};

// A namespace over one table.
struct MadeTable {
  explicit MadeTable(TablePlan planned_as = planned())
      : plan(std::move(planned_as)), table(plan, target) {}

  TablePlan plan;
  MadeTarget target;
  FollowedTable table;
};

}  // namespace cuckooguard::source::postgres
