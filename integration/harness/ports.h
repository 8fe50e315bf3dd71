// TCP ports of 127.0.0.1 for servers that this test starts.
#pragma once

#include <cstdint>

namespace cuckooguard::harness {

// A port that nobody listens on, chosen at random below the range from which the kernel takes the
// ports of outgoing connections, so that only another test can come in between; who starts a server
// on it tries again then.
std::uint16_t free_port();

// Holds a port for as long as it lives: what else wants to listen there cannot.
class TakenPort {
 public:
  TakenPort();
  ~TakenPort();
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;

  std::uint16_t port() const { return port_; }

  // Whether somebody has tried to connect.
  bool was_called() const;

 private:
  int socket_;
  std::uint16_t port_;
};

}  // namespace cuckooguard::harness
