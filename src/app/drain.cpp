#include "app/drain.h"

#include <csignal>
#include <cstdlib>
#include <utility>

#include <boost/asio/post.hpp>
#include <unistd.h>

namespace cuckooguard::app {
namespace {

// Not by the signals' default action: the kernel spares a container's first process that.
void end_now_at_the_next_signal() {
  struct sigaction action{};
  action.sa_handler = [](int) { ::_exit(EXIT_FAILURE); };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

Drain::Drain(boost::asio::io_context& io,
             std::chrono::milliseconds timeout,
             Calls calls,
             log::EventLog& log)
    : io_(io),
      timeout_(timeout),
      calls_(std::move(calls)),
      log_(log),
      signals_(io, SIGINT, SIGTERM),
      deadline_(io) {
  signals_.async_wait([this](const boost::system::error_code& error, int signal) {
    if (!error) {
      begin(signal);
    }
  });
}

void Drain::begin(int signal) {
  signals_.clear();
  end_now_at_the_next_signal();
  log_.info("draining", {{"signal", signal}, {"clients", clients()}});
  calls_.on_begin();
  if (timeout_.count() == 0) {
    end("at_once");
    return;
  }
  // Behind what has been accepted already, and is on its way to a worker.
  boost::asio::post(io_, [this] { drain_workers(); });
}

void Drain::drain_workers() {
  workers_left_ = workers_.size();
  for (const Worker& worker : workers_) {
    worker.loop.post([this, &clients = worker.clients] {
      clients.drain([this] { boost::asio::post(io_, [this] { on_worker_empty(); }); });
    });
  }
  deadline_.expires_after(timeout_);
  deadline_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) {
      cut_off();
    }
  });
}

void Drain::on_worker_empty() {
  if (--workers_left_ == 0) {
    end("all_clients_done");
  }
}

void Drain::cut_off() {
  log_.warning("drain_timeout", {{"clients", clients()}});
  for (const Worker& worker : workers_) {
    worker.loop.post([&clients = worker.clients] { clients.cut_off(); });
  }
  deadline_.expires_after(kLastWord);
  deadline_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) {
      end("clients_closed");
    }
  });
}

void Drain::end(std::string_view how) {
  if (!std::exchange(has_ended_, true)) {
    deadline_.cancel();
    log_.info("drained", {{"how", how}, {"clients", clients()}});
    calls_.on_end();
  }
}

std::size_t Drain::clients() const {
  std::size_t sum = 0;
  for (const Worker& worker : workers_) {
    sum += worker.clients.count();
  }
  return sum;
}

}  // namespace cuckooguard::app
