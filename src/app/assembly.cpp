#include "app/assembly.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <variant>

#include <boost/asio/post.hpp>
#include <unistd.h>

#include "app/assembly_parts.h"
#include "app/machine.h"
#include "app/start_report.h"
#include "config/config_file.h"
#include "config/password_file.h"
#include "io/socket_transport.h"
#include "source/source_kind.h"
#include "upstream/redis_client.h"

namespace cuckooguard::app {
namespace {

using RedisOf = std::function<std::optional<upstream::RedisPlace>(std::string_view key)>;

// The connections to Redis that sources ask for (source/source_kind.h): to wherever a key is at
// the moment, and of no use any more once that is elsewhere.
// Threads: any. Lifetimes: what `redis_of` has outlives the sources. Errors: as RedisSession.
class Session final : public source::RedisSession {
 public:
  Session(RedisOf redis_of,
          std::string key,
          upstream::RedisPlace place,
          std::unique_ptr<upstream::RedisClient> redis)
      : redis_of_(std::move(redis_of)),
        key_(std::move(key)),
        place_(std::move(place)),
        redis_(std::move(redis)) {}

  // It is asked where the key is behind the answer: what a master of before still says is nothing.
  using RedisSession::ask;
  Answer ask(std::span<const std::string_view> command) override {
    const upstream::Reply reply = redis_->call(command);
    const auto now = redis_of_(key_);
    const std::string address = place_.settings.address.text();
    if (!now || !now->is_at(place_)) {
      return std::unexpected("the filter's key is now in a different Redis than the one in " +
                             address);
    }
    return reply ? Answer(upstream::value_of(*reply))
                 : std::unexpected(address + ": " + redis_->why_lost());
  }

