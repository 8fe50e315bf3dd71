#include "cli/control_connection.h"

#include <utility>

#include "cli/learned_facts.h"

namespace cuckooguard::cli {

ControlConnection::ControlConnection(guard::RedisFacts& facts, admin::Vitals& vitals, EventLog& log)
    : facts_(facts), vitals_(vitals), log_(log) {
  facts_.set_on_doubt([this] {
    const std::lock_guard lock(mutex_);
    if (control_) {
      control_->refresh();
    }
  });
}

void ControlConnection::open(const config::Config& config, std::uint64_t numbering) {
  const bool is_wanted = !config.namespaces.empty();
  if (is_wanted ? settings_ == config.upstream && numbering_ == numbering
                : !settings_.has_value()) {
    return;
  }
  ++opened_;
  settings_ = is_wanted ? std::optional(config.upstream) : std::nullopt;
  numbering_ = numbering;
  std::unique_ptr<upstream::Control> next = is_wanted ? make(config, numbering) : nullptr;
  if (next) {
    next->start();
  }
  std::unique_lock lock(mutex_);
  std::swap(control_, next);
  lock.unlock();  // the old one ends here
}

std::unique_ptr<upstream::Control> ControlConnection::make(const config::Config& config,
                                                           std::uint64_t numbering) {
  const auto is_current = [this, mine = opened_.load()] { return opened_ == mine; };
  return std::make_unique<upstream::Control>(
      config.upstream,
      questions_for(config),
      upstream::Control::Calls{
          .epoch = [this] { return facts_.epoch(); },
          .users = [this] { return facts_.users_to_ask(); },
          .on_facts =
              [this, is_current, numbering, acl = config.upstream.acl](
                  std::uint64_t epoch, const upstream::Facts& facts) {
                if (is_current()) {
                  facts_.publish(epoch, reading_of(facts, acl, numbering));
                }
              },
          .on_reachable =
              [this, is_current](bool reachable, const std::string& why) {
                if (is_current()) {
                  on_reachable(reachable, why);
                }
              },
          .on_refused =
              [this](const std::string& why) { log_.error("upstream_refused", {{"why", why}}); },
      });
}

void ControlConnection::on_reachable(bool reachable, const std::string& why) {
  vitals_.redis = reachable ? admin::RedisSeen::up : admin::RedisSeen::down;
  if (reachable) {
    log_.info("upstream_up");
  } else {
    facts_.lost();
    log_.warning("upstream_down", {{"why", why}});
  }
}

}  // namespace cuckooguard::cli
