// What an attacker may send, from a seed: any command that the server lists, with arguments of the
// shape that it says, any command of the guard's own, in pipelines and in states that earlier ones
// have left; commands cut short; bytes that are none. No list of known attacks.
//
// Left out are kBystanders, by which the other clients are told apart, and what an attacker may do
// to Redis itself (numbers are small: SETRANGE of half a gigabyte).
//
// Threads: one. Limits: a burst is at most kBurstMax commands of a few hundred bytes, now and then
// one of 100 KB.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "harness/reported_commands.h"

namespace cuckooguard::attack {

inline constexpr std::string_view kBystanders = "strlen";

class AttackGrammar {
 public:
  static constexpr std::size_t kBurstMax = 400;

  struct Attacker {
    std::string user;  // with whom it logs in; empty: nobody
    std::string password;
    std::string key_prefix{};  // most of its keys begin so; empty: they are absent users'
  };

  AttackGrammar(std::vector<harness::ReportedCommand> commands,
                Attacker attacker,
                std::uint32_t seed);

  std::string login();  // may be nothing
  std::string burst();
  std::string half();  // of a burst

  std::size_t choose(std::size_t below) { return random_() % below; }

 private:
  std::string one();
  std::string of(const harness::ReportedCommand& command);
  std::string own();
  std::string key();
  std::string word();

  std::vector<harness::ReportedCommand> commands_;
  std::vector<harness::ReportedCommand> states_;  // connections, transactions, subscriptions
  Attacker attacker_;
  std::mt19937 random_;
};

}  // namespace cuckooguard::attack
