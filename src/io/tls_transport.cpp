#include "io/tls_transport.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "io/tls_errors.h"

namespace cuckooguard::io {
namespace {

// What one TLS record is made of: many small pieces are worth a copy, since each record costs 22
// bytes or more, and a call.
// Threads: free function. Limits: one record, or less.

// A first piece as long as this is written from where it is; shorter ones are worth a copy.
constexpr std::size_t kWorthARecord = 4096;

// The front of `pieces`, from where it is or copied to `scratch`, whose size is the most. `bytes`:
// just so many, since OpenSSL wants to see a record again that it could not write, whatever has
// been queued behind it since; 0: as many as are worth it.
std::string_view record_of(std::span<const std::string_view> pieces,
                           std::size_t bytes,
                           std::span<char> scratch) {
  const std::size_t most = bytes > 0 ? bytes : scratch.size();
  const std::string_view first = pieces.empty() ? std::string_view() : pieces.front();
  if (first.size() >= most || (bytes == 0 && first.size() >= kWorthARecord) || pieces.size() == 1) {
    return first.substr(0, most);
  }
  std::size_t size = 0;
  for (const std::string_view piece : pieces) {
    const std::size_t taken = std::min(piece.size(), most - size);
    std::memcpy(scratch.data() + size, piece.data(), taken);
    size += taken;
    if (size == most) {
      break;
    }
  }
  return {scratch.data(), size};
}

using std::chrono::milliseconds;

Interest operator|(Interest one, Interest other) {
  return static_cast<Interest>(static_cast<unsigned>(one) | static_cast<unsigned>(other));
}

}  // namespace

std::unique_ptr<TlsTransport> TlsTransport::accepted(Loop& loop,
                                                     std::unique_ptr<Transport> inner,
                                                     const TlsCredentials& credentials,
                                                     const OnFailure& on_failure) {
  auto transport = std::make_unique<TlsTransport>(loop, credentials, on_failure);
  transport->carry_by(std::move(inner));
  transport->inner_->bind(*transport);
  transport->state_ = State::shaking_hands;
  return transport;
}

TlsTransport::TlsTransport(Loop& loop,
                           const TlsCredentials& credentials,
                           const OnFailure& on_failure,
                           const std::string& peer)
    : loop_(loop),
      on_failure_(on_failure),
      ssl_(credentials.new_connection(peer)),
      state_(State::connecting) {}

void TlsTransport::carry_by(std::unique_ptr<Transport> inner) {
  inner_ = std::move(inner);
  wire_.transport = inner_.get();
  BIO* const bio = new_transport_bio(wire_);
  SSL_set_bio(ssl_.get(), bio, bio);
}

void TlsTransport::bind(Watcher& watcher) {
  watcher_ = &watcher;
  if (state_ == State::shaking_hands) {
    handshake_ = loop_.after(kHandshakeMost, [this] {
      tell_failure("the handshake timed out");
      fail();
    });
    update_watch();
  }
}

bool TlsTransport::wants(Interest part) const {
  return (static_cast<unsigned>(interest_) & static_cast<unsigned>(part)) != 0;
}

void TlsTransport::watch(Interest interest) {
  interest_ = interest;
  update_watch();
  update_again();
}

void TlsTransport::update_watch() {
  if (state_ == State::shaking_hands) {
    inner_->watch(handshake_wants_);
  } else if (state_ == State::up) {
    const Interest reading = read_wants_write_ ? Interest::write : Interest::read;
    const Interest writing = write_wants_read_ ? Interest::read : Interest::write;
    inner_->watch((wants(Interest::read) ? reading : Interest::none) |
                  (wants(Interest::write) ? writing : Interest::none) |
                  (farewell_is_due_ ? Interest::write : Interest::none));
  } else if (state_ == State::failed) {
    inner_->watch(Interest::none);
  }
}

// What is inside OpenSSL no socket tells of.
void TlsTransport::update_again() {
  if (state_ != State::up || !may_have_more_ || !wants(Interest::read)) {
    again_.reset();
  } else if (!again_) {
    again_ = loop_.after(milliseconds(0), [this] {
      again_.reset();
      deliver({});
    });
  }
}

void TlsTransport::on_ready(Readiness inner) {
  switch (state_) {
    case State::connecting:
      if (inner.hung_up) {
        fail();
        return;
      }
      state_ = State::shaking_hands;
      shake_hands(false);
      return;
    case State::shaking_hands:
      shake_hands(inner.hung_up);
      return;
    case State::up:
      deliver(inner);
      return;
    case State::failed:
    case State::closed:
      return;
  }
}

void TlsTransport::shake_hands(bool hung_up) {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) {
    come_up();
    return;
  }
  const int error = SSL_get_error(ssl_.get(), result);
  const bool goes_on = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
  if (goes_on && !hung_up) {
    handshake_wants_ = error == SSL_ERROR_WANT_READ ? Interest::read : Interest::write;
    update_watch();
    return;
  }
  tell_failure(handshake_error_text(ssl_.get()));
  fail();
}

