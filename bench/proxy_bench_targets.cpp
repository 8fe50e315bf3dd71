#include "proxy_bench_targets.h"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <sys/resource.h>

#include "harness/certificates.h"
#include "harness/ports.h"
#include "harness/redis_command.h"

namespace cuckooguard::bench {
namespace {

using harness::RawClient;

constexpr std::string_view kTwemproxyProgram = "/usr/sbin/nutcracker";
constexpr std::string_view kHaproxyProgram = "/usr/sbin/haproxy";
constexpr int kPortsTried = 20;
constexpr unsigned kClientsMax = 20'000;

// As many threads as the guard has by itself: half of the cores. twemproxy has one, whatever there
// are.
unsigned threads() {
  return std::max(1U, std::thread::hardware_concurrency() / 2);
}

std::string twemproxy_config(std::uint16_t port, const harness::RedisServer& redis) {
  return fmt::format(
      "bench:\n  listen: 127.0.0.1:{}\n  hash: fnv1a_64\n  distribution: ketama\n  redis: true\n"
      "  backlog: 1024\n  auto_eject_hosts: false\n  servers:\n   - {}:1\n",
      port,
      redis.address());
}

// HAProxy does not start if it could not have the descriptors for all connections that it would
// accept. The key of server.crt is in server.key.
std::string haproxy_config(std::uint16_t port, std::uint16_t tls_port, const BenchRedis& redis) {
  constexpr rlim_t kOtherDescriptors = 200;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t connections =
      (std::min<rlim_t>(limit.rlim_max, 2 * kClientsMax) - kOtherDescriptors) / 2;
  return fmt::format(
      "global\n  maxconn {}\n  nbthread {}\n  ssl-load-extra-del-ext\ndefaults\n  mode tcp\n  "
      "maxconn {}\n"
      "  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\nlisten redis\n"
      "  bind 127.0.0.1:{}\n  bind 127.0.0.1:{} ssl crt {}\n  server redis {}\n",
      connections,
      threads(),
      connections,
      port,
      tls_port,
      redis.certificate_file("server.crt"),
      redis.server().address());
}

bool answers(std::uint16_t port) {
  try {
    return RawClient::to_port(port).call({"PING"}) == harness::kPong;
  } catch (const std::runtime_error&) {  // not listening yet
    return false;
  }
}

void fill(const harness::RedisServer& redis) {
  constexpr std::uint64_t kAtOnce = 1000;
  RawClient client = redis.client();
  for (std::uint64_t row = 0; row < kRows; row += kAtOnce) {
    std::string commands;
    for (std::uint64_t i = row; i < row + kAtOnce; ++i) {
      commands += harness::command({"SET", key(kFirstRow + i), value()});
    }
    client.exchange(commands, kAtOnce);
  }
  for (const LargeRows& large : kLarge) {
    const std::string value = bench::value(large.value_bytes);
    for (std::uint64_t row = 0; row < kLargeRows; ++row) {
      client.call({"SET", key(large.first + row), value});
    }
  }
}

void expect(std::string_view what, const std::string& reply, std::string_view good) {
  if (reply != good) {
    throw std::runtime_error(fmt::format("{} is answered {}", what, harness::shown(reply)));
  }
}

}  // namespace

// A connect to a Unix socket does not wait for room in the backlog, as one to a port does.
BenchRedis::BenchRedis() : tls_port_(harness::free_port()), server_(arguments()) {
  fill(server_);
  std::string rows;
  for (std::uint64_t row = 0; row < kRows; ++row) {
    rows += std::to_string(kFirstRow + row) + "\n";
  }
  for (const LargeRows& large : kLarge) {
    for (std::uint64_t row = 0; row < kLargeRows; ++row) {
      rows += std::to_string(large.first + row) + "\n";
    }
  }
  harness::write_whole_file(rows_file(), rows);
}

std::vector<std::string> BenchRedis::arguments() const {
  harness::write_certificates(folder_.path());
  auto arguments = harness::redis_tls_arguments(folder_.path(), tls_port_, "no");
  const std::initializer_list<std::string> many{
      "--maxclients", std::to_string(kClientsMax), "--tcp-backlog", "4096"};
  arguments.insert(arguments.begin(), many);
  return arguments;
}

OtherProxy::OtherProxy(Kind kind, const BenchRedis& redis)
    : directory_(std::make_unique<harness::TemporaryDirectory>()) {
  for (int attempt = 0; attempt < kPortsTried; ++attempt) {
    if (start(kind, redis)) {
      return;
    }
  }
  throw std::runtime_error("it does not start: " +
                           harness::read_whole_file(*directory_ / "errors"));
}

bool OtherProxy::start(Kind kind, const BenchRedis& redis) {
  const bool is_twemproxy = kind == Kind::twemproxy;
  const std::string_view program = is_twemproxy ? kTwemproxyProgram : kHaproxyProgram;
  if (!std::filesystem::exists(program)) {
    throw std::runtime_error(fmt::format("there is no {}", program));
  }
  port_ = harness::free_port();
  tls_port_ = harness::free_port();
  const std::string config = *directory_ / "config";
  harness::write_whole_file(config,
                            is_twemproxy ? twemproxy_config(port_, redis.server())
                                         : haproxy_config(port_, tls_port_, redis));
  std::vector<std::string> command{std::string(program)};
  if (is_twemproxy) {
    const std::string statistics_port = std::to_string(harness::free_port());
    std::ranges::copy(
        std::array<std::string, 8>{
            "-c", config, "-a", "127.0.0.1", "-s", statistics_port, "-o", *directory_ / "log"},
        std::back_inserter(command));
  } else {
    std::ranges::copy(std::array<std::string, 3>{"-db", "-f", config}, std::back_inserter(command));
  }
  process_ = std::make_unique<harness::ChildProcess>(
      std::move(command),
      harness::ChildProcess::Output{*directory_ / "output", *directory_ / "errors"});
  return harness::eventually([this] { return answers(port_) || !process_->is_running(); }) &&
         process_->is_running();
}

Target::Target(const TargetPlan& plan, const BenchRedis& redis) : plan_(plan), redis_(redis) {
  switch (plan_.kind) {
    case Kind::direct:
      break;
    case Kind::guard:
      start_guard();
      break;
    case Kind::twemproxy:
    case Kind::haproxy:
      other_.emplace(plan_.kind, redis_);
      break;
  }
  check_replies();
}

std::uint16_t Target::port() const {
  if (guard_) {
    return guard_->tls_port();
  }
  if (other_) {
    return plan_.is_tls ? other_->tls_port() : other_->port();
  }
  return plan_.is_tls ? redis_.tls_port() : redis_.server().port();
}

Loaded Target::loaded() const {
  Loaded loaded{.name = name(), .port = port(), .proxy = proxy_pid(), .redis = {redis_pid()}};
  if (plan_.is_tls) {
    loaded.options = {"--tls", "--cacert", redis_.certificate_file("ca.crt")};
  } else if (plan_.is_unix) {
    loaded.options = {"-s", guard_->unix_path().string()};  // in place of the port
  }
  return loaded;
}

harness::RawClient Target::client() const {
  if (guard_) {
    return guard_->client();
  }
  return other_ ? RawClient::to_port(other_->port()) : redis_.server().client();
}

std::optional<pid_t> Target::proxy_pid() const {
  if (guard_) {
    return guard_->pid();
  }
  return other_ ? std::optional(other_->pid()) : std::nullopt;
}

void Target::start_guard() {
  std::string upstream = plan_.is_upstream_unix ? "unix:" + redis_.server().unix_path().string()
                                                : redis_.server().address();
  if (plan_.is_upstream_tls) {
    upstream = fmt::format("127.0.0.1:{}", redis_.tls_port());
  }
  const std::string upstream_tls =
      plan_.is_upstream_tls
          ? fmt::format(", tls: {{ ca: \"{}\" }}", redis_.certificate_file("ca.crt"))
          : "";
  const std::string yaml = fmt::format(
      "upstream: {{ address: \"{}\", mode: {}{} }}\n"
      "sources:\n  rows: {{ type: file, path: \"{}\" }}\n"
      "namespaces:\n  users: {{ keys: \"user:{{id:uint64}}\", source: {{ from: rows }}, "
      "mode: enforce, overlay: {{ pass_at_start: false }}, absent_reply: nil, fresh_ids: 0 }}\n"
      "limits: {{ max_clients: {} }}\n",
      upstream,
      plan_.mode,
      upstream_tls,
      redis_.rows_file().string(),
      kClientsMax);
  const std::string certificate = fmt::format("{{ cert: \"{}\", key: \"{}\" }}",
                                              redis_.certificate_file("server.crt"),
                                              redis_.certificate_file("server.key"));
  guard_.emplace(plan_.is_tls ? harness::GuardProcess::on_tls_port(
                                    yaml, {certificate, redis_.certificate_file("ca.crt")})
                 : plan_.is_unix ? harness::GuardProcess::on_unix_socket(yaml)
                                 : harness::GuardProcess::on_port(yaml));
  check_absent_keys_are_stopped();
}

// Ready only once all rows are read: until then absent keys reach Redis.
void Target::check_absent_keys_are_stopped() const {
  constexpr std::uint64_t kAsked = 1000;
  constexpr std::uint64_t kMistaken = kAsked / 50;  // for rows; a filter is allowed 0.2 %
  RawClient client = guard_->client();
  const auto are_stopped = [&] {
    const std::uint64_t before = redis_.server().calls("get");
    for (std::uint64_t i = 0; i < kAsked; ++i) {
      expect("an absent key", client.call({"GET", key(kFirstAbsent + i)}), harness::kNil);
    }
    return redis_.server().calls("get") - before <= kMistaken;
  };
  if (!harness::eventually(are_stopped)) {
    throw std::runtime_error("absent keys reach Redis: " + guard_->log());
  }
}

void Target::check_replies() const {
  RawClient asking = client();
  for (const std::uint64_t row : {std::uint64_t{0}, kRows / 2, kRows - 1}) {
    expect("a row's key", asking.call({"GET", key(kFirstRow + row)}), harness::bulk(value()));
  }
  for (const LargeRows& large : kLarge) {
    expect("a large row's key",
           asking.call({"GET", key(large.first + kLargeRows - 1)}),
           harness::bulk(value(large.value_bytes)));
  }
  expect("an absent key", asking.call({"GET", key(kFirstAbsent)}), harness::kNil);
  expect("MGET",
         asking.call({"MGET", key(kFirstRow), key(kFirstAbsent), key(kFirstRow + 1)}),
         "*3\r\n" + harness::bulk(value()) + std::string(harness::kNil) + harness::bulk(value()));
  expect("SET", asking.call({"SET", key(kFirstRow), value()}), harness::kOk);
}

}  // namespace cuckooguard::bench
