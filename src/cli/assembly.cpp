#include "cli/assembly.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include "cli/learned_facts.h"
#include "cli/machine.h"
#include "guard/mode_names.h"

namespace cuckooguard::cli {
namespace {

keyspace::Keyspace build_keyspace(const config::Config& config) {
  auto built = keyspace::Keyspace::build(config::namespace_templates(config));
  if (!built) {
    throw std::logic_error("a checked configuration has no ambiguous templates");
  }
  return std::move(*built);
}

}  // namespace

// What belongs to one worker; the thread ends before what it works with.
struct Assembly::WorkerParts {
  WorkerParts(Assembly& all, std::size_t index)
      : reader(all.epochs_.reader(index)),
        guard({.keyspace = all.keyspace_,
               .namespaces = all.namespaces_,
               .facts = all.facts_,
               .process = &all.process_,
               .wall_time = io::wall_time}),
        worker({.begin = [this] { reader.enter(); }, .end = [this] { reader.leave(); }}),
        clients({.loop = worker.loop(),
                 .guard = guard,
                 .settings = all.session_settings_,
                 .total = all.client_count_}) {}
  ~WorkerParts() { worker.stop_and_join(); }
  WorkerParts(const WorkerParts&) = delete;
  WorkerParts& operator=(const WorkerParts&) = delete;

  filter::Epochs::Reader& reader;
  guard::Guard guard;
  io::Worker worker;
  proxy::Clients clients;
};

Assembly::Assembly(config::Config config)
    : config_(std::move(config)),
      keyspace_(build_keyspace(config_)),
      worker_count_(worker_count(config_.workers)),
      epochs_(worker_count_ + 2),  // the last are the admin server's and the verification's
      contradictions_(config_.namespaces.size()),
      session_settings_{.upstream = config_.upstream,
                        .limits = config_.limits,
                        .output_total = config_.limits.output_total / worker_count_} {
  open_storage();
  make_namespaces();
  make_sources();
  describe_process();
  make_control();
  if (auto words = refusal(config_.admin)) {
    refusals_.push_back(*std::move(words));
  }
  if (const auto socket = service_manager_.socket_for(config_.listen)) {
    inherited_socket_ = *socket;
  } else {
    refusals_.push_back("listen: " + socket.error());
  }
}

// All of them before the first is gone: each worker's GUARD.INFO reads the counters of all.
Assembly::~Assembly() {
  for (const auto& parts : workers_) {
    parts->worker.stop_and_join();
  }
}

void Assembly::open_storage() {
  if (config_.storage.directory.empty()) {
    return;
  }
  auto opened = source::StorageDirectory::open(config_.storage.directory);
  if (!opened) {
    refusals_.push_back("storage: " + opened.error());
    return;
  }
  storage_.emplace(*std::move(opened));
}

void Assembly::make_namespaces() {
  for (const config::Namespace& settings : config_.namespaces) {
    parts_.push_back(std::make_unique<filter::LiveParts>(
        epochs_, storage_ ? storage_->secret() : filter::random_secret()));
    overlays_.push_back(std::make_unique<guard::Overlay>(
        guard::Overlay::Limits{.max_keys = settings.overlay.max_keys, .ttl = settings.overlay.ttl},
        filter::random_secret()));
    if (settings.overlay.pass_at_start) {
      overlays_.back()->hold_all_until(io::now_since_boot() + settings.overlay.ttl);
    }
    namespaces_.push_back(
        {.mode = settings.mode,
         .order = settings.order,
         .verify_sample = settings.verify_sample,
         .may_enforce = settings.absent_reply.has_value(),
         .db = settings.db,
         .absent_reply = guard::AbsentReply(settings.absent_reply.value_or(config::AbsentReply{})),
         .filter = parts_.back().get(),
         .overlay = overlays_.back().get()});
  }
  report_.when_resumed([this](std::string_view name) {
    const auto found = std::ranges::find(config_.namespaces, name, &config::Namespace::name);
    overlays_[static_cast<std::size_t>(found - config_.namespaces.begin())]->hold_all_no_more();
  });
}

void Assembly::make_sources() {
  for (const config::Source& settings : config_.sources) {
    std::vector<source::Target> targets;
    for (std::uint32_t ns = 0; ns < config_.namespaces.size(); ++ns) {
      if (config_.namespaces[ns].source.from == settings.name) {
        targets.push_back({keyspace_, ns, config_.namespaces[ns], *parts_[ns]});
      }
    }
    if (targets.empty()) {
      spdlog::warn("event=unused_source source={}", settings.name);
      continue;
    }
    auto made = source::make_source(settings,
                                    std::move(targets),
                                    load_status_,
                                    io::now_since_boot,
                                    {.directory = storage_ ? &*storage_ : nullptr,
                                     .checkpoint_every = config_.storage.checkpoint_every});
    if (made) {
      sources_.push_back(std::move(*made));
      source_list_.add(settings, *sources_.back());
      continue;
    }
    for (const source::Refusal& refusal : made.error()) {
      refusals_.push_back(refusal.ns.empty() ? "source " + settings.name + ": " + refusal.what
                                             : "namespace " + refusal.ns + ": " + refusal.what);
    }
  }
}

void Assembly::describe_process() {
  process_.version = CUCKOOGUARD_VERSION;
  process_.started_at = io::now_since_boot();
  process_.sources = &source_list_;
  process_.contradictions = &contradictions_;
  process_.operators = {
      .users = config_.admin.operators,
      .on_change = [](std::string_view user, std::string_view ns, std::string_view what) {
        spdlog::info("event=operator user={} namespace={} what={}", user, ns, what);
      }};
  for (const config::Namespace& space : config_.namespaces) {
    const auto source =
        std::ranges::find(config_.sources, space.source.from, &config::Source::name);
    process_.origins.push_back({.source = space.source.from, .max_lag = source->max_lag});
  }
}

void Assembly::make_control() {
  if (config_.namespaces.empty()) {
    return;
  }
  control_.emplace(
      config_.upstream,
      questions_for(config_),
      upstream::Control::Calls{
          .epoch = [this] { return facts_.epoch(); },
          .users = [this] { return facts_.users_to_ask(); },
          .on_facts =
              [this](std::uint64_t epoch, const upstream::Facts& facts) {
                facts_.publish(epoch, reading_of(facts, config_.upstream.acl));
              },
          .on_reachable =
              [this](bool reachable, const std::string& why) {
                vitals_.redis = reachable ? admin::RedisSeen::up : admin::RedisSeen::down;
                if (reachable) {
                  spdlog::info("event=upstream_up");
                } else {
                  facts_.lost();
                  spdlog::warn("event=upstream_down why={}", why);
                }
              },
          .on_refused =
              [](const std::string& why) { spdlog::error("event=upstream_refused why={}", why); },
      });
  facts_.set_on_doubt([this] { control_->refresh(); });
}

void Assembly::make_workers() {
  for (unsigned i = 0; i < worker_count_; ++i) {
    workers_.push_back(std::make_unique<WorkerParts>(*this, i));
    process_.guards.push_back(&workers_.back()->guard);
    drain_->add({.loop = workers_.back()->worker.loop(), .clients = workers_.back()->clients});
    workers_.back()->worker.start();
  }
}

void Assembly::listen() {
  listener_.emplace(io_,
                    config_.listen,
                    io::Listener::Calls{
                        .on_accept = [this](int socket) { hand_over(socket); },
                        .on_failure =
                            [](std::error_code error) {
                              spdlog::error("event=accept_failed why={}", error.message());
                            },
                    },
                    inherited_socket_.value_or(-1));
}

void Assembly::stop_accepting() {
  vitals_.is_draining = true;
  service_manager_.stopping("draining");
  listener_->accept_waiting();
  listener_->close();
}

// To the worker with the fewest clients, which keeps it.
void Assembly::hand_over(int socket) {
  WorkerParts& least = **std::ranges::min_element(
      workers_, {}, [](const auto& parts) { return parts->clients.count(); });
  least.worker.loop().post([&least, socket] {
    if (auto transport = least.worker.loop().adopt(socket)) {
      least.clients.admit(std::move(transport));
    }
  });
}

// Of every loop that serves. They may be on their way to loops that outlive those who ask.
std::vector<admin::Heartbeat> Assembly::heartbeats() {
  std::vector<admin::Heartbeat> all;
  all.emplace_back("listener",
                   [this](std::function<void()> beat) { boost::asio::post(io_, std::move(beat)); });
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    all.emplace_back("worker " + std::to_string(i),
                     [worker = workers_[i].get()](std::function<void()> beat) {
                       worker->worker.loop().post(std::move(beat));
                     });
  }
  return all;
}

