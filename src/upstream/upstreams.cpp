#include "upstream/upstreams.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cuckooguard::upstream {
namespace {

template <typename All>
auto place_of(All& all, const SharedUpstream& shared) {
  return std::ranges::find(all, &shared, [](const auto& one) { return one.get(); });
}

}  // namespace

Upstreams::Upstreams(io::Loop& loop,
                     const config::Upstream& settings,
                     SharedUpstream::OnLoss on_loss,
                     std::function<std::uint64_t()> version)
    : loop_(loop),
      settings_(settings),
      on_loss_(std::move(on_loss)),
      probe_(loop, settings, std::move(version), [this] { on_login_wanted(); }) {}

SharedUpstream& Upstreams::join(resp::ConnectionState told, SharedUpstream::Member& member) {
  dispose_unused();
  told.labels = {};
  auto found = std::ranges::find_if(
      shared_, [&](const auto& one) { return one->told() == told && one->takes_newcomers(); });
  if (found == shared_.end()) {
    shared_.push_back(
        std::make_unique<SharedUpstream>(loop_, settings_, std::move(told), probe_, on_loss_));
    found = std::prev(shared_.end());
  }
  (*found)->join(member);
  return **found;
}

void Upstreams::leave(SharedUpstream& shared, SharedUpstream::Member& member) {
  shared.leave(member);
  dispose_unused();
}

void Upstreams::dispose_unused() {
  for (auto* const all : {&shared_, &retired_}) {
    for (auto& shared : *all) {
      if (shared->is_unused()) {
        shared->close_if_unused();
        loop_.dispose(std::move(shared));
      }
    }
    std::erase(*all, nullptr);
  }
}

bool Upstreams::is_unused() {
  dispose_unused();
  return shared_.empty() && retired_.empty() && kept_.empty();
}

// What was opened before is worth more than what a new client would get. What is kept is lent to no
// newcomer anyway.
void Upstreams::on_login_wanted() {
  for (const auto& shared : shared_) {
    if (!shared->told().login) {
      shared->take_no_newcomers();
    }
  }
}

void Upstreams::retire(const SharedUpstream& shared, io::TimePoint opened_at) {
  const auto in_use = place_of(shared_, shared);
  if (in_use != shared_.end() && may_retire(opened_at)) {
    retired_.push_back(std::move(*in_use));
    shared_.erase(in_use);
    while (!kept_.empty()) {
      forget(kept_.front());
    }
  }
}

void Upstreams::forget_all(io::TimePoint before) {
  for (auto& shared : shared_) {
    if (shared->has_older_than(before)) {
      retired_.push_back(std::move(shared));
    }
  }
  std::erase(shared_, nullptr);
  std::vector<const Kept*> older;
  for (const Kept& kept : kept_) {
    if (kept.connection->opened_at() < before) {
      older.push_back(&kept);
    }
  }
  for (const Kept* const kept : older) {
    forget(*kept);
  }
  dispose_unused();
  probe_.ask_anew();
}

bool Upstreams::is_retired(const SharedUpstream& shared) const {
  return !retired_.empty() && place_of(retired_, shared) != retired_.end();
}

// The one that was used last, so that the others get a chance to grow old; but one of the same db
// needs not to be told.
std::unique_ptr<GreetedConnection> Upstreams::lease(const resp::ConnectionState& told,
                                                    GreetedConnection::Owner& owner) {
  auto best = kept_.rend();
  for (auto kept = kept_.rbegin(); kept != kept_.rend(); ++kept) {
    const resp::ConnectionState& known = kept->connection->told();
    // READWRITE may be forbidden to who may say READONLY.
    const bool is_bound = known.reads_replica && !told.reads_replica;
    if (known.version != told.version || known.login != told.login || is_bound) {
      continue;
    }
    if (known.db == told.db) {
      best = kept;
      break;
    }
    best = best == kept_.rend() ? kept : best;
  }
  if (best == kept_.rend()) {
    return open(told, owner);
  }
  std::unique_ptr<GreetedConnection> connection = std::move(best->connection);
  const bool is_proven = loop_.now() - best->since <= kProvenFor;
  kept_.erase(std::next(best).base());
  connection->belong_to(owner);
  (void)connection->greet(told);  // of the same version and user
  if (!is_proven) {
    connection->touch();
  }
  return connection;
}

std::unique_ptr<GreetedConnection> Upstreams::open(const resp::ConnectionState& told,
                                                   GreetedConnection::Owner& owner) {
  return std::make_unique<GreetedConnection>(loop_, settings_, told, owner, &probe_);
}

void Upstreams::give_back(std::unique_ptr<GreetedConnection> connection,
                          const resp::ConnectionState& told) {
  connection->was_told(told);
  connection->set_reading(true);
  if (kept_.size() == kKeptMax) {
    forget(kept_.front());
  }
  Kept& kept = kept_.emplace_back(*this);
  connection->belong_to(kept);
  kept.connection = std::move(connection);
  kept.since = loop_.now();
  kept.until = loop_.after(kKeptFor, [this, &kept] { forget(kept); });
}

void Upstreams::forget(const Kept& kept) {
  const auto place = std::ranges::find(kept_, &kept, [](const Kept& one) { return &one; });
  place->connection->close();
  loop_.dispose(std::move(place->connection));
  kept_.erase(place);
}

}  // namespace cuckooguard::upstream