 private:
  RedisOf redis_of_;
  std::string key_;
  upstream::RedisPlace place_;
  std::unique_ptr<upstream::RedisClient> redis_;
};

source::OpenRedis redis_for_sources(const RedisOf& redis_of, const io::TlsSlot& tls) {
  return [redis_of, &tls](const std::string& key)
             -> std::expected<std::unique_ptr<source::RedisSession>, std::string> {
    const auto redis = redis_of(key);
    if (!redis) {
      return std::unexpected("the guard does not know yet which Redis holds the filter's key");
    }
    constexpr std::chrono::seconds kPatience{2};
    auto opened = upstream::RedisClient::open(&tls, redis->settings, kPatience);
    if (!opened) {
      return std::unexpected(redis->settings.address.text() + ": " + opened.error().why);
    }
    return std::make_unique<Session>(redis_of, key, *redis, *std::move(opened));
  };
}

// Not by the signals' default action: the kernel spares a container's first process that.
void end_now_at_the_next_signal() {
  struct sigaction action{};
  action.sa_handler = [](int) { ::_exit(EXIT_FAILURE); };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

SettingsAsRead::SettingsAsRead(const config::Config& config) : config_(config) {
  for (const config::Listen& listen : config.listen) {
    if (listen.tls) {
      look_at(listen.tls->cert);
      look_at(listen.tls->key);
      look_at(listen.tls->client_ca);
    }
  }
  if (const auto& tls = config.upstream.tls) {
    look_at(tls->ca);
    look_at(tls->cert);
    look_at(tls->key);
  }
  look_at(config.upstream.control.password_file);
  for (const config::Source& source : config.sources) {
    std::visit(
        [this](const auto& kind) {
          if constexpr (requires { kind.password_file; }) {
            look_at(kind.password_file);
            look_at(kind.ca_file);
          } else if constexpr (requires { kind.builder_token_file; }) {
            look_at(kind.builder_token_file);
          }
        },
        source.kind);
  }
  look_at(config.admin.token_file);
}

void SettingsAsRead::look_at(const std::string& path) {
  if (!path.empty()) {
    files_.push_back(source::stamp_of_path(path));
  }
}

std::shared_ptr<RecentEvents> RecentEvents::of(log::EventLog& log) {
  auto events = std::make_shared<RecentEvents>();
  log.add_listener([events](const log::Event& event) { events->hear(event); });
  return events;
}

std::vector<views::Event> RecentEvents::after(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto first = std::ranges::upper_bound(events_, number, {}, &views::Event::number);
  return {first, events_.end()};
}

void RecentEvents::hear(const log::Event& event) {
  if (event.level < config::LogLevel::info) {
    return;
  }
  std::vector<log::Field> fields;
  std::ranges::copy_if(event.fields, std::back_inserter(fields), [](const log::Field& field) {
    return field.name() != "key";
  });
  std::string text = log::text_of(
      {.time = event.time, .level = event.level, .name = event.name, .fields = fields});
  text.resize(std::min(text.size(), kLineBytesMax));
  const std::lock_guard lock(mutex_);
  if (events_.size() == kLinesMax) {
    events_.pop_front();
  }
  events_.push_back({.number = ++last_,
                     .time = std::chrono::floor<std::chrono::milliseconds>(event.time),
                     .level = log::level_name(event.level),
                     .text = std::move(text)});
}

Drain::Drain(boost::asio::io_context& io,
             std::chrono::milliseconds timeout,
             Calls calls,
             log::EventLog& log)
    : io_(io),
      timeout_(timeout),
      calls_(std::move(calls)),
      log_(log),
      signals_(io, SIGINT, SIGTERM),
      deadline_(io) {
  signals_.async_wait([this](const boost::system::error_code& error, int signal) {
    if (!error) {
      begin(signal);
    }
  });
}

void Drain::begin(int signal) {
  signals_.clear();
  end_now_at_the_next_signal();
  log_.info("draining", {{"signal", signal}, {"clients", clients()}});
  calls_.on_begin();
  if (timeout_.count() == 0) {
    end("at_once");
    return;
  }
  // Behind what has been accepted already, and is on its way to a worker.
  boost::asio::post(io_, [this] { drain_workers(); });
}

void Drain::drain_workers() {
  workers_left_ = workers_.size();
  for (const Worker& worker : workers_) {
    worker.loop.post([this, &clients = worker.clients] {
      clients.drain([this] { boost::asio::post(io_, [this] { on_worker_empty(); }); });
    });
  }
  deadline_.expires_after(timeout_);
  deadline_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) {
      cut_off();
    }
  });
}

void Drain::on_worker_empty() {
  if (--workers_left_ == 0) {
    end(is_cut_off_ ? "timeout" : "all_clients_done");
  }
}

void Drain::cut_off() {
  is_cut_off_ = true;
  log_.warning("drain_timeout", {{"clients", clients()}});
  for (const Worker& worker : workers_) {
    worker.loop.post([&clients = worker.clients] { clients.cut_off(); });
  }
  deadline_.expires_after(kLastWord);
  deadline_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) {
      end("timeout");
    }
  });
}

void Drain::end(std::string_view how) {
  if (!std::exchange(has_ended_, true)) {
    deadline_.cancel();
    log_.info("drained", {{"how", how}, {"clients", clients()}});
    calls_.on_end();
  }
}

std::size_t Drain::clients() const {
  std::size_t sum = 0;
  for (const Worker& worker : workers_) {
    sum += worker.clients.count();
  }
  return sum;
}

