#include "proxy/clients.h"

#include <array>
#include <ranges>
#include <string_view>
#include <utility>

namespace cuckooguard::proxy {
namespace {

constexpr std::array<std::string_view, 1> kTooManyClients{"-ERR max number of clients reached\r\n"};

}  // namespace

Clients::~Clients() {
  known_->close();
  worker_.total.open -= sessions_.size() - gone_.size();
  worker_.total.gone -= gone_.size();
}

void Clients::admit(std::unique_ptr<io::Transport> client) {
  expect();
  admit_expected(std::move(client));
}

void Clients::admit_expected(std::unique_ptr<io::Transport> client,
                             std::unique_ptr<RewrittenReplies> rewritten,
                             text::Network from) {
  if (!client) {
    --count_;
    return;
  }
  if (++worker_.total.open > worker_.settings.limits.max_clients) {
    --worker_.total.open;
    ++worker_.total.refused;
    --count_;
    client->write(kTooManyClients);  // an empty socket buffer takes 36 bytes
    client->close();
    return;
  }
  make_room();
  auto session = std::make_unique<Session>(of_sessions_, std::move(client), std::move(rewritten));
  Session* const key = session.get();
  key->came_from(from);
  sessions_.emplace(key, Admitted{.session = std::move(session), .gone = std::nullopt});
  if (is_draining_) {
    key->drain();
  }
}

// A waiter may be gone, or another one by now, who is told in vain.
void Clients::keep_promises() {
  for (void* const waiter : known_->take()) {
    if (const auto found = sessions_.find(static_cast<Session*>(waiter));
        found != sessions_.end()) {
      found->first->keep_promises();
    }
  }
}

void Clients::make_room() {
  const std::size_t most = worker_.settings.limits.max_clients;
  const bool is_full = worker_.total.open + worker_.total.gone > most;
  if (is_full && !gone_.empty() && (gone_.front()->waits_in_vain() || worker_.total.gone > most)) {
    gone_.front()->end();
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
  for (Session* const session : all()) {
    session->cut_off();
  }
}

void Clients::on_upstream_changed(io::TimePoint before, bool keeps_subscribers) {
  upstreams_.forget_all(before);  // first: who goes on joins those to come
  for (Session* const session : all()) {
    session->on_upstream_changed(before, keeps_subscribers);
  }
}

// Who ends is gone from the map.
std::vector<Session*> Clients::all() const {
  const auto sessions = sessions_ | std::views::keys;
  return {sessions.begin(), sessions.end()};
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
    worker_.guard.parts().facts.doubt();  // the user may be gone
  }
}

void Clients::on_client_gone(Session& session) {
  sessions_.find(&session)->second.gone = gone_.insert(gone_.end(), &session);
  --worker_.total.open;
  ++worker_.total.gone;
}

void Clients::on_session_end(Session& session) {
  const auto found = sessions_.find(&session);
  if (const auto gone = found->second.gone) {
    gone_.erase(*gone);
    --worker_.total.gone;
  } else {
    --worker_.total.open;
  }
  worker_.loop.dispose(std::move(found->second.session));
  sessions_.erase(found);
  --count_;
  tell_if_empty();
}

}  // namespace cuckooguard::proxy
