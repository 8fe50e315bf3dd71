// Primary keys of every type, on a real MariaDB, or MySQL (CUCKOOGUARD_MYSQL_ROOT): a row has one
// name, whether a snapshot or the log tells of it, and what is read once need not be read again.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/parse.h"
#include "filter/epochs.h"
#include "fixtures/on_sql_server.h"
#include "harness/configuration.h"
#include "mysql/log_applier.h"
#include "mysql/log_follower.h"
#include "mysql/server_probe.h"
#include "mysql/table.h"

namespace cuckooguard::harness {
namespace {

using source::Transaction;
using source::mysql::Connection;
using source::mysql::TablePlan;
using testing::IsEmpty;
using Name = std::pair<std::uint64_t, std::uint64_t>;

struct Key {
  const char* type;
  const char* values;  // each as (n, value), n from 1 on
  bool is_readable = true;
  bool is_mariadb = false;  // MySQL has none of it
};

constexpr Key kKeys[] = {
    {"INT", "(1, -1), (2, 0), (3, 7)"},
    {"INT UNSIGNED ZEROFILL", "(1, 7), (2, 4294967295)"},
    {"DATETIME", "(1, '2026-11-23 01:02:03'), (2, '1000-01-01'), (3, 0)"},
    {"DATETIME(1)", "(1, '2026-11-23 01:02:03.4'), (2, '9999-12-31 23:59:59.9')"},
    {"DATETIME(3)", "(1, '2026-11-23 01:02:03.405'), (2, '2026-11-23 01:02:03.400')"},
    {"DATETIME(6)", "(1, '2026-11-23 01:02:03.000001'), (2, '2026-11-23 01:02:03')"},
    {"TIMESTAMP", "(1, '2026-11-23 01:02:03'), (2, '1970-01-02'), (3, 0)"},
    {"TIMESTAMP(2)", "(1, '2038-01-19 00:00:00.99'), (2, '2026-10-25 02:30:00.01')"},
    {"TIMESTAMP(5)", "(1, '2026-03-29 03:30:00.00001')"},
    {"TIME", "(1, '-838:59:59'), (2, '838:59:59'), (3, '00:00:00'), (4, '-00:00:01')"},
    {"TIME(3)", "(1, '-01:02:03.004'), (2, '01:02:03.400'), (3, '-00:00:00.001')"},
    {"TIME(6)", "(1, '-01:02:03.000001'), (2, '100:00:00')"},
    {"DATE", "(1, '2026-11-23'), (2, 0)"},
    {"YEAR", "(1, 1901), (2, 2155), (3, 0)"},
    {"ENUM('b','a','')", "(1, 'a'), (2, 'b'), (3, '')"},
    {"SET('a','b','c')", "(1, ''), (2, 'a,c'), (3, 'b')"},
    {"BIT(1)", "(1, b'0'), (2, b'1')"},
    {"BIT(64)", "(1, ~0), (2, 1), (3, 256)"},
    {"DECIMAL(20,5)", "(1, -1.5), (2, 0), (3, 123456789012345.12345)"},
    {"FLOAT", "(1, 1.1), (2, 1.1000001), (3, -0.5)", false},
    {"DOUBLE", "(1, 1e300), (2, 0.1), (3, -0.5)", false},
    {"CHAR(4) CHARACTER SET utf8mb4", "(1, 'a'), (2, ''), (3, 'zzzz')"},
    {"CHAR(4) CHARACTER SET latin1", "(1, 'a'), (2, ''), (3, x'E9')"},
    {"CHAR(4) CHARACTER SET ucs2", "(1, 'a'), (2, ''), (3, x'01200120')"},
    {"VARCHAR(300) CHARACTER SET utf16", "(1, 'a '), (2, ''), (3, 'zzzz')"},
    {"BINARY(4)", "(1, 'a'), (2, ''), (3, 'a b')"},
    {"VARBINARY(4)", "(1, 'a'), (2, ''), (3, x'6100')"},
    {"TEXT", "(1, 'a'), (2, REPEAT('b', 1000)), (3, '')"},
    {"BLOB", "(1, x'00'), (2, x'0000'), (3, '')"},
    {"UUID", "(1, '123e4567-e89b-12d3-a456-426655440000')", false, true},
    {"INET6", "(1, '::1'), (2, '2001:db8::')", false, true},
};

class Names final : public source::RowTarget<source::mysql::Log> {
 public:
  std::expected<Transaction::Image, std::string> image(source::RowValues) override { return 1; }
  std::expected<void, std::string> insert(const source::mysql::CommitMark&,
                                          const Transaction& transaction) override {
    transaction.for_each([this](const source::RowName& row, const Transaction::Image& after) {
      if (after) {
        names.insert({row.low, row.high});
      }
    });
    return {};
  }
  std::expected<void, std::string> erase(const source::mysql::CommitMark&,
                                         const Transaction& transaction) override {
    transaction.for_each([this](const source::RowName& row, const Transaction::Image& after) {
      if (!after) {
        names.erase({row.low, row.high});
      }
    });
    return {};
  }
  std::set<Name> names;
};

class MariaDbKeys : public OnSqlServer {
 protected:
  void prepare() override { run("SET sql_mode = '', time_zone = '-03:30'"); }

