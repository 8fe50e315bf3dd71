#include "app/supervisor.h"

#include <algorithm>
#include <cstdlib>
#include <ranges>
#include <system_error>
#include <utility>

#include <fmt/ranges.h>
#include <systemd/sd-daemon.h>

#include "io/listener.h"

namespace cuckooguard::app {
std::expected<std::vector<std::vector<int>>, std::string> Supervisor::sockets_for(
    std::span<const config::Listen> listen) const {
  const int count = ::sd_listen_fds(1);
  if (count < 0) {
    return std::unexpected(fmt::format("cannot take over the sockets of the service manager: {}",
                                       std::generic_category().message(-count)));
  }
  std::vector<std::vector<int>> sockets(listen.size());
  for (int socket = SD_LISTEN_FDS_START; socket < SD_LISTEN_FDS_START + count; ++socket) {
    const bool is_stream = ::sd_is_socket(socket, AF_UNSPEC, SOCK_STREAM, 1) > 0;
    const auto address = std::ranges::find_if(listen, [&](const config::Listen& each) {
      return is_stream && io::Listener::listens_on(socket, each.address);
    });
    if (address == listen.end()) {
      return std::unexpected(
          fmt::format("the service manager passed a socket that is not for {}: each ListenStream= "
                      "of the socket unit must be an address of `listen`",
                      fmt::join(listen | std::views::transform([](const config::Listen& each) {
                                  return each.address.text();
                                }),
                                ", or ")));
    }
    sockets[static_cast<std::size_t>(address - listen.begin())].push_back(socket);
  }
  return sockets;
}

void Supervisor::notify(std::string state) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the guard sets no variables
  if (std::getenv("NOTIFY_SOCKET") != nullptr) {
    (void)thread_.post([state = std::move(state)] { (void)::sd_notify(0, state.c_str()); });
  }
}

void Supervisor::ready(std::string_view status) {
  notify(fmt::format("READY=1\nSTATUS={}", status));
}

void Supervisor::reloading() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  notify(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS=reloading",
                     std::chrono::duration_cast<std::chrono::microseconds>(now).count()));
}

void Supervisor::stopping(std::string_view status) {
  notify(fmt::format("STOPPING=1\nSTATUS={}", status));
}

void Supervisor::tell(std::string_view status) {
  notify(fmt::format("STATUS={}", status));
}

void Supervisor::tell_of_life() {
  notify("WATCHDOG=1");
}

void LoadStatus::on_progress(const source::Progress& progress) {
  next_.on_progress(progress);
  const std::lock_guard lock(mutex_);
  const std::string ns(progress.ns);
  if (progress.complete) {
    percent_.erase(ns);
  } else {
    percent_[ns] = static_cast<int>(progress.fraction * 100);
  }
  tell();
}

void LoadStatus::forget(std::string_view ns) {
  const std::lock_guard lock(mutex_);
  if (const auto found = percent_.find(ns); found != percent_.end()) {
    percent_.erase(found);
    tell();
  }
}

void LoadStatus::tell() {
  std::string status(Supervisor::kServing);
  std::string_view before = "; loading ";
  for (const auto& [name, percent] : percent_) {
    status += fmt::format("{}{} {} %", std::exchange(before, ", "), name, percent);
  }
  if (status != told_) {
    manager_.tell(status);
    told_ = std::move(status);
  }
}

Watchdog::Watchdog(boost::asio::io_context& io,
                   Supervisor& manager,
                   std::vector<views::Heartbeat> loops,
                   log::EventLog& log,
                   Now now)
    : timer_(io), manager_(manager), loops_(std::move(loops)), log_(log), now_(std::move(now)) {
  std::uint64_t microseconds = 0;
  if (::sd_watchdog_enabled(0, &microseconds) > 0) {
    every_ = std::chrono::microseconds(microseconds / 2);
    beat();
  }
}

void Watchdog::beat() {
  const io::TimePoint now = now_();
  bool all_turn = true;
  for (views::Heartbeat& loop : loops_) {
    if (!loop.is_alive(now)) {
      all_turn = false;
      log_.error("loop_stalled", {{"name", loop.name()}});
    }
  }
  if (all_turn) {
    manager_.tell_of_life();
  }
  timer_.expires_after(every_);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) {
      beat();
    }
  });
}

}  // namespace cuckooguard::app
