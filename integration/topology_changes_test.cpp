// Whatever befalls the servers behind an address, no row is hidden that is there
// (exactness/topology_changes.h).
//
// CUCKOOGUARD_SEED replays what is done, CUCKOOGUARD_ROUNDS makes it longer: `./dev changes`.

#include "exactness/topology_changes.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "exactness/rounds.h"
#include "fixtures/skip.h"
#include "harness/mariadb_server.h"
#include "harness/postgres_server.h"
#include "harness/seed.h"

namespace cuckooguard::harness {
namespace {

class MariaDbPair final : public ServerPair {
 public:
  // A replica logs what it replicates, or does not, as is the default.
  explicit MariaDbPair(bool logs_what_it_replicates) {
    for (unsigned i = 0; i < servers_.size(); ++i) {
      servers_.at(i) = std::make_unique<MariaDbServer>(std::vector<std::string>{
          "--server-id=" + std::to_string(i + 1),
          std::string("--log-slave-updates=") + (logs_what_it_replicates ? "ON" : "OFF"),
          "--gtid-strict-mode=OFF",
          "--sql-mode=ANSI_QUOTES",
          "--slave-exec-mode=IDEMPOTENT"});
      create_guard_user(*servers_.at(i));
      servers_.at(i)->session().run("CREATE TABLE user (id BIGINT PRIMARY KEY)");
    }
  }

  std::uint16_t port(std::size_t server) const override { return servers_.at(server)->port(); }
  std::string source(const std::string& address) const override { return mysql_source(address); }
  bool run(std::size_t server, const std::string& sql) override {
    return session(server).try_run(sql) == 0;
  }
  std::optional<std::vector<std::string>> ids(std::size_t server) override {
    std::vector<std::string> all;
    for (const auto& row : session(server).run("SELECT id FROM user")) {
      all.push_back(row[0].value_or(""));
    }
    return all;
  }
  void set_read_only(std::size_t server, bool is_read_only) override {
    session(server).run(is_read_only ? "SET GLOBAL read_only = ON" : "SET GLOBAL read_only = OFF");
  }
  void promote(std::size_t server) override { session(server).run("STOP SLAVE; RESET SLAVE ALL"); }
  void replicate_from_other(std::size_t server) override {
    promote(server);
    const auto rows = ids(1 - server).value();
    const std::string position = session(1 - server).value("SELECT @@gtid_binlog_pos");
    std::string sql = "SET SESSION sql_log_bin = 0; DELETE FROM user";
    for (const std::string& id : rows) {
      sql += "; INSERT INTO user VALUES (" + id + ")";
    }
    session(server).run(sql +
                        "; SET SESSION sql_log_bin = 1; RESET MASTER; SET GLOBAL "
                        "gtid_slave_pos = '" +
                        position + "'");
    begin_replication(server);
  }
  bool replicate_for_a_while(std::size_t server) override {
    promote(server);
    session(server).run("SET GLOBAL gtid_slave_pos = '" +
                        session(1 - server).value("SELECT @@gtid_binlog_pos") + "'");
    begin_replication(server);
    for (const char* const id : {"50", "51"}) {
      (void)run(1 - server, std::string("INSERT INTO user VALUES (") + id + ")");
      (void)run(1 - server, std::string("UPDATE user SET id = id + 2 WHERE id = ") + id);
    }
    const std::string until = session(1 - server).value("SELECT @@gtid_binlog_pos");
    const bool has_all =
        session(server).value("SELECT MASTER_GTID_WAIT('" + until + "', 2)") == "0";
    promote(server);
    return has_all;
  }
  void crash(std::size_t server, bool loses_its_end) override {
    if (loses_its_end) {
      session(server).run("SET GLOBAL innodb_flush_log_at_trx_commit = 0");
      for (const char* const id : {"1", "2", "3"}) {
        (void)run(server, std::string("DELETE FROM user WHERE id = ") + id);
        (void)run(server, std::string("INSERT INTO user VALUES (1") + id + ")");
      }
    }
    servers_.at(server)->kill();
    servers_.at(server)->start_again();
  }

