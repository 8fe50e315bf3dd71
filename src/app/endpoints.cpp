#include "app/endpoints.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <system_error>
#include <utility>

#include "upstream/redis_client.h"

namespace cuckooguard::app {
namespace {

upstream::Questions questions_for(const std::vector<config::Namespace>& namespaces,
                                  std::uint64_t numbering,
                                  const ControlConnection::Kind& kind) {
  upstream::Questions questions{.numbering = numbering,
                                .served_slots = kind.served_slots,
                                .of_whole_cluster = kind.is_whole_cluster};
  for (const config::Namespace& space : namespaces) {
    std::vector<std::string>& prefixes = questions.keys.emplace_back();
    for (const keyspace::KeyTemplate& key : space.keys) {
      prefixes.emplace_back(key.literal_prefix());
    }
  }
  return questions;
}

}  // namespace

ControlConnection::ControlConnection(
    redis::Facts& facts, Calls calls, const io::TlsSlot& tls, log::EventLog& log, Kind kind)
    : facts_(facts), calls_(std::move(calls)), tls_(tls), log_(log), kind_(kind) {
  facts_.set_on_doubt([this](redis::Facts::Urgency urgency) {
    const std::lock_guard lock(mutex_);
    if (!control_) {
      return;
    }
    if (urgency == redis::Facts::Urgency::at_once) {
      control_->refresh();
    } else {
      control_->refresh_soon();
    }
  });
}

void ControlConnection::open(std::optional<config::Upstream> redis,
                             const std::vector<config::Namespace>& namespaces,
                             std::uint64_t numbering,
                             Purpose purpose) {
  const bool is_forgotten = std::exchange(is_forgotten_, false);
  const bool asks_the_same = numbering_ == numbering && purpose_ == purpose;
  if (!is_forgotten && settings_ == redis && (!redis || asks_the_same)) {
    return;
  }
  const bool was_asked = settings_ && purpose_ == Purpose::facts;
  const bool is_asked = redis && purpose == Purpose::facts;
  if (was_asked && (!is_asked || settings_->address != redis->address)) {
    forget_what_is_known();
  } else {
    believe_no_more();
  }
  settings_ = std::move(redis);
  numbering_ = numbering;
  purpose_ = purpose;
  std::unique_ptr<upstream::Control> next = settings_ ? make(*settings_, namespaces) : nullptr;
  if (next) {
    next->start();
  }
  std::unique_lock lock(mutex_);
  std::swap(control_, next);
  lock.unlock();
  end_aside(std::move(next));
  if (!settings_ || purpose_ == Purpose::log_alone) {
    facts_.report({});
  }
}

void ControlConnection::forget() {
  forget_what_is_known();
  if (control_) {
    control_->end_soon();
  }
  is_forgotten_ = true;
}

void ControlConnection::close() {
  open(std::nullopt, {}, 0);
  ending_.clear();  // which waits
}

// What one before is just telling counts, and is forgotten behind this.
void ControlConnection::believe_no_more() {
  const std::lock_guard lock(telling_);
  ++opened_;
}

void ControlConnection::end_aside(std::unique_ptr<upstream::Control> control) {
  std::erase_if(ending_, [](const std::future<void>& end) {
    return end.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  });
  if (!control) {
    return;
  }
  control->end_soon();
  auto end = [ended = std::move(control)]() mutable { ended.reset(); };
  try {
    ending_.push_back(std::async(std::launch::async, std::move(end)));
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): no thread, so it ends here
  }
}

void ControlConnection::forget_what_is_known() {
  believe_no_more();
  ++servers_;
  facts_.lost({.why = "its port now leads to another node", .is_up = true});
  const std::lock_guard lock(meeting_);
  met_.reset();
}

std::unique_ptr<upstream::Control> ControlConnection::make(
    const config::Upstream& redis, const std::vector<config::Namespace>& namespaces) {
  const auto believed = [this, mine = opened_](auto call) {
    return [this, mine, call](auto&&... told) {
      const std::lock_guard lock(telling_);
      if (opened_ == mine) {
        std::invoke(call, this, std::forward<decltype(told)>(told)...);
      }
    };
  };
  if (purpose_ == Purpose::log_alone) {
    return std::make_unique<upstream::Control>(
        redis,
        upstream::Questions{.of_presence_alone = true},
        upstream::Control::Calls{.on_reachable = believed(&ControlConnection::log_reachable),
                                 .on_lost = [](bool, const std::string&) {}},
        &tls_);
  }
  return std::make_unique<upstream::Control>(
      redis,
      questions_for(namespaces, numbering_, kind_),
      upstream::Control::Calls{.epoch = [this] { return facts_.epoch(); },
                               .users = [this] { return facts_.users_to_ask(); },
                               .on_facts = believed(&ControlConnection::on_facts),
                               .on_server = believed(&ControlConnection::on_server),
                               .on_reachable = believed(&ControlConnection::on_reachable),
                               .on_lost = believed(&ControlConnection::on_lost),
                               .on_allowed = believed(&ControlConnection::on_allowed)},
      &tls_);
}

