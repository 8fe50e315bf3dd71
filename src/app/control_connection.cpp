#include "app/control_connection.h"

#include <chrono>
#include <system_error>
#include <utility>
#include <vector>

namespace cuckooguard::app {
namespace {

upstream::Questions questions_for(const config::Upstream& redis,
                                  const std::vector<config::Namespace>& namespaces,
                                  std::uint64_t numbering,
                                  bool of_whole_cluster) {
  upstream::Questions questions{.numbering = numbering,
                                .of_cluster = !redis.cluster.empty(),
                                .of_whole_cluster = of_whole_cluster};
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
  facts_.lost({.why = "it leads to another node", .is_up = true});
  const std::lock_guard lock(meeting_);
  met_.reset();
}

std::unique_ptr<upstream::Control> ControlConnection::make(
    const config::Upstream& redis, const std::vector<config::Namespace>& namespaces) {
  const auto if_believed = [this, mine = opened_](const auto& take) {
    const std::lock_guard lock(telling_);
    if (opened_ == mine) {
      take();
    }
  };
  if (purpose_ == Purpose::log_alone) {
    return std::make_unique<upstream::Control>(
        redis,
        upstream::Questions{.of_presence_alone = true},
        upstream::Control::Calls{.on_reachable =
                                     [this, if_believed, address = redis.address.text()](
                                         bool reachable, const std::string& why) {
                                       if_believed([&] { log_reachable(reachable, address, why); });
                                     },
                                 .on_lost = [](bool, const std::string&) {}},
        &tls_);
  }
  return std::make_unique<upstream::Control>(
      redis,
      questions_for(redis, namespaces, numbering_, kind_.is_whole_cluster),
      upstream::Control::Calls{
          .epoch = [this] { return facts_.epoch(); },
          .users = [this] { return facts_.users_to_ask(); },
          .on_facts =
              [this, if_believed](std::uint64_t epoch, redis::Reading reading) {
                if_believed([&] {
                  if (leaving_ == 0) {
                    facts_.publish(epoch, std::move(reading));
                  }
                });
              },
          .on_server =
              [this, if_believed](const upstream::Server& server) {
                if_believed([&] { on_server(server); });
              },
          .on_reachable =
              [this, if_believed, address = redis.address.text()](bool reachable,
                                                                  const std::string& why) {
                if_believed([&] { on_reachable(reachable, address, why); });
              },
          .on_lost = [this, if_believed](
                         bool is_up,
                         const std::string& why) { if_believed([&] { on_lost(is_up, why); }); },
          .on_allowed =
              [this, if_believed](const redis::ControlReport& report) {
                if_believed([&] { on_allowed(report); });
              },
      },
      &tls_);
}

void ControlConnection::on_reachable(bool reachable,
                                     const std::string& address,
                                     const std::string& why) {
  calls_.on_seen(reachable ? views::RedisSeen::up : views::RedisSeen::down);
  log_reachable(reachable, address, why);
}

void ControlConnection::log_reachable(bool reachable,
                                      const std::string& address,
                                      const std::string& why) {
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
  return has_other_role && !kind_.is_in_cluster ? std::optional(io::now_since_boot())
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
  facts_.lost({.why = "another server is behind its address", .is_up = true});
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

}  // namespace cuckooguard::app
