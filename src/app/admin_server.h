// The admin pages of this process, with a guard and an epoch reader of their own, and their server.
//
// Threads: construct, start and destroy from the main thread's; adopt() any. Lifetimes: everything
// in Parts outlives it; what is guarded only until the next adopt() has called `done`. Errors:
// refusal() before anything is bound; std::system_error if the address cannot be.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "admin/pages.h"
#include "config/config.h"
#include "filter/epochs.h"
#include "guard/guard.h"
#include "http/server.h"
#include "log/event_log.h"
#include "views/process_state.h"

namespace cuckooguard::app {

// What is wrong with the token file.
std::optional<std::string> refusal(const config::Admin& settings);

class AdminServer {
 public:
  struct Parts {
    const config::Address& address;  // that of `settings`
    const config::Admin& settings;
    guard::Guard::Parts guarded;
    filter::Epochs::Reader& reader;
    views::ProcessState& process_state;
    log::EventLog& log;
  };

  explicit AdminServer(const Parts& parts);

  void start();
  // Switches to these on its own thread, which then calls `done`.
  void adopt(const guard::Guard::Parts& guarded,
             config::Admin settings,
             std::function<void()> done);

 private:
  log::EventLog& log_;
  config::Address address_;
  bool asks_for_token_;
  guard::Guard guard_;
  admin::Pages pages_;
  http::Server server_;
};

}  // namespace cuckooguard::app
