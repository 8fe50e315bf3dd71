#include "simulation/sim_control.h"

#include <utility>

namespace cuckooguard::simulation {

SimControl::SimControl(SimLoop& loop,
                       redis::Facts& facts,
                       const RedisStore& redis,
                       std::shared_ptr<const redis::Commands> commands,
                       std::size_t namespaces)
    : loop_(loop),
      facts_(facts),
      redis_(redis),
      commands_(std::move(commands)),
      namespaces_(namespaces) {
  facts_.set_on_doubt([this](auto...) { ask_soon(); });
}

void SimControl::start() {
  ask_soon();
  ask_later();
}

void SimControl::ask_later() {
  loop_.at(kEvery, [this] {
    if (!is_stopped_) {
      ask_soon();
      ask_later();
    }
  });
}

void SimControl::ask_soon() {
  if (is_asking_) {
    is_doubted_ = true;
    return;
  }
  is_asking_ = true;
  loop_.at(std::chrono::microseconds(1), [this] { ask(); });
}

void SimControl::ask() {
  ++askings_;
  is_doubted_ = false;
  const std::uint64_t epoch = facts_.epoch();
  loop_.at(kHalfWay, [this, epoch] {
    loop_.at(kHalfWay, [this, epoch, users = known()] {
      facts_.publish(epoch, {.commands = commands_, .users = users});
      is_asking_ = false;
      if (is_doubted_) {
        ask_soon();
      }
    });
  });
}

redis::Users SimControl::known() const {
  redis::Users users;
  users.default_needs_no_password = redis_.users.at("default").password.empty();
  for (const std::string& name : facts_.users_to_ask()) {
    const auto found = redis_.users.find(name);
    if (found == redis_.users.end()) {
      continue;
    }
    if (found->second.rights == kAllRights) {
      users.unrestricted.insert(name);
      continue;
    }
    redis::UserAccess access;
    if ((found->second.rights & kReadRight) != 0 && (found->second.rights & kWriteRight) != 0) {
      access.on_readable.set();
      access.on_writable.set();
      access.namespaces.assign(namespaces_, redis::KeyAccess::read_write);
    }
    users.restricted[name] = access;
  }
  return users;
}

}  // namespace cuckooguard::simulation
