#include "proxy/route.h"

#include <utility>

namespace cuckooguard::proxy {

Route::Route(const Worker& worker, guard::ClientState& client, Owner& owner)
    : worker_(worker), client_(client), owner_(owner) {
  if (is_pinned()) {
    is_for_good_ = true;
    upstream::GreetedConnection::Owner& self = *this;
    own_ = std::make_unique<upstream::GreetedConnection>(
        worker_.loop, worker_.settings, resp::ConnectionState{}, self);
  } else {
    client_.remember_what_was_told();
  }
}

bool Route::choose(guard::Lane lane, bool is_owed, bool waits_for_writes) {
  if (is_lost_) {
    return true;  // nothing will be sent
  }
  if (!own_) {
    if (lane == guard::Lane::shared) {
      return choose_shared(is_owed);
    }
    if (is_owed) {
      return false;
    }
    take_lease();
    if (waits_for_writes) {
      own_->touch();
    }
  }
  is_for_good_ = is_for_good_ || lane == guard::Lane::for_good;
  return true;
}

bool Route::choose_shared(bool is_owed) {
  if (shared_ != nullptr && worker_.upstreams.is_retired(*shared_)) {
    if (is_owed) {
      return false;
    }
    leave_shared();
  }
  if (shared_ == nullptr) {
    shared_ = &worker_.upstreams.join(client_.told(), *this);
  }
  return shared_->in_flight(*this) < worker_.in_flight_max && shared_->has_room(*this);
}

void Route::take_lease() {
  leave_shared();
  own_ = worker_.upstreams.lease(client_.told(), *this);
  if (own_->state() == upstream::Connection::State::up) {
    owner_.on_upstream_up();
  }
}

void Route::send(std::string_view bytes) {
  if (own_) {
    own_->send(bytes);
  } else {
    shared_->send(*this, bytes);
  }
}

void Route::settle() {
  if (own_ && !is_for_good_ && !is_lost_ && own_->unsent() == 0 && client_.is_transferable()) {
    resp::ConnectionState told = client_.told();
    if (std::exchange(is_retired_, false)) {
      own_->close();
      worker_.loop.bury(std::move(own_));
    } else {
      worker_.upstreams.give_back(std::move(own_), told);
    }
    if (told.login) {
      shared_ = &worker_.upstreams.join(std::move(told), *this);
    }
  }
}

void Route::retire() {
  if (own_) {
    is_retired_ = is_retired_ || worker_.upstreams.may_retire(own_->opened_at());
  } else if (shared_ != nullptr) {
    worker_.upstreams.retire(*shared_);
  }
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
  leave_shared();
  if (own_) {
    own_->close();
  }
}

void Route::leave_shared() {
  if (shared_ != nullptr) {
    worker_.upstreams.leave(*std::exchange(shared_, nullptr), *this);
  }
}

void Route::on_upstream_lost() {
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

void Route::on_shared_lost() {
  shared_ = nullptr;  // it has left already
  is_lost_ = true;
  owner_.on_upstream_lost();
}

}  // namespace cuckooguard::proxy
