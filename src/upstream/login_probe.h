// Whether Redis lets a new connection do anything without a login: asked by a connection that is
// opened for it.
//
// "Not logged in" is not a lasting state. Redis decides when a connection is opened whether it is
// the default user, and keeps to that: a connection that was opened before a password was set can
// do more than a new one. So a client may use an existing connection only if Redis would let it in
// now.
//
//   somebody asks, and the last answer is too old ──▶ connect, PING
//       -NOAUTH ──▶ closed        any other reply ──▶ open
//
// An answer is valid for kValidFor from the moment its connection was begun, and only as long as
// `version` stays the same: that changes when Redis has accepted a command that may change its
// users (redis/facts.h). An answer that comes too late, from a Redis that hung, is asked for once
// more. Without a reply (Redis is full, protected or gone) nothing is known, and nobody asks for
// kUnknownFor: `closed` is the safe answer.
//
// Threads: its worker's. Lifetimes: a waiter that ends must be forgotten first. Errors: an answer.
// Limits: one asking at a time, given up after connect_timeout. When its connection has been silent
//   for kSilentFor, another one is opened beside it, the next after twice as long, and so on: the
//   network may have lost just the one. The first to answer counts.
// Cost: per worker at most one connect and PING per kValidFor, and only while clients without a
//   login come, or take a connection of their own.
// Source: Redis 7.0.15, networking.c clientSetDefaultAuth, server.c authRequired.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "io/loop.h"
#include "upstream/connection.h"

namespace cuckooguard::upstream {

class LoginProbe {
 public:
  // PING with a word by which whoever looks at Redis (MONITOR) knows it.
  static constexpr std::string_view kQuestion = "*2\r\n$4\r\nPING\r\n$11\r\nlogin-probe\r\n";
  static constexpr std::chrono::seconds kValidFor{1};
  static constexpr std::chrono::milliseconds kUnknownFor{100};
  static constexpr std::chrono::milliseconds kSilentFor{250};

  enum class Entry : std::uint8_t { open, closed, not_known };

  class Waiter {
   public:
    virtual void on_entry_known() = 0;

   protected:
    ~Waiter() = default;

   private:
    friend class LoginProbe;
    bool waits_ = false;
  };

  // `on_closed`: Redis has said that it wants a login.
  LoginProbe(io::Loop& loop,
             const config::Upstream& settings,
             std::function<std::uint64_t()> version,
             std::function<void()> on_closed);
  LoginProbe(const LoginProbe&) = delete;
  LoginProbe& operator=(const LoginProbe&) = delete;
  ~LoginProbe();

  Entry entry() const;
  // Whether the last asking has had a reply: a connection that is opened now is answered.
  bool was_answered() const { return was_answered_; }
  // Asks, unless it is being asked; `waiter` hears once, never from within this call.
  void wait(Waiter& waiter);
  void forget(Waiter& waiter);
  // The settings name another Redis: what the one before has said, or will say, counts no more.
  void ask_anew();

 private:
  struct Asking;

  void ask(bool is_again);
  void connect(std::chrono::milliseconds patience);
  void take(Asking& from, std::string_view bytes);
  void lose(Asking& from);
  void give_up();
  void end(Entry said, const Asking& from);

  io::Loop& loop_;
  const config::Upstream& settings_;
  std::function<std::uint64_t()> version_;
  std::function<void()> on_closed_;
  Entry entry_ = Entry::not_known;
  bool was_answered_ = false;
  std::uint64_t entry_version_ = 0;
  io::TimePoint valid_until_{};
  std::vector<std::unique_ptr<Asking>> askings_;  // of one asking; empty: nobody asks
  bool is_again_ = false;
  io::TimePoint given_up_at_{};  // if it is not answered until then
  std::unique_ptr<io::Timer> deadline_;
  std::deque<Waiter*> waiters_;
};

}  // namespace cuckooguard::upstream
