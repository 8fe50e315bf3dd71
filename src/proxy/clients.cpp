#include "proxy/clients.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace cuckooguard::proxy {
namespace {

constexpr std::array<std::string_view, 1> kTooManyClients{"-ERR max number of clients reached\r\n"};

}  // namespace

Clients::~Clients() {
  worker_.total.open -= sessions_.size();
}

void Clients::admit(std::unique_ptr<io::Transport> client) {
  if (++worker_.total.open > worker_.settings.limits.max_clients) {
    --worker_.total.open;
    client->write(kTooManyClients);  // an empty socket buffer takes 36 bytes
    client->close();
    return;
  }
  ++count_;
  auto session = std::make_unique<Session>(of_sessions_, std::move(client));
  Session* const key = session.get();
  sessions_.emplace(key, std::move(session));
  if (is_draining_) {
    key->drain();
  }
}

void Clients::drain(std::function<void()> on_empty) {
  is_draining_ = true;
  on_empty_ = std::move(on_empty);
  for (const auto& [session, owned] : sessions_) {
    session->drain();
  }
  tell_if_empty();
}

void Clients::cut_off() {
  std::vector<Session*> left;  // who ends is gone from the map
  left.reserve(sessions_.size());
  for (const auto& [session, owned] : sessions_) {
    left.push_back(session);
  }
  for (Session* const session : left) {
    session->cut_off();
  }
}

void Clients::tell_if_empty() {
  if (sessions_.empty() && on_empty_) {
    std::exchange(on_empty_, nullptr)();
  }
}

void Clients::on_limits_changed() {
  idle_.timeout_changed();
  for (const auto& [session, owned] : sessions_) {
    session->on_limits_changed();
  }
}

void Clients::on_upstream_loss(const resp::ConnectionState& told) const {
  if (told.login) {
    const std::string& user = told.login->user;
    worker_.guard.parts().facts.doubt_user(user.empty() ? "default" : user);
  }
}

void Clients::on_session_end(Session& session) {
  const auto found = sessions_.find(&session);
  worker_.loop.bury(std::move(found->second));
  sessions_.erase(found);
  --worker_.total.open;
  --count_;
  tell_if_empty();
}

}  // namespace cuckooguard::proxy
