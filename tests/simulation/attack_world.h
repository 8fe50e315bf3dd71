// One simulated run of a guard under attack: good clients beside some that Redis refuses and some
// that are hostile (attack_script.h), an operator who changes rights through the guard or behind
// it, and somebody who is straight at Redis. All from one seed. What must hold: see
// attack_client.h, and
//
//   - of the good clients' reads of absent keys few reach Redis (kPassedShareMax)
//   - no reader waits for what others do (kReadWaitMax)
//   - nobody is closed without a reason; everybody who is there in the end has every reply; nothing
//     stays of whoever has left
//   - memory is bounded
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proxy/clients.h"
#include "simulation/attack_client.h"
#include "simulation/sim_control.h"
#include "simulation/sim_loop.h"
#include "simulation/sim_redis.h"
#include "simulation/sim_shop.h"

namespace cuckooguard::simulation {

struct AttackOutcome {
  std::string failure{};  // empty: all of it held
  std::uint64_t trace_hash = 0;
  std::uint64_t clients = 0;
  std::uint64_t commands = 0;  // that Redis has run
  std::uint64_t replies = 0;
  std::uint64_t answered = 0;
  std::uint64_t pushes = 0;
  std::uint64_t absent_reads = 0;
  std::uint64_t absent_reads_passed = 0;
  std::uint64_t moves = 0;  // from one worker to another
  std::chrono::milliseconds virtual_time{};
};

class AttackWorld final : RedisWitness {
 public:
  // Of good clients' reads of absent keys; and a few for each time that somebody has changed what
  // holds for all.
  static constexpr double kPassedShareMax = 0.05;
  static constexpr std::uint64_t kPassedFew = 12;
  static constexpr std::chrono::milliseconds kReadWaitMax{400};

  // `moves`: there are two workers, and clients move between them all the time.
  AttackWorld(std::uint64_t seed, config::UpstreamMode mode, bool moves = false);
  ~AttackWorld();
  AttackWorld(const AttackWorld&) = delete;
  AttackWorld& operator=(const AttackWorld&) = delete;

  AttackOutcome run();  // once

 private:
  // RedisWitness
  void on_executed(int number,
                   const RedisConnection::Executed& executed,
                   std::uint64_t stream_bytes) override;
  void on_push(int number, std::string_view bytes) override;
  void on_redis_end(int number, RedisEnd how) override;

  bool shares() const { return settings_.upstream.mode == config::UpstreamMode::shared; }
  void make_weather();
  void make_redis();
  void make_proxy();
  void move_one();
  std::size_t sessions() const;
  void admit_later(std::uint64_t slot);
  void admit(std::uint64_t slot);
  AttackClient& add_client(Conduct conduct, std::string user);
  std::string user_for(Conduct conduct);
  void cause_trouble();
  void set_password(bool through_guard);
  void deny(bool through_guard);
  void pause();
  void redirect_pushes();
  void run_for(std::chrono::nanoseconds time);
  void check_memory();
  void judge();

  Random random_;
  SimLoop loop_;
  SimShop shop_;
  SimRedis redis_;
  SimControl control_;
  proxy::Session::Settings settings_;
  proxy::ClientCount total_;
  AttackRecords records_;
  std::vector<std::unique_ptr<proxy::Clients>> workers_;
  bool moves_;
  std::vector<std::string> existing_keys_;
  std::vector<std::unique_ptr<AttackClient>> clients_;
  std::vector<Conduct> slots_;
  AttackClient* operator_ = nullptr;
  std::uint64_t connection_ids_ = 0;
  int wires_ = 0;
  std::uint64_t changes_ = 0;  // of what holds for all
  std::string password_;
  bool is_over_ = false;
  bool is_gone_ = false;
  std::size_t memory_before_;
};

}  // namespace cuckooguard::simulation
