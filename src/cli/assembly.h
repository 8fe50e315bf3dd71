// All parts of a running guard, made and wired in the order in which they need each other, and ended in reverse.
//
// Threads: the main thread's. One worker thread each, one thread per source, one for the control connection, one for the
// admin server, one that verifies.
// Errors: refusals() before anything is bound; std::system_error if the port cannot be bound.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "admin/vitals.h"
#include "cli/admin_server.h"
#include "cli/drain.h"
#include "cli/load_report.h"
#include "cli/service_manager.h"
#include "cli/source_list.h"
#include "cli/verification.h"
#include "config/config.h"
#include "filter/epochs.h"
#include "filter/live_parts.h"
#include "guard/contradictions.h"
#include "guard/guard.h"
#include "guard/overlay.h"
#include "guard/process.h"
#include "guard/redis_facts.h"
#include "io/listener.h"
#include "io/worker.h"
#include "keyspace/keyspace.h"
#include "proxy/clients.h"
#include "source/source.h"
#include "source/storage_directory.h"
#include "upstream/control.h"

namespace cuckooguard::cli {

class Assembly {
 public:
  explicit Assembly(config::Config config);
  ~Assembly();
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;

  // What the sources cannot work with, one sentence each; empty: go on.
  const std::vector<std::string>& refusals() const { return refusals_; }

  // Binds the port, starts everything, returns after a signal, when the clients are done or `drain_timeout` has passed.
  void run();

 private:
  struct WorkerParts;

  void open_storage();
  void make_namespaces();
  void make_sources();
  void describe_process();
  void make_workers();
  void listen();
  void hand_over(int socket);
  void stop_accepting();
  std::vector<admin::Heartbeat> heartbeats();
  void make_control();
  void make_admin();
  void report_start() const;

  config::Config config_;
  keyspace::Keyspace keyspace_;
  unsigned worker_count_;
  filter::Epochs epochs_;
  std::vector<std::unique_ptr<filter::LiveParts>> parts_;
  std::vector<std::unique_ptr<guard::Overlay>> overlays_;
  std::vector<guard::GuardedNamespace> namespaces_;
  guard::RedisFacts facts_;
  ServiceManager service_manager_;
  std::optional<int> inherited_socket_;
  LoadReport report_;
  LoadStatus load_status_{report_, service_manager_};
  std::vector<std::string> refusals_;
  std::optional<source::StorageDirectory> storage_;
  std::vector<std::unique_ptr<source::Source>> sources_;
  SourceList source_list_;
  guard::Contradictions contradictions_;
  guard::Process process_;
  std::optional<Verification> verification_;
  admin::Vitals vitals_;
  std::optional<upstream::Control> control_;
  proxy::Session::Settings session_settings_;
  proxy::ClientCount client_count_;
  std::vector<std::unique_ptr<WorkerParts>> workers_;
  boost::asio::io_context io_;
  std::optional<Drain> drain_;
  std::optional<Watchdog> watchdog_;
  std::optional<io::Listener> listener_;
  std::optional<AdminServer> admin_;  // reads what all of the above count
};

}  // namespace cuckooguard::cli
