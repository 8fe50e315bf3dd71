// The filters that applications fill, of a process: made of the configuration at the start, and
// kept where it says.
//
// Threads: made, started and ended on the main thread; what it gives to guards, any.
// Lifetimes: log, storage, tls and endpoints outlive it, and it the workers.
// Errors: make(): a sentence. What was kept and cannot be read is one, too: to go on without it
// would be to take for new what was there. Limits: config::FilledFilters.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "app/endpoints.h"
#include "config/config.h"
#include "filled/filters.h"
#include "filled/store.h"
#include "guard/filled.h"
#include "io/tls_credentials.h"
#include "log/event_log.h"
#include "source/storage_directory.h"

namespace cuckooguard::app {

class ApplicationFilters {
 public:
  struct Environment {
    log::EventLog& log;
    const source::StorageDirectory* storage;  // null: none
    const io::TlsSlot& tls;                   // what its connects take
    Endpoints& endpoints;                     // where Redis is
  };

  // Null: there are none.
  static std::expected<std::unique_ptr<ApplicationFilters>, std::string> make(
      const config::Config& config, const Environment& environment);
  ApplicationFilters(const ApplicationFilters&) = delete;
  ApplicationFilters& operator=(const ApplicationFilters&) = delete;
  ~ApplicationFilters() = default;

  void start() { start_(); }
  guard::Filled& filled() { return *filled_; }

 private:
  ApplicationFilters(const filter::HashSecret& secret, filled::Filters::Room room)
      : filters_(secret, room) {}

  void share(const config::Config& config, const std::string& key, const Environment& environment);
  std::expected<void, std::string> keep_here(const config::Config& config,
                                             const Environment& environment);

  filled::Filters filters_;
  std::unique_ptr<filled::Store> store_;
  std::function<void()> start_;
  std::unique_ptr<guard::Filled> filled_;
};

}  // namespace cuckooguard::app
