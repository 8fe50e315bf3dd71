#include "mysql/row_lookup.h"

#include <string>
#include <utility>
#include <variant>

#include "follow/log_row_lookup.h"
#include "keyspace/identity.h"
#include "mysql/log.h"
#include "mysql/server_probe.h"
#include "mysql/table.h"
#include "mysql/tables.h"
#include "source/uuid_bytes.h"

namespace cuckooguard::source {
namespace {

std::string hexadecimal(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value / kDigits.size()];
    text += kDigits[value % kDigits.size()];
  }
  return text;
}

// In a form that the column is compared with by its own rules, so that its index serves.
std::string literal(const MysqlConnection& connection,
                    const MysqlColumn& column,
                    std::string_view value) {
  return column.type() == MysqlType::bytes ? "X'" + hexadecimal(value) + "'"
                                           : "'" + connection.escaped(value) + "'";
}

class MysqlRowLookup final : public LogRowLookup<MysqlLog> {
 public:
  MysqlRowLookup(std::shared_ptr<const FollowedServer<MysqlLogin>> server,
                 std::vector<Target> targets)
      : LogRowLookup(std::move(targets)), server_(std::move(server)) {}

 private:
  Has look(const Target& target, std::string_view identity, const std::stop_token& stop) override {
    auto server = server_->known();
    if (!server) {
      return std::unexpected("no server is followed yet");
    }
    server->login.timeout = kTimeout;
    auto connection = open_same_server(server->login, server->identity);
    if (!connection) {
      return std::unexpected(connection.error().what);
    }
    const std::stop_callback wake(stop, [&connection] { connection->interrupt(); });
    for (const char* const sql :
         {"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION READ ONLY"}) {
      if (const auto done = connection->run(sql); !done) {
        return std::unexpected(done.error().what);
      }
    }
    const auto tables = list_mysql_tables(*connection, target.settings.source.tables);
    if (!tables) {
      return std::unexpected(words_of(tables.error()));
    }
    for (const std::string& table : *tables) {
      const Has has = table_has(*connection, target, table, identity);
      if (!has || *has) {
        return has;
      }
    }
    return false;
  }

  Has table_has(MysqlConnection& connection,
                const Target& target,
                const std::string& table,
                std::string_view identity) {
    const auto plan = plan_mysql_table(connection, target, table);
    if (!plan) {
      return std::unexpected(words_of(plan.error()));
    }
    const auto wanted = keyspace::values_of_identity(identity, plan->identity.size());
    std::string sql = plan->select_sql();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const MysqlColumn& column = plan->columns[plan->identity[i]];
      sql += (i == 0 ? " WHERE " : " AND ") + quoted_mysql_name(column.name) + " = " +
             (plan->is_uuid(column.ordinal) ? "X'" + hex_of_uuid(wanted[i], plan->uuid_order) + "'"
                                            : literal(connection, column, wanted[i]));
    }
    return is_among(
        connection.stream(sql + " LIMIT " + std::to_string(kRowsMax)), target, *plan, identity);
  }

  std::shared_ptr<const FollowedServer<MysqlLogin>> server_;
};

}  // namespace

std::unique_ptr<RowLookup> make_mysql_row_lookup(
    std::shared_ptr<const FollowedServer<MysqlLogin>> server, std::vector<Target> targets) {
  return std::make_unique<MysqlRowLookup>(std::move(server), std::move(targets));
}

}  // namespace cuckooguard::source
