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

using Done = std::expected<void, std::string>;

// Until Redis is lost, or it is to end.
Done listen(const source::OpenRedis& open,
            const std::string& key,
            const std::function<void()>& on_wake,
            source::Backoff& backoff,
            const std::stop_token& stop) try {
  const auto redis = TRY(open(key));
  std::string last = "0";
  while (!stop.stop_requested()) {
    const resp::Value read =
        TRY(accepted(redis->ask({"XREAD", "COUNT", "1", "BLOCK", kBlock, "STREAMS", key, last})));
    backoff.succeeded();
    if (std::string id = last_id_of(read); !id.empty()) {
      last = std::move(id);
      on_wake();
    }
  }
  return {};
} catch (const std::exception& trouble) {  // no memory, say
  return std::unexpected(trouble.what());
}

}  // namespace

WakeListener::WakeListener(source::OpenRedis redis, std::string key, std::function<void()> on_wake)
    : thread_([redis = std::move(redis), key = std::move(key), on_wake = std::move(on_wake)](
                  const std::stop_token& stop) {
        source::Backoff backoff(std::chrono::milliseconds(100), std::chrono::seconds(5));
        std::mutex mutex;
        std::condition_variable_any ended;
        while (!listen(redis, key, on_wake, backoff, stop)) {
          std::unique_lock lock(mutex);
          ended.wait_for(lock, stop, backoff.next(), [] { return false; });
        }
      }) {}

}  // namespace cuckooguard::fleet