Assembly::Assembly(config::Config config, Start start, log::EventLog& log)
    : log_(log),
      config_(std::move(config)),
      read_(std::move(start.read)),
      last_read_(config_),
      guests_(start.guests),
      worker_count_(worker_count(config_.workers)),
      epochs_(worker_count_ + 2),  // the last are the admin server's and the verification's
      reloads_(
          [this](const std::stop_token& stop) {
            supervisor_.reloading();
            auto loaded = reload(stop);
            supervisor_.ready(Supervisor::kServing);
            return loaded;
          },
          log),
      environment_{.guests = guests_,
                   .log = log,
                   .epochs = epochs_,
                   .report = report_,
                   .status = load_status_,
                   .storage = nullptr,
                   .workers = worker_count_,
                   .starts_strictly = start.is_strict},
      tls_(log),
      endpoints_(config_, process_state_, tls_.upstream(), log, guests_.served_slots),
      topology_(make_topology()) {
  refusals_ = tls_.load(config_);
  environment_.redis_of = [this](std::string_view key) { return redis_of(key); };
  environment_.tls = &tls_.upstream();
  environment_.redis = redis_for_sources(environment_.redis_of, tls_.upstream());
  environment_.on_proven = [this] { tell_proven(); };
  open_storage();
  describe_process();
  make_filters();
  if (guests_.traffic != nullptr) {
    shown_.emplace_back(guests_.traffic->show);
  }
  make_generation();
  if (auto words = refusal(config_.admin)) {
    refusals_.push_back(*std::move(words));
  }
  if (auto sockets = supervisor_.sockets_for(config_.listen)) {
    inherited_sockets_ = *std::move(sockets);
  } else {
    refusals_.push_back("listen: " + sockets.error());
  }
}

// All of them before the first is gone: each worker's GUARD.INFO reads the counters of all.
Assembly::~Assembly() {
  for (const auto& parts : workers_) {
    parts->worker.stop_and_join();
  }
  endpoints_.close();  // whose control connections have the workers end clients
  // Before what they reach Redis by.
  for (Generation* const each : {generation_.get(), retiring_.get()}) {
    if (each != nullptr) {
      each->stop_sources();
    }
  }
}

std::unique_ptr<Topology> Assembly::make_topology() {
  if (config_.upstream.cluster.empty() && config_.upstream.sentinels.empty()) {
    return nullptr;
  }
  return guests_.make_topology(
      {.config = config_,
       .endpoints = endpoints_,
       .tls = tls_.upstream(),
       .log = log_,
       .post = [this](std::function<void()> call) { boost::asio::post(io_, std::move(call)); },
       .lead =
           [this](const std::vector<Endpoints::Change>& changes,
                  const std::function<void()>& done) {
             on_each_worker(
                 [changes](WorkerParts& parts) {
                   for (const Endpoints::Change& change : changes) {
                     parts.endpoints[change.endpoint]->lead(change);
                   }
                 },
                 [this, done] { boost::asio::post(io_, done); });
           }});
}

std::optional<upstream::RedisPlace> Assembly::redis_of(std::string_view key) const {
  const auto server =
      topology_ ? topology_->server_of(key) : std::optional(config_.upstream.address);
  return server ? endpoints_.redis_at(*server) : std::nullopt;
}

void Assembly::open_storage() {
  const config::Storage& storage = config_.storage;
  if (storage.directory.empty()) {
    if (!storage.secret_file.empty()) {
      if (auto secret = filter::read_secret(storage.secret_file, true)) {
        environment_.secret = *secret;
      } else {
        refusals_.push_back("storage.secret_file: " + secret.error());
      }
    }
    return;
  }
  auto opened = source::StorageDirectory::open(storage.directory, storage.secret_file);
  if (!opened) {
    refusals_.push_back("storage: " + opened.error());
    return;
  }
  storage_.emplace(*std::move(opened));
  environment_.storage = &*storage_;
  environment_.secret = storage_->secret();  // as its checkpoints are
}

void Assembly::describe_process() {
  guard::Process& process = environment_.process;
  process.version = CUCKOOGUARD_VERSION;
  process.started_at = io::now_since_boot();
  process.reloads = &reloads_;
  process.rows = &rows_;
  process.nodes = topology_ ? &topology_->nodes() : nullptr;
  process.operators.on_change =
      [this](std::string_view user, std::string_view ns, std::string_view what) {
        log_.info("operator", {{"user", user}, {"namespace", ns}, {"what", what}});
      };
}

