#include "breakdown/herd.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cuckooguard::harness {
namespace {

constexpr int kBacklog = 1024;

int must(int result, const char* what) {
  if (result < 0) {
    throw std::system_error(errno, std::system_category(), what);
  }
  return result;
}

void watch(int epoll, int socket) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = socket;
  must(::epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event), "epoll_ctl");
}

std::string_view take_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), word.size() + 1));
  return word;
}

}  // namespace

Herd::Herd(milliseconds load_time, std::size_t at_a_time)
    : load_time_(load_time),
      at_a_time_(at_a_time),
      listener_(must(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket")),
      epoll_(must(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as of the sockets' interface
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  must(::bind(listener_, any, size), "bind");
  must(::getsockname(listener_, any, &size), "getsockname");
  must(::listen(listener_, kBacklog), "listen");
  port_ = ntohs(address.sin_port);
  watch(epoll_, listener_);
}

Herd::~Herd() {
  for (const auto& [socket, client] : clients_) {
    ::close(socket);
  }
  ::close(epoll_);
  ::close(listener_);
}

void Herd::wait_for(std::size_t clients) {
  const Deadline deadline;
  while (ready_.size() < clients) {
    turn(deadline);
  }
}

Herd::Round Herd::run(const std::vector<std::uint64_t>& ids) {
  const Deadline deadline;
  const auto begin = SteadyClock::now();
  ++version_;
  round_ = {};
  ids_.assign(ids.begin(), ids.end());
  for (hand_out(); reading_ > 0 || !ids_.empty();) {
    turn(deadline);
  }
  round_.total_ms = std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count();
  std::ranges::sort(round_.took_ms);
  return std::move(round_);
}

void Herd::end() {
  for (const auto& [socket, client] : clients_) {
    tell(client, "end");
  }
}

// Waits for something to happen, and deals with it.
void Herd::turn(const Deadline& deadline) {
  if (deadline.has_passed()) {
    throw std::runtime_error("the clients of a herd do not get on: " + std::to_string(reading_) +
                             " read, " + std::to_string(ready_.size()) + " are ready");
  }
  std::array<epoll_event, 64> events{};
  int wait = std::min(deadline.milliseconds_left(), 100);
  if (!loads_.empty()) {
    const auto left = std::chrono::ceil<milliseconds>(loads_.front().done - SteadyClock::now());
    wait = static_cast<int>(std::clamp<milliseconds::rep>(left.count(), 0, wait));
  }
  const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), wait);
  for (int i = 0; i < count; ++i) {
    const int socket = events.at(static_cast<std::size_t>(i)).data.fd;
    if (socket == listener_) {
      accept();
    } else if (const auto found = clients_.find(socket); found != clients_.end()) {
      receive(found->second);
    }
  }
  finish_loads();
  hand_out();
}

void Herd::accept() {
  const int socket = must(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC), "accept");
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  watch(epoll_, socket);
  clients_.emplace(socket, Client{.socket = socket});
}

void Herd::receive(Client& client) {
  std::array<char, 512> bytes{};
  const ssize_t count = ::recv(client.socket, bytes.data(), bytes.size(), 0);
  if (count <= 0) {
    leave(client);
    return;
  }
  client.received.append(bytes.data(), static_cast<std::size_t>(count));
  for (std::size_t end = 0; (end = client.received.find('\n')) != std::string::npos;) {
    const std::string line = client.received.substr(0, end);
    client.received.erase(0, end + 1);
    take(client, line);
  }
}

void Herd::take(Client& client, std::string_view line) {
  const std::string_view word = take_word(line);
  if (word == "load") {
    ++round_.loads;
    client.dies = std::exchange(kills_next_, false);
    queued_.push_back({.socket = client.socket, .id = std::string(line)});
    round_.most_at_once = std::max(round_.most_at_once, loads_.size() + queued_.size());
    begin_loads();
    return;
  }
  if (word == "took") {
    const std::string_view took = take_word(line);
    double microseconds = 0;
    std::from_chars(took.data(), took.data() + took.size(), microseconds);
    round_.took_ms.push_back(microseconds / 1000);
    round_.wrong += line == client.expects ? 0 : 1;
    client.expects.clear();
    --reading_;
  } else if (word != "ready") {
    throw std::runtime_error("a client of a herd says " + std::string(word));
  }
  ready_.push_back(client.socket);
}

void Herd::leave(Client& client) {
  if (!client.expects.empty() && !client.dies) {
    throw std::runtime_error("a client of a herd has left while it looked up a row");
  }
  reading_ -= client.expects.empty() ? 0 : 1;
  std::erase(ready_, client.socket);
  ::close(client.socket);
  clients_.erase(client.socket);
}

void Herd::begin_loads() {
  while (!queued_.empty() && (at_a_time_ == 0 || loads_.size() < at_a_time_)) {
    loads_.push_back(std::move(queued_.front()));
    loads_.back().done = SteadyClock::now() + load_time_;
    queued_.pop_front();
  }
}

void Herd::finish_loads() {
  while (!loads_.empty() && loads_.front().done <= SteadyClock::now()) {
    const Client& client = clients_.at(loads_.front().socket);
    tell(client, client.dies ? "die" : value(loads_.front().id));
    loads_.pop_front();
    begin_loads();
  }
}

void Herd::hand_out() {
  while (!ids_.empty() && !ready_.empty()) {
    Client& client = clients_.at(ready_.front());
    const std::string id = std::to_string(ids_.front());
    client.expects = value(id);
    tell(client, "read " + id);
    ids_.pop_front();
    ready_.pop_front();
    ++reading_;
  }
}

std::string Herd::value(std::string_view id) const {
  return "row_" + std::string(id) + "_" + std::to_string(version_);
}

void Herd::tell(const Client& client, const std::string& line) {
  const std::string bytes = line + "\n";
  ::send(client.socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

}  // namespace cuckooguard::harness
