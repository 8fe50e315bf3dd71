#include "harness/slow_link.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/loopback.h"

namespace cuckooguard::harness {
namespace {

constexpr std::size_t kChunkMax = 65'536;
constexpr int kBacklog = 64;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::system_category(), what);
}

void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// -1: nobody listens there.
int connect_to(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(socket);
    return -1;
  }
  send_at_once(socket);
  return socket;
}

// Clients send a command in one piece, and wait for what it gives before the next: length (3
// bytes), number in the exchange (0: a command), command.
bool asks_for_the_log(std::string_view bytes) {
  constexpr std::size_t kNumber = 3;
  constexpr std::size_t kCommand = 4;
  constexpr char kDump = 18;
  constexpr char kDumpGtid = 30;
  return bytes.size() > kCommand && bytes[kNumber] == 0 &&
         (bytes[kCommand] == kDump || bytes[kCommand] == kDumpGtid);
}

}  // namespace

class SlowLink::Connection {
 public:
  Connection(int client, int server)
      : client_(client), server_(server), ways_{{{client, server, {}}, {server, client, {}}}} {}
  ~Connection() {
    ::close(client_);
    ::close(server_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool has_log() const { return has_log_; }
  bool is_forgotten() const { return is_forgotten_; }
  void forget() { is_forgotten_ = true; }

  void append_readable(std::vector<pollfd>& watched) const {
    for (const Direction& way : ways_) {
      watched.push_back({.fd = way.from, .events = POLLIN, .revents = 0});
    }
  }

  SteadyClock::time_point next_due(SteadyClock::time_point latest) const {
    for (const Direction& way : ways_) {
      if (!way.on_the_way.empty()) {
        latest = std::min(latest, way.on_the_way.front().due);
      }
    }
    return latest;
  }

  struct Delays {
    milliseconds all;
    milliseconds log;
  };
  // False: it has ended.
  bool read(const Delays& delays) {
    return std::ranges::all_of(ways_, [&](Direction& way) { return read(way, delays); });
  }
  bool write() {
    return std::ranges::all_of(ways_, [](Direction& way) { return write(way); });
  }

 private:
  bool read(Direction& way, const Delays& delays) {
    std::array<char, kChunkMax> buffer;
    const ssize_t got = ::recv(way.from, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0) {
      return errno == EAGAIN || errno == EINTR;
    }
    std::string bytes(buffer.data(), static_cast<std::size_t>(got));
    has_log_ = has_log_ || (way.from == client_ && asks_for_the_log(bytes));
    way.on_the_way.push_back(
        {.due = SteadyClock::now() + delays.all + (has_log_ ? delays.log : milliseconds(0)),
         .bytes = std::move(bytes)});
    return got > 0 || !way.on_the_way.back().bytes.empty() || write(way);
  }

  static bool write(Direction& way) {
    while (!way.on_the_way.empty() && way.on_the_way.front().due <= SteadyClock::now()) {
      std::string& bytes = way.on_the_way.front().bytes;
      if (bytes.empty()) {
        return false;  // its end has arrived
      }
      const ssize_t sent = ::send(way.to, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0) {
        return errno == EAGAIN || errno == EINTR;
      }
      bytes.erase(0, static_cast<std::size_t>(sent));
      if (!bytes.empty()) {
        return true;
      }
      way.on_the_way.pop_front();
    }
    return true;
  }

  int client_;
  int server_;
  std::array<Direction, 2> ways_;
  bool has_log_ = false;
  bool is_forgotten_ = false;
};

SlowLink::SlowLink(std::uint16_t server_port)
    : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      server_ports_{server_port} {
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(listener_, kBacklog) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    fail("a link's listener");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this](const std::stop_token& stop) { forward(stop); });
}

SlowLink::~SlowLink() {
  thread_.request_stop();
  wake();
  thread_.join();
  connections_.clear();
  ::close(listener_);
  ::close(wake_);
}

void SlowLink::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
}

void SlowLink::delay_log(milliseconds delay) {
  const std::scoped_lock lock(mutex_);
  log_delay_ = delay;
}

void SlowLink::delay_all(milliseconds delay) {
  const std::scoped_lock lock(mutex_);
  delay_ = delay;
}

void SlowLink::stall(Which which) {
  const std::scoped_lock lock(mutex_);
  (which == Which::log ? is_log_stalled_ : is_all_stalled_) = true;
}

void SlowLink::flow() {
  const std::scoped_lock lock(mutex_);
  is_log_stalled_ = is_all_stalled_ = is_cut_ = false;
  wake();
}

void SlowLink::forget_connections() {
  const std::scoped_lock lock(mutex_);
  for (Connection& connection : connections_) {
    connection.forget();
  }
}

void SlowLink::cut() {
  const std::scoped_lock lock(mutex_);
  is_cut_ = true;
  connections_.clear();
  wake();
}

void SlowLink::lead_to(const std::vector<std::uint16_t>& server_ports) {
  const std::scoped_lock lock(mutex_);
  server_ports_.assign(server_ports.begin(), server_ports.end());
}

bool SlowLink::is_stalled(const Connection& connection) const {
  return is_all_stalled_ || connection.is_forgotten() || (is_log_stalled_ && connection.has_log());
}

void SlowLink::accept_one() {
  const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) {
    return;
  }
  const int server = is_cut_ ? -1 : connect_to(server_ports_.front());
  if (server_ports_.size() > 1) {
    server_ports_.pop_front();
  }
  if (server < 0) {
    ::close(client);
    return;
  }
  send_at_once(client);
  connections_.emplace_back(client, server);
}

void SlowLink::forward(const std::stop_token& stop) {
  constexpr milliseconds kLookAgain{20};  // for a peer that reads slowly
  while (!stop.stop_requested()) {
    std::vector<pollfd> watched{{.fd = listener_, .events = POLLIN, .revents = 0},
                                {.fd = wake_, .events = POLLIN, .revents = 0}};
    SteadyClock::time_point due = SteadyClock::now() + kLookAgain;
    {
      const std::scoped_lock lock(mutex_);
      for (const Connection& connection : connections_) {
        if (!is_stalled(connection)) {
          connection.append_readable(watched);
          due = connection.next_due(due);
        }
      }
    }
    const auto wait = std::chrono::ceil<milliseconds>(due - SteadyClock::now()).count();
    ::poll(watched.data(), watched.size(), static_cast<int>(std::max<milliseconds::rep>(wait, 0)));
    std::uint64_t woken = 0;
    (void)!::read(wake_, &woken, sizeof woken);

    const std::scoped_lock lock(mutex_);
    if ((watched.front().revents & POLLIN) != 0) {
      accept_one();
    }
    std::erase_if(connections_, [this](Connection& connection) {
      return !is_stalled(connection) &&
             (!connection.read({.all = delay_, .log = log_delay_}) || !connection.write());
    });
  }
}

}  // namespace cuckooguard::harness
