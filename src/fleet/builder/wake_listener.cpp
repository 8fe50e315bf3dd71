#include "builder/wake_listener.h"

#include <chrono>
#include <condition_variable>
#include <expected>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

#include "fleet/layout.h"
#include "source/follower.h"
#include "text/try.h"

namespace cuckooguard::fleet {
namespace {

using Done = std::expected<void, std::string>;

class Listening {
 public:
  Listening(source::OpenRedis redis, std::string key, std::function<void()> on_wake)
      : open_(std::move(redis)), key_(std::move(key)), on_wake_(std::move(on_wake)) {}

  void run(const std::stop_token& stop) {
    while (!stop.stop_requested() && !listen(stop)) {
      rest(backoff_.next(), stop);
    }
  }

 private:
  // Until Redis is lost, or it is to end.
  Done listen(const std::stop_token& stop) try {
    const auto redis = TRY(open_(key_));
    std::string last = kFirst;
    int silent = 0;
    while (!stop.stop_requested()) {
      const auto read =
          accepted(redis->ask({"XREAD", "COUNT", "1", "BLOCK", kBlock, "STREAMS", key_, last}));
      if (!read && read.error().starts_with("WRONGTYPE")) {
        TRY(accepted(redis->ask({"DEL", key_})));
      }
      std::string id = last_id_of(TRY(read));
      backoff_.succeeded();
      if (id.empty()) {
        silent = silent == kSilentMax ? 0 : silent + 1;
        last = silent == 0 ? kFirst : std::move(last);
        continue;
      }
      last = std::move(id);
      on_wake_();
      rest(kRest, stop);
    }
    return {};
  } catch (const std::exception& trouble) {  // no memory, say
    return std::unexpected(trouble.what());
  }

  void rest(std::chrono::nanoseconds pause, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, stop, pause, [] { return false; });
  }

  static constexpr std::string_view kBlock = "250";  // ms; an end waits for it
  static constexpr const char* kFirst = "0";
  static constexpr int kSilentMax = 20;  // then numbers may have begun again (FLUSHALL, a failover)
  static constexpr std::chrono::milliseconds kRest{20};

  source::OpenRedis open_;
  std::string key_;
  std::function<void()> on_wake_;
  source::Backoff backoff_{std::chrono::milliseconds(100), source::Backoff::kUnreachedMax};
  std::mutex mutex_;
  std::condition_variable_any ended_;
};

}  // namespace

WakeListener::WakeListener(source::OpenRedis redis, std::string key, std::function<void()> on_wake)
    : thread_([redis = std::move(redis), key = std::move(key), on_wake = std::move(on_wake)](
                  const std::stop_token& stop) mutable {
        Listening(std::move(redis), std::move(key), std::move(on_wake)).run(stop);
      }) {}

}  // namespace cuckooguard::fleet
