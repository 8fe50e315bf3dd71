// What a client of an attacked guard asks, from its own seed.
//
//   good      reads absent and existing keys, writes and reads its own, in transactions now and
//             then; nothing odd
//   reader    reads existing keys and nothing else: nothing that somebody else does may make it
//             wait
//   refused   no login where one is needed, or one with next to no rights; asks for anything
//   hostile   an ordinary login; asks for anything
//   operator  does what it is told (attack_world.h)
//
// Anything: commands, states and their ends, in any order, from one grammar; no list of known
// attacks. Some have found something and do nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulation/command_kinds.h"
#include "simulation/ledger.h"
#include "simulation/random.h"

namespace cuckooguard::simulation {

enum class Conduct : std::uint8_t { good, reader, refused, hostile, operates };

// Users with this password: "app" may do everything, "ordinary" all but administer, "plain" only
// read and write, "pinger" next to nothing.
inline const std::string kUsersPassword = "open sesame";

struct AttackSettings {
  int client = 0;
  Conduct conduct = Conduct::good;
  std::string user{};  // empty: no login
  const std::vector<std::string>* existing_keys = nullptr;
  const std::uint64_t* connection_ids = nullptr;  // of Redis, so far
  bool repeats = false;  // whatever it has come up with first, again and again
};

class AttackScript {
 public:
  AttackScript(std::uint64_t seed, AttackSettings settings)
      : random_(seed), settings_(std::move(settings)) {}

  // The next few, which leave together. In what is sent "@@" stands for the sender's mark
  // (attack_client.h).
  std::vector<SentCommand> next();
  // A part of a command, to leave behind.
  std::string half_a_command();

  static SentCommand make(Words words);
  static bool is_absent(const std::string& key) { return key.starts_with("user:8"); }

 private:
  std::vector<SentCommand> opening();
  std::vector<SentCommand> good();
  std::vector<SentCommand> anything();
  std::vector<SentCommand> reads();
  std::vector<SentCommand> writes();
  std::vector<SentCommand> states();
  std::vector<SentCommand> logins();
  std::vector<SentCommand> of_clients();
  std::vector<SentCommand> administration();
  std::vector<SentCommand> own_commands();
  std::vector<SentCommand> filter_command(const std::string& name);
  std::vector<SentCommand> oddities();
  Words hello();
  std::string absent_key();
  std::string existing_key();
  std::string own_key();
  std::string any_key();
  std::string value();
  std::string pick(std::initializer_list<const char*> words);

  Random random_;
  AttackSettings settings_;
  std::uint64_t bursts_ = 0;
  std::uint64_t own_keys_ = 0;
  std::vector<SentCommand> repeated_;
};

}  // namespace cuckooguard::simulation
