#include "harness/replication.h"

#include <string>

namespace cuckooguard::harness {

void replicate(const MariaDbServer& primary, const MariaDbServer& replica) {
  SqlSession session = replica.session("");
  session.run("SET sql_log_bin = 0; DROP DATABASE " + std::string(SqlServer::kDatabase));
  session.run("RESET MASTER; SET GLOBAL gtid_slave_pos = ''");
  session.run("CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = " +
              std::to_string(primary.port()) +
              ", MASTER_USER = 'root', MASTER_CONNECT_RETRY = 1, MASTER_USE_GTID = slave_pos");
  session.run("START SLAVE");
}

bool catches_up(const MariaDbServer& primary, const MariaDbServer& replica) {
  const std::string all = primary.session("").value("SELECT @@gtid_binlog_pos");
  return replica.session("").value(
             "SELECT MASTER_GTID_WAIT('" + all + "', " +
             std::to_string(std::chrono::duration_cast<std::chrono::seconds>(kPatience).count()) +
             ")") == "0";
}

void promote(const MariaDbServer& replica) {
  replica.session("").run("STOP SLAVE; RESET SLAVE ALL");
}

}  // namespace cuckooguard::harness
