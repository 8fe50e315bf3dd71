#include "exactness/shop_chaos.h"

#include <mutex>

#include "exactness/shop_tables.h"

namespace cuckooguard::harness {

SqlSession& ShopChaos::session() {
  if (!session_) {
    session_.emplace(server_.session());
    session_->run("SET SESSION lock_wait_timeout = 1, innodb_lock_wait_timeout = 1");
  }
  return *session_;
}

void ShopChaos::note(const std::string& name, bool has_happened) {
  counts_[has_happened ? name : name + "_failed"] += 1;
}

void ShopChaos::run(const std::string& name, std::string_view sql) {
  const bool has_happened = session().try_run(sql) == 0;
  if (!has_happened) {
    session().try_run("ROLLBACK");  // it would keep its locks
  }
  note(name, has_happened);
}

bool ShopChaos::let_write(unsigned transactions, milliseconds too_long) {
  const std::uint64_t enough = writers_.transactions() + transactions;
  const auto is_enough = [&] { return writers_.transactions() >= enough; };
  writers_.resume();
  if (eventually(is_enough, too_long)) {
    return true;
  }
  adopt_prepared("prepared_adopted");
  if (eventually(is_enough, kStuck)) {
    return true;
  }
  // MariaDB loses track of a prepared transaction now and then: it holds its locks, XA RECOVER does
  // not list it, and only a restart gives it back.
  restart(true);
  adopt_prepared("locks_freed");
  return eventually(is_enough);
}

void ShopChaos::adopt_prepared(const std::string& name) {
  writers_.adopt_prepared(session());
  note(name, true);
}

void ShopChaos::happen() {
  switch (pick(16)) {
    case 0:
      return restart(true);
    case 1:
      return restart(false);
    case 2:
    case 3:
      return kill_connections(false);
    case 4:
    case 5:
      return kill_connections(true);
    case 6:
      return rotate();
    case 7:
      return run("truncate", "TRUNCATE TABLE item");
    case 8:
      return run("truncate", "TRUNCATE TABLE orders");
    case 9:
    case 10:
      return change_definition();
    case 11:
      return swap_user_table();
    case 12:
      return run("statement_format",
                 "SET SESSION binlog_format = STATEMENT; UPDATE item SET price = 2 WHERE shop > 0; "
                 "DELETE FROM item WHERE shop = 0; SET SESSION binlog_format = ROW");
    case 13:
      return run("large_transaction",
                 "BEGIN; UPDATE user SET note = UUID(); DELETE FROM orders; INSERT INTO orders "
                 "SELECT id, id FROM user; UPDATE orders SET user_id = user_id + 1; COMMIT");
    default:
      return run("large_statement", "UPDATE user SET note = UUID()");
  }
}

// At once, or with every transaction or two.
void ShopChaos::rotate() {
  switch (pick(3)) {
    case 0:
      return run("rotate", "FLUSH BINARY LOGS");
    case 1:
      return run("large_log_files", "SET GLOBAL max_binlog_size = DEFAULT");
    default:
      return run("small_log_files", "SET GLOBAL max_binlog_size = 4096");
  }
}

// Not while XA transactions are prepared or ended: shop_writer.h says why.
void ShopChaos::restart(bool is_killed) {
  const std::unique_lock gate(writers_.kill_gate());
  session_.reset();
  if (is_killed) {
    server_.kill();
  } else {
    server_.stop();
  }
  server_.start_again();
  note(is_killed ? "server_killed" : "server_restarted", true);
}

void ShopChaos::kill_connections(bool purges) {
  unsigned killed = 0;
  for (const auto& row : session().run("SHOW PROCESSLIST")) {
    if (row[1] == "guard" && (purges || pick(2) == 0)) {
      killed += session().try_run("KILL " + row[0].value_or("0")) == 0 ? 1 : 0;
    }
  }
  note("connections_killed", killed > 0);
  if (!purges) {
    return;
  }
  // Something that nobody has read, and then the log without it.
  session().try_run("UPDATE user SET note = UUID() WHERE id < 10; FLUSH BINARY LOGS");
  const auto logs = session().run("SHOW BINARY LOGS");
  run("purge", "PURGE BINARY LOGS TO '" + logs.back()[0].value_or("") + "'");
}

// As tools for online changes do it: what is written between the copy and the swap is lost, or
// comes back.
void ShopChaos::swap_user_table() {
  run("swap",
      "DROP TABLE IF EXISTS user_new, user_old; CREATE TABLE user_new LIKE user; INSERT INTO "
      "user_new SELECT * FROM user; RENAME TABLE user TO user_old, user_new TO user; DELETE FROM "
      "user_old WHERE id < 50; DROP TABLE user_old");
}

void ShopChaos::change_definition() {
  switch (pick(3)) {
    case 0:
      if (session().try_run(has_column_ ? "ALTER TABLE user DROP COLUMN extra"
                                        : "ALTER TABLE user ADD COLUMN extra INT FIRST") == 0) {
        has_column_ = !has_column_;
        return note("column_added_or_dropped", true);
      }
      return note("column_added_or_dropped", false);
    case 1:
      return run("type_changed", "ALTER TABLE user MODIFY id INT UNSIGNED NOT NULL");
    default:
      return run("type_changed", "ALTER TABLE user MODIFY id BIGINT UNSIGNED NOT NULL");
  }
}

}  // namespace cuckooguard::harness
