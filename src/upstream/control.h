// The control connection: what Redis says of itself, asked on a connection of its own, so that the
// guard never answers for Redis where Redis would have refused. hiredis, blocking, in one thread of
// its own; what is asked: upstream/inquiry.h. Quiet: once per kEvery, and at once when refresh() is
// called; while Redis does not serve, once per kRetryEvery; and often enough for Redis's own `timeout`.
//
// The loss of the connection is seen at once, not with the next asking: a Redis that is back may be
// another one. After a reconnect everything is asked anew before on_facts is called again.
//
// `acl: trust`: no user is asked for; whether a client must authenticate at all is tried on a
// connection of its own.
//
// Over TLS the bytes of hiredis go through a TlsRelay.
//
// Threads: construct, start and destroy from the owner's thread; the calls run on the control
// thread. Errors: a Redis that cannot be reached is told once (on_reachable), and so is one in
// cluster mode (on_refused): its facts have no users, and the guard answers nothing. That is no
// reason to end: Redis need not even be up when the guard starts.
// Limits: one connection; each call waits at most kCallTimeout.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "config/config.h"
#include "io/tls_credentials.h"
#include "upstream/facts.h"
#include "upstream/tls_relay.h"

struct redisContext;

namespace cuckooguard::upstream {

class Control {
 public:
  static constexpr std::chrono::seconds kEvery{5};
  static constexpr std::chrono::milliseconds kRetryEvery{200};
  static constexpr std::chrono::seconds kCallTimeout{2};

  struct Calls {
    // Before Redis is asked: what on_facts is given back with the answers, and whom to ask for.
    std::function<std::uint64_t()> epoch;
    std::function<std::vector<std::string>()> users;
    std::function<void(std::uint64_t epoch, Facts)> on_facts;
    std::function<void(bool reachable, const std::string& why)> on_reachable;  // on change only
    std::function<void(const std::string& why)> on_refused;                    // once in a row
  };

  // `tls` outlives it: if it has credentials, connects speak TLS.
  Control(const config::Upstream& settings,
          Questions questions,
          Calls calls,
          const io::TlsSlot* tls = nullptr);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  void start();

  // Ask again now, for example because an ACL command passed by. Any thread.
  void refresh() const;

 private:
  struct Close {
    void operator()(redisContext* context) const;
    std::shared_ptr<TlsRelay> relay;  // of its socket, over TLS
  };
  using Redis = std::unique_ptr<redisContext, Close>;

  void run(const std::stop_token& stop);
  // As long as the connection stands; why it does not any more.
  std::string keep_asking(redisContext& redis, const std::stop_token& stop);
  Redis open(std::string& why) const;
  Redis open_plainly() const;
  Redis open_over_tls(std::shared_ptr<const io::TlsCredentials> credentials,
                      std::string& why) const;
  Redis connect(std::string& why) const;  // and logged in
  bool log_in(redisContext& redis, std::string& why) const;
  std::optional<bool> needs_password() const;
  static std::chrono::milliseconds pause_after(const Facts& facts);
  void tell(std::uint64_t epoch, Facts facts);
  void tell_reachable(bool reachable, const std::string& why);
  // Until refresh(), the end, or `pause` is over. False: `redis` (-1: none) was closed meanwhile.
  bool rest(int redis, std::chrono::milliseconds pause);

  config::Upstream settings_;
  Questions questions_;
  Calls calls_;
  const io::TlsSlot* tls_;
  int wake_;  // eventfd
  bool told_ = false;
  bool reachable_ = false;
  bool refused_ = false;
  std::jthread thread_;
};

}  // namespace cuckooguard::upstream
