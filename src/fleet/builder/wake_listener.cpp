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

constexpr std::string_view kBlock = "250";  // ms; an end waits for it

// Until Redis is lost.
std::expected<void, std::string> listen(source::RedisSession& redis,
                                        const std::string& key,
                                        const std::function<void()>& on_wake,
                                        const std::stop_token& stop) {
  std::string last = "0";
  while (!stop.stop_requested()) {
    const resp::Value read =
        TRY(accepted(redis.ask({"XREAD", "COUNT", "1", "BLOCK", kBlock, "STREAMS", key, last})));
    if (std::string id = last_id_of(read); !id.empty()) {
      last = std::move(id);
      on_wake();
    }
  }
  return {};
}

}  // namespace

WakeListener::WakeListener(source::OpenRedis redis, std::string key, std::function<void()> on_wake)
    : thread_([redis = std::move(redis), key = std::move(key), on_wake = std::move(on_wake)](
                  const std::stop_token& stop) {
        source::Backoff backoff(std::chrono::milliseconds(100), std::chrono::seconds(5));
        std::mutex mutex;
        std::condition_variable_any ended;
        while (!stop.stop_requested()) {
          try {
            if (const auto opened = redis(key); opened && listen(**opened, key, on_wake, stop)) {
              return;
            }
          } catch (const std::exception&) {  // no memory, say: later
          }
          std::unique_lock lock(mutex);
          ended.wait_for(lock, stop, backoff.next(), [] { return false; });
        }
      }) {}

}  // namespace cuckooguard::fleet
