// Several clients of the routing endpoint, who share connections to its nodes, and nodes that say
// what a test has them say.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/map.h"
#include "routing/routed_loop.h"
#include "routing/routed_texts.h"
#include "simulation/redis_requests.h"
#include "simulation/resp_text.h"
#include "simulation/sim_loop.h"
#include "simulation/sim_transport.h"
#include "upstream/connection.h"

namespace cuckooguard::routing {

using simulation::command;
using simulation::SimLoop;
using simulation::SimPeer;
using simulation::SimTransport;
using std::chrono::milliseconds;
using Words = std::vector<std::string>;

inline constexpr std::uint16_t kNodeA = 7000;  // slots 0-8191: b
inline constexpr std::uint16_t kNodeB = 7001;  // the others: a

// A node's connections; each replies at once, unless it hangs.
struct SharedWire {
  explicit SharedWire(SimLoop& loop, std::uint16_t of) : node(of), peer(loop) {}
  std::uint16_t node;
  SimPeer peer;
  std::string input{};
  std::vector<Words> heard{};

  bool has_heard(std::string_view name) const {
    return std::ranges::any_of(heard, [&](const Words& words) { return words.front() == name; });
  }
};

inline void let_pass(SimLoop& loop, std::chrono::nanoseconds time) {
  loop.run(std::chrono::nanoseconds(0));  // who is ready is told
  bool has_passed = false;
  loop.at(time, [&] { has_passed = true; });
  while (!has_passed && loop.step()) {
  }
}

struct SharingClient final : upstream::Connection::Owner {
  explicit SharingClient(SimLoop& of) : loop(of) {}
  void on_upstream_up() override {}
  void on_upstream_bytes(std::string_view bytes) override { got += bytes; }
  void on_upstream_progress() override {}
  void on_upstream_lost() override { is_lost = true; }

  void send(const Words& words) {
    loop.as_batch([&] { connection->send(command(words)); });
  }
  // What it has got when so much time has passed.
  std::string ask(const Words& words, std::chrono::nanoseconds time = milliseconds(20)) {
    send(words);
    let_pass(loop, time);
    return std::exchange(got, {});
  }

  SimLoop& loop;
  std::string got{};
  bool is_lost = false;
  std::unique_ptr<upstream::Connection> connection{};
};

class SharedNodesTest : public ::testing::Test {
 protected:
  SharedNodesTest() {
    loop_.on_connect([this](SimTransport& transport) {
      auto wire = std::make_unique<SharedWire>(loop_, loop_.connected_address().port);
      wire->peer.listen({.on_arrival = [this, wire = wire.get()] { serve(*wire); }});
      transport.establish(wire->peer);
      wires_.push_back(std::move(wire));
    });
    routed_.set(map("0-8191", "8192-16383"), loop_.now());
  }
  void TearDown() override {
    EXPECT_EQ(loop_.failure(), "");
    loop_.as_batch([this] {
      for (const auto& client : clients_) {
        client->connection->close();
      }
    });
    loop_.as_batch([this] { clients_.clear(); });
  }

  static std::shared_ptr<const cluster::Map> map(const std::string& of_a,
                                                 const std::string& of_b,
                                                 bool is_ok = true) {
    auto view = cluster::parse_nodes(
        std::string(40, 'a') + " 10.0.0.1:7000@1 myself,master - 0 0 1 connected " + of_a + "\n" +
            std::string(40, 'b') + " 10.0.0.1:7001@1 master - 0 0 2 connected " + of_b + "\n",
        "10.0.0.1");
    view->is_ok = is_ok;
    return std::make_shared<const cluster::Map>(cluster::merge({&*view, 1}));
  }

  void serve(SharedWire& wire) {
    wire.input += wire.peer.read();
    for (;;) {
      const simulation::Request request = simulation::next_request(wire.input);
      if (hung_.contains(wire.node) || request.parsed != simulation::Parsed::command) {
        return;
      }
      wire.input.erase(0, request.consumed);
      wire.heard.push_back(request.words);
      wire.peer.send(answer_(request.words));
    }
  }
  static std::string usual_answer(const Words& words) {
    static const std::map<std::string, std::string> kAnswers{
        {"PING", "+PONG\r\n"},
        {"GET", "$-1\r\n"},
        {"EXEC", "*0\r\n"},
        {"RESET", "+RESET\r\n"},
        {"SUBSCRIBE", "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"},
        {"CLIENT ID", ":7\r\n"}};
    const std::string name = words.front() + (words.front() == "CLIENT" ? " " + words[1] : "");
    const auto found = kAnswers.find(name);
    return found == kAnswers.end() ? "+OK\r\n" : found->second;
  }

  void wake_up() {
    hung_.clear();
    for (const auto& wire : wires_) {
      serve(*wire);
    }
  }

  SharingClient& connect() {
    SharingClient& client = *clients_.emplace_back(std::make_unique<SharingClient>(loop_));
    loop_.as_batch([&] {
      upstream::Connection::Owner& owner = client;
      client.connection = std::make_unique<upstream::Connection>(routed_, settings_, owner);
    });
    return client;
  }
  // On which one a node has heard it first.
  SharedWire& wire_of(const Words& words) {
    const auto found = std::ranges::find_if(wires_, [&](const auto& wire) {
      return std::ranges::find(wire->heard, words) != wire->heard.end();
    });
    if (found == wires_.end()) {
      throw std::runtime_error(words.front() + " was not heard");
    }
    return **found;
  }
  std::size_t wires_that_heard(std::string_view name) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(wires_, [&](const auto& wire) { return wire->has_heard(name); }));
  }

  SimLoop loop_{1};
  config::Upstream settings_;
  std::function<std::string(const Words&)> answer_ = usual_answer;
  std::set<std::uint16_t> hung_;
  std::vector<std::unique_ptr<SharedWire>> wires_;
  RoutedLoop routed_{loop_, settings_, config::UpstreamMode::shared, [] {}};
  std::vector<std::unique_ptr<SharingClient>> clients_;
};

}  // namespace cuckooguard::routing
