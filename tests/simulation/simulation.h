// One simulated run: the product's Clients, Sessions, upstream Connections and Guard between many
// SimClients and a SimRedis, in weather and with faults drawn from one seed, and everybody's
// witness.
//
//   chaos      clients come, talk and go; Redis stalls, crashes, restarts; connections are cut;
//              rows change; proofs of freshness stop; the machine is suspended
//   rest       no more faults, nothing new is asked: every client that is still there must have
//              every reply
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
#include "simulation/wire.h"

namespace cuckooguard::simulation {

struct Outcome {
  std::string failure{};  // empty: every invariant held
  std::uint64_t trace_hash = 0;
  LedgerCounts counts{};
  std::size_t clients = 0;
  std::size_t memory_peak = 0;
  std::uint64_t batches = 0;
  std::chrono::milliseconds virtual_time{};
  std::size_t wires = 0;        // connections to Redis that were made
  std::uint64_t handovers = 0;  // commands behind another client's on their wire
  std::uint64_t retired = 0;    // wires that had refused a write
  std::size_t let_go = 0;       // clients that had all that they were to get, and were closed
  std::size_t cut_off = 0;
  std::chrono::milliseconds longest_wait{};  // beside wires that are silent
  std::size_t silent = 0;                    // those
};

class Simulation final : RedisWitness {
 public:
  Simulation(std::uint64_t seed, config::UpstreamMode mode);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // Once, either.
  Outcome run();
  // The process is to end while clients go on: each is let go where its commands end.
  Outcome run_drained();
  // Connections to Redis fall silent for good, one after the other, whatever they are for. Whoever
  // was on one is served or closed when it has been silent for long enough.
  Outcome run_beside_silence();

 private:
  // RedisWitness
  void on_executed(int number,
                   const RedisConnection::Executed& executed,
                   std::uint64_t stream_bytes) override;
  void on_push(int number, std::string_view bytes) override;
  void on_redis_end(int number, RedisEnd how) override;

  bool shares() const { return settings_.upstream.mode == config::UpstreamMode::shared; }
  void connect(SimTransport& upstream);
  void on_wire_read(Wire& wire, std::size_t bytes);
  void let_ledgers_decide();
  void note_given_up(Wire& wire, int number);
  void on_wire_closed(const Wire& wire);
  void check_own_command(const RedisConnection::Executed& executed);
  SimClient& client(int id) { return *clients_[static_cast<std::size_t>(id)]; }

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
  void silence_a_wire();
  void check_waits();
  int any_client() { return static_cast<int>(random_.below(clients_.size())); }
  // Runs for `time`, or until all is quiet.
  void run_for(std::chrono::nanoseconds time);
  std::size_t memory_for_slow_readers() const;
  void check_memory();
  void come_to_rest();
  void depart();
  void begin();
  Outcome outcome(io::TimePoint began);

  std::uint64_t seed_;
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
  // To Redis. `mode: pinned`: their numbers are their clients'.
  std::vector<std::shared_ptr<Wire>> wires_;
  std::uint64_t handovers_ = 0;
  bool is_gone_ = false;
  bool is_calm_ = false;
  io::TimePoint calm_since_{};
  std::vector<int> silent_;  // wires
  std::string password_;
  std::size_t memory_before_;
  std::chrono::milliseconds longest_wait_{};
};

}  // namespace cuckooguard::simulation
