// The log of a MariaDB made by hand: transactions on tables `shop`.<name> (id INT), without
// checksums.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "binlog/made_events.h"
#include "mysql/log_applier.h"

namespace cuckooguard::source::mysql {

class MadeLog {
 public:
  std::string begin() { return gtid(0); }
  std::string begin_prepared(std::string_view xid) { return gtid(kPreparesXa, xid); }
  std::string begin_verdict(std::string_view xid) { return gtid(kStandalone | kCompletesXa, xid); }
  std::string begin_definition() { return gtid(kStandalone); }
  // What begins next is numbered from here on, by this server.
  void number_from(std::uint32_t server_id, std::uint64_t sequence) {
    server_id_ = server_id;
    sequence_ = sequence - 1;
  }

  // What begins next has this time stamp.
  void stamp(std::uint32_t unix_seconds) { timestamp_ = unix_seconds; }

  // `number`: of the table, for as long as its transaction.
  static std::string map(std::uint64_t number, const std::string& table) {
    constexpr char kLong = 3;
    return map_of(number, table, {kLong});
  }
  // With columns of other types, of which none has metadata or can be NULL.
  static std::string map_of(std::uint64_t number,
                            const std::string& table,
                            const std::string& types) {
    const auto columns = static_cast<char>(types.size());
    return binlog::make_event(binlog::EventType::table_map,
                              binlog::little_endian(number, 6) + binlog::zeros(2) + named("shop") +
                                  named(table) + columns + types + '\0' +
                                  binlog::zeros((types.size() + 7) / 8));
  }
  static std::string insert(std::uint64_t number, std::uint32_t id) {
    return rows(binlog::EventType::write_rows_v1, number, "\xff", image(id));
  }
  static std::string erase(std::uint64_t number, std::uint32_t id) {
    return rows(binlog::EventType::delete_rows_v1, number, "\xff", image(id));
  }
  static std::string update(std::uint64_t number, std::uint32_t from, std::uint32_t to) {
    return rows(binlog::EventType::update_rows_v1, number, "\xff\xff", image(from) + image(to));
  }
  static std::string commit() {
    return binlog::make_event(binlog::EventType::xid, binlog::little_endian(7, 8));
  }
  static std::string commit_at(std::uint32_t end) {
    return binlog::make_event(binlog::EventType::xid, binlog::little_endian(7, 8), 0, end);
  }
  static std::string prepare(std::string_view xid) {
    return binlog::make_event(binlog::EventType::xa_prepare,
                              binlog::zeros(1) + binlog::little_endian(1, 4) +
                                  binlog::little_endian(xid.size(), 4) + binlog::zeros(4) +
                                  std::string(xid));
  }
  static std::string query(std::string_view text) {
    return binlog::make_event(
        binlog::EventType::query,
        binlog::zeros(8) + '\4' + binlog::zeros(4) + named("shop").substr(1) + std::string(text));
  }
  // `xid`: of one byte.
  static std::string xa_verdict(std::string_view word, std::string_view xid) {
    return query(fmt::format("XA {} X'{:02x}',X'',1", word, xid.front()));
  }

 private:
  static constexpr std::uint8_t kStandalone = 1;
  static constexpr std::uint8_t kPreparesXa = 64;
  static constexpr std::uint8_t kCompletesXa = 128;

  std::string gtid(unsigned flags, std::string_view xid = {}) {
    std::string body = binlog::little_endian(++sequence_, 8) + binlog::zeros(4);
    body += static_cast<char>(flags);
    if (!xid.empty()) {
      body += binlog::little_endian(1, 4);
      body += static_cast<char>(xid.size());
      body += '\0';
      body += xid;
    } else {
      body += binlog::zeros(6);
    }
    constexpr std::size_t kServerIdAt = 5;
    std::string event = binlog::make_event(binlog::EventType::mariadb_gtid, body);
    event.replace(0, 4, binlog::little_endian(timestamp_, 4));
    return event.replace(kServerIdAt, 4, binlog::little_endian(server_id_, 4));
  }
  static std::string named(const std::string& name) {
    return static_cast<char>(name.size()) + name + '\0';
  }
  static std::string image(std::uint32_t id) { return '\0' + binlog::little_endian(id, 4); }
  static std::string rows(binlog::EventType type,
                          std::uint64_t number,
                          std::string_view columns,
                          const std::string& images) {
    return binlog::make_event(
        type,
        binlog::little_endian(number, 6) + binlog::zeros(2) + '\1' + std::string(columns) + images);
  }

  std::uint32_t server_id_ = 77;
  std::uint32_t timestamp_ = 0;
  std::uint64_t sequence_ = 0;
};

// What a table of the log above is planned as.
inline TablePlan planned(const std::string& name) {
  TablePlan table;
  table.schema = "shop";
  table.name = name;
  table.columns = {{.name = "id", .data_type = "int", .column_type = "int(11)", .nullable = false}};
  table.identity = {0};
  table.primary_key = {0};
  table.key_is_readable = true;
  table.identity_is_unique = true;
  return table;
}

// A namespace's filter, as a multiset of ids.
class Ids final : public RowTarget<Log> {
 public:
  std::expected<Transaction::Image, std::string> image(RowValues values) override {
    return std::stoull(std::string(values[0].value_or("0")));
  }
  std::expected<void, std::string> insert(const CommitMark&,
                                          const Transaction& transaction) override {
    transaction.for_each_insert([this](std::uint64_t id) { ids_.insert(id); });
    return {};
  }
  std::expected<void, std::string> erase(const CommitMark&,
                                         const Transaction& transaction) override {
    transaction.for_each_erase([this](std::uint64_t id) { ids_.extract(id); });
    return {};
  }
  const std::multiset<std::uint64_t>& ids() const { return ids_; }
  // As from a checkpoint.
  void has_all_up_to(LogPosition position) { since_ = std::move(position); }
  bool has(const LogGtid& gtid) const override { return since_ && since_->covers(gtid); }

 private:
  std::optional<LogPosition> since_;
  std::multiset<std::uint64_t> ids_;
};

// A namespace over one table of the log.
struct MadeTable {
  explicit MadeTable(const std::string& name) : plan(planned(name)), table(plan, target) {}

  TablePlan plan;
  Ids target;
  FollowedTable table;
};

}  // namespace cuckooguard::source::mysql