  Connection connect() const {
    return Connection::open({.unix_path = server_->unix_path(), .user = "root", .database = "shop"})
        .value();
  }

  // Of the table `t`, whose identity is `n`.
  TablePlan plan(Connection& connection) {
    auto planned = source::mysql::plan_table(connection, target_, "t");
    if (!planned) {
      const auto* const why = std::get_if<std::string>(&planned.error());
      throw std::runtime_error(why != nullptr ? *why : "the server has failed");
    }
    return *std::move(planned);
  }

  static std::set<Name> read(Connection& connection, const source::mysql::FollowedTable& table) {
    std::set<Name> names;
    auto rows = connection.stream(table.plan().select_sql()).value();
    for (auto row = rows.next().value(); row; row = rows.next().value()) {
      const auto name = table.name_of(*row);
      names.insert({name.low, name.high});
    }
    return names;
  }

  // From `position` to the end of the log.
  std::string follow(source::mysql::FollowedTable& table,
                     const source::mysql::LogPosition& position) {
    std::string why;
    source::mysql::LogApplier applier(
        position, {.on_out_of_step = [&](source::mysql::FollowedTable&, std::string_view said) {
          why = said;
        }});
    applier.join(table);
    auto stream = source::mysql::LogStream::begin(
        connect(), position, {.server_id = 77, .ends_at_last = true});
    if (!stream) {
      return stream.error().what;
    }
    applier.reconnected({.checksum = stream->checksum()}, 1);
    for (auto event = stream->next(); event && *event; event = stream->next()) {
      if (const auto applied = applier.apply(**event); !applied) {
        return applied.error();
      }
    }
    return why;
  }

  config::Config config_ = config::testing::config_of(
      Configuration{.namespaces = Guarded{.name = "t", .keys = "t:{n:uint64}", .table = "t"}.yaml()}
          .yaml());
  keyspace::Keyspace keyspace_ =
      keyspace::Keyspace::build({{"t", config_.namespaces.front().keys, false}}).value();
  filter::Epochs epochs_{1};
  filter::LiveParts parts_{epochs_, filter::random_secret()};
  source::Target target_{keyspace_, 0, config_.namespaces.front(), parts_};
};

TEST_F(MariaDbKeys, of_every_type_name_a_row_alike_in_a_snapshot_and_in_the_log) {
  for (const Key& key : kKeys) {
    SCOPED_TRACE(key.type);
    if (key.is_mariadb && !server_->is_mariadb()) {
      continue;
    }
    const std::string type = key.type;
    const bool has_prefix = type == "TEXT" || type == "BLOB";
    run("DROP TABLE IF EXISTS t");
    run("CREATE TABLE t (note TEXT, n INT NOT NULL, k " + type + " NOT NULL, PRIMARY KEY (k" +
        (has_prefix ? "(20)" : "") + ", n))");
    Connection connection = connect();
    const auto position = source::mysql::server_position(connection).value();
    const TablePlan planned = plan(connection);
    Names seen;
    source::mysql::FollowedTable table(planned, seen);
    run("INSERT INTO t (n, k) VALUES " + std::string(key.values));
    run("UPDATE t SET note = 'other' WHERE n = 1");
    run("INSERT INTO t (n, k) SELECT n + 100, k FROM t; DELETE FROM t WHERE n = 101");
    run("UPDATE t SET n = n + 1000 WHERE n = 1");
    EXPECT_EQ(follow(table, position), "");
    const auto rows = std::stoul(session_->value("SELECT COUNT(*) FROM t"));
    EXPECT_EQ(seen.names.size(), rows);
    EXPECT_EQ(planned.key_is_readable, key.is_readable);
    if (key.is_readable) {
      EXPECT_EQ(read(connection, table), seen.names);
    }
  }
}

}  // namespace
}  // namespace cuckooguard::harness
