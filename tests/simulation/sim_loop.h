// io::Loop under a virtual clock: one thread, one seed, no sockets.
//
// Everything that happens is an event with a time: the network's deliveries, timers, what the world
// does (at()), and the loop's own wake-ups. step() runs the next one. A wake-up is a batch as
// io/loop.h has it: it takes the readiness of all transports, tells their watchers in random order,
// flushes upstream ends, then client ends, then destroys what was disposed of. Readiness is
// level-triggered.
//
// It watches over the contract too. fail() is called, and nothing runs any more, when a transport
// is destroyed within a batch that holds its readiness, and when a watcher neither reads, writes
// nor changes its interest although it is told again and again (a loop that would burn a core).
//
// Calm by default: bytes arrive whole and at once, so that unit tests can say what happens.
// simulation.cpp makes weather. Lifetimes: the loop outlives its transports and all that is bound
// to them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/loop.h"
#include "simulation/random.h"

namespace cuckooguard::simulation {

class SimTransport;
class SimPeer;

struct Weather {
  bool rough = false;  // random cuts, short writes and reads, spurious readiness, lost farewells
  std::chrono::microseconds latency_max{0};
  // Of a new connection, each way: how much may be on its way or unread before writing blocks.
  std::size_t capacity_min = std::size_t{1} << 20U;
  std::size_t capacity_max = std::size_t{1} << 20U;
  std::chrono::microseconds post_latency_max{0};  // of what is posted, in its order
};

class SimLoop final : public io::Loop {
 public:
  using EventId = std::pair<io::TimePoint, std::uint64_t>;

  explicit SimLoop(std::uint64_t seed);
  ~SimLoop() override;

  // io::Loop
  io::TimePoint now() const override { return now_; }
  std::unique_ptr<io::Transport> connect(const config::Address& address,
                                         io::Watcher& watcher) override;
  void flush_at_batch_end(io::Flushable& flushable, io::FlushOrder order) override;
  void dispose(std::unique_ptr<io::Disposable> disposable) override;
  std::unique_ptr<io::Timer> after(std::chrono::milliseconds delay,
                                   std::function<void()> call) override;
  void post(std::function<void()> call) override;
  std::span<char> read_buffer() override { return {read_buffer_.get(), kReadBufferBytes}; }
  io::ChunkPool& chunks() override { return chunks_; }

  // The world.
  Random& random() { return random_; }
  Weather& weather() { return weather_; }
  // Of the connect() that is heard of.
  const config::Address& connected_address() const { return connected_address_; }
  // Hears of each connect(); says establish() or refuse() on the transport, now or later, or never.
  void on_connect(std::function<void(SimTransport&)> call) { on_connect_ = std::move(call); }
  void on_batch(std::function<void()> begin, std::function<void()> end);
  // A connection somebody has made to us: the proxy's end, and `peer` becomes the other end.
  std::unique_ptr<SimTransport> accept(SimPeer& peer);
  // Of one that was released: another end of the same connection.
  std::unique_ptr<SimTransport> adopt(int socket);
  EventId at(std::chrono::nanoseconds delay, std::function<void()> call);
  void cancel(const EventId& event) { events_.erase(event); }
  // Work of the product's as a batch of its own, now.
  void as_batch(const std::function<void()>& work);
  // The machine is suspended, or busy with something else. May be called within a batch.
  void pass(std::chrono::nanoseconds time) { now_ += time; }

  // False if nothing is left to happen, or something has failed.
  bool step();
  // Until nothing is left to happen but what is further than `horizon` away.
  void run(std::chrono::nanoseconds horizon = std::chrono::seconds(1));

  // A contract is broken. The first one counts.
  void fail(std::string what);
  const std::string& failure() const { return failure_; }

  // What happened so far, as one number.
  void trace(std::uint64_t number);
  void trace(std::string_view bytes);
  std::uint64_t trace_hash() const { return trace_hash_; }
  std::uint64_t batches() const { return batches_; }

 private:
  friend class SimTransport;
  class SimTimer;

  void touch(std::uint64_t transport) { touched_.insert(transport); }
  void wake_up_if_ready();
  void run_batch();
  void end_batch();

  Random random_;
  Weather weather_;
  io::TimePoint now_{std::chrono::hours(1)};
  io::TimePoint last_post_{};
  std::map<EventId, std::function<void()>> events_;
  std::uint64_t events_made_ = 0;
  bool wake_up_is_due_ = false;
  std::uint64_t batches_ = 0;
  std::string failure_;
  std::uint64_t trace_hash_ = 14695981039346656037ULL;

  config::Address connected_address_;
  std::function<void(SimTransport&)> on_connect_;
  std::function<void()> batch_begins_;
  std::function<void()> batch_ends_;

  std::map<std::uint64_t, SimTransport*> transports_;
  std::uint64_t transports_made_ = 0;
  std::map<int, std::unique_ptr<SimTransport>> released_;
  std::set<std::uint64_t> touched_;     // may be ready
  std::set<std::uint64_t> delivering_;  // in the batch at hand

  io::ChunkPool chunks_;
  std::unique_ptr<char[]> read_buffer_;
  std::vector<io::Flushable*> upstream_flushes_;
  std::vector<io::Flushable*> client_flushes_;
  std::vector<std::unique_ptr<io::Disposable>> disposed_;
};

}  // namespace cuckooguard::simulation
