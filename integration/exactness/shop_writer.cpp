#include "exactness/shop_writer.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "exactness/shop_tables.h"
#include "harness/deadline.h"

namespace cuckooguard::harness {

class Writer {
 public:
  // `prepares`: XA transactions too. One writer does: their locks stop all others for as long as
  // they last.
  Writer(Writers& all, std::uint32_t seed, bool prepares)
      : all_(all), random_(seed), prepares_(prepares) {}

  void run_until(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      all_.wait_for_turn(stop);
      if (stop.stop_requested() || (!session_ && !connect())) {
        continue;
      }
      if (prepares_ && (pick(3) == 0 || all_.has_prepared())) {
        write_xa();
      } else {
        run(pick(4) == 0 ? transaction() : statement());
      }
    }
  }

 private:
  unsigned pick(unsigned choices) { return static_cast<unsigned>(random_() % choices); }
  std::string id() { return std::to_string(pick(kIds)); }
  std::string name() {
    static constexpr std::array<const char*, 4> kWords{"ann", "zo\xc3\xab", "\xe6\x9d\x8e", "o-o"};
    return "'" + std::string(kWords.at(pick(4))) + id() + "'";
  }
  std::string shop() { return std::to_string(static_cast<int>(pick(9)) - 4); }
  std::string code() {
    static constexpr std::array<const char*, 5> kCodes{"61", "FF00", "6100", "3A3A", "C3A9"};
    return std::string("x'") + kCodes.at(pick(5)) + std::to_string(10 + pick(40)) + "'";
  }
  std::string tag() {
    return "x'" + std::to_string(10 + pick(90)) + (pick(2) == 0 ? "00" : "") + "'";
  }

  bool connect() {
    try {
      session_.emplace(all_.server_.session());
      session_->try_run(
          "SET NAMES utf8mb4; SET SESSION innodb_lock_wait_timeout = 1, lock_wait_timeout = 1");
      connection_ = session_->value("SELECT CONNECTION_ID()");
      return true;
    } catch (const std::runtime_error&) {
      ::poll(nullptr, 0, 5);  // the server is being restarted
      return false;
    }
  }

  bool run(const std::string& sql) {
    const unsigned code = session_->try_run(sql);
    if (code == 0) {
      ++all_.transactions_;
      return true;
    }
    constexpr unsigned kClientErrors = 2000;
    constexpr unsigned kClientErrorsEnd = 3000;
    constexpr unsigned kShutdown = 1053;
    constexpr unsigned kKilled = 1927;  // MariaDB: ER_CONNECTION_KILLED
    if ((code >= kClientErrors && code < kClientErrorsEnd) || code == kShutdown ||
        code == kKilled) {
      session_.reset();
    } else {
      session_->try_run("ROLLBACK");
    }
    return false;
  }

  std::string statement() {
    switch (pick(4)) {
      case 0:
        return item_statement();
      case 1:
        return order_statement();
      default:
        return user_statement();
    }
  }

  std::string user_statement() {
    switch (pick(9)) {
      case 0:
      case 1:
        return "INSERT IGNORE INTO user (id, name, note) VALUES (" + id() + ", " + name() +
               ", 'x'), (" + id() + ", " + name() + ", NULL)";
      case 2:
        return "DELETE FROM user WHERE id = " + id();
      case 3:
        return "UPDATE IGNORE user SET id = " + id() + " WHERE id = " + id();
      case 4:
        return "REPLACE INTO user (id, name) VALUES (" + id() + ", " + name() + ")";
      case 5:
        return "INSERT INTO user (id, name) VALUES (" + id() + ", " + name() +
               ") ON DUPLICATE KEY UPDATE name = CONCAT(" + name() + ", '+'), note = 'again'";
      case 6:
        return "UPDATE user SET note = UUID() WHERE id < " + id();
      case 7:
        return "UPDATE IGNORE user SET name = " + name() + " WHERE id = " + id();
      default:
        return "DELETE FROM user WHERE id BETWEEN " + std::to_string(pick(kIds)) + " AND " + id();
    }
  }

