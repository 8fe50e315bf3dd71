// Clients that miss in a simulated world: who waits for whose load, and a checker.
//
//   loaders    GET; at a nil they load for a while, and SET; some die before
//   takers     GET, and never SET
//   pipeliners many reads, without waiting for replies, cut anywhere
//   traders    MULTI, GET, SET, EXEC
//   changers   DEL, SET NX
//   Redis      a value for each key, or none, at each time; its connections are lost now and then
//   checker    one reply for each command, in order; a read's is what Redis had at some time
//              between its sending and its reply; nobody waits beyond `hold`, nor after its client
//              has sent more, nor in MULTI; in the end nobody has a lease, and nobody waits
//
// Sessions, guard, filter and leases are the product's. Every key has a row.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "breakdown/leases.h"
#include "filter/epochs.h"
#include "filter/live_parts.h"
#include "guard/command_families.h"
#include "guard/guard.h"
#include "proxy/clients.h"
#include "simulation/random.h"
#include "simulation/sim_loop.h"
#include "simulation/sim_transport.h"

namespace cuckooguard::simulation {

struct LoadOutcome {
  std::string failure{};
  std::uint64_t reads = 0;
  std::uint64_t misses = 0;  // nil replies
  std::uint64_t held = 0;
  std::uint64_t spared = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t let_go = 0;
  std::uint64_t taken_over = 0;
};

class LoadWorld {
 public:
  static constexpr std::chrono::milliseconds kHold{50};
  // Of Redis, and of what is before a reply.
  static constexpr std::chrono::milliseconds kSlack{25};

  explicit LoadWorld(std::uint64_t seed);
  ~LoadWorld();
  LoadWorld(const LoadWorld&) = delete;
  LoadWorld& operator=(const LoadWorld&) = delete;

  LoadOutcome run(std::chrono::milliseconds time);

 private:
  enum class Kind : std::uint8_t { loader, taker, pipeliner, trader, changer };
  struct Request {
    std::vector<std::string> words;
    io::TimePoint sent;
    std::optional<io::TimePoint> next_byte{};  // of this client's
    bool is_queued = false;                    // inside MULTI
  };
  struct Client {
    explicit Client(SimLoop& loop) : peer(loop) {}
    SimPeer peer;
    Kind kind = Kind::loader;
    std::string unread{};
    std::deque<Request> requests{};
    bool is_gone = false;
  };
  struct Redis {
    explicit Redis(SimLoop& loop) : peer(loop) {}
    SimPeer peer;
    std::string unread{};
    io::TimePoint replies_at{};
    bool is_in_multi = false;
    std::vector<std::vector<std::string>> queued{};
    bool is_lost = false;
  };
  struct State {
    io::TimePoint since;
    std::optional<std::string> value{};
  };

  void accept(SimTransport& upstream);
  void take(Redis& redis);
  std::string carry_out(Redis& redis, const std::vector<std::string>& words);
  std::string run_command(const std::vector<std::string>& words);
  void set(const std::string& key, std::optional<std::string> value);
  void lose_later();
  void add_client(Kind kind);
  void act_later(Client& client);
  void act(Client& client);
  void send(Client& client, std::vector<std::vector<std::string>> commands);
  void receive(Client& client);
  void check(const Request& request, std::string_view reply);
  void check_value(const std::string& key, const Request& request, std::string_view reply);
  void miss(Client& client, const std::string& key);
  std::string some_key();

  Random random_;
  SimLoop loop_;
  keyspace::Keyspace keyspace_;
  filter::HashSecret secret_;
  filter::Epochs epochs_{1};
  filter::LiveParts parts_;
  guard::Overlay overlay_{{.max_keys = 1000, .ttl = std::chrono::seconds(60)}};
  std::uint32_t bound_;
  std::shared_ptr<breakdown::Leases> leases_;
  std::vector<guard::GuardedNamespace> spaces_;
  redis::Facts facts_;
  std::unique_ptr<guard::Guard> guard_;
  proxy::Session::Settings settings_;
  proxy::ClientCount total_;
  std::unique_ptr<guard::OwnCommands> commands_;
  std::unique_ptr<proxy::Clients> clients_;
  std::deque<Client> peers_;
  std::deque<Redis> redis_;
  std::map<std::string, std::vector<State>> history_;
  std::uint64_t values_ = 0;
  LoadOutcome outcome_;
  bool is_over_ = false;
};

}  // namespace cuckooguard::simulation
