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

SharedUpstream& Upstreams::join(resp::ConnectionState told, SharedUpstream::Member& member) {
  bury_unused();
  told.labels = {};
  auto found = std::ranges::find(shared_, told, [](const auto& one) { return one->told(); });
  if (found == shared_.end()) {
    shared_.push_back(
        std::make_unique<SharedUpstream>(loop_, settings_, std::move(told), on_loss_));
    found = std::prev(shared_.end());
  }
  (*found)->join(member);
  return **found;
}

void Upstreams::leave(SharedUpstream& shared, SharedUpstream::Member& member) {
  shared.leave(member);
  bury_unused();
}

void Upstreams::bury_unused() {
  for (auto* const all : {&shared_, &retired_}) {
    for (auto& shared : *all) {
      if (shared->is_unused()) {
        loop_.bury(std::move(shared));
      }
    }
    std::erase(*all, nullptr);
  }
}

void Upstreams::retire(const SharedUpstream& shared) {
  const auto in_use = place_of(shared_, shared);
  if (in_use != shared_.end() && may_retire(shared.opened_at())) {
    retired_.push_back(std::move(*in_use));
    shared_.erase(in_use);
    while (!kept_.empty()) {
      forget(kept_.front());
    }
  }
}

bool Upstreams::is_retired(const SharedUpstream& shared) const {
  return !retired_.empty() && place_of(retired_, shared) != retired_.end();
}

std::unique_ptr<GreetedConnection> Upstreams::lease(const resp::ConnectionState& told,
                                                    GreetedConnection::Owner& owner) {
  // The one that was used last: the others get a chance to grow old.
  for (auto kept = kept_.rbegin(); kept != kept_.rend(); ++kept) {
    const resp::ConnectionState& known = kept->connection->told();
    if (known.version == told.version && known.login == told.login) {
      std::unique_ptr<GreetedConnection> connection = std::move(kept->connection);
      kept_.erase(std::next(kept).base());
      connection->belong_to(owner);
      (void)connection->greet(told);  // of the same version and user
      return connection;
    }
  }
  return std::make_unique<GreetedConnection>(loop_, settings_, told, owner);
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
  kept.until = loop_.after(kKeptFor, [this, &kept] { forget(kept); });
}

void Upstreams::forget(const Kept& kept) {
  const auto place = std::ranges::find(kept_, &kept, [](const Kept& one) { return &one; });
  place->connection->close();
  loop_.bury(std::move(place->connection));
  kept_.erase(place);
}

}  // namespace cuckooguard::upstream