  std::string item_statement() {
    const std::string key = "shop = " + shop() + " AND code = " + code();
    switch (pick(6)) {
      case 0:
        return "DELETE FROM item WHERE " + key;
      case 1:
        return "UPDATE IGNORE item SET shop = " + shop() + ", code = " + code() + " WHERE " + key;
      case 2:
        return "UPDATE IGNORE item SET shop = -shop WHERE shop = " + shop();
      case 3:
        return "INSERT IGNORE INTO tag VALUES (" + tag() + ", 1), (" + tag() + ", 2)";
      case 4:
        return pick(2) == 0
                   ? "DELETE FROM tag WHERE tag < " + tag() + " LIMIT 5"
                   : "UPDATE IGNORE tag SET tag = " + tag() + " WHERE tag < " + tag() + " LIMIT 1";
      default:
        return "REPLACE INTO item VALUES (" + shop() + ", " + code() + ", 1.5), (" + shop() + ", " +
               code() + ", NULL)";
    }
  }

  std::string order_statement() {
    switch (pick(4)) {
      case 0:
        return "DELETE FROM orders WHERE user_id = " + id();
      case 1:
        return "UPDATE IGNORE orders SET id = id + 1000, user_id = " +
               (pick(3) == 0 ? "NULL" : id()) + " WHERE id = " + id();
      case 2:
        return "INSERT IGNORE INTO orders SELECT id, " + id() + " FROM user WHERE id < " + id();
      default:
        return "REPLACE INTO orders VALUES (" + id() + ", " + id() + "), (" + id() + ", NULL)";
    }
  }

  std::string transaction() {
    std::string sql = "BEGIN";
    const unsigned statements = 1 + pick(5);
    for (unsigned i = 0; i < statements; ++i) {
      sql += "; " + statement();
      if (pick(4) == 0) {
        sql += "; SAVEPOINT a; " + statement() + "; ROLLBACK TO a";
      }
    }
    return sql + (pick(4) == 0 ? "; ROLLBACK" : "; COMMIT");
  }

  // What is prepared outlives its connection; another one ends it.
  void write_xa() {
    if (pick(20) == 0) {
      (void)eventually(
          [this, enough = all_.transactions_ + 50] { return all_.transactions_ > enough; },
          milliseconds(200));
    }
    const std::shared_lock gate(all_.kill_gate_);
    if (const auto prepared = all_.take_prepared(pick(3))) {
      if (run((pick(4) == 0 ? "XA ROLLBACK " : "XA COMMIT ") + *prepared)) {
        ++all_.xa_ended_;
      } else if (!session_ || is_prepared(*prepared)) {
        all_.put_back(*prepared);  // its connection has not yet let go of it
      }
      return;
    }
    const std::string xid = "'x" + std::to_string(++all_.xa_numbers_) + "'";
    for (const std::string& sql : {"XA START " + xid, statement(), "XA END " + xid}) {
      if (session_->try_run(sql) != 0) {
        session_.reset();  // rolls it back
        return;
      }
    }
    const unsigned way = pick(4);
    if (way == 0) {
      session_->try_run("XA COMMIT " + xid + " ONE PHASE");
      session_.reset();
    } else if (session_->try_run("XA PREPARE " + xid) != 0 || way != 1 ||
               session_->try_run("XA COMMIT " + xid) != 0) {
      // Also where an error leaves it prepared, for good: whoever takes it finds out.
      leave_prepared();
      all_.put_back(xid);
    }
  }

  void leave_prepared() {
    const std::string connection = connection_;
    session_.reset();
    (void)eventually([&] {
      try {
        return (session_ || connect()) && is_left(*session_, connection);
      } catch (const std::runtime_error&) {
        session_.reset();
        return false;
      }
    });
  }

