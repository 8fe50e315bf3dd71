// The control connection: what Redis says about its users, asked on a connection of its own, so
// that the guard never answers for Redis where Redis would have refused (DESIGN 6: nothing is
// answered to a user who is not known to be allowed). hiredis, blocking, in one thread of its own;
// quiet: one ACL GETUSER per kEvery.
//
// Threads: construct, start and destroy from the owner's thread; on_users runs on the control
// thread. Errors: a Redis that cannot be reached or that does not let us ask is reported as no
// known users only if it has answered so; while it is down the last answer stands (absent keys are
// still answered while Redis is down). Limits: one connection; each call waits at most
// kCallTimeout.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "config/config.h"

struct redisContext;

namespace cuckooguard::upstream {

struct UserFacts {
  std::string name;
  bool unrestricted = false;  // enabled, every command, every key
  bool needs_no_password = false;
};

class Control {
 public:
  static constexpr std::chrono::seconds kEvery{5};
  static constexpr std::chrono::milliseconds kRetryEvery{200};
  static constexpr std::chrono::seconds kCallTimeout{2};

  struct Calls {
    std::function<void(std::vector<UserFacts>)> on_users;
    std::function<void(bool reachable, const std::string& why)> on_reachable;  // on change only
  };

  Control(const config::Upstream& settings, Calls calls);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  void start();

  // Ask again now, for example because an ACL command passed by. Any thread.
  void refresh();

 private:
  struct Close {
    void operator()(redisContext* context) const;
  };
  using Redis = std::unique_ptr<redisContext, Close>;

  void run(const std::stop_token& stop);
  Redis connect(std::string& why) const;
  bool ask_users(redisContext& redis);
  void tell_reachable(bool reachable, const std::string& why);

  config::Upstream settings_;
  Calls calls_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  bool refresh_ = false;
  bool told_ = false;
  bool reachable_ = false;
  std::jthread thread_;
};

// From the reply to ACL GETUSER (Redis 6 and 7 differ in how they write keys); exposed for its
// test.
struct AclUser {
  std::vector<std::string> flags;
  std::string commands;
  std::vector<std::string> keys;
  bool has_selectors = false;
};
UserFacts facts_of(const std::string& name, const AclUser& user);

}  // namespace cuckooguard::upstream
