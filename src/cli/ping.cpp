#include "cli/ping.h"

#include <memory>

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include "io/tls_credentials.h"
#include "upstream/tls_relay.h"

namespace cuckooguard::cli {
namespace {

struct Free {
  void operator()(redisContext* context) const { redisFree(context); }
  void operator()(void* reply) const { freeReplyObject(reply); }
};

using Relay = std::unique_ptr<upstream::TlsRelay>;

// Nothing if there is no TLS.
std::expected<Relay, std::string> open_relay(const Ping& options) {
  if (!options.is_tls) {
    return nullptr;
  }
  const auto credentials = io::TlsCredentials::load(options.tls, options.address);
  if (!credentials) {
    return std::unexpected(credentials.error());
  }
  Relay::element_type::Opened relay = upstream::TlsRelay::open(
      {.address = options.address, .connect_timeout = options.timeout}, *credentials);
  if (!relay) {
    return std::unexpected(
        fmt::format("{}: cannot connect: {}", options.address.text(), relay.error()));
  }
  return std::move(*relay);
}

redisContext* connect(const config::Address& address, upstream::TlsRelay* relay, timeval timeout) {
  if (relay != nullptr) {
    return redisConnectFd(relay->take_socket());
  }
  return address.is_unix() ? redisConnectUnixWithTimeout(address.unix_path.c_str(), timeout)
                           : redisConnectWithTimeout(address.host.c_str(), address.port, timeout);
}

}  // namespace

std::expected<std::string, std::string> ping(const Ping& options) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options.timeout);
  const std::chrono::microseconds rest = options.timeout - seconds;
  const timeval timeout{.tv_sec = seconds.count(), .tv_usec = rest.count()};
  const config::Address& address = options.address;
  const std::expected<Relay, std::string> relay = open_relay(options);
  if (!relay) {
    return std::unexpected(relay.error());
  }
  const std::unique_ptr<redisContext, Free> connection(connect(address, relay->get(), timeout));
  if (connection == nullptr) {
    return std::unexpected("there is not enough memory");
  }
  const auto no_reply = [&](std::string_view what) {
    return std::unexpected(fmt::format("{}: {}: {}", address.text(), what, connection->errstr));
  };
  if (connection->err != 0) {
    return no_reply("cannot connect");
  }
  redisSetTimeout(connection.get(), timeout);
  const std::unique_ptr<void, Free> raw(redisCommand(connection.get(), "PING"));
  if (raw == nullptr) {
    return no_reply("no reply");
  }
  const auto& reply = *static_cast<const redisReply*>(raw.get());
  return reply.str == nullptr ? "a reply\n" : std::string(reply.str, reply.len) + "\n";
}

}  // namespace cuckooguard::cli
