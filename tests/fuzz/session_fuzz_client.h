// A client of session_fuzz: sends whatever bytes it is given, and its ledger judges every byte that
// comes back.
//
// The ledger must know the commands that the bytes are. They are taken apart here as Redis does it,
// and a piece is held back (not sent) if it would make two commands in flight that cannot be told
// apart by what Redis is sent.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/ledger.h"
#include "simulation/sim_redis.h"
#include "simulation/sim_transport.h"

namespace cuckooguard::proxy {

class FuzzedClient {
 public:
  // What Redis takes at a time.
  struct Piece {
    simulation::SentCommand command;
    bool is_nothing = false;  // an empty command
  };

  explicit FuzzedClient(const simulation::Ledger::World& world);

  // Its end has been given to the proxy, which has no room for it if `is_refused`.
  void start(bool is_refused);
  bool is_talking() const { return is_started_ && !has_left_ && !has_finished_; }

  simulation::SimPeer& peer() { return peer_; }
  simulation::Ledger& ledger() { return ledger_; }

  void send(std::string_view bytes);
  // A command; its name in capitals that no read in flight has.
  void send(std::vector<std::string> words, bool is_inline);
  std::size_t read(std::size_t max);  // how much it was
  void finish();                      // says that it will send no more
  void leave();
  void reset();

  void on_redis_end(simulation::RedisEnd how);
  // Nothing happens any more, and nothing holds anything up.
  void check_at_rest();

 private:
  struct Read {
    std::uint64_t number;  // of the command
    std::string mark;      // by which Redis's reads are told apart
  };

  bool can_be_told_apart(const std::vector<Piece>& pieces);
  void enter(const Piece& piece);
  void on_end();

  simulation::Ledger::World world_;
  simulation::SimPeer peer_;
  simulation::Ledger ledger_;
  std::string unfinished_;  // sent, and not yet a command
  std::vector<Read> reads_in_flight_;
  std::uint64_t commands_ = 0;
  std::string refusal_;
  bool is_started_ = false;
  bool is_refused_ = false;
  bool has_finished_ = false;
  bool has_left_ = false;
  bool is_malformed_ = false;
  bool makes_redis_close_ = false;  // what it has sent: QUIT, or no command
  // A close with unread input is a reset, which may overtake what was said before.
  bool loses_last_words_ = false;
  bool redis_ended_ = false;
  bool redis_was_up_ = false;
  bool is_faulty_ = false;
};

}  // namespace cuckooguard::proxy
