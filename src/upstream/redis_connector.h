// Connections of hiredis to one Redis, logged in as upstream.control says, over TLS if there are
// credentials: then the bytes go through a TlsRelay.
//
// Threads: any, one at a time. Lifetimes: `tls` outlives it.
// Errors: null with `why`, or LoginRefusal. Limits: open() waits for connect_timeout for a name,
//   and again for each of its addresses; each call on a connection waits for its own time-out. A
//   look-up that hangs is left behind, one at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "io/blocking_thread.h"
#include "io/tls_credentials.h"
#include "upstream/tls_relay.h"

struct redisContext;

namespace cuckooguard::upstream {

// Where something is, and which of the servers that have been behind that address has it: what one
// has said is nothing to the next.
struct RedisPlace {
  // NOLINTNEXTLINE(google-explicit-constructor): an address behind which there is but one
  RedisPlace(config::Upstream its_settings, std::uint64_t its_server = 0)
      : settings(std::move(its_settings)), server(its_server) {}

  config::Upstream settings;
  std::uint64_t server;
  bool is_at(const RedisPlace& other) const {
    return server == other.server && settings.address == other.settings.address;
  }
};

// Whether a failed call got no reply within its time-out.
bool has_timed_out(const redisContext& redis);
// Why it has failed, for operators. `timeout`: the call's.
std::string why_failed(const redisContext& redis, std::chrono::milliseconds timeout);

class RedisConnector {
 public:
  struct Close {
    void operator()(redisContext* context) const;
    std::shared_ptr<TlsRelay> relay;  // of its socket, over TLS
  };
  using Redis = std::unique_ptr<redisContext, Close>;

  struct LoginRefusal {
    std::string why;
    bool is_from_redis = false;  // else the connection failed
  };

  // `tls`: if it has credentials, connects speak TLS; null: never.
  RedisConnector(config::Upstream settings,
                 const io::TlsSlot* tls,
                 std::chrono::milliseconds call_timeout);

  const config::Upstream& settings() const { return settings_; }
  bool has_tls() const { return tls_ != nullptr && tls_->get() != nullptr; }

  Redis open(std::string& why) const;
  Redis open_plainly() const;  // never null; `err` tells
  // Nothing: it is logged in, or has no password to log in with.
  std::optional<LoginRefusal> log_in(redisContext& redis) const;

 private:
  // Nothing: the look-up hangs.
  std::optional<std::vector<config::Address>> addresses_of(const config::Address& name) const;
  Redis open_over_tls(std::shared_ptr<const io::TlsCredentials> credentials,
                      std::string& why) const;

  config::Upstream settings_;
  const io::TlsSlot* tls_;
  std::chrono::milliseconds call_timeout_;
  std::shared_ptr<io::BlockingThread> names_;
};

}  // namespace cuckooguard::upstream
