// A client of the proxy: sends its script in bursts, reads as fast or slowly as it likes, and
// leaves in one of many ways. What it sees is judged by its ledger.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "simulation/ledger.h"
#include "simulation/script.h"
#include "simulation/sim_redis.h"
#include "simulation/sim_transport.h"

namespace cuckooguard::simulation {

class SimClient {
 public:
  enum class Leaving : std::uint8_t { stays, half_closes, closes, resets, quits };

  struct Habits {
    std::uint64_t commands = 100;
    std::uint64_t burst_max = 10;
    bool awaits_replies = true;  // before the next burst
    std::chrono::microseconds thinks_max{1000};
    std::size_t reads_at_once = std::string::npos;
    std::chrono::microseconds reads_late{0};
    Leaving leaving = Leaving::stays;
  };

  SimClient(Ledger::World world, Script script, Habits habits, const Standing& at_start);

  // The other end has been given to the proxy. `is_refused`: the proxy had no room.
  void start(bool is_refused);

  SimPeer& peer() { return peer_; }
  Ledger& ledger() { return ledger_; }
  // Redis, or the network on that side, has ended the connection.
  void on_redis_end(RedisEnd how);
  // In `mode: shared`: the proxy has closed a connection that was lost. It may have been this
  // client's.
  void on_wire_lost(const Wire& wire);
  // Network faults of the client's own side.
  void lose_connection();
  void calm_down();   // no more new commands, reads at once
  void leave();       // the end: closes, whatever it is doing
  void on_cut_off();  // the proxy waits for it no longer
  bool was_let_go() const { return was_let_go_; }
  bool has_left() const { return has_left_; }
  std::optional<io::TimePoint> waits_since() {
    return has_left_ || is_refused_ ? std::nullopt : ledger_.waits_since();
  }
  void on_proxy_closed() {
    proxy_has_closed_ = true;
    ledger_.on_closed();
  }
  // The proxy may hold memory for it; it may not know yet that the client has left.
  bool is_held() const { return is_started_ && !proxy_has_closed_; }
  // When all has come to rest.
  void check_at_rest();

 private:
  void think();
  void think_later();
  void send(const SentCommand& sent);
  void on_arrival();
  void read();
  void on_end();
  void say_goodbye();

  Ledger::World world_;
  Random random_;
  Script script_;
  Habits habits_;
  SimPeer peer_;
  Ledger ledger_;
  std::string refusal_;  // what is still to be received of it
  bool is_started_ = false;
  bool is_refused_ = false;
  bool is_calm_ = false;
  bool said_goodbye_ = false;  // half-closed: it still expects every reply
  bool has_left_ = false;      // looks at nothing any more
  bool proxy_has_closed_ = false;
  bool thinks_ = false;
  bool reads_ = false;
  bool redis_ended_ = false;
  bool redis_was_up_ = false;
  bool is_faulty_ = false;
  bool was_let_go_ = false;  // and had all that it was to get
};

}  // namespace cuckooguard::simulation