void Assembly::make_filters() {
  if (!config_.filters.is_used()) {
    return;
  }
  auto made =
      guests_.make_filters(config_,
                           {.log = log_,
                            .storage = storage_ ? &*storage_ : nullptr,
                            .tls = tls_.upstream(),
                            .redis_of = [this](std::string_view key) { return redis_of(key); },
                            .look_again =
                                [this] {
                                  if (topology_) {
                                    topology_->refresh();
                                  }
                                }});
  if (!made) {
    refusals_.push_back(made.error());
    return;
  }
  filters_ = *std::move(made);
  environment_.process.complaints.emplace_back([this] { return filters_->complaint(); });
  shown_.emplace(shown_.begin() + guard::kFactsOfAll,
                 [this](guard::FactTable& table) { filters_->show(table); });
}

void Assembly::make_generation() {
  auto made = Generation::make(environment_, config_, nullptr);
  if (!made) {
    std::ranges::move(made.error(), std::back_inserter(refusals_));
    return;
  }
  generation_ = std::move(*made);
  generation_->let_pass(nullptr);
  keep_overlays();
}

void Assembly::keep_overlays() {
  if (!storage_) {
    return;
  }
  kept_overlays_ = std::make_unique<KeptOverlays>(
      KeptOverlays::Settings{.path = storage_->overlays_path(),
                             .every = config_.storage.checkpoint_every,
                             .secret = storage_->secret(),
                             .on_trouble = [this](const std::string& what) {
                               log_.warning("overlays_trouble", {{"what", what}});
                             }});
  kept_overlays_->follow(generation_->overlays());
  kept_overlays_->restore();
}

proxy::Session::Settings Assembly::session_settings(const config::Config& config,
                                                    std::size_t endpoint) const {
  proxy::Session::Settings settings{.upstream = config.upstream,
                                    .limits = config.limits,
                                    .output_total = config.limits.output_total / worker_count_};
  // Of a whole cluster it is nodes that clients share connections to.
  if (endpoints_.leads_to_sentinel(endpoint) || endpoints_.leads_to_cluster(endpoint)) {
    settings.upstream.mode = config::UpstreamMode::pinned;
  }
  return settings;
}

// A Sentinel has no keys, and its users are none of Redis's: what they do is neither answered nor
// learned, and no operator is among them.
guard::Guard::Parts Assembly::guarded(const Generation& generation,
                                      std::size_t worker,
                                      std::size_t endpoint,
                                      guard::Learner& learner) {
  redis::Facts& facts = endpoints_.facts(endpoint);
  if (endpoints_.leads_to_sentinel(endpoint)) {
    return {.keyspace = no_keys_, .namespaces = {}, .facts = facts, .shown = &shown_of_sentinels_};
  }
  guard::Guard::Parts parts = generation.guarded(worker, facts);
  parts.learner = &learner;
  parts.shown = &shown_;
  return parts;
}

guard::Guard::Parts Assembly::shown(const Generation& generation) {
  guard::Guard::Parts parts = generation.guarded(0, endpoints_.facts());
  parts.shown = &shown_;
  return parts;
}

void Assembly::make_workers() {
  for (unsigned i = 0; i < worker_count_; ++i) {
    workers_.push_back(std::make_unique<WorkerParts>(*this, i));
    WorkerParts& parts = *workers_.back();
    for (std::size_t endpoint = 0; endpoint < parts.endpoints.size(); ++endpoint) {
      WorkerParts::Served& served = *parts.endpoints[endpoint];
      drain_->add({.loop = parts.worker.loop(), .clients = served.clients});
      if (!endpoints_.leads_to_sentinel(endpoint)) {
        environment_.process.guards.push_back(&served.guard);
      }
    }
  }
  generation_->process().guards = environment_.process.guards;
  for (const auto& parts : workers_) {
    parts->worker.start();
  }
}

