// A simulated Redis Cluster: masters, slots that move key by key, redirects as Redis gives them, to
// the byte. Each command runs at a time of its own, so that what a node says may change between two
// that were sent together.
//
//   SET GET APPEND DEL EXISTS MGET PING ASKING SCRIPT (LOAD)
//
// It shares no code with the product but the hash of a key, and the form of a map.
// Source: Redis 7.0.15 and 7.2 cluster.c (getNodeByQuery).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/map.h"
#include "config/config.h"
#include "simulation/sim_loop.h"
#include "simulation/sim_transport.h"

namespace cuckooguard::simulation {

using Words = std::vector<std::string>;
using Values = std::map<std::string, std::string>;

// What one Redis would do and say.
std::string run_in(Values& values, const Words& words);
std::vector<std::string> keys_in(const Words& words);

class SimCluster {
 public:
  static constexpr std::size_t kNodes = 3;

  struct Counts {
    std::size_t run = 0;
    std::size_t asked = 0;
    std::size_t moved = 0;
    std::size_t try_again = 0;
    std::size_t down = 0;
    std::size_t lost = 0;  // connections
  };

  explicit SimCluster(SimLoop& loop);

  void connect(SimTransport& transport, const config::Address& address);
  static config::Address address(std::size_t node);
  // As the nodes tell.
  std::shared_ptr<const cluster::Map> map() const;

  // What operators and faults do.
  void begin_move(std::uint16_t slot, std::size_t to);
  void move_a_key(std::uint16_t slot);
  void end_move(std::uint16_t slot);
  void cancel_move(std::uint16_t slot);
  bool is_moving(std::uint16_t slot) const { return moving_.contains(slot); }
  std::size_t owner_of(std::uint16_t slot) const;
  // Another node has all that this one had, by now.
  void fail_over(std::size_t node, std::size_t to);
  void set_down(bool down) { is_down_ = down; }
  // It takes connections and bytes, and runs nothing meanwhile.
  void hang(std::size_t node, bool hangs);
  void cut_a_connection();
  void close_all();

  const Counts& counts() const { return counts_; }
  // Of all nodes; a key is in one.
  Values values() const;

 private:
  struct Link {
    Link(SimLoop& loop, std::size_t of) : peer(loop), node(of) {}
    SimPeer peer;
    std::size_t node;
    std::string input{};
    bool is_asking = false;
    bool is_running = false;
  };

  bool any_hangs() const;
  std::string slots_of(std::size_t node) const;
  void serve(const std::weak_ptr<Link>& waiting);
  void run_one(Link& link);
  std::string reply_to(Link& link, const Words& words);
  std::optional<std::string> redirect(std::size_t node, bool asking, const Words& words);
  void give(std::size_t from, std::size_t to, const std::string& key);

  SimLoop& loop_;
  std::vector<Values> values_;                   // by node
  std::map<std::uint16_t, std::size_t> owners_;  // else a third each, in order
  std::map<std::uint16_t, std::size_t> moving_;  // to which
  std::map<std::pair<std::uint16_t, std::size_t>, io::TimePoint> cancelled_;
  std::vector<std::shared_ptr<Link>> links_;
  bool is_down_ = false;
  std::array<bool, kNodes> hangs_{};
  io::TimePoint hung_until_{};
  Counts counts_;
};

}  // namespace cuckooguard::simulation