  // One that has changed nothing is gone with its connection.
  bool is_prepared(const std::string& xid) {
    try {
      return std::ranges::any_of(session_->run("XA RECOVER"), [&xid](const auto& row) {
        return "'" + row[3].value_or("") + "'" == xid;
      });
    } catch (const std::runtime_error&) {
      session_.reset();
      return true;
    }
  }

  Writers& all_;
  std::mt19937 random_;
  bool prepares_;
  std::optional<SqlSession> session_;
  std::string connection_;  // the server's number of it
};

// Not by innodb_trx: that is what it was before, until nobody has looked at it for 0.1 s. InnoDB
// leaves the list out while somebody has its locks; before it stand those of the last deadlock.
bool is_left(SqlSession& session, const std::string& connection) {
  const std::string status = session.run("SHOW ENGINE INNODB STATUS").at(0).at(2).value_or("");
  const std::size_t list = status.find("LIST OF TRANSACTIONS");
  return list != std::string::npos &&
         !status.substr(list).contains(" thread id " + connection + ",");
}

Writers::Writers(const SqlServer& server, std::uint32_t seed, unsigned count) : server_(server) {
  for (unsigned i = 0; i < count; ++i) {
    threads_.emplace_back([this, seed, i](const std::stop_token& stop) {
      Writer(*this, seed + i, i == 0).run_until(stop);
    });
  }
}

Writers::~Writers() {
  for (std::jthread& thread : threads_) {
    thread.request_stop();
  }
  threads_.clear();
}

void Writers::resume() {
  const std::scoped_lock lock(mutex_);
  is_paused_ = false;
  changed_.notify_all();
}

void Writers::pause() {
  std::unique_lock lock(mutex_);
  is_paused_ = true;
  changed_.wait(lock, [this] { return paused_ == threads_.size(); });
}

void Writers::roll_back_prepared(SqlSession& session) {
  constexpr unsigned kUnknownXid = 1397;  // gone, or its connection has not yet let go of it
  const std::scoped_lock lock(mutex_);
  for (const std::string& xid : prepared_) {
    (void)eventually([&] { return session.try_run("XA ROLLBACK " + xid) != kUnknownXid; },
                     milliseconds(500));
  }
  prepared_.clear();
}

void Writers::adopt_prepared(SqlSession& session) {
  const auto listed = session.run("XA RECOVER");
  const std::scoped_lock lock(mutex_);
  for (const auto& row : listed) {
    const std::string xid = "'" + row[3].value_or("") + "'";
    if (std::ranges::find(prepared_, xid) == prepared_.end()) {
      prepared_.push_back(xid);
    }
  }
}

std::string Writers::in_the_way() const {
  std::string text;
  SqlSession session = server_.session();
  for (const char* const question :
       {"XA RECOVER",
        "SHOW FULL PROCESSLIST",
        "SELECT trx_state, trx_started, trx_mysql_thread_id, trx_query, "
        "trx_rows_locked FROM information_schema.innodb_trx"}) {
    text.append(question) += '\n';
    for (const auto& row : session.run(question)) {
      for (const auto& value : row) {
        text += "  " + value.value_or("NULL");
      }
      text += '\n';
    }
  }
  return text;
}

void Writers::wait_for_turn(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!is_paused_) {
    return;
  }
  ++paused_;
  changed_.notify_all();
  changed_.wait(lock, stop, [this] { return !is_paused_; });
  --paused_;
}

bool Writers::has_prepared() {
  const std::scoped_lock lock(mutex_);
  return !prepared_.empty();
}

void Writers::put_back(const std::string& xid) {
  const std::scoped_lock lock(mutex_);
  prepared_.push_back(xid);
}

// Two at a time, sometimes.
std::optional<std::string> Writers::take_prepared(unsigned pick) {
  const std::scoped_lock lock(mutex_);
  if (prepared_.empty() || (pick == 0 && prepared_.size() < 2)) {
    return std::nullopt;
  }
  std::string first = std::move(prepared_.front());
  prepared_.erase(prepared_.begin());
  return first;
}

}  // namespace cuckooguard::harness
