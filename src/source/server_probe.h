// Asks a server over and over how far its log is, and so how current whoever has applied that much must be.
//
// The proof. At time t, before the question is sent, every commit that has returned is in the log; the
// answer p covers it. Whoever has applied p has all that was committed before t. A heartbeat or an open
// connection prove nothing of the kind (DESIGN 8). A replica is asked first how far it is behind its
// primary, and proves that much less: what it lacks then, and has applied when it is asked for p, is in p.
// One that does not know, or is behind by more than max_lag, proves nothing; nor does one that has not known
// for max_lag: it says 0 as soon as it has reached its primary, before it hears what it has missed.
// Limits: replicas count in whole seconds, and notice only after slave_net_timeout that a primary is silent.
//
// Called by: the follower of a server, one probe per connection to one. Threads: its own, on which `told`
// is called; construction starts it, destruction ends it. Errors: none: without answers nothing is proven.
// It connects again by itself, and tells nothing if the address has become another server.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "config/config.h"
#include "source/log_position.h"
#include "source/mysql_connection.h"
#include "source/source.h"

namespace cuckooguard::source {

class ServerProbe {
 public:
  struct Settings {
    MysqlLogin login;
    std::string identity;  // of the server that is followed: server_identity()
    Clock clock;
    std::chrono::nanoseconds max_lag;
  };
  using Told = std::function<void(TimePoint at, const LogPosition& position)>;

  ServerProbe(Settings settings, Told told);
  ServerProbe(const ServerProbe&) = delete;
  ServerProbe& operator=(const ServerProbe&) = delete;
  ~ServerProbe() = default;

 private:
  void run(const std::stop_token& stop);
  void ask_until_it_fails(const std::stop_token& stop, MysqlConnection& connection);
  std::chrono::nanoseconds every() const { return settings_.max_lag / config::kPollsPerMaxLag; }

  Settings settings_;
  Told told_;
  std::jthread thread_;
};

// All that has been committed: MariaDB's gtid_binlog_pos, MySQL's gtid_executed.
std::expected<LogPosition, MysqlError> server_position(MysqlConnection& connection);

// Tells one server from another.
std::expected<std::string, MysqlError> server_identity(MysqlConnection& connection);

// An error if it is another server that answers: a name may lead to several, and what one says of its log or its
// rows means nothing beside what another does.
std::expected<MysqlConnection, MysqlError> open_same_server(const MysqlLogin& login,
                                                            std::string_view identity);

}  // namespace cuckooguard::source
