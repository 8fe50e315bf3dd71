// What a client that behaves well waits for at worst, at each of the guard's doors, while its
// neighbours do each of what they can (neighbours/attacks.h): hardly longer than one that talks to
// Redis itself at the same time, and without an error.
//
// The long form: CUCKOOGUARD_ATTACKERS of each kind, CUCKOOGUARD_CLIENTS beside them,
// CUCKOOGUARD_SECONDS for each kind, CUCKOOGUARD_MIB of a filter that is dumped.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "harness/configuration.h"
#include "harness/deadline.h"
#include "harness/guard_process.h"
#include "harness/ports.h"
#include "harness/raw_client.h"
#include "harness/redis_cluster.h"
#include "harness/redis_command.h"
#include "harness/redis_sentinels.h"
#include "harness/redis_server.h"
#include "neighbours/attacks.h"

namespace cuckooguard::harness {
namespace {

std::size_t wished(const char* name, std::size_t otherwise) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoul(text, nullptr, 10);
}

const std::size_t kAttackers = wished("CUCKOOGUARD_ATTACKERS", 1);
const std::size_t kClients = wished("CUCKOOGUARD_CLIENTS", 200);
const std::chrono::seconds kSeconds(wished("CUCKOOGUARD_SECONDS", 1));
const std::size_t kFilterMiB = wished("CUCKOOGUARD_MIB", 64);

// --- doors ---

// One of the guard's doors, and what is behind it.
class Door {
 public:
  Door() = default;
  virtual ~Door() = default;
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  virtual Place place() const = 0;
  virtual const RedisServer& redis() const = 0;  // that has the keys of place().tag
  virtual const GuardProcess& guard() const = 0;

 protected:
  static std::string yaml(const std::string& upstream) {
    return "upstream: " + upstream +
           "\nworkers: 1\nfilters: { allow_reserve: [ 'bf:{name}', 'cf:{name}' ], max_filters: "
           "10000, max_memory: " +
           std::to_string(std::max<std::size_t>(256, 4 * kFilterMiB)) +
           "MiB }\nlimits: { max_clients: " + std::to_string(kClients + 2000) + " }\n";
  }
  static Place place(std::uint16_t port) {
    return {.port = port,
            .port_beside = 0,
            .tag = {},
            .tag_beside = {},
            .filter_bytes = kFilterMiB << 20U,
            .filters = 2000};
  }
};

class OneRedis final : public Door {
 public:
  explicit OneRedis(const std::string& mode)
      : guard_(GuardProcess::on_port(
            yaml("{ address: " + redis_.address() + ", mode: " + mode + " }"))) {}
  Place place() const override { return Door::place(guard_.port()); }
  const RedisServer& redis() const override { return redis_; }
  const GuardProcess& guard() const override { return guard_; }

 private:
  RedisServer redis_;
  GuardProcess guard_;
};

class OfSentinel final : public Door {
 public:
  OfSentinel()
      : guard_(GuardProcess::on_sentinel_ports(
            yaml("{ sentinels: " + sentinels_.sentinel_addresses() +
                 ", master: " + RedisSentinels::kMaster + ", mode: shared }"),
            0)) {}
  Place place() const override { return Door::place(guard_.port()); }
  const RedisServer& redis() const override { return sentinels_.node(*sentinels_.master()); }
  const GuardProcess& guard() const override { return guard_; }

 private:
  RedisSentinels sentinels_;
  GuardProcess guard_;
};

// The second of the cluster's nodes has the neighbours' keys, the first is the one beside.
class OfCluster : public Door {
 public:
  const RedisServer& redis() const final { return cluster_.node(1); }
  const GuardProcess& guard() const final { return *guard_; }

 protected:
  static constexpr const char* kTag = "{c}";
  static constexpr const char* kTagBeside = "{b}";

  Place place(std::uint16_t port, std::uint16_t port_beside) const {
    Place found = Door::place(port);
    found.port_beside = port_beside;
    found.tag = kTag;
    found.tag_beside = kTagBeside;
    return found;
  }
  std::string upstream() const { return "{ cluster: [ " + cluster_.address(1) + " ] }"; }

  RedisCluster cluster_{{.replicas = 0}};
  std::optional<GuardProcess> guard_;
};

class OnePort final : public OfCluster {
 public:
  OnePort() {
    const std::string nodes = std::to_string(free_port());
    guard_.emplace(GuardProcess::on_port("listen: [ " + port_address(port_) +
                                         ", { nodes: '127.0.0.1:" + nodes + "-" + nodes +
                                         "' } ]\n" + yaml(upstream())));
  }
  Place place() const override { return OfCluster::place(port_, port_); }

 private:
  const std::uint16_t port_ = free_port();
};

class NodePorts final : public OfCluster {
 public:
  NodePorts() { guard_.emplace(GuardProcess::on_node_ports(yaml(upstream()), kNodes)); }
  Place place() const override {
    Place found = OfCluster::place(port_of(kTag), port_of(kTagBeside));
    found.tag_beside.clear();  // a client of one node asks for no keys of another
    return found;
  }

 private:
  static constexpr std::uint16_t kNodes = 3;

  std::uint16_t port_of(const char* tag) const {
    for (std::uint16_t i = 0; i < kNodes; ++i) {
      const auto port = static_cast<std::uint16_t>(guard_->port() + i);
      if (RawClient::to_port(port).call({"GET", tag}) == kNil) {
        return port;
      }
    }
    return 0;
  }
};

struct NamedDoor {
  const char* name;
  std::unique_ptr<Door> (*open)();
};
void PrintTo(const NamedDoor& door, std::ostream* out) {
  *out << door.name;
}

// --- waiting ---

struct Waits {
  SteadyClock::duration worst{};
  std::size_t asked = 0;
  std::string error{};

