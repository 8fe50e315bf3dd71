// From the first SIGTERM or SIGINT to the end of the process.
//
//   signal ──▶ on_begin: not ready, no more is accepted
//          ──▶ each worker lets its clients go where their commands end
//              (proxy/session_drain.cpp) ──▶ none left ──▶ on_end
//          ──▶ `timeout` later those who are left are cut off, kLastWord later closed ──▶ on_end
//
// A second signal ends the process at once, with exit code 1 and without a last checkpoint: it is
// for somebody who will not wait, whatever hangs. (Checkpoints are replaced as a whole: an older
// one stays good.)
//
// Threads: the io_context's, but for what is posted to the workers' loops. Lifetimes: loops and
// clients outlive the io_context's run. Limits: `timeout` and kLastWord; with a timeout of 0 on_end
// comes at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "io/asio_loop.h"
#include "log/event_log.h"
#include "proxy/clients.h"

namespace cuckooguard::app {

class Drain {
 public:
  // For Redis to answer that it has heard of a client's end, and for that to be passed on.
  static constexpr std::chrono::seconds kLastWord{1};

  struct Worker {
    io::AsioLoop& loop;
    proxy::Clients& clients;
  };
  struct Calls {
    std::function<void()> on_begin;
    std::function<void()> on_end;  // once
  };

  Drain(boost::asio::io_context& io,
        std::chrono::milliseconds timeout,
        Calls calls,
        log::EventLog& log);
  ~Drain() = default;
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  // Before the first signal.
  void add(Worker worker) { workers_.push_back(worker); }

 private:
  void begin(int signal);
  void drain_workers();
  void on_worker_empty();
  void cut_off();
  void end(std::string_view how);
  std::size_t clients() const;

  boost::asio::io_context& io_;
  std::chrono::milliseconds timeout_;
  Calls calls_;
  log::EventLog& log_;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer deadline_;
  std::vector<Worker> workers_;
  std::size_t workers_left_ = 0;
  bool has_ended_ = false;
};

}  // namespace cuckooguard::app
