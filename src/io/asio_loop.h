// The Loop of the product: an Asio io_context whose one busy descriptor is an epoll set of our own.
//
// All sockets of the worker are in that level-triggered set; the set's own descriptor is wrapped in
// a posix::stream_descriptor, so Asio wakes us once per batch. Compared with plain Asio reads this
// saves an epoll_ctl or an EAGAIN read per command, needs no buffer per connection, and has an
// explicit end of the batch, where everything queued is flushed at once (measured). Timers and
// hand-overs are ordinary Asio. Name resolution is not: Asio's resolver looks up one name at a
// time, and its destructor waits for that. Here each look-up has a thread of its own
// (BlockingThread), so that one that hangs delays neither another name nor the end of the loop.
//
// Threads: as io::Loop, and run() belongs to that thread; stop() and is_stopped() from any.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "io/blocking_thread.h"
#include "io/loop.h"
#include "io/tls_transport.h"

namespace cuckooguard::io {

class SocketTransport;
struct SocketAddress;

// Called around every batch, for example to tell the filters' epochs that this worker reads now.
struct BatchHooks {
  std::function<void()> begin;
  std::function<void()> end;
};

class AsioLoop final : public Loop {
 public:
  // connect() speaks TLS whenever `credentials` has some; it outlives the loop. Null: never.
  explicit AsioLoop(BatchHooks hooks, const TlsSlot* credentials = nullptr);
  ~AsioLoop() override;

  TimePoint now() const override { return now_since_boot(); }
  std::unique_ptr<Transport> connect(const config::Address& address, Watcher& watcher) override;
  void flush_at_batch_end(Flushable& flushable, FlushOrder order) override;
  void dispose(std::unique_ptr<Disposable> disposable) override;
  std::unique_ptr<Timer> after(std::chrono::milliseconds delay,
                               std::function<void()> call) override;
  std::span<char> read_buffer() override { return {read_buffer_.get(), kReadBufferBytes}; }
  ChunkPool& chunks() override { return chunks_; }
  void post(std::function<void()> call) override;

  // A socket that is already connected; taken over, also on failure (then null).
  std::unique_ptr<Transport> adopt(int socket);

  // The same later: before run(), or from the loop's thread.
  void encrypt_connects(const TlsSlot& credentials, TlsTransport::OnFailure on_failure);

  void run();
  // In place of run(), for a thread that asks and waits: writes what is queued, then goes on with
  // one thing that is due, or will be before `until`. The caller's code is between two batches.
  void run_one(TimePoint until);
  // The same until then, or until it is stopped.
  void run_until(TimePoint until);
  void stop();
  bool is_stopped() const { return io_.stopped(); }

 private:
  std::unique_ptr<Transport> connect_plainly(const config::Address& address, Watcher& watcher);
  void await_batch();
  void run_batch();
  void as_batch(const std::function<void()>& work);
  void end_batch();
  void give_memory_back_later();
  void connect_later(std::weak_ptr<SocketTransport*> waiting, std::vector<SocketAddress> addresses);
  void connect_again(const std::weak_ptr<SocketTransport*>& waiting,
                     const std::vector<SocketAddress>& addresses);
  void resolve(const config::Address& address, std::weak_ptr<SocketTransport*> waiting);
  void look_up(const config::Address& address);
  void looked_up(const config::Address& address, const std::vector<SocketAddress>& found);

  class AsioTimer;
  struct Lookup {
    std::vector<std::weak_ptr<SocketTransport*>> asked;  // by the look-up that runs
    std::vector<std::weak_ptr<SocketTransport*>> next;   // since: what it finds may be older
    bool is_running = false;
    BlockingThread thread{{.name = "name look-up"}};
  };

  BatchHooks hooks_;
  const TlsSlot* credentials_;  // of connects
  TlsTransport::OnFailure on_tls_failure_;
  ChunkPool chunks_;
  std::unique_ptr<char[]> read_buffer_;
  boost::asio::io_context io_;
  boost::asio::posix::stream_descriptor epoll_;
  boost::asio::steady_timer memory_timer_;  // while the pool has chunks
  bool memory_timer_runs_ = false;
  std::vector<Flushable*> upstream_flushes_;
  std::vector<Flushable*> client_flushes_;
  std::vector<std::unique_ptr<Disposable>> disposed_;
  std::map<std::string, Lookup> lookups_;  // by the address's text; ends first: it posts here
};

}  // namespace cuckooguard::io
