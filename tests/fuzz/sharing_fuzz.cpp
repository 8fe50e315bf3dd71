// Clients that share connections, and a Redis that sends what nobody has asked for: pushes that
// somebody has directed there, between replies and while nobody waits, replies too many, cuts
// anywhere, ends.
//
// must: no byte that one client caused reaches another: every reply carries the name of the client
//       it is for, and no client sees another's name, a push, or its own replies out of order

#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>

#include "guard/guarded_shop.h"
#include "proxy/clients.h"
#include "simulation/sim_loop.h"
#include "simulation/sim_transport.h"

namespace cuckooguard::proxy {
namespace {

using simulation::SimLoop;
using simulation::SimPeer;
using simulation::SimTransport;
using std::chrono::milliseconds;

constexpr std::size_t kClients = 5;
constexpr int kActionsMax = 300;
const std::string kForged = "FORGED";
const std::string kPush = ">2\r\n$10\r\ninvalidate\r\n*1\r\n$6\r\nFORGED\r\n";
const std::string kReplyTooMany = "$6\r\nFORGED\r\n";

[[noreturn]] void broken(const std::string& what) {
  std::fprintf(stderr, "broken: %s\n", what.c_str());
  std::abort();
}

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

// Every command ends with its tag, and is answered with it.
struct Upstream {
  explicit Upstream(SimLoop& loop) : peer(loop) {}

  void read() {
    constexpr std::string_view kPing = "*1\r\n$4\r\nPING\r\n";
    unread += peer.read();
    for (;;) {
      if (take(upstream::LoginProbe::kQuestion) || take(kPing)) {
        owed.emplace_back("+PONG\r\n");
        continue;
      }
      const std::size_t end = unread.find("\r\n$0\r\n\r\n");
      if (end == std::string::npos) {
        return;
      }
      const std::string command = unread.substr(0, end);
      owed.push_back(bulk(command.substr(command.rfind('\n') + 1)));
      users.insert(command.at(command.rfind('\n') + 1));
      unread.erase(0, end + 8);
    }
  }
  bool take(std::string_view front) {
    const bool is_there = unread.starts_with(front);
    unread.erase(0, is_there ? front.size() : 0);
    return is_there;
  }

  SimPeer peer;
  std::string unread;
  std::deque<std::string> owed;
  std::set<char> users;  // who have had commands there
  std::string said;      // of a reply or push: what has not been sent yet
};

struct Client {
  explicit Client(SimLoop& loop) : peer(loop) {}
  SimPeer peer;
  std::uint64_t asked = 0;
  std::deque<std::string> expected;
  std::string received;
};

class Run {
 public:
  explicit Run(FuzzedDataProvider& random)
      : random_(random), loop_(random.ConsumeIntegral<std::uint16_t>()) {
    settings_.upstream.mode = config::UpstreamMode::shared;
    settings_.upstream.connect_timeout = std::chrono::seconds(1);
    loop_.on_connect([this](SimTransport& transport) {
      transport.establish(upstreams_.emplace_back(std::make_unique<Upstream>(loop_))->peer);
    });
    for (std::size_t i = 0; i < kClients; ++i) {
      Client& client = *clients_.emplace_back(std::make_unique<Client>(loop_));
      auto transport = loop_.accept(client.peer);
      loop_.as_batch([&] { proxy_.admit(std::move(transport)); });
    }
  }

  void run() {
    for (int left = kActionsMax; left > 0 && random_.remaining_bytes() > 0; --left) {
      act();
      loop_.run(milliseconds(2));
      for (const auto& upstream : upstreams_) {
        upstream->read();
      }
      judge();
    }
    if (!loop_.failure().empty()) {
      broken(loop_.failure());
    }
  }

 private:
  std::size_t choose(std::size_t below) {
    return random_.ConsumeIntegralInRange<std::size_t>(0, below - 1);
  }

  void act() {
    const std::size_t number = choose(kClients);
    Client& client = *clients_[number];
    switch (choose(8)) {
      case 0:
      case 1:
      case 2:
        ask(number, client);
        return;
      case 3:
        loop_.pass(milliseconds(choose(2) == 0 ? 15 : 1200));
        return;
      case 4:
        if (choose(8) == 0) {
          client.peer.reset();
        }
        return;
      default:
        answer();
    }
  }

  void ask(std::size_t number, Client& client) {
    // On reads' connections, writes', and one of its own. The tag ends what Redis is sent: an empty
    // word behind it.
    constexpr std::array<std::string_view, 3> kNames{"GET", "PUBLISH", "SLOWLOG"};
    const std::string_view name = kNames[choose(kNames.size())];
    const std::string tag = std::to_string(number) + ":" + std::to_string(client.asked++);
    client.expected.push_back(bulk(tag));
    client.peer.send("*3\r\n" + bulk(std::string(name)) + bulk(tag) + "$0\r\n\r\n");
  }

  void answer() {
    if (upstreams_.empty()) {
      return;
    }
    Upstream& upstream = *upstreams_[choose(upstreams_.size())];
    if (upstream.said.empty()) {
      switch (choose(6)) {
        case 0:
          upstream.said = kPush;
          break;
        case 1:
          // To a connection that has always been one client's, Redis may say what it likes.
          if (upstream.owed.empty() && upstream.unread.empty() && upstream.users.size() > 1) {
            upstream.said = kReplyTooMany;
          }
          break;
        case 2:
          if (choose(16) == 0) {
            upstream.peer.close();
          }
          return;
        default:
          if (!upstream.owed.empty()) {
            upstream.said = upstream.owed.front();
            upstream.owed.pop_front();
          }
      }
    }
    const std::size_t size =
        choose(3) == 0 ? choose(upstream.said.size() + 1) : upstream.said.size();
    upstream.peer.send(upstream.said.substr(0, size));
    upstream.said.erase(0, size);
  }

  void judge() {
    for (const auto& client : clients_) {
      client->received += client->peer.read();
      if (client->received.contains(kForged)) {
        broken("a client was sent what it did not ask for");
      }
      while (!client->received.empty()) {
        if (client->expected.empty()) {
          broken("a reply too many: " + client->received);
        }
        const std::string& expected = client->expected.front();
        if (!client->received.starts_with(expected)) {
          if (!expected.starts_with(client->received)) {
            broken("expected " + expected + ", received " + client->received);
          }
          break;
        }
        client->received.erase(0, expected.size());
        client->expected.pop_front();
      }
    }
  }

  FuzzedDataProvider& random_;
  SimLoop loop_;
  guard::GuardedShop shop_;
  Session::Settings settings_;
  ClientCount total_;
  std::vector<std::unique_ptr<Upstream>> upstreams_;
  std::vector<std::unique_ptr<Client>> clients_;
  Clients proxy_{{.loop = loop_,
                  .guard = *shop_.guard,
                  .own_commands = *shop_.commands,
                  .settings = settings_,
                  .total = total_}};
};

}  // namespace
}  // namespace cuckooguard::proxy

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider random(data, size);
  cuckooguard::proxy::Run(random).run();
  return 0;
}
