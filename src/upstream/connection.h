// One connection to Redis: bytes out, flushed once per batch; bytes in, handed to the owner as they
// come.
//
// It neither scans nor frames: its owner knows what the bytes mean (proxy::Session in `mode:
// pinned`).
//
// Threads: its worker's. Lifetimes: destroyed only between batches (io/transport.h); the owner
//   outlives it.
// Errors: on_lost() says exactly once that no more bytes will come, never from within a call of the
//   owner's. A peer whose kernel acknowledges nothing for `silence` counts as lost, too: otherwise
//   a network that drops everything silently would keep the connection for a quarter of an hour. A
//   peer that acknowledges and does not reply is waited for.
// Limits: none of its own on what is queued: the owner looks at unsent() and stops feeding it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "config/config.h"
#include "io/loop.h"

namespace cuckooguard::upstream {

class Connection final : public io::Disposable, io::Watcher, io::Flushable {
 public:
  enum class State : std::uint8_t { connecting, up, lost };

  class Owner {
   public:
    virtual void on_upstream_up() = 0;
    // `bytes` are in the worker's read buffer: gone after this call.
    virtual void on_upstream_bytes(std::string_view bytes) = 0;
    // Queued output was written; unsent() is smaller than before.
    virtual void on_upstream_progress() = 0;
    virtual void on_upstream_lost() = 0;

   protected:
    ~Owner() = default;
  };

  Connection(io::Loop& loop, const config::Upstream& settings, Owner& owner);

  // Queued until the end of the batch, and until the connection is up.
  void send(std::string_view bytes);
  std::size_t unsent() const { return output_.size(); }
  // Whether the peer's kernel has all that was sent.
  bool is_heard() const { return output_.is_empty() && !transport_->unheard_for(); }

  // Whether to read at all: a client that does not read stops its upstream from being read.
  void set_reading(bool reading);

  // After what is queued, Redis is told that no more will come. send() is not allowed from here on.
  void finish_sending();

  void close();
  State state() const { return state_; }
  const std::string& why_lost() const { return why_lost_; }  // in words

 private:
  void on_ready(io::Readiness readiness) override;
  void flush() override;
  void read_once();
  void lose(std::string why);
  void update_watch();
  void look_soon();
  void look();

  io::Loop& loop_;
  Owner& owner_;
  std::unique_ptr<io::Transport> transport_;
  std::unique_ptr<io::Timer> connect_deadline_;
  std::chrono::milliseconds look_every_;
  std::unique_ptr<io::Timer> next_look_;  // null: all that was sent has been acknowledged
  io::TimePoint looked_at_{};
  int silent_looks_ = 0;   // in a row
  bool has_read_ = false;  // since the last look
  io::OutputQueue output_;
  State state_ = State::connecting;
  bool reading_ = true;
  bool write_blocked_ = false;
  bool flush_queued_ = false;
  bool finishing_ = false;
  std::string why_lost_;
};

}  // namespace cuckooguard::upstream
