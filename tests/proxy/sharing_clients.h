// Several clients of one worker in `mode: shared`, and every connection that is made to Redis for
// them; Redis says what the test says. To a connection that asks whether a login is needed it says
// at once what `login_probe_reply_` is; those are not among the numbered ones. The guard is that of
// tests/guard/guarded_shop.h.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "guard/guarded_shop.h"
#include "proxy/clients.h"
#include "simulation/sim_loop.h"
#include "simulation/sim_transport.h"

namespace cuckooguard::proxy {

using simulation::SimLoop;
using simulation::SimPeer;
using simulation::SimTransport;

// What a connection is asked by before it is taken beside another one.
inline const std::string kProbe = "*2\r\n$4\r\nPING\r\n$16\r\nconnection-probe\r\n";

class SharingClients : public ::testing::Test {
 protected:
  SharingClients() {
    settings_.upstream.mode = config::UpstreamMode::shared;
    settings_.upstream.silence = std::chrono::hours(1);  // tests of it set it
    loop_.on_connect([this](SimTransport& transport) {
      if (!redis_takes_connections_) {
        transport.refuse();
        return;
      }
      Upstream& upstream = connections_.emplace_back(loop_);
      upstreams_.push_back(&upstream);
      upstream.peer.listen({.on_arrival = [this, &upstream] { on_arrival(upstream); }});
      transport.establish(upstream.peer);
    });
  }
  void TearDown() override { EXPECT_EQ(loop_.failure(), ""); }

  // The number of the client.
  std::size_t connect() {
    SimPeer& client = peers_.emplace_back(loop_);
    auto transport = loop_.accept(client);
    loop_.as_batch([&] { clients_.admit(std::move(transport)); });
    loop_.run();
    return peers_.size() - 1;
  }

  void send(std::size_t client, std::string_view bytes) {
    peers_.at(client).send(bytes);
    loop_.run();
  }
  std::string got(std::size_t client) {
    loop_.run();
    return peers_.at(client).read();
  }
  bool is_closed(std::size_t client) {
    loop_.run();
    return peers_.at(client).at_end() || peers_.at(client).is_reset();
  }

  // In the order in which they were made.
  std::string redis_got(std::size_t upstream) {
    loop_.run();
    return redis_has_got(upstream);
  }
  std::string redis_has_got(std::size_t upstream) {
    return std::exchange(upstreams_.at(upstream)->got, {}) + upstreams_.at(upstream)->peer.read();
  }
  void redis_sends(std::size_t upstream, std::string_view bytes) {
    upstreams_.at(upstream)->peer.send(bytes);
    loop_.run();
  }
  SimPeer& redis(std::size_t upstream) { return upstreams_.at(upstream)->peer; }
  std::size_t upstreams() const { return upstreams_.size(); }
  std::size_t login_probes() const { return connections_.size() - upstreams_.size(); }

  // `words` as a client of Redis sends them.
  static std::string command(std::string_view words) {
    std::string bytes;
    int count = 0;
    while (!words.empty()) {
      const std::string_view word = words.substr(0, words.find(' '));
      bytes += "$" + std::to_string(word.size()) + "\r\n" + std::string(word) + "\r\n";
      words.remove_prefix(std::min(words.size(), word.size() + 1));
      ++count;
    }
    return "*" + std::to_string(count) + "\r\n" + bytes;
  }

  struct Upstream {
    explicit Upstream(SimLoop& loop) : peer(loop) {}
    SimPeer peer;
    std::string got{};
    bool is_known = false;
  };

  void on_arrival(Upstream& upstream) {
    if (std::exchange(upstream.is_known, true)) {
      return;
    }
    upstream.got = upstream.peer.read();
    if (upstream.got == upstream::LoginProbe::kQuestion) {
      std::erase(upstreams_, &upstream);
      upstream.peer.send(login_probe_reply_);
    }
  }

  SimLoop loop_{1};
  guard::GuardedShop shop_;
  Session::Settings settings_;
  ClientCount total_;
  std::deque<SimPeer> peers_;
  bool redis_takes_connections_ = true;
  std::string login_probe_reply_ = "$11\r\nlogin-probe\r\n";
  std::deque<Upstream> connections_;
  std::vector<Upstream*> upstreams_;
  Clients clients_{{.loop = loop_,
                    .guard = *shop_.guard,
                    .own_commands = *shop_.commands,
                    .settings = settings_,
                    .total = total_}};
};

}  // namespace cuckooguard::proxy
