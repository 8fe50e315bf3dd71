#include "upstream/control.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <unistd.h>

#include "upstream/inquiry.h"
#include "upstream/redis_reply.h"

namespace cuckooguard::upstream {
namespace {

constexpr const char* kDefaultUser = "default";
constexpr const char* kClusterRefused =
    "this Redis runs in cluster mode (cluster_enabled:1), which is not supported: every command is "
    "forwarded to this node, and nothing is answered here";

timeval to_timeval(std::chrono::milliseconds duration) {
  return {.tv_sec = duration.count() / 1000, .tv_usec = duration.count() % 1000 * 1000};
}

std::string read_secret(const std::string& path) {
  std::ifstream file(path);
  std::string secret;
  std::getline(file, secret);
  return secret;
}

int make_eventfd() {
  const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) {
    throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  return descriptor;
}

}  // namespace

void Control::Close::operator()(redisContext* context) const {
  redisFree(context);
}

Control::Control(const config::Upstream& settings,
                 Questions questions,
                 Calls calls,
                 const io::TlsSlot* tls)
    : settings_(settings),
      questions_(std::move(questions)),
      calls_(std::move(calls)),
      tls_(tls),
      wake_(make_eventfd()) {}

Control::~Control() {
  thread_ = {};  // before what it works with
  ::close(wake_);
}

void Control::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Control::refresh() const {
  const std::uint64_t one = 1;
  // It fails only if the counter is full: then the thread is about to wake anyway.
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof(one));
}

void Control::run(const std::stop_token& stop) {
  const std::stop_callback wake_to_end(stop, [this] { refresh(); });
  while (!stop.stop_requested()) {
    std::string why;
    const Redis redis = connect(why);
    if (redis) {
      why = keep_asking(*redis, stop);
    }
    if (stop.stop_requested()) {
      return;
    }
    tell_reachable(false, why);
    rest(-1, kRetryEvery);
  }
}

std::string Control::keep_asking(redisContext& redis, const std::stop_token& stop) {
  Inquiry inquiry(redis, questions_);
  while (!stop.stop_requested()) {
    const std::uint64_t epoch = calls_.epoch();
    const bool trusts = settings_.acl == config::Acl::trust;
    std::optional<Facts> facts = inquiry.ask(trusts ? std::vector<std::string>{} : calls_.users());
    if (!facts) {
      return redis.errstr;
    }
    if (trusts) {
      facts->needs_password = needs_password().value_or(true);
    }
    const std::chrono::milliseconds pause = pause_after(*facts);
    tell_reachable(true, {});
    tell(epoch, *std::move(facts));
    if (!rest(redis.fd, pause)) {
      return "Redis has closed the connection";
    }
  }
  return {};
}

// A Redis that closes silent clients must not take this connection for one.
std::chrono::milliseconds Control::pause_after(const Facts& facts) {
  if (facts.state != ServerState::available) {
    return kRetryEvery;
  }
  const std::chrono::milliseconds most = kEvery;
  return facts.idle_timeout.count() == 0
             ? most
             : std::min(most, std::chrono::milliseconds(facts.idle_timeout) / 2);
}

void Control::tell(std::uint64_t epoch, Facts facts) {
  const bool is_refused = facts.is_cluster.value_or(false);
  if (is_refused && !refused_) {
    calls_.on_refused(kClusterRefused);
  }
  refused_ = is_refused;
  // In doubt nobody is known, unless the operator has said that there is nothing to ask.
  if (facts.is_cluster.value_or(settings_.acl == config::Acl::ask)) {
    facts.users.clear();
    facts.needs_password = true;
  }
  calls_.on_facts(epoch, std::move(facts));
}

Control::Redis Control::open_plainly() const {
  const timeval timeout = to_timeval(settings_.connect_timeout);
  const config::Address& address = settings_.address;
  return Redis(address.is_unix()
                   ? redisConnectUnixWithTimeout(address.unix_path.c_str(), timeout)
                   : redisConnectWithTimeout(address.host.c_str(), address.port, timeout));
}

Control::Redis Control::open_over_tls(std::shared_ptr<const io::TlsCredentials> credentials,
                                      std::string& why) const {
  TlsRelay::Opened relay = TlsRelay::open(settings_, std::move(credentials));
  if (!relay) {
    why = std::move(relay.error());
    return nullptr;
  }
  redisContext* const context = redisConnectFd((*relay)->take_socket());
  return {context, Close{std::move(*relay)}};
}

Control::Redis Control::open(std::string& why) const {
  why = "out of memory";
  auto credentials = tls_ == nullptr ? nullptr : tls_->get();
  Redis redis = credentials ? open_over_tls(std::move(credentials), why) : open_plainly();
  if (!redis || redis->err != 0) {
    why = redis ? redis->errstr : why;
    return nullptr;
  }
  redisSetTimeout(redis.get(), to_timeval(kCallTimeout));
  return redis;
}

Control::Redis Control::connect(std::string& why) const {
  Redis redis = open(why);
  return redis && log_in(*redis, why) ? std::move(redis) : nullptr;
}

bool Control::log_in(redisContext& redis, std::string& why) const {
  const config::Control& control = settings_.control;
  const std::string password =
      control.password_file.empty() ? control.password : read_secret(control.password_file);
  if (password.empty()) {
    return true;
  }
  const std::string user = control.username.empty() ? kDefaultUser : control.username;
  const Reply reply(static_cast<redisReply*>(redisCommand(
      &redis, "AUTH %b %b", user.data(), user.size(), password.data(), password.size())));
  if (!reply || is_error(*reply)) {
    why = reply ? reply->str : redis.errstr;
    return false;
  }
  return true;
}

// Redis refuses before anything else who must authenticate.
std::optional<bool> Control::needs_password() const {
  std::string why;
  const Redis redis = open(why);
  const Reply reply(redis ? static_cast<redisReply*>(redisCommand(redis.get(), "PING")) : nullptr);
  if (!reply) {
    return std::nullopt;
  }
  return is_error(*reply) && text_of(*reply).starts_with("NOAUTH");
}

void Control::tell_reachable(bool reachable, const std::string& why) {
  if (told_ && reachable == reachable_) {
    return;
  }
  told_ = true;
  reachable_ = reachable;
  calls_.on_reachable(reachable, why);
}

bool Control::rest(int redis, std::chrono::milliseconds pause) {
  std::array<pollfd, 2> watched{{{.fd = wake_, .events = POLLIN, .revents = 0},
                                 {.fd = redis, .events = POLLIN, .revents = 0}}};
  ::poll(watched.data(), watched.size(), static_cast<int>(pause.count()));
  std::uint64_t wakes = 0;
  [[maybe_unused]] const ssize_t bytes = ::read(wake_, &wakes, sizeof(wakes));
  // Nothing was asked: whatever comes is the end.
  return watched[1].revents == 0;
}

}  // namespace cuckooguard::upstream
