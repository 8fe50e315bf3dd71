// The servers that the demo starts, each on a free port of 127.0.0.1 and gone with its object: a
// real redis-server that keeps nothing on disk, the guard in front of it, and others (mariadb.h).
//
// Threads: the main thread's. Errors: std::runtime_error, with the end of the server's log;
// Interrupted.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "child_process.h"
#include "endpoint.h"
#include "interrupt.h"
#include "temp_directory.h"

namespace cuckooguard::demo {

inline constexpr std::chrono::milliseconds kMaxLag{1000};

struct Guard {
  std::string program;
  Endpoint redis;
  std::string source;  // of its configuration, after `sources: shop:`
  // After `namespaces:`. The demo's own application knows of the guard, a little: see
  // cache_aside.h.
  std::string namespaces = users_namespace();
  bool has_page = false;

  static std::string users_namespace();
};

class Server {
 public:
  using CommandFor = std::function<std::vector<std::string>(std::uint16_t port)>;
  using Answers = std::function<bool(const Endpoint& server)>;  // it may throw std::runtime_error

  // Returns when the server answers. Its log is NAME.log in the directory.
  Server(const std::string& name,
         const CommandFor& command,
         const Answers& answers,
         const TempDirectory& directory,
         const Interrupt& interrupt);

  // These answer PING.
  static Server redis(const TempDirectory& directory, const Interrupt& interrupt);
  static Server guard(const Guard& guard,
                      const TempDirectory& directory,
                      const Interrupt& interrupt);

  const Endpoint& endpoint() const { return endpoint_; }
  // Of a guard that has one.
  const Endpoint& page() const { return page_; }

 private:
  std::unique_ptr<ChildProcess> process_;
  Endpoint endpoint_;
  Endpoint page_;
};

// Runs a program to its end; what it prints goes to NAME.log in the directory.
void run_to_end(const std::string& name,
                const std::vector<std::string>& command,
                const TempDirectory& directory,
                const Interrupt& interrupt);

}  // namespace cuckooguard::demo
