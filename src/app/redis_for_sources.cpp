#include "app/redis_for_sources.h"

#include <memory>
#include <utility>

#include "upstream/redis_calls.h"

namespace cuckooguard::app {
namespace {

class Session final : public source::RedisSession {
 public:
  Session(const Endpoints& endpoints,
          std::string key,
          upstream::RedisPlace place,
          upstream::RedisCalls calls)
      : endpoints_(endpoints),
        key_(std::move(key)),
        place_(std::move(place)),
        calls_(std::move(calls)) {}

  // It is asked where the key is behind the answer: what a master of before still says is nothing.
  Answer ask(std::initializer_list<std::string_view> command) override {
    auto answer = calls_.call(std::span(command.begin(), command.size()));
    const auto now = endpoints_.redis_of(key_);
    const std::string address = place_.settings.address.text();
    if (!now || !now->is_at(place_)) {
      return std::unexpected("the filter's key is in another Redis now than the one in " + address);
    }
    return answer ? std::move(answer) : Answer(std::unexpected(address + ": " + answer.error()));
  }

 private:
  const Endpoints& endpoints_;
  std::string key_;
  upstream::RedisPlace place_;
  upstream::RedisCalls calls_;
};

}  // namespace

source::OpenRedis redis_for_sources(const Endpoints& endpoints, const io::TlsSlot& tls) {
  return [&endpoints, &tls](const std::string& key)
             -> std::expected<std::unique_ptr<source::RedisSession>, std::string> {
    const auto redis = endpoints.redis_of(key);
    if (!redis) {
      return std::unexpected("it is not known yet which Redis has the filter's key");
    }
    auto calls = upstream::RedisCalls::open(redis->settings, tls);
    if (!calls) {
      return std::unexpected(std::move(calls.error()));
    }
    return std::make_unique<Session>(endpoints, key, *redis, *std::move(calls));
  };
}

}  // namespace cuckooguard::app
