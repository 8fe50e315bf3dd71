// One client, its session, and a Redis that says what the test says; the guard is that of
// tests/guard/guarded_shop.h.
//
// The loop is simulated and calm: each arrive() runs until nothing is left to happen within a
// virtual second.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
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

inline constexpr std::string_view kAbsentGet = "*2\r\n$3\r\nGET\r\n$8\r\nuser:999\r\n";
inline constexpr std::string_view kExistingGet = "*2\r\n$3\r\nGET\r\n$6\r\nuser:7\r\n";
inline constexpr std::string_view kNil = "$-1\r\n";

// Lets virtual time pass, and what happens in it: clients that are held, or drained, are looked at
// every now and then, for as long as they are.
inline void pass(SimLoop& loop, std::chrono::milliseconds time) {
  bool is_over = false;
  loop.at(time, [&is_over] { is_over = true; });
  while (!is_over && loop.step()) {
  }
  loop.run(std::chrono::milliseconds(0));  // what is due at this very moment
}

class ProxiedClient : public ::testing::Test {
 protected:
  ProxiedClient() {
    settings_.upstream.connect_timeout = std::chrono::seconds(5);
    settings_.upstream.silence = std::chrono::hours(1);  // tests of it set it
    loop_.on_connect([this](SimTransport& upstream) {
      upstream_ = upstream.weak_self();
      upstream.observe({.on_read = {},
                        .on_write =
                            [this](std::string_view bytes) {
                              ++upstream_writes_;
                              order_.push_back("upstream " + std::to_string(bytes.size()));
                            },
                        .on_close = [this] { upstream_is_closed_ = true; }});
    });
  }

  // An invariant of the loop (a spin, a transport destroyed too early) fails the test.
  void TearDown() override { EXPECT_EQ(loop_.failure(), ""); }

  void connect() {
    auto transport = loop_.accept(client_);
    client_transport_ = transport.get();
    transport->observe(
        {.on_read = [this](std::string_view bytes) { read_of_client_ += bytes.size(); },
         .on_write =
             [this](std::string_view bytes) {
               order_.push_back("client " + std::to_string(bytes.size()));
             },
         .on_close = [this] { client_transport_ = nullptr; }});
    loop_.as_batch([&] { clients_.admit(std::move(transport)); });
    loop_.run();
  }
  void redis_accepts() {
    (*upstream_.lock())->establish(redis_);
    loop_.run();
  }
  void redis_refuses() {
    (*upstream_.lock())->refuse();
    loop_.run();
  }
  void connect_both() {
    connect();
    redis_accepts();
  }

  void client_sends(std::string_view bytes) {
    client_.send(bytes);
    loop_.run();
  }
  void redis_sends(std::string_view bytes) {
    redis_.send(bytes);
    loop_.run();
  }
  std::string client_got() {
    loop_.run();
    return client_.read();
  }
  std::string redis_got() {
    loop_.run();
    return redis_.read();
  }
  // Until no more comes, with room made by reading.
  std::string client_got_all() { return all_of(client_); }
  std::string redis_got_all() { return all_of(redis_); }
  bool client_is_closed() const { return client_.at_end() || client_.is_reset(); }
  std::size_t sessions() const { return clients_.count(); }

  SimLoop loop_{1};
  guard::GuardedShop shop_;
  Session::Settings settings_{.upstream = {.mode = config::UpstreamMode::pinned}};
  ClientCount total_;
  Clients clients_{{.loop = loop_,
                    .guard = *shop_.guard,
                    .own_commands = *shop_.commands,
                    .settings = settings_,
                    .total = total_}};
  SimPeer client_{loop_};
  SimPeer redis_{loop_};
  SimTransport* client_transport_ = nullptr;  // while it is open
  std::weak_ptr<SimTransport*> upstream_;
  std::size_t upstream_writes_ = 0;
  std::size_t read_of_client_ = 0;
  bool upstream_is_closed_ = false;
  std::vector<std::string> order_;

 private:
  std::string all_of(SimPeer& peer) {
    std::string all;
    for (;;) {
      loop_.run();
      const std::string more = peer.read();
      if (more.empty()) {
        return all;
      }
      all += more;
    }
  }
};

}  // namespace cuckooguard::proxy
