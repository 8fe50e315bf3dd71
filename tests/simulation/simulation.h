// One simulated run: the product's Clients, Sessions, upstream Connections and Guard between many SimClients and a
// SimRedis, in weather and with faults drawn from one seed, and everybody's witness.
//
//   chaos      clients come, talk and go; Redis stalls, crashes, restarts; connections are cut; rows change; proofs of
//              freshness stop; the machine is suspended
//   rest       no more faults, nothing new is asked: every client that is still there must have every reply
//   departure  all leave: no session, no connection and no memory may stay
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "proxy/clients.h"
#include "simulation/sim_client.h"
#include "simulation/sim_loop.h"
#include "simulation/sim_redis.h"
#include "simulation/sim_shop.h"

namespace cuckooguard::simulation {

struct Outcome {
  std::string failure{};  // empty: every invariant held
  std::uint64_t trace_hash = 0;
  LedgerCounts counts{};
  std::size_t clients = 0;
  std::size_t memory_peak = 0;
  std::uint64_t batches = 0;
  std::chrono::milliseconds virtual_time{};
};

class Simulation final : RedisWitness {
 public:
  explicit Simulation(std::uint64_t seed);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // Once.
  Outcome run();

 private:
  // RedisWitness
  void on_executed(int client,
                   const RedisConnection::Executed& executed,
                   std::uint64_t stream_bytes) override;
  void on_push(int client, std::string_view bytes) override;
  void on_redis_end(int client, RedisEnd how) override;

  void make_weather();
  void make_redis();
  void make_proxy();
  void make_client(int id);
  SimClient::Habits habits();
  void admit(int id);
  void cause_trouble();
  void trouble_redis();
  void trouble_network();
  void trouble_shop();
  int any_client() { return static_cast<int>(random_.below(clients_.size())); }
  // Runs for `time`, or until all is quiet.
  void run_for(std::chrono::nanoseconds time);
  void check_memory();
  void come_to_rest();
  void depart();

  Random random_;
  SimLoop loop_;
  SimShop shop_;
  SimRedis redis_;
  proxy::Session::Settings settings_;
  proxy::ClientCount total_;
  std::unique_ptr<proxy::Clients> proxy_;
  LedgerCounts counts_;
  std::vector<std::unique_ptr<SimClient>> clients_;
  int admitted_ = 0;  // whose session is being made
  bool is_calm_ = false;
  std::string password_;
  std::size_t memory_before_;
};

}  // namespace cuckooguard::simulation
