#include "proxy/clients.h"

#include <array>
#include <ranges>
#include <string_view>
#include <utility>

#include "proxy/balance.h"

namespace cuckooguard::proxy {
namespace {

constexpr std::array<std::string_view, 1> kTooManyClients{"-ERR max number of clients reached\r\n"};

}  // namespace

// A client of another worker that is to come to this one.
struct Clients::Newcomer final : io::Disposable, upstream::GreetedConnection::Owner {
  Newcomer(Clients& here, Clients& there, Session* one, Adopt adopting)
      : to(here),
        from(there),
        session(one),
        told(one->told_by_sharing()),
        adopt(std::move(adopting)) {}
  ~Newcomer() override {
    if (connection) {
      connection->close();
    }
  }
  Newcomer(const Newcomer&) = delete;
  Newcomer& operator=(const Newcomer&) = delete;

  void on_upstream_up() override {
    if (!std::exchange(is_asked_for, true)) {
      to.ask_for_newcomer();
    }
  }
  void on_upstream_bytes(std::string_view) override { on_upstream_lost(); }
  void on_upstream_progress() override {}
  void on_upstream_lost() override {
    if (is_asked_for) {
      connection->close();
      to.worker_.loop.dispose(std::move(connection));
    } else {
      to.worker_.loop.dispose(std::move(to.newcomer_));
    }
  }

  Clients& to;
  Clients& from;
  Session* session;  // of `from`, which alone knows whether it is still there
  std::optional<resp::ConnectionState> told;
  Adopt adopt;
  std::unique_ptr<upstream::GreetedConnection> connection{};
  bool is_asked_for = false;
};

Clients::Clients(Worker worker)
    : worker_(worker),
      idle_(worker.loop, worker.settings.limits),
      held_(worker.loop),
      proofs_(worker.loop),
      known_(std::make_shared<guard::KnownReplies>(
          [this] { worker_.loop.post([this] { keep_promises(); }); })),
      reply_clock_(worker.loop, worker.guard),
      upstreams_(
          worker.loop,
          worker.settings.upstream,
          [this](const resp::ConnectionState& told) { on_upstream_loss(told); },
          [this] { return worker_.guard.parts().facts.withdrawals(); }),
      of_sessions_{.loop = worker.loop,
                   .guard = worker.guard,
                   .own_commands = worker.own_commands,
                   .arguments = arguments_,
                   .arguments_behind = arguments_behind_,
                   .run = run_,
                   .settings = worker.settings,
                   .idle = idle_,
                   .held = held_,
                   .proofs = proofs_,
                   .known = known_,
                   .reply_clock = reply_clock_,
                   .route = {.loop = worker.loop,
                             .upstreams = upstreams_,
                             .settings = worker.settings.upstream,
                             .in_flight_max = worker.settings.limits.inflight_per_client},
                   .owner = *this} {}

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
    tell_if_empty();
    return;
  }
  if (++worker_.total.open > worker_.settings.limits.max_clients) {
    --worker_.total.open;
    ++worker_.total.refused;
    --count_;
    client->write(kTooManyClients);  // an empty socket buffer takes 36 bytes
    client->close();
    tell_if_empty();
    return;
  }
  make_room();
  Session& session = add(std::move(client), std::move(rewritten));
  session.came_from(from);
  if (is_draining_) {
    session.drain();
  }
}

Session& Clients::add(std::unique_ptr<io::Transport> client,
                      std::unique_ptr<RewrittenReplies> rewritten) {
  auto session = std::make_unique<Session>(of_sessions_, std::move(client), std::move(rewritten));
  Session& added = *session;
  sessions_.emplace(
      &added, Admitted{.session = std::move(session), .gone = std::nullopt, .number = ++admitted_});
  return added;
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
  if (newcomer_ && newcomer_->connection && newcomer_->connection->opened_at() < before) {
    newcomer_->on_upstream_lost();
  }
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
  if (count_ == 0 && on_empty_) {
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
  remove(found);
}

void Clients::remove(std::unordered_map<Session*, Admitted>::iterator session) {
  worker_.loop.dispose(std::move(session->second.session));
  sessions_.erase(session);
  --count_;
  tell_if_empty();
}

// --- a client that moves to another worker ---

void Clients::give_one(Clients& to, unsigned best, Adopt adopt) {
  Session* const session = is_draining_ ? nullptr : choose(best);
  if (session != nullptr) {
    const auto newcomer = std::make_shared<std::unique_ptr<Newcomer>>(
        std::make_unique<Newcomer>(to, *this, session, std::move(adopt)));
    to.worker_.loop.post([&to, newcomer] { to.expect_moved(std::move(*newcomer)); });
  }
}

Session* Clients::choose(unsigned best) {
  const io::TimePoint now = worker_.loop.now();
  const bool is_measured = now - std::exchange(measured_at_, now) <= 2 * Balance::kLookEvery;
  std::uint64_t total = 1;
  for (const auto& [session, owned] : sessions_) {
    total += session->work();
  }
  Session* chosen = nullptr;
  std::pair least(~0U, std::uint64_t{0});  // of equals the one that came first
  for (const auto& [session, owned] : sessions_) {
    const auto share = static_cast<unsigned>(std::uint64_t{session->take_work()} * 1000 / total);
    const auto distance = Balance::distance(share, best);
    const std::pair rank(distance.value_or(~0U), owned.number);
    if (is_measured && distance && rank < least && session->may_move()) {
      least = rank;
      chosen = session;
    }
  }
  return chosen;
}

void Clients::expect_moved(std::unique_ptr<Newcomer> newcomer) {
  if (is_draining_ || newcomer_) {
    return;
  }
  newcomer_ = std::move(newcomer);
  if (const auto& told = newcomer_->told) {
    newcomer_->connection = upstreams_.open(*told, *newcomer_);
    newcomer_->connection->touch();
  } else {
    newcomer_->on_upstream_up();
  }
}

void Clients::ask_for_newcomer() {
  expect();
  newcomer_->from.worker_.loop.post([this, newcomer = newcomer_.get()] {
    worker_.loop.post([this, moved = newcomer->from.let_go(*newcomer)] { admit_moved(moved); });
  });
}

// Null: it has gone, or is in the middle of something.
std::shared_ptr<Session::Moved> Clients::let_go(const Newcomer& newcomer) {
  const auto found = sessions_.find(newcomer.session);
  if (found == sessions_.end() || is_draining_ || !found->first->may_move() ||
      found->first->told_by_sharing() != newcomer.told) {
    return nullptr;
  }
  const auto moved = std::make_shared<Session::Moved>(found->first->move_out());
  remove(found);
  return moved;
}

void Clients::admit_moved(const std::shared_ptr<Session::Moved>& moved) {
  Newcomer& newcomer = *newcomer_;
  worker_.loop.dispose(std::move(newcomer_));
  auto client = moved ? newcomer.adopt(moved->socket) : nullptr;
  if (!client) {
    if (moved) {
      --worker_.total.open;
      moved->client.ended();
    }
    --count_;
    tell_if_empty();
    return;
  }
  ++worker_.total.moved;
  Session& session = add(std::move(client), nullptr);
  session.move_in(std::move(*moved), std::move(newcomer.connection));
  if (is_draining_) {
    session.drain();
  }
}

}  // namespace cuckooguard::proxy
