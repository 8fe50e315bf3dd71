// Clients of the routing endpoint, and a cluster that moves under them: what each is told must be
// what one Redis would have said.
//
//   upstream::Connection ─▶ RoutedLoop, RoutedTransport ─▶ SimCluster
//
// Each command adds a number of its own to its keys, and the numbers rise. So a reply says whether
// all before it have been run, and in which order; a value that is left at the end, whether any was
// run twice, or behind a later one. Of a command that was refused (-TRYAGAIN, -CLUSTERDOWN) nothing
// may be left.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

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
  bool has_faults = true;  // connections are cut, nodes hang, all say that they are down
  bool has_moves = true;
  config::UpstreamMode mode = config::UpstreamMode::shared;
};

class RoutedWorld final {
 public:
  RoutedWorld(std::uint64_t seed, RoutedWeather weather);

  RoutedOutcome run();
  // A node hangs while clients need it. How long one waits at most who needs the others: one that
  // is connected, and one that comes.
  std::chrono::microseconds longest_wait_beside_a_node_that_hangs();

 private:
  struct Sent {
    Words words;
    std::uint64_t number = 0;
  };

  // It has keys of its own, which may be of a slot with those of others.
  struct Client final : upstream::Connection::Owner {
    Client(RoutedWorld& of, std::size_t its_number) : world(of), number(its_number) {}
    void on_upstream_up() override {}
    void on_upstream_bytes(std::string_view bytes) override;
    void on_upstream_progress() override {}
    void on_upstream_lost() override;

    RoutedWorld& world;
    std::size_t number;
    std::unique_ptr<upstream::Connection> connection;
    bool is_lost = false;
    std::deque<Sent> sent;  // that are owed a reply
    std::string got;
    Values model;
    std::set<std::string> doubted;  // keys of which only some parts of a command may have been run
  };

  void connect(Client& client);
  void disconnect(Client& client);
  void reconnect_the_lost();
  void tell_map_later();
  void send_some(Client& client);
  void disturb();
  void settle();
  void settle(Client& client);
  Words some_words(const Client& client, std::uint64_t number);
  std::string some_key(const Client& client);
  std::uint16_t some_slot();
  Client& some_client() { return *clients_[loop_.random().below(clients_.size())]; }
  void judge(Client& client, std::string_view reply);
  void judge_values();
  Values values_of(const Client& client) const;
  std::chrono::microseconds wait_for_a_reply(Client& client, std::size_t node_that_hangs);

  SimLoop loop_;
  RoutedWeather weather_;
  SimCluster cluster_{loop_};
  config::Upstream settings_;
  routing::RoutedLoop routed_;
  std::vector<std::unique_ptr<Client>> clients_;
  bool is_map_due_ = false;
  std::uint64_t numbers_ = 0;
  RoutedOutcome outcome_;
};

}  // namespace cuckooguard::simulation
