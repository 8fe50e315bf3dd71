#include "io/asio_loop.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/socket_transport.h"

namespace cuckooguard::io {
namespace {

namespace asio = boost::asio;

// Events taken per epoll_wait; a batch may take several rounds of it.
constexpr std::size_t kEventsPerRound = 256;
// Rounds per batch: bounds how long the first client's answer waits for the last client's read.
constexpr int kRoundsPerBatch = 4;
constexpr std::chrono::seconds kMemoryKeptFor{1};
constexpr std::chrono::milliseconds kBacklogPause{5};

int make_epoll() {
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0) {
    throw std::system_error(errno, std::system_category(), "epoll_create1");
  }
  return epoll;
}

SocketAddress unix_address(const std::string& path) {
  SocketAddress address;
  sockaddr_un target{};
  target.sun_family = AF_UNIX;
  // The configuration has refused longer paths.
  std::memcpy(target.sun_path, path.data(), std::min(path.size(), sizeof target.sun_path - 1));
  std::memcpy(&address.storage, &target, sizeof target);
  address.length = sizeof target;
  return address;
}

SocketAddress tcp_address(const asio::ip::tcp::endpoint& endpoint) {
  SocketAddress address;
  std::memcpy(&address.storage, endpoint.data(), endpoint.size());
  address.length = static_cast<socklen_t>(endpoint.size());
  return address;
}

// Blocks. Empty: the name is unknown.
std::vector<SocketAddress> addresses_of(const config::Address& address) {
  asio::io_context io;
  asio::ip::tcp::resolver resolver(io);
  boost::system::error_code unknown;
  std::vector<SocketAddress> addresses;
  for (const auto& entry : resolver.resolve(address.host, std::to_string(address.port), unknown)) {
    addresses.push_back(tcp_address(entry.endpoint()));
  }
  return addresses;
}

}  // namespace

class AsioLoop::AsioTimer final : public Timer {
 public:
  AsioTimer(AsioLoop& loop, std::chrono::milliseconds delay, std::function<void()> call)
      : timer_(loop.io_, delay) {
    // Asio can not take back the call of a timer that is due already.
    timer_.async_wait([&loop, work = std::move(call), is_wanted = std::weak_ptr(exists_)](
                          const boost::system::error_code& error) {
      if (!error && !is_wanted.expired()) {
        loop.as_batch(work);
      }
    });
  }

 private:
  std::shared_ptr<bool> exists_ = std::make_shared<bool>();
  asio::steady_timer timer_;
};

AsioLoop::AsioLoop(BatchHooks hooks, const TlsSlot* credentials)
    : hooks_(std::move(hooks)),
      credentials_(credentials),
      read_buffer_(new char[kReadBufferBytes]),
      io_(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO),
      epoll_(io_, make_epoll()),
      memory_timer_(io_) {
  await_batch();
}

AsioLoop::~AsioLoop() = default;

void AsioLoop::encrypt_connects(const TlsSlot& credentials, TlsTransport::OnFailure on_failure) {
  credentials_ = &credentials;
  on_tls_failure_ = std::move(on_failure);
}

std::unique_ptr<Transport> AsioLoop::connect(const config::Address& address, Watcher& watcher) {
  const auto credentials = credentials_ == nullptr ? nullptr : credentials_->get();
  if (!credentials) {
    return connect_plainly(address, watcher);
  }
  auto transport = std::make_unique<TlsTransport>(
      *this, *credentials, on_tls_failure_, address.certified_name());
  transport->bind(watcher);
  transport->carry_by(connect_plainly(address, transport->inner_watcher()));
  return transport;
}

std::unique_ptr<Transport> AsioLoop::connect_plainly(const config::Address& address,
                                                     Watcher& watcher) {
  auto transport = std::make_unique<SocketTransport>(epoll_.native_handle(), -1);
  transport->bind(watcher);
  std::weak_ptr<SocketTransport*> waiting = transport->weak_self();
  boost::system::error_code not_numeric;
  if (address.is_unix()) {
    connect_later(std::move(waiting), {unix_address(address.unix_path)});
  } else if (const auto ip = asio::ip::make_address(address.host, not_numeric); !not_numeric) {
    connect_later(std::move(waiting), {tcp_address({ip, address.port})});
  } else {
    resolve(address, std::move(waiting));
  }
  return transport;
}

void AsioLoop::connect_later(std::weak_ptr<SocketTransport*> waiting,
                             std::vector<SocketAddress> addresses) {
  post([this, waiting = std::move(waiting), addresses = std::move(addresses)] {
    const auto transport = waiting.lock();
    if (transport && !(*transport)->connect(addresses)) {
      connect_again(waiting, addresses);
    }
  });
}

// As often as it takes: whoever wants the connection gives up in time, and closes the transport.
void AsioLoop::connect_again(const std::weak_ptr<SocketTransport*>& waiting,
                             const std::vector<SocketAddress>& addresses) {
  const auto pause = std::make_shared<asio::steady_timer>(io_, kBacklogPause);
  pause->async_wait([this, pause, waiting, addresses](const boost::system::error_code& error) {
    if (!error) {
      connect_later(waiting, addresses);
    }
  });
}

