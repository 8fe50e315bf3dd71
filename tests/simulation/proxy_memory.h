// How much memory the code under test holds: what it allocates while an InProxy stands, until it is
// freed by anybody.
//
// The loop stands for the product while it calls a watcher, a flush, a timer or a disposal; the
// fakes step out of it again. Counted by proxy_memory.cpp, which replaces operator new; a program
// without that file counts nothing.
// Threads: one, the simulation's.
#pragma once

#include <cstddef>

namespace cuckooguard::simulation {

struct ProxyMemory {
  bool counting = false;
  std::size_t live = 0;
  std::size_t peak = 0;
};

inline ProxyMemory& proxy_memory() {
  static constinit ProxyMemory memory;
  return memory;
}

class ProxyScope {
 public:
  explicit ProxyScope(bool counting) : before_(proxy_memory().counting) {
    proxy_memory().counting = counting;
  }
  ~ProxyScope() { proxy_memory().counting = before_; }
  ProxyScope(const ProxyScope&) = delete;
  ProxyScope& operator=(const ProxyScope&) = delete;

 private:
  bool before_;
};

struct InProxy : ProxyScope {
  InProxy() : ProxyScope(true) {}
};
struct OutsideProxy : ProxyScope {
  OutsideProxy() : ProxyScope(false) {}
};

}  // namespace cuckooguard::simulation
