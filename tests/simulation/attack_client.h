// One client of an attacked guard, and the judge of every byte that it receives.
//
// Each command carries a mark that neither Redis nor the proxy looks at: the two bytes behind the
// last argument say whose it is, and which (its number modulo 256; commands are run in order). So
// the world knows what Redis has said to which command, and the judge needs nothing of the product:
//
//   a reply          must be what Redis has said to the command whose turn it is, byte for byte;
//                    or, if Redis has not been asked, the absent reply to a key that nobody has,
//                    given to a client that Redis would have answered; or an answer of the guard to
//                    its own command; or Redis's refusal of a connection
//   a push           must have been sent on a connection on which Redis has run a command of this
//                    client that no shared connection carries: nobody else's is there
//   a command        must run as what the client is (Standing), however many connections it has had
//   an absent reply  must not hide what a client has written through the guard: the writer's from
//                    then on that Redis has run it, others' from then on that the writer has had
//                    its reply
//
// Limits of this judge: pushes may be left out; what the own commands of the guard reply is not
// looked at, but who is.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "simulation/attack_script.h"
#include "simulation/redis_connection.h"
#include "simulation/sim_transport.h"

namespace cuckooguard::simulation {

// What all clients share.
struct AttackRecords {
  struct Written {
    int by = 0;
    io::TimePoint surely{};  // since then nobody may be told that it is absent
  };
  static constexpr std::chrono::milliseconds kRemembered{
      1500};  // the overlay's ttl, but for delays
  // Who writes more may lose of its own.
  static constexpr std::uint64_t kShare = 60;

  RedisStore& redis;
  std::map<std::string, Written> written{};
  std::map<std::string, std::set<int>> pushes{};  // on which connections
  std::map<int, std::set<int>> bound{};           // connection -> clients
  // What Redis has said when the proxy wanted to set up a connection for a client, who may get it
  // in place of its reply.
  std::set<std::string, std::less<>> refused_greetings{};
  // Since when Redis would not answer: a client without login that comes; a user.
  std::optional<io::TimePoint> closed_since{};
  std::optional<io::TimePoint> closing_since{};  // perhaps
  std::map<std::string, io::TimePoint> denied_since{};
  bool logins_have_changed = false;
  std::uint64_t absent_reads = 0;         // of good clients
  std::uint64_t absent_reads_passed = 0;  // to Redis
  std::uint64_t answered = 0;             // here
  std::uint64_t replies = 0;
  std::uint64_t pushes_received = 0;
  std::uint64_t executed = 0;
  std::chrono::nanoseconds slowest_read{};  // of a reader
  int told = -1;                            // a client that all is printed of: CUCKOOGUARD_CLIENT
};

class AttackClient {
 public:
  struct Habits {
    Conduct conduct = Conduct::good;
    std::uint64_t bursts = 20;
    std::chrono::microseconds thinks_max{3000};
    bool awaits_replies = true;
    bool leaves_half_a_command = false;
  };

  AttackClient(SimLoop& loop,
               AttackRecords& records,
               AttackSettings settings,
               Habits habits,
               std::uint64_t seed);

  SimPeer& peer() { return peer_; }
  void start();
  void send(std::vector<SentCommand> commands);
  // Redis has run a command of this client's on this connection.
  void on_executed(const RedisConnection::Executed& executed, std::uint64_t number, int wire);
  void calm_down() { habits_.bursts = 0; }  // asks for nothing more
  void leave();
  void check_at_rest();

  bool has_left() const { return has_left_; }
  bool is_good() const {
    return habits_.conduct == Conduct::good || habits_.conduct == Conduct::reader;
  }
  Conduct conduct() const { return habits_.conduct; }
  // Hears of the reply to each command.
  void on_reply(std::function<void(const Words&, const std::string&)> call) {
    on_reply_ = std::move(call);
  }

  // Of the command that this is, if a client has sent it: who, and which.
  static std::optional<std::pair<int, std::uint64_t>> mark_of(std::string_view raw,
                                                              const Words& words);

 private:
  struct Sent {
    std::uint64_t number = 0;
    SentCommand command{};
    io::TimePoint at{};
    bool is_executed = false;
    std::string reply{};  // what is still to come of it
    std::vector<std::string> wrote{};
  };

  void think();
  void think_later();
  void on_arrival();
  void judge(const std::string& frame);
  void judge_filter(const Sent& sent, const std::string& name, const std::string& frame);
  void judge_local(const Sent& sent, const std::string& frame);
  const char* why_not_absent(const Sent& sent, const std::string& key) const;
  void check_standing(const RedisConnection::Executed& executed, const std::string& name);
  void follow_standing(const RedisConnection::Executed& executed, const std::string& name);
  void drop_silent();
  void finish(const Sent& sent);
  void note_written(const std::string& key);
  std::string merged(const Sent& sent, const RedisConnection::Executed& executed);
  bool was_answered_by_redis_at(io::TimePoint when) const;
  void fail(const std::string& what, const Sent* sent = nullptr);
  void tell(const char* what, std::string_view bytes) const;
  void mark(SentCommand& command, std::uint64_t number) const;

  SimLoop& loop_;
  AttackRecords& records_;
  AttackSettings settings_;
  Habits habits_;
  Random random_;
  AttackScript script_;
  SimPeer peer_;
  std::deque<Sent> sent_;
  std::uint64_t sent_count_ = 0;
  std::uint64_t next_to_execute_ = 0;
  std::string received_;
  std::vector<std::string> pushes_;  // received
  struct OwnWrite {
    std::uint64_t number = 0;
    io::TimePoint when{};
  };
  std::map<std::string, OwnWrite> own_written_;
  std::uint64_t writes_ = 0;
  Standing standing_;
  bool may_be_let_in_ = false;  // nobody knows yet that it would not be
  io::TimePoint last_authenticated_{};
  io::TimePoint came_{};
  io::TimePoint became_{};  // the user that it is
  std::function<void(const Words&, const std::string&)> on_reply_;
  bool thinks_ = false;
  bool may_be_closed_ = false;  // it has asked for it
  bool has_left_ = false;
};

}  // namespace cuckooguard::simulation