void Assembly::listen() {
  for (std::size_t i = 0; i < config_.listen.size(); ++i) {
    listeners_.push_back(std::make_unique<io::Listener>(
        io_,
        config_.listen[i].address,
        io::Listener::Calls{
            .on_accept = [this, i](int socket) { hand_over(socket, i); },
            .on_failure =
                [this](std::error_code error) {
                  log_.error("accept_failed", {{"why", error.message()}});
                },
        },
        inherited_sockets_[i],
        io::SocketFile{.mode = config_.listen[i].mode, .group = config_.listen[i].group}));
  }
}

// Any thread: there are workers before sources start, and until they have ended.
void Assembly::tell_proven() {
  for (const auto& parts : workers_) {
    for (const auto& served : parts->endpoints) {
      proxy::ProofWaiters& waiters = served->clients.proofs();
      if (waiters.is_to_hear()) {
        parts->worker.loop().post([&waiters] { waiters.on_proven(); });
      }
    }
  }
}

void Assembly::stop_accepting() {
  process_state_.is_draining = true;
  supervisor_.stopping("draining");
  for (const auto& listener : listeners_) {
    listener->close();
  }
}

// To the worker with the fewest clients; how busy they will be is seen later (balance()).
void Assembly::hand_over(int socket, std::size_t listen) {
  const std::size_t endpoint = endpoints_.of_listen(listen);
  if (!endpoints_.node(endpoint)) {
    ::close(socket);  // as a node that is down
    return;
  }
  WorkerParts& least =
      **std::ranges::min_element(workers_, {}, [](const auto& parts) { return parts->clients(); });
  proxy::Clients& clients = least.endpoints[endpoint]->clients;
  clients.expect();
  const std::string& announce = config_.listen[listen].announce;
  std::string host = topology_ && announce.empty() ? io::local_host(socket) : announce;
  const text::Network from = io::peer_network(socket);
  least.worker.loop().post([this, &least, &clients, socket, listen, from, host = std::move(host)] {
    auto transport = least.worker.loop().adopt(socket);
    clients.admit_expected(
        transport ? tls_.accepted(least.worker.loop(), std::move(transport), listen) : nullptr,
        topology_ ? topology_->replies(endpoints_.of_listen(listen), host) : nullptr,
        from);
  });
}

// Now and from then on. Clients of one Redis alone: they share what others have (mode: shared).
void Assembly::balance() {
  const bool is_possible = workers_.size() > 1 && endpoints_.size() == 1 && !topology_ &&
                           config_.upstream.mode == config::UpstreamMode::shared;
  if (!is_possible || process_state_.is_draining) {
    return;
  }
  std::vector<std::chrono::nanoseconds> worked;
  worked.reserve(workers_.size());
  for (const auto& parts : workers_) {
    worked.push_back(parts->worker.worked());
  }
  const io::TimePoint now = io::now_since_boot();
  const auto passed = now - std::exchange(balanced_at_, now);
  if (const auto move = balance_.look(worked, passed, client_count_.moved)) {
    WorkerParts& from = *workers_[move->from];
    WorkerParts& to = *workers_[move->to];
    from.worker.loop().post([&from, &to, best = move->best] {
      from.endpoints.front()->clients.give_one(
          to.endpoints.front()->clients, best, [&to](int socket) {
            return to.worker.loop().adopt(socket);
          });
    });
  }
  next_balance_.expires_after(proxy::Balance::kLookEvery);
  next_balance_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) {
      balance();
    }
  });
}

// Then `done`, on the last one's thread.
void Assembly::on_each_worker(const std::function<void(WorkerParts& parts)>& call,
                              const std::function<void()>& done) {
  const auto missing = std::make_shared<std::atomic<std::size_t>>(workers_.size());
  for (const auto& parts : workers_) {
    parts->worker.loop().post([&parts = *parts, call, missing, done] {
      call(parts);
      if (--*missing == 0) {
        done();
      }
    });
  }
}

