// `cuckooguard ping ADDRESS`: is somebody there who answers as Redis does? For health checks of
// containers.
//
// Threads: the main thread's. Errors: a sentence. Limits: the time-out is for the connect, and
// again for the reply; looking a name up may take the system's own time.
//
// Any reply is good, an error too: -NOAUTH comes from a server that works. The guard forwards PING,
// so that it answers as long as Redis does.
//
// With --alive the guard itself is asked (GUARD.PING), which needs no Redis and no login; again, a
// few times, while the time-out is not over and nothing is replied. What Redis says to a command
// that it does not know is no sign of a guard; any other error is: at `max_clients` the guard
// refuses, and a pinned client hears of a Redis that is full.
#pragma once

#include <chrono>
#include <expected>
#include <string>

#include "cli/flags.h"
#include "config/config.h"

namespace cuckooguard::cli {

struct Ping {
  config::Address address{.host = "127.0.0.1", .port = 6380, .unix_path = {}};
  std::chrono::milliseconds timeout{2000};
  bool alive = false;  // the guard itself
  TlsFlags tls;

  CLI::App& add(CLI::App& app);
  int run() const;
};

// What came back, with a line end: "PONG", or the error.
std::expected<std::string, std::string> ping(const Ping& options);

}  // namespace cuckooguard::cli
