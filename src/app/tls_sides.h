// TLS as it is spoken with clients and with Redis: loaded at the start, and again at a reload.
//
// Threads: load() from one at a time; the rest from any.
// Lifetimes: outlives the loops, transports and the control connection that it is given to; the log
// outlives it.
// Errors: load() says what is wrong with which setting, and then nothing has changed. Handshakes
// that fail are logged, which limits how often (event_limits.h).
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "io/asio_loop.h"
#include "io/tls_credentials.h"
#include "io/tls_transport.h"
#include "log/event_log.h"

namespace cuckooguard::app {

class TlsSides {
 public:
  explicit TlsSides(log::EventLog& log);
  TlsSides(const TlsSides&) = delete;
  TlsSides& operator=(const TlsSides&) = delete;
  ~TlsSides() = default;

  // Reads the files. Connections that there are keep what they have; those to come get what is read
  // here, or no TLS if `config` has none. Errors, one sentence each: nothing has changed.
  [[nodiscard]] std::vector<std::string> load(const config::Config& config);

  // Before the loop runs: its connects are to Redis.
  void encrypt_connects(io::AsioLoop& loop) const;
  const io::TlsSlot& upstream() const { return upstream_; }

  // A client that has connected to `listen`'s entry of this number; within the loop's thread.
  std::unique_ptr<io::Transport> accepted(io::Loop& loop,
                                          std::unique_ptr<io::Transport> client,
                                          std::size_t listen) const;

 private:
  log::EventLog& log_;
  std::deque<io::TlsSlot> clients_;  // as config::Config::listen, whose size stays
  io::TlsSlot upstream_;
  io::TlsTransport::OnFailure on_client_failure_;
  io::TlsTransport::OnFailure on_upstream_failure_;
};

}  // namespace cuckooguard::app
