// The configuration, loaded anew while the guard runs; on the reload thread.
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "app/assembly_parts.h"
#include "app/start_report.h"
#include "config/read_config.h"
#include "text/try.h"

namespace cuckooguard::app {
namespace {

// Who has moved to the next generation. A loop that ends drops what was posted to it, so that not
// all may ever arrive.
class Arrivals {
 public:
  explicit Arrivals(std::size_t expected) : missing_(expected) {}

  void arrive() {
    const std::lock_guard lock(mutex_);
    --missing_;
    changed_.notify_all();
  }
  bool wait(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    return changed_.wait(lock, stop, [this] { return missing_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::size_t missing_;
};

}  // namespace

ReloadThread::Loaded Assembly::reload(const std::stop_token& stop) {
  if (retiring_) {  // only if a reload has thrown
    return std::unexpected(ReloadThread::Lines{"a reload was interrupted: restart the guard"});
  }
  auto config = TRY(read_());
  SettingsAsRead as_read(config);
  const bool is_unchanged = as_read == last_read_;
  std::vector<std::string> needs_restart =
      config::keep_what_needs_a_restart(generation_->config(), config);
  std::vector<std::string> refusals;
  auto next = Generation::make(environment_, std::move(config), generation_.get());
  if (!next) {
    refusals = std::move(next.error());
  } else if (auto words = refusal((*next)->config().admin)) {
    refusals.push_back(*std::move(words));
  } else {
    refusals =
        tls_.load((*next)->config());  // the last to be asked: new connections get it at once
  }
  if (!refusals.empty()) {
    return std::unexpected(std::move(refusals));
  }
  // From here on nothing is refused.
  last_read_ = std::move(as_read);
  log_.set((*next)->config().log);
  retiring_ = std::exchange(generation_, std::move(*next));
  generation_->let_pass(retiring_.get());
  if (!move_to(*generation_, stop)) {
    return {};  // the process ends, and both generations with it
  }
  generation_->let_pass(retiring_.get());
  if (kept_overlays_) {
    kept_overlays_->follow(generation_->overlays());
  }
  verification_->stop();
  generation_->take_over(*retiring_);
  verify();
  retiring_.reset();  // its sources end before others begin in their place
  generation_->start_sources();
  report_namespaces(log_, *generation_);
  return ReloadThread::Taken{.needs_restart = std::move(needs_restart),
                             .is_unchanged = is_unchanged};
}

// False: the process ends.
bool Assembly::move_to(Generation& next, const std::stop_token& stop) {
  const std::size_t of_workers = workers_.size() * endpoints_.size();
  const auto arrivals = std::make_shared<Arrivals>(of_workers + (admin_ ? 1 : 0));
  const config::Config& config = next.config();
  for (const auto& parts : workers_) {
    for (std::size_t i = 0; i < endpoints_.size(); ++i) {
      parts->worker.loop().post([&served = *parts->endpoints[i],
                                 arrivals,
                                 guarded = guarded(next, parts->number, i, parts->learner),
                                 settings = session_settings(config, i)] {
        served.adopt(guarded, settings);
        arrivals->arrive();
      });
    }
  }
  if (admin_) {
    admin_->adopt(shown(next), config.admin, [arrivals] { arrivals->arrive(); });
  }
  if (topology_) {
    topology_->adopt(config.upstream);
  }
  endpoints_.open(config, next.numbering());
  return arrivals->wait(stop);
}

}  // namespace cuckooguard::app
