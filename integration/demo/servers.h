// The two servers of the demo, each on a free port of 127.0.0.1 and gone with its object: a real redis-server that
// keeps nothing on disk, and the guard in front of it.
//
// Threads: the main thread's. Errors: std::runtime_error, with the end of the server's log; Interrupted.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "child_process.h"
#include "interrupt.h"
#include "temp_directory.h"

namespace cuckooguard::demo {

inline constexpr std::chrono::milliseconds kMaxLag{1000};

class Server {
 public:
  // Both return when the server answers PING.
  static Server redis(const TempDirectory& directory, const Interrupt& interrupt);
  static Server guard(const std::string& program,
                      std::uint16_t redis_port,
                      const TempDirectory& directory,
                      const Interrupt& interrupt);

  std::uint16_t port() const { return port_; }

 private:
  using CommandFor = std::function<std::vector<std::string>(std::uint16_t port)>;

  Server(const std::string& name,
         const CommandFor& command,
         const TempDirectory& directory,
         const Interrupt& interrupt);

  bool answers() const;

  std::unique_ptr<ChildProcess> process_;
  std::uint16_t port_ = 0;
};

// Where the database stands in the directory.
std::string database_path(const TempDirectory& directory);

}  // namespace cuckooguard::demo
