#include "simulation/sim_loop.h"

#include <algorithm>
#include <utility>

#include "simulation/proxy_memory.h"
#include "simulation/sim_transport.h"

namespace cuckooguard::simulation {
namespace {

// From readiness to wake-up: the loop is doing something else.
constexpr std::uint64_t kWakeUpNanosecondsMax = 50'000;

}  // namespace

class SimLoop::SimTimer final : public io::Timer {
 public:
  SimTimer(SimLoop& loop, std::chrono::milliseconds delay, std::function<void()> call)
      : loop_(loop), event_(loop.at(delay, [&loop, work = std::move(call)] {
          const auto kept = work;  // it may destroy this timer, and the call with it
          loop.as_batch(kept);
        })) {}
  ~SimTimer() override { loop_.cancel(event_); }
  SimTimer(const SimTimer&) = delete;
  SimTimer& operator=(const SimTimer&) = delete;

 private:
  SimLoop& loop_;
  EventId event_;
};

SimLoop::SimLoop(std::uint64_t seed) : random_(seed), read_buffer_(new char[kReadBufferBytes]) {}

SimLoop::~SimLoop() = default;

std::unique_ptr<io::Transport> SimLoop::connect(const config::Address& address,
                                                io::Watcher& watcher) {
  const OutsideProxy outside;
  connected_address_ = address;
  auto transport = std::make_unique<SimTransport>(*this, SimTransport::State::connecting);
  transport->bind(watcher);
  if (on_connect_) {
    on_connect_(*transport);
  }
  return transport;
}

std::unique_ptr<SimTransport> SimLoop::accept(SimPeer& peer) {
  auto transport = std::make_unique<SimTransport>(*this, SimTransport::State::up);
  transport->join(peer);
  return transport;
}

std::unique_ptr<SimTransport> SimLoop::adopt(int socket) {
  return std::move(released_.extract(socket).mapped());
}

void SimLoop::post(std::function<void()> call) {
  const OutsideProxy outside;
  const auto most = std::chrono::nanoseconds(weather_.post_latency_max).count();
  const std::chrono::nanoseconds late{most == 0 ? 0
                                                : random_.below(static_cast<std::uint64_t>(most))};
  last_post_ = std::max(last_post_, now_ + late);
  at(last_post_ - now_, [this, work = std::move(call)] { as_batch(work); });
}

void SimLoop::on_batch(std::function<void()> begin, std::function<void()> end) {
  batch_begins_ = std::move(begin);
  batch_ends_ = std::move(end);
}

void SimLoop::flush_at_batch_end(io::Flushable& flushable, io::FlushOrder order) {
  const OutsideProxy outside;
  (order == io::FlushOrder::upstream_first ? upstream_flushes_ : client_flushes_)
      .push_back(&flushable);
}

void SimLoop::dispose(std::unique_ptr<io::Disposable> disposable) {
  const OutsideProxy outside;
  disposed_.push_back(std::move(disposable));
}

std::unique_ptr<io::Timer> SimLoop::after(std::chrono::milliseconds delay,
                                          std::function<void()> call) {
  const OutsideProxy outside;
  return std::make_unique<SimTimer>(*this, delay, std::move(call));
}

SimLoop::EventId SimLoop::at(std::chrono::nanoseconds delay, std::function<void()> call) {
  const OutsideProxy outside;
  const EventId event{now_ + delay, ++events_made_};
  events_.emplace(event, std::move(call));
  return event;
}

bool SimLoop::step() {
  if (events_.empty() || !failure_.empty()) {
    return false;
  }
  auto event = events_.extract(events_.begin());
  now_ = std::max(now_, event.key().first);
  event.mapped()();
  wake_up_if_ready();
  return failure_.empty();
}

void SimLoop::run(std::chrono::nanoseconds horizon) {
  wake_up_if_ready();
  while (!events_.empty() && events_.begin()->first.first <= now_ + horizon && step()) {
  }
}

void SimLoop::wake_up_if_ready() {
  std::erase_if(touched_, [this](std::uint64_t id) {
    const auto found = transports_.find(id);
    return found == transports_.end() || !found->second->is_ready();
  });
  if (!touched_.empty() && !wake_up_is_due_) {
    wake_up_is_due_ = true;
    at(std::chrono::nanoseconds(weather_.rough ? random_.below(kWakeUpNanosecondsMax) : 0), [this] {
      wake_up_is_due_ = false;
      as_batch([this] { run_batch(); });
    });
  }
}

void SimLoop::run_batch() {
  std::vector<std::pair<std::uint64_t, io::Readiness>> ready;
  {
    const OutsideProxy outside;
    for (const std::uint64_t id : touched_) {
      const auto found = transports_.find(id);
      if (found != transports_.end() && found->second->is_ready()) {
        ready.emplace_back(id, found->second->take_readiness());
        delivering_.insert(id);
      }
    }
  }
  random_.shuffle(std::span(ready));
  for (const auto& [id, readiness] : ready) {
    const auto found = transports_.find(id);
    if (found != transports_.end() && found->second->is_open()) {
      found->second->tell(readiness);
    }
    delivering_.erase(id);
  }
}

void SimLoop::as_batch(const std::function<void()>& work) {
  ++batches_;
  if (batch_begins_) {
    batch_begins_();
  }
  {
    const InProxy in_proxy;
    work();
    end_batch();
  }
  if (batch_ends_) {
    batch_ends_();
  }
}

void SimLoop::end_batch() {
  // By index: a flush that closes its session may queue another one.
  // NOLINTBEGIN(modernize-loop-convert): see above
  for (std::size_t i = 0; i < upstream_flushes_.size(); ++i) {
    upstream_flushes_[i]->flush();
  }
  upstream_flushes_.clear();
  for (std::size_t i = 0; i < client_flushes_.size(); ++i) {
    client_flushes_[i]->flush();
  }
  // NOLINTEND(modernize-loop-convert)
  client_flushes_.clear();
  disposed_.clear();
}

void SimLoop::fail(std::string what) {
  const OutsideProxy outside;
  if (failure_.empty()) {
    failure_ = std::move(what);
  }
}

void SimLoop::trace(std::uint64_t number) {
  trace_hash_ = (trace_hash_ ^ number) * 1099511628211ULL;
}

void SimLoop::trace(std::string_view bytes) {
  for (const char byte : bytes) {
    trace(static_cast<unsigned char>(byte));
  }
}

}  // namespace cuckooguard::simulation
