// TLS as it is spoken with clients and with Redis: loaded at the start, and again at a reload.
//
// Called by: Assembly. Threads: construct and load from one thread; the rest from any.
// Lifetimes: outlives the loops, transports and the control connection that it is given to.
// Errors: load() says what is wrong with which setting, and then nothing has changed. Handshakes that fail are logged, once
// per kTellEvery and side: event=tls_failed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "io/asio_loop.h"
#include "io/clock.h"
#include "io/tls_credentials.h"
#include "io/tls_transport.h"

namespace cuckooguard::cli {

class TlsSides {
 public:
  static constexpr std::chrono::seconds kTellEvery{10};

  // Reads the files. What is said in warnings is logged. Connections that there are keep what they have; those to come get
  // what is read here, or no TLS if `config` has none. Errors, one sentence each: nothing has changed.
  [[nodiscard]] std::vector<std::string> load(const config::Config& config);

  // Before the loop runs: its connects are to Redis.
  void encrypt_connects(io::AsioLoop& loop);
  const io::TlsSlot& upstream() const { return upstream_.credentials; }

  // A client that has connected; within the loop's thread.
  std::unique_ptr<io::Transport> accepted(io::Loop& loop,
                                          std::unique_ptr<io::Transport> client) const;

 private:
  struct Side {
    explicit Side(std::string_view name);

    io::TlsSlot credentials;
    std::atomic<std::uint64_t> untold{0};              // failures since the last line
    std::atomic<io::TimePoint> told{io::TimePoint{}};  // when that was
    io::TlsTransport::OnFailure on_failure;
  };

  Side clients_{"client"};
  Side upstream_{"upstream"};
};

}  // namespace cuckooguard::cli
