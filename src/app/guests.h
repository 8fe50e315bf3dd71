// What the program is built of beside the spine: guests (src/guests/guests.cmake), each of which it
// may be built without. main() has them and hands them on; no room of the spine includes one.
//
// Threads: constant. Lifetimes: what it points to is static.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "config/config_file.h"
#include "file/kind.h"
#include "guard/fact_table.h"
#include "guard/own_commands.h"
#include "guard/process.h"
#include "io/tls_credentials.h"
#include "log/event_log.h"
#include "source/source_kind.h"
#include "source/storage_directory.h"
#include "upstream/cluster_loop.h"
#include "upstream/redis_client.h"

namespace cuckooguard::app {

struct Library {
  std::string_view name;
  const char* (*version)();  // of the one that is loaded
};

// The filters that applications fill, of a process: made of the configuration at the start, and
// kept where it says.
//
// Threads: made, started and ended on the main thread; the rest any. Lifetimes: what the
// environment has outlives it, and it the workers. Errors: make: a sentence. What was kept and
// cannot be read is one, too: to go on without it would be to take for new what was there.
// Limits: config::FilledFilters.
class ApplicationFilters : boost::noncopyable {
 public:
  struct Environment {
    log::EventLog& log;
    const source::StorageDirectory* storage;  // null: none
    const io::TlsSlot& tls;                   // what its connects take
    std::function<std::optional<upstream::RedisPlace>(std::string_view key)> redis_of;
    std::function<void()> look_again;  // the Redis that had a key may be elsewhere by now
  };
  using Made = std::expected<std::unique_ptr<ApplicationFilters>, std::string>;
  using Make = Made (*)(const config::Config& config, const Environment& environment);

  virtual ~ApplicationFilters() = default;

  virtual void start() = 0;
  // Those of one guard, which outlives them.
  virtual std::unique_ptr<guard::CommandServer> commands(guard::Guard& guard) = 0;
  virtual void show(guard::FactTable& table) const = 0;
  virtual std::optional<guard::Complaint> complaint() const = 0;
};

struct Guests {
  std::vector<const source::SourceKind*> kinds{&source::kFile};
  std::vector<Library> libraries{};
  // Filters that applications fill; null: they are left out.
  ApplicationFilters::Make make_filters = nullptr;
  // One port for a whole cluster; null: it is left out.
  upstream::ClusterLoop::Make make_cluster_loop = nullptr;
  config::Built built{};  // what a configuration may ask for

  // std::logic_error: it is left out. A configuration that has it is refused.
  const source::SourceKind& kind_of(const config::Source& settings) const;
};

}  // namespace cuckooguard::app