void ControlConnection::on_facts(std::uint64_t epoch, redis::Reading reading) {
  if (leaving_ == 0) {
    facts_.publish(epoch, std::move(reading));
  }
}

void ControlConnection::on_reachable(bool reachable, const std::string& why) {
  calls_.on_seen(reachable ? guard::NodeState::up : guard::NodeState::down);
  log_reachable(reachable, why);
}

void ControlConnection::log_reachable(bool reachable, const std::string& why) {
  const std::string address = settings_ ? settings_->address.text() : std::string();
  if (reachable) {
    log_.info("upstream_up", {{"address", address}});
  } else {
    log_.warning("upstream_down", {{"why", why}, {"address", address}});
  }
}

// The first one is compared with nothing: what is connected by then was led there, too.
std::optional<io::TimePoint> ControlConnection::left_before(const upstream::Server& server) const {
  if (!met_) {
    return std::nullopt;
  }
  const upstream::Server& before = met_->server;
  if (server.is_led_to_anew && server.connected_at != before.connected_at) {
    return server.connected_at;
  }
  if (!server.run_id.empty() && !before.run_id.empty() && server.run_id != before.run_id) {
    const bool is_started_since = met_->closed_at && server.uptime &&
                                  *server.uptime <= std::chrono::ceil<std::chrono::seconds>(
                                                        io::now_since_boot() - *met_->closed_at);
    return is_started_since ? *met_->closed_at : server.connected_at;
  }
  const bool has_other_role =
      server.is_master && before.is_master && *server.is_master != *before.is_master;
  return has_other_role && kind_.served_slots == nullptr ? std::optional(io::now_since_boot())
                                                         : std::nullopt;
}

void ControlConnection::on_server(const upstream::Server& server) {
  std::unique_lock lock(meeting_);
  const std::optional<io::TimePoint> before = left_before(server);
  const std::optional<bool> was_master = met_ ? met_->server.is_master : std::nullopt;
  met_ = {.server = server, .closed_at = std::nullopt};
  met_->server.is_master = server.is_master ? server.is_master : was_master;
  lock.unlock();
  if (before) {
    leave(*before, server);
  }
}

// Nothing is answered before all workers have ended what leads to the one before.
void ControlConnection::leave(io::TimePoint before, const upstream::Server& server) {
  facts_.lost({.why = "another server answers at its address", .is_up = true});
  ++servers_;
  ++leaving_;
  const bool is_master = server.is_master.value_or(false);
  log_.warning("upstream_changed",
               {{"run_id", server.run_id}, {"role", is_master ? "master" : "replica"}});
  calls_.on_left(before, [this] {
    --leaving_;
    const std::lock_guard lock(mutex_);
    if (control_) {
      control_->refresh();
    }
  });
}

void ControlConnection::on_lost(bool is_up, const std::string& why) {
  facts_.lost({.why = why, .is_up = is_up});
  const std::lock_guard lock(meeting_);
  if (met_ && !is_up && !met_->closed_at) {
    met_->closed_at = io::now_since_boot();
  }
}

// Once per change, also over a reload that asks by another connection.
void ControlConnection::on_allowed(const redis::ControlReport& report) {
  using State = redis::ControlReport::State;
  const redis::ControlReport before = facts_.snapshot()->control;
  if (report == before) {
    return;
  }
  facts_.report(report);
  const std::initializer_list<log::Field> fields{{"why", report.why}, {"hint", report.hint}};
  if (report.state == State::unsupported) {
    log_.write(config::LogLevel::error, "upstream_refused", fields);
  } else if (report.state == State::not_allowed) {
    log_.write(config::LogLevel::error, "control_not_allowed", fields);
  } else if (report.state == State::limited) {
    log_.write(config::LogLevel::warning, "control_not_allowed", fields);
  } else if (before.state != State::unknown) {
    log_.info("control_allowed");
  }
}

