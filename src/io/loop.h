// A worker's event loop as sessions see it: readiness, one flush per batch, timers, time.
//
// This is the seam between the product and the world. AsioLoop serves it with real sockets; the
// simulation serves it with pipes, faults and a virtual clock from one seed, and runs the same
// sessions (tests/simulation).
//
// A batch: the loop wakes up and tells every ready watcher. Then it flushes: first everything
// towards Redis, so that Redis gets to work, then everything towards clients. Then it destroys what
// was disposed of. One gathered write per batch instead of one per command makes a proxied GET
// cheaper for Redis than a direct one.
//
// Threads: all calls from the loop's own thread, post() from any.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>

#include <boost/core/noncopyable.hpp>

#include "config/config.h"
#include "io/clock.h"
#include "io/output_queue.h"
#include "io/transport.h"

namespace cuckooguard::io {

// Something with queued output that wants it written once per batch.
class Flushable {
 public:
  virtual void flush() = 0;

 protected:
  ~Flushable() = default;
};

enum class FlushOrder : std::uint8_t { upstream_first, client_last };

// What must outlive the batch it ended in (Loop::dispose()).
class Disposable : boost::noncopyable {
 public:
  virtual ~Disposable() = default;
};

// Destroying it cancels the call.
class Timer : boost::noncopyable {
 public:
  virtual ~Timer() = default;
};

class Loop : boost::noncopyable {
 public:
  virtual ~Loop() = default;

  // Read it after reading a client, and decide everything that was read by that time: a process
  // that is suspended in between must not judge later bytes by an earlier deadline. About 25 ns.
  virtual TimePoint now() const = 0;

  // A transport that is still connecting and already bound to `watcher`, which gets `writable` once
  // it is up, or `hung_up` if it cannot be; never from within this call. Names are resolved at each
  // call.
  virtual std::unique_ptr<Transport> connect(const config::Address& address, Watcher& watcher) = 0;

  // `flushable` is flushed once at the end of this batch, however often it asks. It must be alive
  // then.
  virtual void flush_at_batch_end(Flushable& flushable, FlushOrder order) = 0;

  // Destroyed after the batch.
  virtual void dispose(std::unique_ptr<Disposable> disposable) = 0;

  virtual std::unique_ptr<Timer> after(std::chrono::milliseconds delay,
                                       std::function<void()> call) = 0;

  // `call` runs as a batch of its own on the loop's thread.
  virtual void post(std::function<void()> call) = 0;

  // The worker's one read buffer: bytes in it are gone with the next read of anybody.
  // kReadBufferBytes long.
  virtual std::span<char> read_buffer() = 0;
  static constexpr std::size_t kReadBufferBytes = std::size_t{192} * 1024;

  virtual ChunkPool& chunks() = 0;
};

}  // namespace cuckooguard::io
