#include "app/control_connection.h"

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

ControlConnection::ControlConnection(redis::Facts& facts,
                                     OnSeen on_seen,
                                     const io::TlsSlot& tls,
                                     log::EventLog& log,
                                     bool of_whole_cluster)
    : facts_(facts),
      on_seen_(std::move(on_seen)),
      tls_(tls),
      log_(log),
      of_whole_cluster_(of_whole_cluster) {
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
                             std::uint64_t numbering) {
  const bool is_forgotten = std::exchange(is_forgotten_, false);
  if (!is_forgotten && settings_ == redis && (!redis || numbering_ == numbering)) {
    return;
  }
  if (settings_ && (!redis || settings_->address != redis->address)) {
    forget_what_is_known();
  } else {
    ++opened_;
  }
  settings_ = std::move(redis);
  numbering_ = numbering;
  std::unique_ptr<upstream::Control> next = settings_ ? make(*settings_, namespaces) : nullptr;
  if (next) {
    next->start();
  }
  std::unique_lock lock(mutex_);
  std::swap(control_, next);
  lock.unlock();  // the old one ends here
  if (!settings_) {
    facts_.report({});
  }
}

void ControlConnection::forget() {
  forget_what_is_known();
  if (control_) {
    control_->end_soon();  // while the others are told, too: open() waits for its end
  }
  is_forgotten_ = true;
}

void ControlConnection::forget_what_is_known() {
  ++opened_;
  facts_.lost({.why = "it leads to another node", .is_up = true});
}

std::unique_ptr<upstream::Control> ControlConnection::make(
    const config::Upstream& redis, const std::vector<config::Namespace>& namespaces) {
  const auto is_current = [this, mine = opened_.load()] { return opened_ == mine; };
  return std::make_unique<upstream::Control>(
      redis,
      questions_for(redis, namespaces, numbering_, of_whole_cluster_),
      upstream::Control::Calls{
          .epoch = [this] { return facts_.epoch(); },
          .users = [this] { return facts_.users_to_ask(); },
          .on_facts =
              [this, is_current](std::uint64_t epoch, redis::Reading reading) {
                if (is_current()) {
                  facts_.publish(epoch, std::move(reading));
                }
              },
          .on_reachable =
              [this, is_current, address = redis.address.text()](bool reachable,
                                                                 const std::string& why) {
                if (is_current()) {
                  on_reachable(reachable, address, why);
                }
              },
          .on_lost =
              [this, is_current](bool is_up, const std::string& why) {
                if (is_current()) {
                  facts_.lost({.why = why, .is_up = is_up});
                }
              },
          .on_allowed =
              [this, is_current](const redis::ControlReport& report) {
                if (is_current()) {
                  on_allowed(report);
                }
              },
      },
      &tls_);
}

void ControlConnection::on_reachable(bool reachable,
                                     const std::string& address,
                                     const std::string& why) {
  on_seen_(reachable ? views::RedisSeen::up : views::RedisSeen::down);
  if (reachable) {
    log_.info("upstream_up", {{"address", address}});
  } else {
    log_.warning("upstream_down", {{"why", why}, {"address", address}});
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