void TlsTransport::come_up() {
  state_ = State::up;
  handshake_.reset();
  // The peer's first bytes may have come with the end of its handshake.
  may_have_more_ = SSL_has_pending(ssl_.get()) == 1;
  if (farewell_is_due_) {
    say_farewell();
  }
  update_watch();
  update_again();
  if (SSL_is_server(ssl_.get()) == 0) {
    watcher_->on_ready({.writable = true});
  }
}

void TlsTransport::deliver(Readiness inner) {
  if (farewell_is_due_ && inner.writable) {
    say_farewell();
    update_watch();
  }
  const bool may_read = may_have_more_ || inner.readable || (read_wants_write_ && inner.writable);
  const bool may_write = inner.writable || (write_wants_read_ && inner.readable);
  const Readiness ready{.readable = wants(Interest::read) && may_read,
                        .writable = wants(Interest::write) && may_write,
                        .hung_up = inner.hung_up,
                        .has_finished = inner.has_finished};
  if (ready.readable || ready.writable || ready.hung_up || ready.has_finished) {
    watcher_->on_ready(ready);
    update_again();
  }
}

// Told once, whatever the owner wants to be told of.
void TlsTransport::fail() {
  state_ = State::failed;
  handshake_.reset();
  update_watch();
  watcher_->on_ready({.hung_up = true});
}

std::string TlsTransport::why_ended() const {
  if (state_ == State::shaking_hands) {
    return "TLS: the handshake timed out";
  }
  return failure_.empty() && inner_ ? inner_->why_ended() : "TLS: " + failure_;
}

void TlsTransport::tell_failure(const std::string& why) {
  failure_ = why;
  if (on_failure_ && !why.empty()) {
    on_failure_(why);
  }
}

Transfer TlsTransport::read(std::span<char> into) {
  if (state_ != State::up || read_failed_) {
    const bool comes_up = state_ == State::connecting || state_ == State::shaking_hands;
    may_have_more_ = false;
    return {comes_up ? Status::would_block : Status::failed, 0};
  }
  std::size_t size = 0;
  Status status = Status::ok;
  do {
    ERR_clear_error();
    std::size_t bytes = 0;
    const int result = SSL_read_ex(ssl_.get(), into.data() + size, into.size() - size, &bytes);
    if (result != 1) {
      status = after_failed_read(result);
      break;
    }
    size += bytes;
    was_heard_ = true;
    read_wants_write_ = false;
    may_have_more_ = SSL_has_pending(ssl_.get()) == 1;
  } while (may_have_more_ && size < into.size());
  const bool is_end = status == Status::closed || status == Status::failed;
  if (size > 0) {
    may_have_more_ = may_have_more_ || is_end;  // that is told of next time
    status = Status::ok;
  }
  update_watch();
  update_again();
  return {status, size};
}

Status TlsTransport::after_failed_read(int result) {
  may_have_more_ = false;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      read_wants_write_ = false;
      return Status::would_block;
    case SSL_ERROR_WANT_WRITE:
      read_wants_write_ = true;
      return Status::would_block;
    case SSL_ERROR_ZERO_RETURN:
      return Status::closed;
    default:
      break;
  }
  if (!was_heard_) {
    tell_failure(handshake_error_text(ssl_.get()));
  }
  read_failed_ = true;
  write_failed_ = true;
  return Status::failed;
}

Transfer TlsTransport::write(std::span<const std::string_view> pieces) {
  if (state_ != State::up || write_failed_) {
    const bool comes_up = state_ == State::connecting || state_ == State::shaking_hands;
    return {comes_up ? Status::would_block : Status::failed, 0};
  }
  std::array<char, kRecordBytes> scratch;
  const std::string_view record = record_of(pieces, blocked_bytes_, scratch);
  if (record.empty()) {
    return {Status::ok, 0};
  }
  ERR_clear_error();
  std::size_t written = 0;
  const int result = SSL_write_ex(ssl_.get(), record.data(), record.size(), &written);
  if (result != 1) {
    return {after_failed_write(result, record.size()), 0};
  }
  blocked_bytes_ = 0;
  write_wants_read_ = false;
  return {Status::ok, written};
}

Status TlsTransport::after_failed_write(int result, std::size_t bytes) {
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    blocked_bytes_ = bytes;
    write_wants_read_ = error == SSL_ERROR_WANT_READ;
    update_watch();
    return Status::would_block;
  }
  write_failed_ = true;  // what has come can still be read, as from a socket
  return Status::failed;
}

void TlsTransport::finish_writing() {
  farewell_is_due_ = true;
  if (state_ == State::up) {
    say_farewell();
    update_watch();
  }
}

void TlsTransport::say_farewell() {
  ERR_clear_error();
  const int result = write_failed_ ? 0 : SSL_shutdown(ssl_.get());
  farewell_is_due_ = result < 0 && SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_WRITE;
  if (!farewell_is_due_) {
    inner_->finish_writing();
  }
}

void TlsTransport::close() {
  if (state_ == State::closed) {
    return;
  }
  if (state_ == State::up && !write_failed_ && blocked_bytes_ == 0 &&
      (SSL_get_shutdown(ssl_.get()) & SSL_SENT_SHUTDOWN) == 0) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }
  state_ = State::closed;
  handshake_.reset();
  again_.reset();
  ssl_.reset();
  inner_->close();
}

}  // namespace cuckooguard::io
