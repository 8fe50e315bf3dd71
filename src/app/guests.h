// What the program is built of beside the spine: guests (src/guests/guests.cmake), each of which it
// may be built without. main() has them and hands them on; no room of the spine includes one.
//
// Threads: constant. Lifetimes: what it points to is static.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "app/endpoints.h"
#include "config/config_file.h"
#include "file/kind.h"
#include "guard/fact_table.h"
#include "guard/loads.h"
#include "guard/own_commands.h"
#include "guard/process.h"
#include "io/loop.h"
#include "io/tls_credentials.h"
#include "log/event_log.h"
#include "proxy/rewritten_replies.h"
#include "source/publication.h"
#include "source/source_kind.h"
#include "source/storage_directory.h"
#include "upstream/answers.h"
#include "upstream/redis_client.h"
#include "upstream/upstreams.h"

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

// Where the servers of a Redis with several are: a cluster, or a master and its replicas that
// Sentinels watch. Endpoints are led to them for as long as the process runs.
//
// Threads: made, started and ended on the main thread; the others as they say. Lifetimes: what the
// environment has outlives it, and it the workers.
class Topology : boost::noncopyable {
 public:
  struct Environment {
    const config::Config& config;  // that of the start
    Endpoints& endpoints;
    const io::TlsSlot& tls;  // what its connects take
    log::EventLog& log;
    // Calls it on the main thread; any thread.
    std::function<void(std::function<void()> call)> post;
    // Each worker leads these endpoints' clients there; then the main thread calls `done`.
    std::function<void(std::vector<Endpoints::Change> changes, std::function<void()> done)> lead;
  };
  using Make = std::unique_ptr<Topology> (*)(const Environment& environment);

  virtual ~Topology() = default;

  // Nodes keep their endpoints over a restart, in `storage`, which outlives it; null: they do not.
  virtual void start(const source::StorageDirectory* storage) = 0;
  virtual void stop() = 0;
  // These settings from now on: whoever is connected to. Any thread.
  virtual void adopt(const config::Upstream& settings) = 0;
  // It has changed: asks again. Any thread.
  virtual void refresh() = 0;
  // The one that has this key: the master, or of a cluster the node that has its slot. Nullopt: it
  // is not known. Any thread.
  virtual std::optional<config::Address> server_of(std::string_view key) const = 0;
  virtual const guard::NodeView& nodes() const = 0;
  // To a client that has reached the guard at this host; null: they are relayed as they are. The
  // worker's thread.
  virtual std::unique_ptr<proxy::RewrittenReplies> replies(std::size_t endpoint,
                                                           std::string host) const = 0;

  // What a worker has for an endpoint that leads to a whole cluster.
  struct Worker {
    io::Loop& loop;
    const config::Upstream& settings;
    upstream::SharedUpstream::OnLoss on_loss;  // these as in Upstreams
    std::function<std::uint64_t()> version;
  };
  // A loop whose connects lead to the whole cluster as if it were one Redis. The topology, and
  // what the worker has, outlive it.
  virtual std::unique_ptr<io::Loop> loop(Worker worker) = 0;
};

// Tells other guards what a source does to its filters: made for one that is published.
struct Publishing {
  const config::Source& settings;
  const source::SourceKind& kind;
  filter::Questions& questions;
  source::Observer& observer;
  source::OpenRedis redis;
  const source::StorageDirectory* storage;  // null: none
  source::Clock clock;
  log::EventLog& log;
};
using MakePublication =
    std::expected<std::unique_ptr<source::Publication>, std::string> (*)(const Publishing& made);

// What holds back misses of one namespace. What it has of the environment outlives its close().
struct LoadsParts {
  const config::Breakdown& settings;
  int db;                                 // of its keys
  std::shared_ptr<guard::Loads> sibling;  // another one of this process; null: there is none
  std::function<std::optional<upstream::RedisPlace>(std::string_view key)> redis_of;
  const io::TlsSlot* tls;  // what its connects take
  log::EventLog& log;
};
using MakeLoads = std::shared_ptr<guard::Loads> (*)(const LoadsParts& parts);

// What is known of a namespace's traffic (guard/traffic.h), of `workers` workers; its commands, and
// what is shown of it.
struct TrafficGuest {
  std::unique_ptr<guard::Traffic> (*make)(std::size_t workers);
  std::unique_ptr<guard::CommandServer> (*commands)(guard::Guard& guard);
  void (*show)(guard::FactTable& table);
};

struct Guests {
  std::vector<const source::SourceKind*> kinds{&source::kFile};
  std::vector<Library> libraries{};
  // Filters that applications fill; null: they are left out.
  ApplicationFilters::Make make_filters = nullptr;
  // Redis Cluster and Sentinel; null: they are left out.
  Topology::Make make_topology = nullptr;
  upstream::ServedSlots served_slots = nullptr;
  MakePublication make_publication = nullptr;  // null: fleets are left out
  MakeLoads make_loads = nullptr;              // null: breakdown is left out
  const TrafficGuest* traffic = nullptr;       // null: it is left out
  config::Built built{};                       // what a configuration may ask for

  // std::logic_error: it is left out. A configuration that has it is refused.
  const source::SourceKind& kind_of(const config::Source& settings) const;
};

}  // namespace cuckooguard::app
