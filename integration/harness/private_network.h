// A network of the calling thread's own, and of the programs and threads that it starts: loopback
// alone, in which some can be cut off from others (a network namespace of Linux, and rules of
// routing in it). It is gone with the last of them.
//
// Threads: one. Errors: std::runtime_error. Needs root and Debian's iproute2: see missing().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cuckooguard::harness {

class PrivateNetwork {
 public:
  // What is not there, in words that say what to do; nothing if all is.
  static std::optional<std::string> missing();

  PrivateNetwork();   // does nothing if something is missing
  ~PrivateNetwork();  // the thread is back where it was
  PrivateNetwork(const PrivateNetwork&) = delete;
  PrivateNetwork& operator=(const PrivateNetwork&) = delete;

  // What this address (of 127/8) sends to this port of 127.0.0.1 arrives no more, of what is
  // connected already, too, and nobody is told. 0: to any port.
  void cut(std::string_view from, std::uint16_t to = 0);
  void heal();  // all of it

 private:
  int before_ = -1;  // the thread's network until then
  unsigned cuts_ = 0;
};

}  // namespace cuckooguard::harness
