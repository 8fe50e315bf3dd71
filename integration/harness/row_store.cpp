#include "harness/row_store.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <utility>

#include "harness/configuration.h"
#include "harness/database.h"
#include "harness/mysql_server.h"
#include "harness/postgres_server.h"
#include "harness/slow_link.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

constexpr milliseconds kMaxLagOfStores{1000};

std::string application_url(const std::string& scheme, std::uint16_t port) {
  return scheme + "://app:word@127.0.0.1:" + std::to_string(port) + "/shop";
}

class SqlStore final : public RowStore {
 public:
  explicit SqlStore(milliseconds log_delay) : server_(make_server()), link_(server_->port()) {
    auto root = server_->session();
    root.run("CREATE TABLE visit (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name INT)");
    root.run(std::string("CREATE TABLE letter (id VARCHAR(36) CHARACTER SET utf8mb4 COLLATE ") +
             (server_->is_mariadb() ? "utf8mb4_nopad_bin" : "utf8mb4_0900_bin") + " PRIMARY KEY)");
    root.run("CREATE USER app@localhost IDENTIFIED BY 'word'");
    root.run("GRANT ALL ON shop.* TO app@localhost");
    create_guard_user(*server_);
    link_.delay_log(log_delay);
  }
  Insert session() override {
    auto session = std::make_shared<SqlSession>(server_->login());
    return [session, is_mariadb = server_->is_mariadb()](const std::string& uuid) {
      if (!uuid.empty()) {
        session->run("INSERT INTO letter VALUES ('" + uuid + "')");
        return uuid;
      }
      const std::string insert = "INSERT INTO visit (name) VALUES (1)";
      if (is_mariadb) {
        return session->value(insert + " RETURNING id");
      }
      session->run(insert);
      return session->value("SELECT LAST_INSERT_ID()");
    };
  }
  std::string source() const override {
    return mysql_source(port_address(link_.port()), kMaxLagOfStores);
  }
  std::string url() const override { return application_url("mysql", server_->port()); }

 private:
  std::unique_ptr<SqlServer> server_;
  SlowLink link_;
};

class PostgresStore final : public RowStore {
 public:
  explicit PostgresStore(std::string setting) : setting_(std::move(setting)) {
    server_.session().run(
        "CREATE TABLE visit (id BIGSERIAL PRIMARY KEY, name INT);"
        "CREATE TABLE letter (id UUID PRIMARY KEY);"
        "CREATE ROLE app LOGIN PASSWORD 'word';"
        "GRANT ALL ON visit, letter, visit_id_seq TO app");
    create_guard_role(server_);
  }
  Insert session() override {
    auto session = std::make_shared<PostgresSession>(server_.login());
    if (!setting_.empty()) {
      session->run(setting_);
    }
    return [session](const std::string& uuid) {
      if (!uuid.empty()) {
        session->run("INSERT INTO letter VALUES ('" + uuid + "')");
        return uuid;
      }
      return session->value("INSERT INTO visit (name) VALUES (1) RETURNING id");
    };
  }
  std::string source() const override {
    return postgres_source(port_address(server_.port()), kMaxLagOfStores);
  }
  std::string url() const override { return application_url("postgresql", server_.port()); }
  std::string letter_id() const override { return "{id:uuid}"; }

 private:
  std::string setting_;
  PostgresServer server_;
};

class SqliteStore final : public RowStore {
 public:
  explicit SqliteStore(std::string follow) : follow_(std::move(follow)) { session(); }
  Insert session() override {
    auto database = std::make_shared<Database>(path(), Journal::wal);
    database->run("CREATE TABLE IF NOT EXISTS visit (id INTEGER PRIMARY KEY AUTOINCREMENT, name)");
    database->run("CREATE TABLE IF NOT EXISTS letter (id TEXT NOT NULL PRIMARY KEY)");
    return [this, database](const std::string& uuid) {
      if (!uuid.empty()) {
        database->run("INSERT INTO letter VALUES ('" + uuid + "')");
        return uuid;
      }
      const std::scoped_lock lock(mutex_);  // whose id is whose
      const std::uint64_t next = ++last_id_;
      database->run("INSERT INTO visit VALUES (" + std::to_string(next) + ", 1)");
      return std::to_string(next);
    };
  }
  std::string source() const override { return sqlite_source(path(), ", max_lag: 1s, " + follow_); }
  std::string url() const override { return path().string(); }

 private:
  std::filesystem::path path() const { return directory_ / "shop.db"; }

  std::string follow_;
  TemporaryDirectory directory_;
  std::mutex mutex_;
  std::uint64_t last_id_ = 0;
};

}  // namespace

std::unique_ptr<RowStore> make_sql_store(milliseconds log_delay) {
  return std::make_unique<SqlStore>(log_delay);
}

std::unique_ptr<RowStore> make_postgres_store(const std::string& setting) {
  return std::make_unique<PostgresStore>(setting);
}

std::unique_ptr<RowStore> make_sqlite_store(const std::string& follow) {
  return std::make_unique<SqliteStore>(follow);
}

std::string random_uuid(std::mt19937_64& random) {
  const std::uint64_t high = random();
  const std::uint64_t low = random();
  constexpr std::size_t kLength = 36;
  std::string uuid(kLength + 1, '\0');  // with the terminator
  std::snprintf(uuid.data(),
                uuid.size(),
                "%08llx-%04llx-%04llx-%04llx-%012llx",
                static_cast<unsigned long long>(high >> 32U),
                static_cast<unsigned long long>(high >> 16U & 0xffffU),
                static_cast<unsigned long long>(high & 0xffffU),
                static_cast<unsigned long long>(low >> 48U),
                static_cast<unsigned long long>(low & 0xffff'ffff'ffffU));
  uuid.resize(kLength);
  return uuid;
}

}  // namespace cuckooguard::harness
