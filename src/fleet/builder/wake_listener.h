// Waits for followers that want an answer at once (fleet/layout.h, {P}:wake).
//
// Threads:   its own, from the constructor to the destructor, on which it calls. Lifetimes: none.
// Errors:    none: while Redis does not answer nobody is heard; it connects again after a pause.
// Limits:    it calls every 20 ms at most.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "source/source_kind.h"

namespace cuckooguard::fleet {

class WakeListener {
 public:
  WakeListener(source::OpenRedis redis, std::string key, std::function<void()> on_wake);

 private:
  std::jthread thread_;
};

}  // namespace cuckooguard::fleet
