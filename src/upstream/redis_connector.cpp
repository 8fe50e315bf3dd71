#include "upstream/redis_connector.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/time.h>

#include "config/password_file.h"
#include "upstream/redis_reply.h"

namespace cuckooguard::upstream {
namespace {

constexpr const char* kDefaultUser = "default";
constexpr int kNoSocket = -1;

timeval to_timeval(std::chrono::milliseconds duration) {
  return {.tv_sec = duration.count() / 1000, .tv_usec = duration.count() % 1000 * 1000};
}

std::string in_words(std::chrono::milliseconds duration) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(duration);
  return seconds == duration ? std::to_string(seconds.count()) + " s"
                             : std::to_string(duration.count()) + " ms";
}

bool is_numeric(const std::string& host) {
  in6_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// In numbers; none if there are none. Blocks.
std::vector<config::Address> looked_up(const config::Address& name) {
  const addrinfo hints{.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  addrinfo* all = nullptr;
  std::vector<config::Address> addresses;
  const std::string port = std::to_string(name.port);
  if (::getaddrinfo(name.host.c_str(), port.c_str(), &hints, &all) != 0) {
    return addresses;
  }
  for (const addrinfo* each = all; each != nullptr; each = each->ai_next) {
    std::array<char, NI_MAXHOST> host{};
    std::array<char, NI_MAXSERV> service{};
    if (::getnameinfo(each->ai_addr,
                      each->ai_addrlen,
                      host.data(),
                      host.size(),
                      service.data(),
                      service.size(),
                      NI_NUMERICHOST | NI_NUMERICSERV) == 0) {
      addresses.push_back(
          {.host = host.data(), .port = static_cast<std::uint16_t>(std::stoul(service.data()))});
    }
  }
  ::freeaddrinfo(all);
  return addresses;
}

}  // namespace

// hiredis keeps the error's text, and not its number.
bool has_timed_out(const redisContext& redis) {
  return redis.err == REDIS_ERR_IO && redis.errstr == std::generic_category().message(EAGAIN);
}

std::string why_failed(const redisContext& redis, std::chrono::milliseconds timeout) {
  return has_timed_out(redis) ? "no reply within " + in_words(timeout) : redis.errstr;
}

void RedisConnector::Close::operator()(redisContext* context) const {
  redisFree(context);
}

RedisConnector::RedisConnector(config::Upstream settings,
                               const io::TlsSlot* tls,
                               std::chrono::milliseconds call_timeout)
    : settings_(std::move(settings)),
      tls_(tls),
      call_timeout_(call_timeout),
      names_(
          std::make_shared<io::BlockingThread>(io::BlockingThread::Limits{.name = "redis-names"})) {
}

std::optional<std::vector<config::Address>> RedisConnector::addresses_of(
    const config::Address& name) const {
  if (is_numeric(name.host)) {
    return std::vector{name};
  }
  const auto found = std::make_shared<std::vector<config::Address>>();
  const bool is_asked = names_->post([name, found] { *found = looked_up(name); });
  if (!is_asked || !names_->finish(settings_.connect_timeout)) {
    return std::nullopt;
  }
  return found->empty() ? std::vector{name} : *found;  // hiredis says why
}

RedisConnector::Redis RedisConnector::open_plainly() const {
  const timeval timeout = to_timeval(settings_.connect_timeout);
  const config::Address address = settings_.reached();
  if (address.is_unix()) {
    return Redis(redisConnectUnixWithTimeout(address.unix_path.c_str(), timeout));
  }
  Redis redis;
  const auto all = addresses_of(address);
  for (const config::Address& each : all.value_or(std::vector<config::Address>())) {
    redis.reset(redisConnectWithTimeout(each.host.c_str(), each.port, timeout));
    if (redis && redis->err == 0) {
      break;
    }
  }
  if (!all) {
    redis.reset(redisConnectFd(kNoSocket));
    if (redis) {
      redis->err = REDIS_ERR_OTHER;
      std::snprintf(&redis->errstr[0], sizeof redis->errstr, "the look-up of its name hangs");
    }
  }
  return redis;
}

RedisConnector::Redis RedisConnector::open_over_tls(
    std::shared_ptr<const io::TlsCredentials> credentials, std::string& why) const {
  TlsRelay::Opened relay = TlsRelay::open(settings_, std::move(credentials));
  if (!relay) {
    why = std::move(relay.error());
    return nullptr;
  }
  redisContext* const context = redisConnectFd((*relay)->take_socket());
  return {context, Close{std::move(*relay)}};
}

RedisConnector::Redis RedisConnector::open(std::string& why) const {
  why = "out of memory";
  auto credentials = tls_ == nullptr ? nullptr : tls_->get();
  Redis redis = credentials ? open_over_tls(std::move(credentials), why) : open_plainly();
  if (!redis || redis->err != 0) {
    why = redis ? redis->errstr : why;
    return nullptr;
  }
  redisSetTimeout(redis.get(), to_timeval(call_timeout_));
  return redis;
}

std::optional<RedisConnector::LoginRefusal> RedisConnector::log_in(redisContext& redis) const {
  const config::Control& control = settings_.control;
  const std::string password = config::password_of(control.password_file, control.password);
  if (password.empty()) {
    return std::nullopt;
  }
  const std::string user = control.username.empty() ? kDefaultUser : control.username;
  const Reply reply(static_cast<redisReply*>(redisCommand(
      &redis, "AUTH %b %b", user.data(), user.size(), password.data(), password.size())));
  if (reply && !is_error(*reply)) {
    return std::nullopt;
  }
  return LoginRefusal{.why = reply ? reply->str : why_failed(redis, call_timeout_),
                      .is_from_redis = reply != nullptr};
}

}  // namespace cuckooguard::upstream
