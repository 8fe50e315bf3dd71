#include "upstream/route.h"

#include <utility>

namespace cuckooguard::upstream {

using Entry = LoginProbe::Entry;

Route::Route(const Worker& worker, Owner& owner) : worker_(worker), owner_(owner) {
  if (is_pinned()) {
    is_for_good_ = true;
    GreetedConnection::Owner& self = *this;
    own_ = std::make_unique<GreetedConnection>(worker_.loop, worker_.settings, owner_.told(), self);
  }
}

bool Route::choose(redis::Lane lane, bool is_owed, Needs needs) {
  if (is_lost_) {
    return true;  // nothing will be sent
  }
  const bool needs_new = lane == redis::Lane::new_own || lane == redis::Lane::for_good;
  if (own_ && needs_new && !is_new_ && !is_for_good_ && owner_.is_transferable()) {
    if (is_owed) {
      return false;
    }
    settle();
  }
  if (!own_) {
    const bool reads_large_values = shared_ != nullptr && shared_->reads_large_values(*this);
    if (redis::is_shared(lane) && !reads_large_values) {
      return choose_shared(lane == redis::Lane::reads ? Access::read : Access::write, is_owed);
    }
    if (is_owed || !take_lease(needs_new, needs.waits_for_writes)) {
      return false;
    }
  }
  if (lane != redis::Lane::for_good || is_for_good_) {
    return true;
  }
  is_for_good_ = needs.ends_client || may_keep_for_good(is_owed);
  return is_for_good_;
}

// False: a reply that is owed, or on_upstream_up(), will tell.
bool Route::may_keep_for_good(bool is_owed) {
  if (!is_member() || owner_.told().login || answered_ == Answered::yes ||
      owner_.has_unread_replies()) {  // it is kept anyway
    return true;
  }
  if (is_owed || answered_ == Answered::asked) {
    return false;
  }
  if (!owner_.is_transferable()) {
    return true;  // Redis has accepted MULTI, or the like, there
  }
  answered_ = Answered::asked;
  own_->touch();
  return false;
}

bool Route::choose_shared(Access access, bool is_owed) {
  if (shared_ != nullptr && worker_.upstreams.is_retired(*shared_)) {
    if (is_owed) {
      return false;
    }
    leave_shared();
  }
  if (shared_ == nullptr) {
    bool is_known = true;
    if (!is_let_in(is_known)) {
      return is_known && !is_owed && take_lease(true);
    }
    join(owner_.told());
  }
  return shared_->in_flight(*this) < worker_.in_flight_max && shared_->may_send(*this, access);
}

// Whether the client may be given what others have had. Not known: on_entry_known() will tell.
bool Route::is_let_in(bool& is_known) {
  // Redis has said so, to this client; or it has been let in, and keeps what it has.
  if (owner_.told().login || is_member()) {
    return true;
  }
  LoginProbe& probe = worker_.upstreams.login_probe();
  const Entry entry = probe.entry();
  is_known = entry != Entry::not_known;
  if (!is_known) {
    probe.wait(*this);
  }
  return entry == Entry::open;
}

bool Route::take_lease(bool is_new, bool waits_for_writes) {
  bool is_known = true;
  is_new_ = is_new || !is_let_in(is_known);
  if (!is_known) {
    return false;
  }
  const resp::ConnectionState told = owner_.told();
  is_unused_ = true;
  answered_ = Answered::not_asked;
  own_ = is_new_ ? worker_.upstreams.open(told, *this) : worker_.upstreams.lease(told, *this);
  if (waits_for_writes) {
    own_->touch();
  }
  if (own_->state() == Connection::State::up) {
    owner_.on_upstream_up();
  }
  return true;
}

void Route::send(std::string_view bytes, std::size_t commands) {
  is_unused_ = false;
  if (own_) {
    own_->send(bytes);
  } else {
    shared_->send(*this, bytes, static_cast<std::uint32_t>(commands));
  }
}

bool Route::is_member_as_told(const resp::ConnectionState& told) const {
  if (!is_member() || worker_.upstreams.is_retired(*shared_)) {
    return false;
  }
  const resp::ConnectionState& known = shared_->told();
  return known.version == told.version && known.db == told.db && known.login == told.login &&
         known.reads_replica == told.reads_replica;
}

void Route::settle() {
  const bool waits_for_good = answered_ != Answered::not_asked;
  if (!own_ || is_for_good_ || waits_for_good || is_lost_ || own_->unsent() > 0 ||
      !owner_.is_transferable()) {
    return;
  }
  resp::ConnectionState told = owner_.told();
  if (!is_member_as_told(told)) {
    bool is_known = true;
    const bool is_let_in_now = is_let_in(is_known);
    leave_shared();
    if (!is_let_in_now) {
      return;
    }
    join(told);
  }
  if (!shared_->is_proven()) {
    return;
  }
  if (std::exchange(is_retired_, false)) {
    drop_own();
  } else {
    worker_.upstreams.give_back(std::move(own_), told);
  }
}

bool Route::is_at_rest() const {
  return !own_ && !is_lost_ &&
         (shared_ == nullptr ||
          (shared_->in_flight(*this) == 0 && is_member_as_told(owner_.told())));
}

void Route::begin_with(std::unique_ptr<GreetedConnection> own) {
  is_unused_ = true;
  own_ = std::move(own);
  own_->belong_to(*this);
}

void Route::retire() {
  if (own_) {
    is_retired_ = is_retired_ || worker_.upstreams.may_retire(own_->opened_at());
  } else if (shared_ != nullptr) {
    worker_.upstreams.retire(*shared_, shared_->opened_at(*this));
  }
}

bool Route::leave_redis(io::TimePoint before) {
  if (is_lost_ || (own_ && own_->opened_at() < before)) {
    return false;
  }
  const bool is_owed = shared_ != nullptr && shared_->in_flight(*this) > 0;
  if (is_owed && shared_->opened_at(*this) < before) {
    return false;
  }
  if (!is_owed) {
    leave_shared();
  }
  return true;
}

void Route::set_reading(bool reading, bool is_held) {
  if (own_) {
    own_->set_reading(reading);
  } else if (shared_ != nullptr) {
    shared_->set_reading(*this, reading || is_held);
  }
}

void Route::finish_sending() {
  if (own_) {
    own_->finish_sending();
  }
}

void Route::close() {
  is_lost_ = true;
  worker_.upstreams.login_probe().forget(*this);
  leave_shared();
  if (own_) {
    own_->close();
  }
}

void Route::join(const resp::ConnectionState& told) {
  shared_ = &worker_.upstreams.join(told, *this);
  beginnings_ = owner_.beginnings();
}

void Route::leave_shared() {
  if (shared_ != nullptr) {
    worker_.upstreams.leave(*std::exchange(shared_, nullptr), *this);
  }
}

void Route::drop_own() {
  own_->close();
  worker_.loop.dispose(std::move(own_));
}

void Route::on_upstream_up() {
  owner_.on_upstream_up();
  if (answered_ == Answered::asked) {
    answered_ = Answered::yes;
    was_in_vain_ = false;
    owner_.on_upstream_progress();
  }
}

void Route::on_upstream_lost() {
  const std::string refusal = own_->refusal();
  const bool was_asked = answered_ == Answered::asked;
  // Whoever is in already stays, and may ask again; one that has never been let in is turned away.
  if (!is_pinned() && shared_ != nullptr && is_of_redis_itself(refusal)) {
    drop_own();
    is_for_good_ = false;
    if (was_asked) {
      owner_.on_command_refused(refusal);
    } else {
      owner_.on_upstream_refused(refusal);
    }
    return;
  }
  // It was for commands that were answered here: as if it had not been asked for. One for good is
  // asked for once more.
  const bool is_in_vain = was_asked && std::exchange(was_in_vain_, true);
  if (is_unused_ && !is_in_vain && refusal.empty() && shared_ != nullptr) {
    drop_own();
    is_for_good_ = false;
    owner_.on_upstream_down();
    owner_.on_upstream_progress();
    return;
  }
  if (!refusal.empty() && !refusal.starts_with("-WRONGPASS ")) {
    owner_.on_upstream_turned_away(refusal);
  }
  is_lost_ = true;
  owner_.on_upstream_lost();
}

void Route::on_shared_bytes(std::string_view bytes, std::uint32_t replies) {
  owner_.on_upstream_up();  // as often as not: it is a flag
  if (replies > 0) {
    owner_.on_upstream_replies(bytes, replies);
  } else {
    owner_.on_upstream_bytes(bytes);
  }
}

void Route::on_shared_down() {
  if (!own_) {
    owner_.on_upstream_down();
  }
}

void Route::on_shared_lost() {
  shared_ = nullptr;  // it has left already
  if (own_) {
    return;  // what it has is as good as it was
  }
  is_lost_ = true;
  owner_.on_upstream_lost();
}

}  // namespace cuckooguard::upstream
