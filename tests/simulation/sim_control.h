// What the control connection is to the guard, in a simulated world: it tells what Redis says of
// its users, asked every so often, and at once in doubt. It is not there for Redis's pauses and
// stalls.
#pragma once

#include <chrono>

#include "redis/facts.h"
#include "simulation/redis_store.h"
#include "simulation/sim_loop.h"

namespace cuckooguard::simulation {

class SimControl {
 public:
  static constexpr std::chrono::milliseconds kEvery{400};
  static constexpr std::chrono::microseconds kHalfWay{300};  // a question, or its answer

  SimControl(SimLoop& loop,
             redis::Facts& facts,
             const RedisStore& redis,
             std::shared_ptr<const redis::Commands> commands,
             std::size_t namespaces);
  SimControl(const SimControl&) = delete;
  SimControl& operator=(const SimControl&) = delete;
  ~SimControl() = default;

  void start();
  void stop() { is_stopped_ = true; }
  std::uint64_t askings() const { return askings_; }

 private:
  void ask_soon();
  void ask();
  void ask_later();
  redis::Users known() const;

  SimLoop& loop_;
  redis::Facts& facts_;
  const RedisStore& redis_;
  std::shared_ptr<const redis::Commands> commands_;
  std::size_t namespaces_;
  std::uint64_t askings_ = 0;
  bool is_asking_ = false;
  bool is_doubted_ = false;  // since it began to ask
  bool is_stopped_ = false;
};

}  // namespace cuckooguard::simulation
