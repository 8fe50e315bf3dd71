// `cuckooguard ping ADDRESS`: is somebody there who answers as Redis does? For health checks of
// containers.
//
// Threads: the main thread's. Errors: a sentence. Limits: the time-out is for the connect, and
// again for the reply; looking a name up may take the system's own time.
//
// Any reply is good, an error too: -NOAUTH comes from a server that works. The guard forwards PING,
// so that it answers as long as Redis does.
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
  TlsFlags tls;

  CLI::App& add(CLI::App& app);
  int run() const;
};

// What came back, with a line end: "PONG", or the error.
std::expected<std::string, std::string> ping(const Ping& options);

}  // namespace cuckooguard::cli
