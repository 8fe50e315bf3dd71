#include "upstream/greeted_connection.h"

#include <utility>

namespace cuckooguard::upstream {

GreetedConnection::GreetedConnection(io::Loop& loop,
                                     const config::Upstream& settings,
                                     const resp::ConnectionState& told,
                                     Owner& owner)
    : owner_(&owner), opened_at_(loop.now()), connection_(loop, settings, *this) {
  (void)greet(told);  // a new connection can be told anything
}

bool GreetedConnection::greet(const resp::ConnectionState& state) {
  const auto greeting = resp::greeting(told_, state);
  if (!greeting) {
    return false;
  }
  if (greeting->replies > 0) {
    connection_.send(greeting->commands);
    owed_ += greeting->replies;
  }
  told_ = state;
  return true;
}

void GreetedConnection::touch() {
  connection_.send("*1\r\n$4\r\nPING\r\n");
  ++owed_;
}

void GreetedConnection::send(std::string_view bytes) {
  if (owed_ > 0) {
    waiting_.append(bytes);
  } else {
    connection_.send(bytes);
  }
}

void GreetedConnection::finish_sending() {
  finish_is_due_ = owed_ > 0;
  if (!finish_is_due_) {
    connection_.finish_sending();
  }
}

void GreetedConnection::on_upstream_bytes(std::string_view bytes) {
  if (owed_ > 0 && !take_greeting(bytes)) {
    was_refused_ = true;
    close();
    owner_->on_upstream_lost();
    return;
  }
  if (owed_ == 0 && !waiting_.empty()) {
    connection_.send(std::exchange(waiting_, {}));
  }
  if (owed_ == 0 && finish_is_due_) {
    finish_sending();
  }
  if (!bytes.empty()) {
    owner_->on_upstream_bytes(bytes);
  }
}

// False: refused.
bool GreetedConnection::take_greeting(std::string_view& bytes) {
  while (owed_ > 0 && !bytes.empty()) {
    const resp::ReplyFramer::Piece piece = framer_.next(bytes);
    bytes.remove_prefix(piece.bytes);
    if (piece.malformed || (piece.ends && framer_.type() == '-')) {
      return false;
    }
    if (piece.ends && framer_.type() != '>') {
      --owed_;
    }
  }
  return true;
}

}  // namespace cuckooguard::upstream