// Of every loop that serves. They may be on their way to loops that outlive those who ask.
std::vector<views::Heartbeat> Assembly::heartbeats() {
  std::vector<views::Heartbeat> all;
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
  process_state_.heartbeats = heartbeats();
  for (const auto& parts : workers_) {
    process_state_.clients.emplace_back([worker = parts.get()] { return worker->clients(); });
  }
  process_state_.refused_clients = [this] { return client_count_.refused.load(); };
  process_state_.moved_clients = [this] { return client_count_.moved.load(); };
  process_state_.certificates = [this] { return tls_.certificates(); };
  process_state_.dropped_log_lines = [this] { return log_.dropped(); };
  admin_.emplace(AdminServer::Parts{.address = *config_.admin.address,
                                    .settings = config_.admin,
                                    .guarded = shown(*generation_),
                                    .reader = epochs_.reader(worker_count_),
                                    .process_state = process_state_,
                                    .log = log_});
  admin_->start();
}

void Assembly::run() {
  raise_descriptor_limit();
  drain_ = std::make_unique<Drain>(
      io_,
      config_.drain_timeout,
      Drain::Calls{.on_begin = [this] { stop_accepting(); }, .on_end = [this] { io_.stop(); }},
      log_);
  boost::asio::signal_set hangups(io_, SIGHUP);
  const std::function<void()> await_hangup = [&] {
    hangups.async_wait([&](const boost::system::error_code& error, int /*signal*/) {
      if (!error) {
        reloads_.ask("SIGHUP");
        await_hangup();
      }
    });
  };
  await_hangup();
  boost::asio::steady_timer next_look(io_);
  const std::function<void()> look_at_certificates = [&] {
    tls_.look();
    next_look.expires_after(TlsSides::kLookEvery);
    next_look.async_wait([&](const boost::system::error_code& cancelled) {
      if (!cancelled) {
        look_at_certificates();
      }
    });
  };
  look_at_certificates();
  make_workers();
  listen();
  process_state_.is_listening = true;
  balance();
  make_admin();
  std::vector<std::vector<config::Address>> bound;
  bound.reserve(listeners_.size());
  for (const auto& listener : listeners_) {
    bound.push_back(listener->addresses());
  }
  report_start(log_, *generation_, worker_count_, bound);
  const bool is_in_pod = config::process_environment()("KUBERNETES_SERVICE_HOST").has_value();
  report_reach(log_, config_.listen, is_container_of_its_own(kContainerMarks, is_in_pod));
  endpoints_.set_on_left([this](std::size_t endpoint, io::TimePoint before, const auto& done) {
    on_each_worker(
        [endpoint, before](WorkerParts& parts) { parts.endpoints[endpoint]->leave(before); }, done);
  });
  endpoints_.open(config_, generation_->numbering());
  if (topology_) {
    topology_->start(storage_ ? &*storage_ : nullptr);
  }
  generation_->start_sources();
  if (filters_) {
    filters_->start();
  }
  if (kept_overlays_) {
    kept_overlays_->start();
  }
  verify();
  reloads_.start();
  watchdog_.emplace(io_, supervisor_, heartbeats(), log_);
  supervisor_.ready(Supervisor::kServing);
  io_.run();
  reloads_.stop();
  kept_overlays_.reset();  // all clients have been let go
  if (topology_) {
    topology_->stop();
  }
  verification_->stop();
  verification_->advise();
}

// Begins, with the generation that is.
void Assembly::verify() {
  verification_ = std::make_unique<Verification>(
      Verification::Parts{.log = log_,
                          .guarded = generation_->guarded(0, endpoints_.facts()),
                          .reader = epochs_.reader(worker_count_ + 1),
                          .sources = generation_->sources(),
                          .contradictions = generation_->contradictions(),
                          .rows = rows_});
  verification_->start();
}

}  // namespace cuckooguard::app