void Assembly::make_admin() {
  if (!config_.admin.address) {
    return;
  }
  vitals_.heartbeats = heartbeats();
  for (const auto& parts : workers_) {
    vitals_.clients.emplace_back([worker = parts.get()] { return worker->clients.count(); });
  }
  admin_.emplace(AdminServer::World{.address = *config_.admin.address,
                                    .token_file = config_.admin.token_file,
                                    .guarded = {.keyspace = keyspace_,
                                                .namespaces = namespaces_,
                                                .facts = facts_,
                                                .process = &process_,
                                                .wall_time = io::wall_time},
                                    .reader = epochs_.reader(worker_count_),
                                    .vitals = vitals_});
  admin_->start();
}

void Assembly::report_start() const {
  for (const config::Namespace& settings : config_.namespaces) {
    spdlog::info("event=namespace name={} mode={} source={}",
                 settings.name,
                 guard::mode_name(settings.mode),
                 settings.source.from);
  }
  spdlog::info("event=listening address={} upstream={} workers={}",
               config_.listen.text(),
               config_.upstream.address.text(),
               worker_count_);
}

void Assembly::run() {
  raise_descriptor_limit();
  drain_.emplace(
      io_,
      config_.drain_timeout,
      Drain::Calls{.on_begin = [this] { stop_accepting(); }, .on_end = [this] { io_.stop(); }});
  make_workers();
  listen();
  vitals_.is_listening = true;
  make_admin();
  report_start();
  if (control_) {
    control_->start();
  }
  for (const auto& source : sources_) {
    source->start();
  }
  verification_.emplace(Verification::Parts{.config = config_,
                                            .keyspace = keyspace_,
                                            .filters = parts_,
                                            .reader = epochs_.reader(worker_count_ + 1),
                                            .sources = source_list_,
                                            .contradictions = contradictions_,
                                            .process = process_});
  verification_->start();
  watchdog_.emplace(io_, heartbeats());
  service_manager_.ready("serving");
  io_.run();
  verification_->stop();
  verification_->advise();
  for (const auto& source : sources_) {
    source->stop();
  }
}

}  // namespace cuckooguard::cli