  double milliseconds() const { return std::chrono::duration<double, std::milli>(worst).count(); }
};

// Reads and writes one key again and again.
class WellBehaved {
 public:
  WellBehaved(std::uint16_t port, std::string key)
      : client_(RawClient::to_port(port)),
        key_(std::move(key)),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

  Waits end() {
    thread_.request_stop();
    thread_.join();
    return waits_;
  }

 private:
  void run(const std::stop_token& stop) {
    try {
      while (!stop.stop_requested()) {
        call({"SET", key_, "1"}, kOk);
        call({"GET", key_}, bulk("1"));
        let_pass(harness::milliseconds(1));
      }
    } catch (const std::exception& closed) {
      waits_.error = closed.what();
    }
  }
  void call(std::initializer_list<std::string_view> arguments, std::string_view expected) {
    const auto at = SteadyClock::now();
    const std::string reply = client_.call(arguments);
    waits_.worst = std::max(waits_.worst, SteadyClock::now() - at);
    ++waits_.asked;
    if (reply != expected) {
      waits_.error = reply;
    }
  }

  RawClient client_;
  std::string key_;
  Waits waits_;
  std::jthread thread_;
};

class WorstWait : public testing::TestWithParam<NamedDoor> {
 protected:
  // What a machine may add that has two cores for all of them.
  static constexpr harness::milliseconds kLongerAtMost{100};

  WorstWait() : door_(GetParam().open()) {
    EXPECT_TRUE(eventually([this] { return is_ready(); })) << door_->guard().log();
    place_ = door_->place();
    for (std::size_t i = 0; i < kClients; ++i) {
      clients_.push_back(RawClient::to_port(place_.port));
      (void)clients_.back().call({"PING"});
    }
  }

  bool is_ready() const {
    try {
      const Place place = door_->place();
      return RawClient::to_port(place.port).call({"GET", place.tag + "k"}) == kNil;
    } catch (const std::runtime_error&) {  // closed
      return false;
    }
  }

  // What the attack before has left to do is done.
  bool is_calm() const {
    const auto at = SteadyClock::now();
    (void)RawClient::to_port(place_.port).call({"SET", place_.tag + "calm", "1"});
    return SteadyClock::now() - at < harness::milliseconds(5);
  }

  struct Measured {
    Waits control;
    Waits guarded;

    bool is_good() const { return guarded.worst <= control.worst + kLongerAtMost; }
  };

  Measured measure(const Attack& attack) {
    EXPECT_TRUE(eventually([this] { return is_calm(); })) << attack.name;
    WellBehaved direct(door_->redis().port(), place_.tag + "direct");
    WellBehaved guarded(place_.port, place_.tag + "guarded");
    {
      std::vector<std::jthread> attackers;
      for (unsigned i = 0; i < kAttackers; ++i) {
        attackers.emplace_back([&, i](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            try {
              attack.run(place_, i, stop);
            } catch (const std::exception&) {  // closed
            }
          }
        });
      }
      let_pass(kSeconds);
    }
    const Measured measured{.control = direct.end(), .guarded = guarded.end()};
    EXPECT_EQ(measured.control.error, "");
    EXPECT_EQ(measured.guarded.error, "") << attack.name << '\n' << door_->guard().log();
    EXPECT_GT(measured.guarded.asked, 50U) << attack.name;
    std::printf(
        "neighbour: door=%s attackers=%zu clients=%zu worst_ms=%.1f control_ms=%.1f "
        "asked=%zu (%s)\n",
        GetParam().name,
        kAttackers,
        kClients,
        measured.guarded.milliseconds(),
        measured.control.milliseconds(),
        measured.guarded.asked,
        attack.name);
    return measured;
  }

  // What a neighbour holds up is held up each time; what else the machine does is not.
  void expect_nobody_waits_for(const Attack& attack) {
    constexpr int kTries = 3;
    Measured measured = measure(attack);
    for (int tries = 1; tries < kTries && !measured.is_good(); ++tries) {
      measured = measure(attack);
    }
    EXPECT_TRUE(measured.is_good())
        << attack.name << ": worst " << measured.guarded.milliseconds() << " ms, of Redis itself "
        << measured.control.milliseconds() << " ms";
  }

  std::unique_ptr<Door> door_;
  Place place_{};
  std::vector<RawClient> clients_;
};

TEST_P(WorstWait, is_hardly_longer_than_of_redis_whatever_neighbours_do) {
  for (const Attack& attack : all_attacks()) {
    if (!attack.needs_cluster || place_.port_beside != 0) {
      expect_nobody_waits_for(attack);
    }
  }
}

template <class Of>
std::unique_ptr<Door> opened() {
  return std::make_unique<Of>();
}

INSTANTIATE_TEST_SUITE_P(
    Doors,
    WorstWait,
    testing::Values(
        NamedDoor{"shared", [] { return std::unique_ptr<Door>(new OneRedis("shared")); }},
        NamedDoor{"pinned", [] { return std::unique_ptr<Door>(new OneRedis("pinned")); }},
        NamedDoor{"one_port", opened<OnePort>},
        NamedDoor{"nodes", opened<NodePorts>},
        NamedDoor{"sentinel", opened<OfSentinel>}),
    [](const auto& door) { return door.param.name; });

}  // namespace
}  // namespace cuckooguard::harness
