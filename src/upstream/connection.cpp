#include "upstream/connection.h"

#include <array>
#include <utility>

namespace cuckooguard::upstream {
namespace {

// Looks, and not time, are counted: a process that is suspended has not heard either.
constexpr int kSilentLooks = 4;

}  // namespace

Connection::Connection(io::Loop& loop, const config::Upstream& settings, Owner& owner)
    : loop_(loop),
      owner_(owner),
      transport_(loop.connect(settings.reached(), *this)),
      connect_deadline_(
          loop.after(settings.connect_timeout, [this] { lose(transport_->why_ended()); })),
      look_every_(settings.silence / kSilentLooks),
      output_(loop.chunks()) {}

void Connection::send(std::string_view bytes) {
  output_.append(bytes);
  if (state_ == State::up && !flush_queued_ && !write_blocked_) {
    flush_queued_ = true;
    loop_.flush_at_batch_end(*this, io::FlushOrder::upstream_first);
  }
}

void Connection::set_reading(bool reading) {
  reading_ = reading;
  update_watch();
}

void Connection::finish_sending() {
  if (!std::exchange(finishing_, true) && state_ == State::up && output_.is_empty()) {
    transport_->finish_writing();
  }
}

void Connection::close() {
  state_ = State::lost;
  connect_deadline_.reset();
  next_look_.reset();
  output_.clear();
  transport_->close();
}

void Connection::on_ready(io::Readiness readiness) {
  if (state_ == State::connecting) {
    if (readiness.hung_up) {
      lose(transport_->why_ended());
      return;
    }
    state_ = State::up;
    connect_deadline_.reset();
    update_watch();
    owner_.on_upstream_up();
    flush();
    return;
  }
  if (readiness.writable && state_ == State::up) {
    write_blocked_ = false;
    flush();
  }
  if ((readiness.readable || readiness.hung_up) && reading_ && state_ == State::up) {
    read_once();
  }
}

void Connection::read_once() {
  const std::span<char> buffer = loop_.read_buffer();
  const io::Transfer transfer = transport_->read(buffer);
  switch (transfer.status) {
    case io::Status::ok:
      has_read_ = true;
      owner_.on_upstream_bytes({buffer.data(), transfer.bytes});
      return;
    case io::Status::would_block:
      return;
    case io::Status::closed:
    case io::Status::failed:
      lose(transport_->why_ended());
      return;
  }
}

void Connection::flush() {
  flush_queued_ = false;
  if (state_ != State::up) {
    return;
  }
  std::array<std::string_view, io::OutputQueue::kPiecesAtOnce> pieces;
  bool progress = false;
  while (!output_.is_empty()) {
    const io::Transfer transfer = transport_->write(output_.front(pieces));
    if (transfer.status == io::Status::would_block) {
      break;
    }
    if (transfer.status != io::Status::ok) {
      // What Redis sent before it closed may still be waiting: reading ends this connection,
      // writing does not.
      output_.clear();
      break;
    }
    output_.consume(transfer.bytes);
    progress = true;
  }
  write_blocked_ = !output_.is_empty();
  update_watch();
  if (finishing_ && output_.is_empty()) {
    transport_->finish_writing();
  }
  if (progress) {
    if (!next_look_) {
      silent_looks_ = 0;
      look_soon();
    }
    owner_.on_upstream_progress();
  }
}

void Connection::look_soon() {
  looked_at_ = loop_.now();
  has_read_ = false;
  next_look_ = loop_.after(look_every_, [this] { look(); });
}

// What was sent since the last look may only just have been: who is silent then is not counted.
void Connection::look() {
  if (has_read_) {
    silent_looks_ = 0;
    look_soon();
    return;
  }
  const auto unheard_for = transport_->unheard_for();
  if (!unheard_for) {
    next_look_.reset();
    return;
  }
  const auto since_look = std::chrono::floor<std::chrono::milliseconds>(loop_.now() - looked_at_);
  silent_looks_ = *unheard_for >= since_look ? silent_looks_ + 1 : 0;
  if (silent_looks_ == kSilentLooks) {
    lose("Connection timed out");
  } else {
    look_soon();
  }
}

void Connection::lose(std::string why) {
  why_lost_ = std::move(why);
  close();
  owner_.on_upstream_lost();
}

void Connection::update_watch() {
  if (state_ == State::up) {
    const auto read = reading_ ? io::Interest::read : io::Interest::none;
    const auto write = write_blocked_ ? io::Interest::write : io::Interest::none;
    transport_->watch(
        static_cast<io::Interest>(static_cast<unsigned>(read) | static_cast<unsigned>(write)));
  }
}

}  // namespace cuckooguard::upstream
