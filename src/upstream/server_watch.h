// Whether the address of an endpoint still leads to the server that the control connection has:
// asked by a connection that is opened for it, since a connection that stands does not notice that
// a name, a balancer or a virtual address has come to lead elsewhere.
//
//   once per kEvery: resolve, connect, log in, INFO server ──▶ run_id
//     as the control connection's ─▶ nothing happens: another address of the same server is no move
//     another one ─▶ kSure more connections at once
//        all of them say so ────────▶ moved
//        some say this, some that ──▶ several servers at one time (a balancer over two of them):
//                                     told once; nothing moves until kAlone connections in a row
//                                     have reached one server, and then all connections count as
//                                     moved, since each may lead to either
//
// An address that cannot be resolved or connected to says nothing: nobody else is led elsewhere by
// it either.
//
// Threads: LedTo is a plain value. ServerWatch: construct, start and destroy from the owner's
// thread, connected() from any; the calls run on a thread of its own, so that a resolver that hangs
// holds up nobody else.
// Errors: what cannot be asked is asked again. A server whose INFO is not allowed, or has no
// run_id, cannot be told from another one.
// Limits: one connection at a time; kSure + 1 per kEvery at most. Cost: a connect, AUTH and INFO
// per kEvery and endpoint, over TLS a handshake.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "upstream/redis_connector.h"

namespace cuckooguard::upstream {

// The judge of what connections have reached.
class LedTo {
 public:
  static constexpr int kSure = 8;
  static constexpr int kAlone = 10;

  enum class Next : std::uint8_t { rest, ask_again, moved };

  // Where the control connection is; empty: nowhere, or it is not known.
  void connected(const std::string& run_id);
  // What a new connection has reached; empty: nothing.
  Next reached(const std::string& run_id);
  // In words; empty: one server is there.
  const std::string& several() const { return several_; }
  const std::string& current() const { return current_; }

 private:
  Next reached_one_of_several(const std::string& run_id);
  void be_several(const std::string& run_id);

  std::string current_;
  std::string other_;  // that the last connections have reached
  int others_ = 0;     // how many of them
  std::string several_;
};

class ServerWatch {
 public:
  static constexpr std::chrono::seconds kEvery{1};

  // On change, both in one call: that there is one server again must not be known before the
  // connections that may lead to either are.
  struct Change {
    std::string moved_from;  // empty: nothing has moved
    std::string several;     // in words; empty: one server is there
  };
  using OnChange = std::function<void(const Change&)>;

  ServerWatch(RedisConnector connector, OnChange on_change);
  ~ServerWatch();
  ServerWatch(const ServerWatch&) = delete;
  ServerWatch& operator=(const ServerWatch&) = delete;

  void start();
  void end_soon() { thread_.request_stop(); }
  void connected(const std::string& run_id);

 private:
  void run(const std::stop_token& stop);
  void look(const std::stop_token& stop);
  std::string reached() const;  // empty: nothing

  RedisConnector connector_;
  OnChange on_change_;
  std::mutex mutex_;  // for what follows
  std::condition_variable_any rest_;
  LedTo led_to_;
  std::string told_;  // of several
  std::jthread thread_;
};

}  // namespace cuckooguard::upstream
