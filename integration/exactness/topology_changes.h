// Two database servers behind one address, from a seed: the address moves, who replicates whom
// changes, servers become read-only, crash and lose the end of what they had, the network is cut,
// and the guard stops and goes on, while an application writes to whoever is behind the address.
// Whatever SELECT finds there is not answered absent.
//
// Must: a move is noticed within kNoticed, all else within max_lag.
//
// Threads: the test's. Errors: sentences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "harness/configuration.h"
#include "harness/deadline.h"
#include "harness/guard_process.h"
#include "harness/redis_server.h"
#include "harness/slow_link.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {

// Servers 0 and 1, with a table user (id).
class ServerPair {
 public:
  ServerPair() = default;
  virtual ~ServerPair() = default;
  ServerPair(const ServerPair&) = delete;
  ServerPair& operator=(const ServerPair&) = delete;

  virtual std::uint16_t port(std::size_t server) const = 0;
  virtual std::string source(const std::string& address) const = 0;
  // False: it refuses.
  virtual bool run(std::size_t server, const std::string& sql) = 0;
  // `SELECT id FROM user`; nothing: it refuses.
  virtual std::optional<std::vector<std::string>> ids(std::size_t server) = 0;
  virtual void set_read_only(std::size_t server, bool is_read_only) = 0;
  virtual void promote(std::size_t server) = 0;  // if it is a replica
  // A copy of the other one, which it replicates from then on.
  virtual void replicate_from_other(std::size_t server) = 0;
  // What it has is kept, and what the other one has is replicated on top, for a while.
  virtual bool replicate_for_a_while(std::size_t server) = 0;
  virtual void crash(std::size_t server, bool loses_its_end) = 0;
};

class TopologyChanges {
 public:
  static constexpr milliseconds kNoticed{4000};  // 1.1 s on a machine that is not busy

  TopologyChanges(ServerPair& servers, std::uint32_t seed);

  // With a guard of its own, which goes on from the checkpoints of the one before; what is wrong.
  std::vector<std::string> round();
  std::string counts() const;

 private:
  void step();
  void move();
  void hand_over();
  void change_network();
  void write(unsigned rows);
  void look();
  bool is_hidden_row() const;
  void start_guard();
  void stop_guard();
  void mend();
  void note(const std::string& what);
  unsigned pick(unsigned choices) { return static_cast<unsigned>(random_() % choices); }
  std::size_t other() const { return 1 - current_; }

  ServerPair& servers_;
  std::mt19937 random_;
  std::size_t current_ = 0;  // where the address leads
  bool is_replica_ = false;  // the other one
  SteadyClock::time_point moved_at_{};
  TemporaryDirectory kept_;
  RedisServer redis_;
  SlowLink link_;
  std::optional<GuardProcess> guard_;
  std::string steps_;
  std::vector<std::string> wrong_;
  std::map<std::string, unsigned> counts_;
};

}  // namespace cuckooguard::harness