 private:
  SqlSession session(std::size_t server) const { return servers_.at(server)->session(); }
  void begin_replication(std::size_t server) {
    session(server).run("CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = " +
                        std::to_string(port(1 - server)) +
                        ", MASTER_USER = 'root', MASTER_CONNECT_RETRY = 1, MASTER_USE_GTID = "
                        "slave_pos");
    session(server).run("START SLAVE");
  }

  std::array<std::unique_ptr<MariaDbServer>, 2> servers_;
};

class PostgresPair final : public ServerPair {
 public:
  PostgresPair() {
    for (auto& each : servers_) {
      each = std::make_unique<PostgresServer>(PostgresOptions{.settings = {"max_wal_senders=8"}});
      create_guard_role(*each);
      each->session().run("CREATE TABLE \"user\" (id BIGINT PRIMARY KEY)");
    }
  }

  std::uint16_t port(std::size_t server) const override { return servers_.at(server)->port(); }
  std::string source(const std::string& address) const override { return postgres_source(address); }
  bool run(std::size_t server, const std::string& sql) override {
    PostgresSession here = session(server);
    here.run("SET default_transaction_read_only = off");
    return here.try_run(sql).empty();
  }
  std::optional<std::vector<std::string>> ids(std::size_t server) override {
    std::vector<std::string> all;
    for (const auto& row : session(server).run("SELECT id FROM \"user\"")) {
      all.push_back(row[0].value_or(""));
    }
    return all;
  }
  void set_read_only(std::size_t server, bool is_read_only) override {
    if (is_standby(server)) {
      return;
    }
    PostgresSession here = session(server);
    here.run("SET default_transaction_read_only = off");
    here.run(is_read_only ? "ALTER DATABASE shop SET default_transaction_read_only = on"
                          : "ALTER DATABASE shop RESET default_transaction_read_only");
  }
  void promote(std::size_t server) override {
    if (is_standby(server)) {
      session(server).run("SELECT pg_promote()");
    }
  }
  // The port of the one before is another's: the address must be led there anew.
  void replicate_from_other(std::size_t server) override {
    if (is_standby(1 - server)) {
      return;
    }
    servers_.at(server).reset();
    PostgresServer& primary = *servers_.at(1 - server);
    primary.stop();
    servers_.at(server) = std::make_unique<PostgresServer>(
        primary,
        PostgresOptions{
            .settings = {"primary_conninfo=host=127.0.0.1 port=" + std::to_string(primary.port()) +
                         " user=guard password=word"}});
    primary.start_again();
  }
  bool replicate_for_a_while(std::size_t /*server*/) override { return false; }
  void crash(std::size_t server, bool loses_its_end) override {
    if (loses_its_end && !is_standby(server)) {
      PostgresSession here = session(server);
      here.run("SET default_transaction_read_only = off; SET synchronous_commit = off");
      for (const char* const id : {"1", "2", "3"}) {
        (void)here.try_run(std::string("DELETE FROM \"user\" WHERE id = ") + id);
        (void)here.try_run(std::string("INSERT INTO \"user\" VALUES (1") + id + ")");
      }
    }
    servers_.at(server)->kill();
    servers_.at(server)->start_again();
  }

 private:
  PostgresSession session(std::size_t server) const { return servers_.at(server)->session(); }
  bool is_standby(std::size_t server) const {
    return session(server).value("SELECT pg_is_in_recovery()") == "t";
  }

  std::array<std::unique_ptr<PostgresServer>, 2> servers_;
};

void change(ServerPair& servers, const char* name, std::uint32_t seed) {
  TopologyChanges changes(servers, seed);
  run_rounds(changes, "topology", name, seed, rounds_of_this_run(3));
}

TEST(MariaDbTopology, that_changes_hides_no_row) {
  SKIP_IF_MISSING(MariaDbServer::missing());
  const std::uint32_t seed = seed_of_this_run();
  MariaDbPair servers(seed % 2 == 0);
  change(servers, "mariadb", seed);
}

TEST(PostgresTopology, that_changes_hides_no_row) {
  SKIP_IF_MISSING(PostgresServer::missing());
  const std::uint32_t seed = seed_of_this_run();
  PostgresPair servers;
  change(servers, "postgres", seed);
}

}  // namespace
}  // namespace cuckooguard::harness