Endpoints::Endpoints(const config::Config& config,
                     views::ProcessState& process_state,
                     const io::TlsSlot& tls,
                     log::EventLog& log,
                     upstream::ServedSlots served_slots)
    : process_state_(process_state),
      tls_(tls),
      log_(log),
      is_cluster_(!config.upstream.cluster.empty()),
      has_several_(is_cluster_ || !config.upstream.sentinels.empty()),
      served_slots_(is_cluster_ ? served_slots : nullptr),
      of_listen_(config.listen.size()) {
  for (const Leads leads : {Leads::to_redis, Leads::to_node, Leads::to_sentinel}) {
    for (std::size_t i = 0; i < config.listen.size(); ++i) {
      const config::Listen& listen = config.listen[i];
      const Leads its = listen.nodes       ? Leads::to_node
                        : listen.sentinels ? Leads::to_sentinel
                                           : Leads::to_redis;
      if (its == leads) {
        of_listen_[i] = endpoint_for(leads);
      }
    }
  }
  if (!has_several_) {
    all_.front()->node = config.upstream.address;
  }
}

// A node's port has one of its own.
std::size_t Endpoints::endpoint_for(Leads leads) {
  const std::size_t number = all_.size();
  if (number > 0 && all_.back()->leads == leads && leads != Leads::to_node) {
    return number - 1;
  }
  all_.push_back(std::make_unique<Endpoint>(
      leads,
      ControlConnection::Calls{
          .on_seen = [this, number](auto seen) { note(number, seen); },
          .on_left = [this, number](io::TimePoint before,
                                    auto done) { on_left_(number, before, std::move(done)); }},
      tls_,
      log_,
      ControlConnection::Kind{.is_whole_cluster = is_cluster_ && leads == Leads::to_redis,
                              .served_slots = served_slots_}));
  return number;
}

// All of them are silent before the first is gone: note() looks at each.
void Endpoints::close() {
  for (const auto& each : all_) {
    each->control.close();
  }
}

void Endpoints::lead(std::size_t endpoint, const std::optional<config::Address>& node) {
  const std::lock_guard lock(opening_);
  all_[endpoint]->node = node;
  all_[endpoint]->control.forget();
}

void Endpoints::open(const config::Config& config, std::uint64_t numbering) {
  const std::lock_guard lock(opening_);
  config_ = std::make_unique<const config::Config>(config);
  numbering_ = numbering;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    open(i);
  }
}

void Endpoints::reopen(std::size_t endpoint) {
  const std::lock_guard lock(opening_);
  if (config_) {
    open(endpoint);
  }
}

void Endpoints::open(std::size_t endpoint) {
  const std::optional<config::Address>& node = all_[endpoint]->node;
  const bool is_redis = all_[endpoint]->leads != Leads::to_sentinel;
  const bool must_know = !config_->namespaces.empty() || config_->filters.is_used();
  if (!node || !is_redis) {
    all_[endpoint]->control.open(std::nullopt, {}, 0);
    note(endpoint, guard::NodeState::never);
    return;
  }
  if (must_know) {
    all_[endpoint]->control.open(settings_at(*node), config_->namespaces, numbering_);
    return;
  }
  all_[endpoint]->control.open(
      settings_at(*node), {}, numbering_, ControlConnection::Purpose::log_alone);
  note(endpoint, guard::NodeState::never);
}

config::Upstream Endpoints::settings_at(const config::Address& address) const {
  return has_several_ ? upstream::settings_at(config_->upstream, address) : config_->upstream;
}

// Of one to which no port leads nobody asks: it is known by its address alone.
std::optional<upstream::RedisPlace> Endpoints::redis_at(const config::Address& address) const {
  const std::lock_guard lock(opening_);
  if (!config_) {
    return std::nullopt;
  }
  const auto found = std::ranges::find_if(all_, [&address](const auto& each) {
    return each->leads != Leads::to_sentinel && each->node == address;
  });
  return upstream::RedisPlace(settings_at(address),
                              found == all_.end() ? 0 : (*found)->control.servers());
}

void Endpoints::look(std::size_t endpoint, guard::NodeStatus& node) const {
  const Endpoint& one = *all_[endpoint];
  const std::shared_ptr<const redis::Snapshot> redis = one.facts.snapshot();
  node.state = one.seen;
  node.round_trip =
      node.state == guard::NodeState::up && !redis->is_lost ? redis->round_trip : std::nullopt;
  node.control = redis->control;
}

// Of several nodes one is enough: what becomes of the others is their cluster's business.
void Endpoints::note(std::size_t endpoint, guard::NodeState seen) {
  all_[endpoint]->seen = seen;
  const auto any = [this](guard::NodeState wanted) {
    return std::ranges::any_of(all_, [wanted](const auto& each) { return each->seen == wanted; });
  };
  using enum guard::NodeState;
  process_state_.redis = any(up) ? up : any(down) ? down : never;
}

}  // namespace cuckooguard::app
