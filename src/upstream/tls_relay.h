// A plain socket whose bytes go to Redis over TLS: for hiredis, which in Debian 12 knows no TLS.
//
//   hiredis ── socketpair ── the relay's thread ══ TLS ══ Redis
//
// Threads: open() and the destructor from the owner's; one of its own.
// Lifetimes: the taker of the socket closes it; each end's close closes the other.
// Errors: open() says in a sentence why Redis cannot be reached. Limits: open() waits for
// connect_timeout at most; replies that nobody reads stay with Redis but for kQueuedMost.
#pragma once

#include <cstddef>
#include <expected>
#include <future>
#include <memory>
#include <string>

#include "config/config.h"
#include "io/output_queue.h"
#include "io/tls_credentials.h"
#include "io/transport.h"
#include "io/worker.h"
#include "upstream/connection.h"

namespace cuckooguard::upstream {

class TlsRelay final : Connection::Owner, io::Watcher {
 public:
  static constexpr std::size_t kQueuedMost = std::size_t{256} * 1024;
  using Opened = std::expected<std::unique_ptr<TlsRelay>, std::string>;

  static Opened open(const config::Upstream& settings,
                     std::shared_ptr<const io::TlsCredentials> credentials);
  TlsRelay(const TlsRelay&) = delete;
  TlsRelay& operator=(const TlsRelay&) = delete;
  ~TlsRelay();

  int take_socket();  // once

 private:
  TlsRelay(const config::Upstream& settings, std::shared_ptr<const io::TlsCredentials> credentials);

  void on_upstream_up() override;
  void on_upstream_bytes(std::string_view bytes) override;
  void on_upstream_progress() override {}
  void on_upstream_lost() override;
  void on_ready(io::Readiness readiness) override;
  void flush();
  void end();

  config::Upstream settings_;
  io::TlsSlot credentials_;
  io::Worker worker_;
  int socket_ = -1;
  std::unique_ptr<io::Transport> local_;  // the other end of it
  io::OutputQueue to_local_;
  std::unique_ptr<Connection> redis_;
  bool was_up_ = false;
  std::string trouble_;
  std::promise<std::string> outcome_;  // nothing: it is up
};

}  // namespace cuckooguard::upstream
