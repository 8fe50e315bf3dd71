// All parts of a running guard, made and wired in the order in which they need each other, and
// ended in reverse.
//
// A reload (assembly_reload.cpp) replaces what the configuration makes, but for what needs a
// restart (config::keep_what_needs_a_restart):
//   reload thread: reads the file, makes the next Generation ─ refused? then nothing has happened
//   each worker, between two batches: its guard adopts it, its clients its limits; and the admin
//   server's guard on its thread ─┐
//   reload thread, when all have ◀┘ the old generation ends, the new sources begin
// No client is closed for it, and no command is decided by anything but one generation: a batch is
// one or the other. Sessions keep every reply that they have already promised: it is in their
// ReplyOrder as bytes; keys whose reply is compared carry their numbering (guard/absent_key.h); a
// held command is asked again as if it had just come.
//
// Threads: the main thread's, until run() begins the reload thread, whose the generation and what
// asks about it are from then on, until it has ended. One worker thread each, one thread per
// source, one for each control connection, one for the admin server, one that verifies.
// Errors: refusals() before anything is bound; std::system_error if the port cannot be bound.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "app/admin_server.h"
#include "app/application_filters.h"
#include "app/drain.h"
#include "app/endpoints.h"
#include "app/generation.h"
#include "app/kept_overlays.h"
#include "app/load_report.h"
#include "app/recent_events.h"
#include "app/reload_thread.h"
#include "app/settings_as_read.h"
#include "app/supervisor.h"
#include "app/tls_sides.h"
#include "app/verification.h"
#include "config/config.h"
#include "filter/epochs.h"
#include "guard/guard.h"
#include "io/listener.h"
#include "io/worker.h"
#include "keyspace/keyspace.h"
#include "log/event_log.h"
#include "proxy/clients.h"
#include "source/storage_directory.h"
#include "views/process_state.h"

namespace cuckooguard::app {

class Assembly {
 public:
  // The configuration's file, read and checked; or what is wrong with it, a line each.
  using Read = std::function<std::expected<config::Config, std::vector<std::string>>()>;

  struct Start {
    Read read;               // for reloads
    bool is_strict = false;  // --strict-start
  };

  // The log outlives it.
  Assembly(config::Config config, Start start, log::EventLog& log);
  ~Assembly();
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;

  // What cannot work, one sentence each; empty: go on.
  const std::vector<std::string>& refusals() const { return refusals_; }

  // Binds the port, starts everything, returns after a signal, when the clients are done or
  // `drain_timeout` has passed.
  void run();

 private:
  struct WorkerParts;

  void open_storage();
  void describe_process();
  void make_filters();
  void make_generation();
  void keep_overlays();
  proxy::Session::Settings session_settings(const config::Config& config,
                                            std::size_t endpoint) const;
  guard::Guard::Parts guarded(const Generation& generation,
                              std::size_t worker,
                              std::size_t endpoint,
                              guard::Learner& learner);
  guard::Guard::Parts shown(const Generation& generation);  // by the admin server
  void make_workers();
  void listen();
  void hand_over(int socket, std::size_t listen);
  void follow(const Endpoints::Known& known);
  void leave(std::size_t endpoint, io::TimePoint before, const std::function<void()>& done);
  void stop_accepting();
  void tell_proven();
  std::vector<views::Heartbeat> heartbeats();
  void make_admin();
  void verify();

  ReloadThread::Loaded reload(const std::stop_token& stop);
  bool move_to(Generation& next, const std::stop_token& stop);

  log::EventLog& log_;
  const config::Config config_;  // of the start: what needs a restart is as it says
  Read read_;
  SettingsAsRead last_read_;  // of what is in force, but for what needs a restart
  unsigned worker_count_;
  filter::Epochs epochs_;
  std::shared_ptr<RecentEvents> events_ = RecentEvents::of(log_);
  views::ProcessState process_state_{.events = events_.get()};
  LoadReport report_{log_, &process_state_.loads};
  Supervisor supervisor_;
  std::vector<std::vector<int>> inherited_sockets_;  // as config_.listen
  LoadStatus load_status_{report_, supervisor_};
  std::vector<std::string> refusals_;
  std::optional<source::StorageDirectory> storage_;
  ReloadThread reloads_;
  Generation::Environment environment_;
  std::unique_ptr<Generation> generation_;
  std::unique_ptr<Generation> retiring_;  // the one before, until nobody is in it any more
  std::unique_ptr<Verification> verification_;
  std::unique_ptr<KeptOverlays> kept_overlays_;  // null: there is no storage
  TlsSides tls_;
  Endpoints endpoints_;
  std::unique_ptr<ApplicationFilters> filters_;  // null: applications fill none
  keyspace::Keyspace no_keys_ = keyspace::Keyspace::build({}).value();
  proxy::ClientCount client_count_;
  std::vector<std::unique_ptr<WorkerParts>> workers_;
  boost::asio::io_context io_;
  std::unique_ptr<Drain> drain_;
  std::optional<Watchdog> watchdog_;
  std::vector<std::unique_ptr<io::Listener>> listeners_;  // as config_.listen
  std::optional<AdminServer> admin_;                      // reads what all of the above count
};

}  // namespace cuckooguard::app
