// What one client asks, command after command, from its own seed: an attack of absent ids on top of
// the usual traffic, transactions, changes of the connection, large values, errors, and bytes that
// are no commands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulation/ledger.h"
#include "simulation/random.h"
#include "simulation/sim_shop.h"

namespace cuckooguard::simulation {

struct ScriptSettings {
  int client = 0;
  std::string password;                 // of the default user; empty: none
  std::string app_password;             // of "app" and "limited"
  std::uint64_t changes_per_mille = 0;  // of db, version, user, transactions, and worse
  bool signs = false;                   // its commands (marks.h); and it waits, and has a name
};

class Script {
 public:
  Script(SimShop& shop, std::uint64_t seed, ScriptSettings settings)
      : shop_(shop), random_(seed), settings_(std::move(settings)) {}

  // The next one or few, which belong together.
  std::vector<SentCommand> next();
  SentCommand quit() { return make({"QUIT"}); }
  // What Redis refuses to read, and closes.
  SentCommand malformed();
  bool is_over() const { return is_over_; }

 private:
  using Words = std::vector<std::string>;

  SentCommand make(Words words);
  SentCommand make_inline(Words words);
  std::string spell(std::string name);
  std::string absent_key();
  std::string own_absent_key();  // where commands are signed: of nobody else's
  std::string any_key();
  std::string value();
  Words many(const std::string& name);
  SentCommand make_read(Words words);  // MGET, EXISTS: of which the proxy may leave keys out
  std::vector<SentCommand> waits();
  std::vector<SentCommand> opening();
  std::vector<SentCommand> reads();
  std::vector<SentCommand> writes();
  std::vector<SentCommand> transaction();
  std::vector<SentCommand> changes();
  std::vector<SentCommand> oddities();
  std::vector<SentCommand> errors();
  std::vector<SentCommand> new_row();

  SimShop& shop_;
  Random random_;
  ScriptSettings settings_;
  std::uint64_t commands_ = 0;
  bool is_over_ = false;
};

}  // namespace cuckooguard::simulation
