// A network between a guard and its database: a TCP forwarder that can be late, silent or cut, or
// lead elsewhere.
//
// Connections that carry a binary log are told from others by their command (COM_BINLOG_DUMP,
// COM_BINLOG_DUMP_GTID), so that the log can be late while questions are answered at once.
//
// Threads: any; it forwards on one of its own. Errors: std::system_error from the constructor; a
// connection whose server is gone is closed. Limits: no TLS (commands are read).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "harness/deadline.h"

struct pollfd;

namespace cuckooguard::harness {

class SlowLink {
 public:
  enum class Which : std::uint8_t { log, all };

  explicit SlowLink(std::uint16_t server_port);
  ~SlowLink();
  SlowLink(const SlowLink&) = delete;
  SlowLink& operator=(const SlowLink&) = delete;

  std::uint16_t port() const { return port_; }

  // Of all that comes from now on with a log.
  void delay_log(milliseconds delay);
  // Of all else, too: a server that is far away.
  void delay_all(milliseconds delay);
  // Nothing is read or written, and nothing closed; new connections too.
  void stall(Which which);
  void flow();
  // Those that are open stay silent for good; new ones work.
  void forget_connections();
  // Those that are open are closed, and nobody gets in until flow().
  void cut();
  // New connections go to these servers, one each, and then all to the last one.
  void lead_to(const std::vector<std::uint16_t>& server_ports);

 private:
  struct Chunk {
    SteadyClock::time_point due;
    std::string bytes;
  };
  struct Direction {
    int from;
    int to;
    std::deque<Chunk> on_the_way;
  };
  class Connection;

  void forward(const std::stop_token& stop);
  void accept_one();
  bool is_stalled(const Connection& connection) const;
  void wake() const;

  int listener_;
  int wake_;
  std::uint16_t port_ = 0;

  std::mutex mutex_;
  std::deque<std::uint16_t> server_ports_;  // of the next connections; the last one stays
  std::list<Connection> connections_;
  milliseconds delay_{0};
  milliseconds log_delay_{0};  // on top of that
  bool is_log_stalled_ = false;
  bool is_all_stalled_ = false;
  bool is_cut_ = false;

  std::jthread thread_;
};

}  // namespace cuckooguard::harness
