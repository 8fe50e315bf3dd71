// The simulated Redis: accepts the proxy's connections, runs what comes, crashes, stalls, restarts,
// pushes.
//
// It does not know whose a connection is: connections have numbers, and the witness hears of each
// by its number. It answers everything it was sent before a farewell, then closes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  virtual void on_executed(int number,
                           const RedisConnection::Executed& executed,
                           std::uint64_t stream_bytes) = 0;
  virtual void on_push(int number, std::string_view bytes) = 0;
  virtual void on_redis_end(int number, RedisEnd how) = 0;

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

  // The proxy connects: accepted, refused if Redis is down, or never answered.
  void connect(SimTransport& transport, int number);

  void crash(bool keeps_values);
  void start() { is_down_ = false; }
  bool is_down() const { return is_down_; }
  // Runs nothing until then.
  void stall(std::chrono::nanoseconds time);
  // Nobody is let in until then, nor refused.
  void set_deaf(bool deaf) { is_deaf_ = deaf; }
  // A push to each RESP3 connection, or to those that are subscribed.
  void push_to_all(bool only_to_subscribed);
  // A failover: the connections that there are take no writes any more, new ones do.
  void demote();
  // The network loses a connection; nothing if there is none.
  void reset(int number);
  // Runs one command on a connection that is not the proxy's, which stays; its reply.
  std::string ask_straight(const std::vector<std::string>& words);
  void stall_network(int number, std::chrono::nanoseconds time);
  // Of a Unix socket nothing is lost.
  bool is_over_a_network(int number) const { return !links_.at(number)->peer.is_unix(); }

  std::size_t connections() const { return links_.size(); }
  // One of them; nothing if there is none.
  std::optional<int> any_link(Random& random) const;

 private:
  struct Link {
    Link(SimLoop& loop, RedisStore& store, std::uint64_t id) : peer(loop), connection(store, id) {}
    SimPeer peer;
    RedisConnection connection;
    std::string input;
    std::uint64_t stream_bytes = 0;
  };

  void accept(SimTransport& transport, int number);
  void serve(int number);
  void end(int number, RedisEnd how);
  void tell_others(std::optional<int> number, std::string& output);
  void push(std::optional<int> running, std::string& output, int to, const std::string& text);
  void invalidate(RedisConnection& of,
                  const std::string& key,
                  std::optional<int> running,
                  std::string& output);
  void close_the_deleted(std::optional<int> but);

  SimLoop& loop_;
  RedisWitness& witness_;
  RedisStore store_;
  std::map<int, std::unique_ptr<Link>> links_;
  std::optional<RedisConnection> straight_;
  std::uint64_t ids_ = 0;
  std::uint64_t pushes_ = 0;
  bool is_down_ = false;
  bool is_deaf_ = false;
  io::TimePoint stalled_until_{};
};

}  // namespace cuckooguard::simulation
