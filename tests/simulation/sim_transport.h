// A simulated connection: the product holds one end (SimTransport, an io::Transport), the world the
// other (SimPeer).
//
//   product: SimTransport <-- to_product --  SimPeer: world
//                         -- to_world  -->
//
// It behaves as a socket in a level-triggered epoll set (io/transport.h):
//   - close() of the world's end is a farewell behind its bytes; what the product writes after it
//     is answered by a reset (a Unix socket reports the hang-up at once). reset() kills both
//     directions; bytes that have arrived may still be read, or may not.
//   - close() of the product's end with unread bytes may lose what it wrote last (TCP does that).
// In rough weather (SimLoop::weather()) bytes come in random pieces and late, writes are short.
//
// Lifetimes: either end may go first. Threads: one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "io/transport.h"
#include "simulation/pipe.h"
#include "simulation/sim_loop.h"

namespace cuckooguard::simulation {

struct Link;

class SimTransport final : public io::Transport {
 public:
  enum class State : std::uint8_t { connecting, up, closed };

  SimTransport(SimLoop& loop, State state);
  ~SimTransport() override;
  SimTransport(const SimTransport&) = delete;
  SimTransport& operator=(const SimTransport&) = delete;

  // io::Transport
  void bind(io::Watcher& watcher) override { watcher_ = &watcher; }
  void watch(io::Interest interest) override;
  io::Transfer read(std::span<char> into) override;
  io::Transfer write(std::span<const std::string_view> pieces) override;
  void finish_writing() override;
  void close() override;
  bool is_open() const override { return state_ != State::closed; }
  int release() override;
  bool may_be_released() const override { return state_ == State::up; }
  std::optional<std::chrono::milliseconds> unheard_for() const override;

  // The world's: the outcome of a connect.
  void establish(SimPeer& peer);
  void refuse();
  // Hears of the bytes of each successful read, before the product does; of each successful write;
  // of finish_writing(); of close().
  struct Observer {
    std::function<void(std::string_view)> on_read;
    std::function<void(std::string_view)> on_write;
    std::function<void()> on_close;
    std::function<void()> on_finish{};
  };
  void observe(Observer observer) { observer_ = std::move(observer); }
  std::uint64_t id() const { return id_; }
  std::weak_ptr<SimTransport*> weak_self() const { return self_; }
  io::Interest interest() const { return interest_; }

 private:
  friend class SimLoop;
  friend class SimPeer;
  friend struct Link;

  // For the loop.
  bool is_ready() const;
  io::Readiness take_readiness();
  void tell(io::Readiness readiness);
  void join(SimPeer& peer);
  void touch() { loop_.touch(id_); }
  bool is_hung_up() const;
  io::Transfer took(io::Status status, std::size_t bytes);

  SimLoop& loop_;
  std::uint64_t id_;
  State state_;
  bool refused_ = false;
  bool connect_is_news_ = false;
  io::Watcher* watcher_ = nullptr;
  io::Interest interest_ = io::Interest::none;
  bool hang_up_is_told_ = false;  // without interest it is told once
  int fruitless_calls_ = 0;
  std::shared_ptr<Link> link_;
  Observer observer_;
  std::shared_ptr<SimTransport*> self_;
};

class SimPeer {
 public:
  struct Calls {
    std::function<void()> on_arrival;  // bytes, an end, or a reset
  };

  explicit SimPeer(SimLoop& loop) : loop_(loop) {}
  ~SimPeer();
  SimPeer(const SimPeer&) = delete;
  SimPeer& operator=(const SimPeer&) = delete;

  void listen(Calls calls) { calls_ = std::move(calls); }

  // Queued without limit, written as the connection has room.
  void send(std::string_view bytes);
  std::size_t unsent() const { return unsent_.size(); }

  // All that has arrived, or at most `max` of it.
  std::string read(std::size_t max = std::string::npos);
  std::size_t unread() const;
  bool at_end() const;    // all is read, no more will come
  bool is_reset() const;  // nothing goes any more
  bool is_connected() const { return link_ != nullptr; }
  bool is_unix() const;

  void finish();  // says that no more will be sent; reads on
  void close();   // and reads no more
  void reset();

  // Both directions hold still until then.
  void stall(std::chrono::nanoseconds time);

 private:
  friend struct Link;
  friend class SimTransport;

  void pump();
  void arrived() const;

  SimLoop& loop_;
  Calls calls_;
  std::shared_ptr<Link> link_;
  ByteQueue unsent_;
  bool finish_is_due_ = false;
  bool closed_ = false;
};

}  // namespace cuckooguard::simulation
