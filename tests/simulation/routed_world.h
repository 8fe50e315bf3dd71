// A client of the routing endpoint, and a cluster that moves under it: what it is told must be what
// one Redis would have said.
//
//   upstream::Connection ─▶ RoutedLoop, RoutedTransport ─▶ SimCluster
//
// Each command adds a number of its own to its keys, and the numbers rise. So a reply says whether
// all before it have been run, and in which order; a value that is left at the end, whether any was
// run twice, or behind a later one. Of a command that was refused (-TRYAGAIN, -CLUSTERDOWN) nothing
// may be left.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>

#include "routing/routed_loop.h"
#include "simulation/sim_cluster.h"
#include "upstream/connection.h"

namespace cuckooguard::simulation {

struct RoutedOutcome {
  std::string failure{};
  std::size_t commands = 0;
  std::size_t replies = 0;
  std::size_t refused = 0;  // of these
  std::size_t losses = 0;   // of the client's connection
  SimCluster::Counts counts{};
  std::uint64_t trace_hash = 0;
};

struct RoutedWeather {
  bool has_faults = true;  // connections are cut, all nodes say that they are down
  bool has_moves = true;
};

class RoutedWorld final : upstream::Connection::Owner {
 public:
  RoutedWorld(std::uint64_t seed, RoutedWeather weather);

  RoutedOutcome run();

 private:
  struct Sent {
    Words words;
    std::uint64_t number = 0;
  };

  void on_upstream_up() override {}
  void on_upstream_bytes(std::string_view bytes) override;
  void on_upstream_progress() override {}
  void on_upstream_lost() override;

  void connect();
  void tell_map_later();
  void send_some();
  void disturb();
  void settle();
  Words some_words(std::uint64_t number);
  std::string some_key();
  std::uint16_t some_slot();
  void judge(std::string_view reply);
  void judge_values();

  SimLoop loop_;
  RoutedWeather weather_;
  SimCluster cluster_{loop_};
  config::Upstream settings_;
  routing::RoutedLoop routed_;
  std::unique_ptr<upstream::Connection> connection_;
  bool is_map_due_ = false;
  bool is_lost_ = false;
  std::deque<Sent> sent_;  // that are owed a reply
  std::string got_;
  Values model_;
  std::set<std::string> doubted_;  // keys of which only some parts of a command may have been run
  std::uint64_t numbers_ = 0;
  RoutedOutcome outcome_;
};

}  // namespace cuckooguard::simulation