void AsioLoop::resolve(const config::Address& address, std::weak_ptr<SocketTransport*> waiting) {
  Lookup& lookup = lookups_[address.text()];
  if (lookup.next.size() ==
      lookup.next.capacity()) {  // a name that hangs outlives who waits for it
    std::erase_if(lookup.next, [](const auto& each) { return each.expired(); });
  }
  lookup.next.push_back(std::move(waiting));
  if (!lookup.is_running) {
    look_up(address);
  }
}

void AsioLoop::look_up(const config::Address& address) {
  Lookup& lookup = lookups_.at(address.text());
  lookup.is_running = true;
  lookup.asked = std::exchange(lookup.next, {});
  const auto found = std::make_shared<std::vector<SocketAddress>>();
  const auto tell = [this, address, found] {
    post([this, address, found] { looked_up(address, *found); });
  };
  if (!lookup.thread.post([address, found] { *found = addresses_of(address); }, tell)) {
    tell();
  }
}

// Nothing found fails in connect().
void AsioLoop::looked_up(const config::Address& address, const std::vector<SocketAddress>& found) {
  Lookup& lookup = lookups_.at(address.text());
  for (auto& waiting : std::exchange(lookup.asked, {})) {
    connect_later(std::move(waiting), found);
  }
  if (lookup.next.empty()) {
    lookups_.erase(address.text());
  } else {
    look_up(address);
  }
}

void AsioLoop::flush_at_batch_end(Flushable& flushable, FlushOrder order) {
  (order == FlushOrder::upstream_first ? upstream_flushes_ : client_flushes_).push_back(&flushable);
}

void AsioLoop::dispose(std::unique_ptr<Disposable> disposable) {
  disposed_.push_back(std::move(disposable));
}

std::unique_ptr<Timer> AsioLoop::after(std::chrono::milliseconds delay,
                                       std::function<void()> call) {
  return std::make_unique<AsioTimer>(*this, delay, std::move(call));
}

std::unique_ptr<Transport> AsioLoop::adopt(int socket) {
  if (prepare_socket(socket)) {
    ::close(socket);
    return nullptr;
  }
  return std::make_unique<SocketTransport>(epoll_.native_handle(), socket);
}

void AsioLoop::post(std::function<void()> call) {
  asio::post(io_, [this, work = std::move(call)] { as_batch(work); });
}

void AsioLoop::run() {
  io_.run();
}

void AsioLoop::run_one(TimePoint until) {
  end_batch();
  const auto left = until - now();
  if (left > TimePoint::duration::zero()) {
    io_.run_one_for(left);
  } else {
    io_.poll_one();
  }
}

void AsioLoop::run_until(TimePoint until) {
  while (!is_stopped() && now() < until) {
    run_one(until);
  }
}

void AsioLoop::stop() {
  io_.stop();
}

void AsioLoop::await_batch() {
  epoll_.async_wait(asio::posix::stream_descriptor::wait_read,
                    [this](const boost::system::error_code& error) {
                      if (!error) {
                        run_batch();
                        await_batch();
                      }
                    });
}

void AsioLoop::run_batch() {
  as_batch([this] {
    std::array<epoll_event, kEventsPerRound> events;
    for (int round = 0; round < kRoundsPerBatch; ++round) {
      const int count =
          ::epoll_wait(epoll_.native_handle(), events.data(), static_cast<int>(events.size()), 0);
      for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        static_cast<SocketTransport*>(event.data.ptr)->deliver(event.events);
      }
      if (count < static_cast<int>(events.size())) {
        return;
      }
    }
  });
}

void AsioLoop::as_batch(const std::function<void()>& work) {
  if (hooks_.begin) {
    hooks_.begin();
  }
  work();
  end_batch();
  if (hooks_.end) {
    hooks_.end();
  }
}

void AsioLoop::end_batch() {
  // By index: a flush that closes its session may queue another one.
  // NOLINTBEGIN(modernize-loop-convert): see above
  for (std::size_t i = 0; i < upstream_flushes_.size(); ++i) {
    upstream_flushes_[i]->flush();
  }
  upstream_flushes_.clear();
  for (std::size_t i = 0; i < client_flushes_.size(); ++i) {
    client_flushes_[i]->flush();
  }
  // NOLINTEND(modernize-loop-convert)
  client_flushes_.clear();
  disposed_.clear();
  if (chunks_.pooled() > 0 && !memory_timer_runs_) {
    give_memory_back_later();
  }
}

// What a burst has taken, when it is over. The allocator keeps freed memory unless it is told.
void AsioLoop::give_memory_back_later() {
  memory_timer_runs_ = true;
  memory_timer_.expires_after(kMemoryKeptFor);
  memory_timer_.async_wait([this](const boost::system::error_code& error) {
    memory_timer_runs_ = false;
    if (!error) {
      if (chunks_.free_unneeded()) {
        ::malloc_trim(0);
      }
      if (chunks_.pooled() > 0) {
        give_memory_back_later();
      }
    }
  });
}

}  // namespace cuckooguard::io
