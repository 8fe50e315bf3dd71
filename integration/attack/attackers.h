// Many connections that send what the grammar says, for as long as they stand; in one thread. Each
// reads its replies, or does not; leaves when it likes, wherever it is, and comes again.
//
// Threads: its own, from the constructor to stop(). Errors: none: what becomes of an attacker is
// nobody's concern.
// Limits: a connection has at most one burst to be sent.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "attack/attack_grammar.h"

namespace cuckooguard::attack {

class Attackers {
 public:
  Attackers(std::uint16_t port, std::size_t connections, AttackGrammar grammar);
  ~Attackers() { stop(); }
  Attackers(const Attackers&) = delete;
  Attackers& operator=(const Attackers&) = delete;

  void stop();
  std::uint64_t bytes_sent() const { return bytes_sent_; }
  std::uint64_t connects() const { return connects_; }

 private:
  struct Connection {
    int socket = -1;
    bool reads = true;
    std::string unsent{};
    std::size_t bursts_left = 0;
  };

  void run();
  void come(Connection& connection);
  void go(Connection& connection) const;
  bool send(Connection& connection);
  bool receive(const Connection& connection);
  bool serve(Connection& connection, short ready);

  std::uint16_t port_;
  AttackGrammar grammar_;
  std::vector<Connection> connections_;
  std::atomic<bool> is_over_{false};
  std::atomic<std::uint64_t> bytes_sent_{0};
  std::atomic<std::uint64_t> connects_{0};
  std::thread thread_;
};

}  // namespace cuckooguard::attack
