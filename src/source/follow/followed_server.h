// The server that a follower follows, and who asks it for rows: another one's rows would prove
// nothing.
//
// Threads: any.
#pragma once

#include <mutex>
#include <optional>
#include <string>

namespace cuckooguard::source {

template <class Login>
class FollowedServer {
 public:
  struct Known {
    Login login{};
    std::string identity{};
  };

  void is(const Login& login, const std::string& identity) {
    const std::lock_guard lock(mutex_);
    known_ = Known{.login = login, .identity = identity};
  }
  std::optional<Known> known() const {
    const std::lock_guard lock(mutex_);
    return known_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Known> known_;
};

}  // namespace cuckooguard::source
