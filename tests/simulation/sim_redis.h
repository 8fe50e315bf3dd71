// The simulated Redis: accepts the proxy's connections, runs what comes, crashes, stalls, restarts, pushes.
//
// One connection per client (`mode: pinned`), so it is told whose a connection is and tells the witness. It answers
// everything it was sent before a farewell, then closes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "simulation/redis_connection.h"
#include "simulation/redis_store.h"
#include "simulation/sim_transport.h"

namespace cuckooguard::simulation {

enum class RedisEnd : std::uint8_t {
  orderly,      // it has answered all it was sent, or closes because of what it was sent
  fault,        // a crash, or the network
  unreachable,  // it was never there
};

class RedisWitness {
 public:
  // A reply or a push is in the connection's stream, which is now `stream_bytes` long.
  virtual void on_executed(int client,
                           const RedisConnection::Executed& executed,
                           std::uint64_t stream_bytes) = 0;
  virtual void on_push(int client, std::string_view bytes) = 0;
  virtual void on_redis_end(int client, RedisEnd how) = 0;

 protected:
  ~RedisWitness() = default;
};

class SimRedis {
 public:
  SimRedis(SimLoop& loop, RedisWitness& witness) : loop_(loop), witness_(witness) {}
  SimRedis(const SimRedis&) = delete;
  SimRedis& operator=(const SimRedis&) = delete;
  ~SimRedis() = default;

  RedisStore& store() { return store_; }

  // The proxy connects for `client`: accepted, refused if Redis is down, or never answered.
  void connect(SimTransport& transport, int client);

  void crash(bool keeps_values);
  void start() { is_down_ = false; }
  bool is_down() const { return is_down_; }
  // Runs nothing until then.
  void stall(std::chrono::nanoseconds time);
  // Nobody is let in until then, nor refused.
  void set_deaf(bool deaf) { is_deaf_ = deaf; }
  // A push to each RESP3 connection.
  void push_to_all();
  // The network loses a connection; nothing if there is none.
  void reset(int client);
  void stall_network(int client, std::chrono::nanoseconds time);

  std::size_t connections() const { return links_.size(); }
  bool has(int client) const { return links_.contains(client); }

 private:
  struct Link {
    Link(SimLoop& loop, RedisStore& store, std::uint64_t id) : peer(loop), connection(store, id) {}
    SimPeer peer;
    RedisConnection connection;
    std::string input;
    std::uint64_t stream_bytes = 0;
  };

  void accept(SimTransport& transport, int client);
  void serve(int client);
  void end(int client, RedisEnd how);

  SimLoop& loop_;
  RedisWitness& witness_;
  RedisStore store_;
  std::map<int, std::unique_ptr<Link>> links_;
  std::uint64_t ids_ = 0;
  std::uint64_t pushes_ = 0;
  bool is_down_ = false;
  bool is_deaf_ = false;
  io::TimePoint stalled_until_{};
};

}  // namespace cuckooguard::simulation
