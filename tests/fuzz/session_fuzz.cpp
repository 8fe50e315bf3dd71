// Whole sessions: clients send random bytes and commands, a Redis answers what reaches it, the
// network cuts and stalls, and the fuzzer is the weather. The world and its judge are those of
// tests/simulation; only who decides differs.
//
// must: - each client receives the simulated Redis's bytes, in order, but for what may be answered
//         here (Ledger)
//       - a client that is still there has every reply when all has come to rest, and none is
//         closed for no reason
//       - memory stays within what session.h allows, and none is left when all have gone
//       - no session, no connection to Redis stays behind its client

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>

#include "proxy/clients.h"
#include "session_fuzz_client.h"
#include "session_fuzz_commands.h"
#include "simulation/proxy_memory.h"
#include "simulation/sim_redis.h"
#include "simulation/sim_shop.h"
#include "simulation/wire.h"

namespace cuckooguard::proxy {
namespace {

using namespace simulation;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kClients = 3;
constexpr int kActionsMax = 400;
constexpr std::uint64_t kStepsMax = 1'000'000;
constexpr std::size_t kReadBytes = io::Loop::kReadBufferBytes;
constexpr std::size_t kSharedMemoryMax = std::size_t{4} << 20U;

class Run final : RedisWitness {
 public:
  explicit Run(FuzzedDataProvider& random)
      : random_(random),
        commands_(random),
        loop_(random.ConsumeIntegral<std::uint16_t>()),
        shop_(loop_, 1),
        redis_(loop_, *this),
        memory_before_(proxy_memory().live) {
    make_world();
    for (std::size_t i = 0; i < kClients; ++i) {
      clients_.push_back(std::make_unique<FuzzedClient>(
          Ledger::World{.loop = loop_,
                        .shop = shop_,
                        .counts = counts_,
                        .inflight_per_client = settings_.limits.inflight_per_client}));
    }
  }
  ~Run() = default;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void run() {
    pass(milliseconds(30));  // the filters are loaded, and proven to be fresh
    for (int left = kActionsMax; left > 0 && random_.remaining_bytes() > 0; --left) {
      act();
      pass(microseconds(0));
    }
    come_to_rest();
    depart();
    if (!loop_.failure().empty()) {
      std::fprintf(stderr, "broken: %s\n", loop_.failure().c_str());
      std::abort();
    }
  }

 private:
  void on_executed(int client,
                   const RedisConnection::Executed& executed,
                   std::uint64_t stream_bytes) override {
    clients_[index(client)]->ledger().on_executed(executed, wires_[index(client)], stream_bytes);
  }
  void on_push(int client, std::string_view bytes) override {
    clients_[index(client)]->ledger().on_push(bytes);
  }
  void on_redis_end(int client, RedisEnd how) override {
    clients_[index(client)]->on_redis_end(how);
  }
  static std::size_t index(int client) { return static_cast<std::size_t>(client); }

  std::size_t choose(std::size_t below) {
    return random_.ConsumeIntegralInRange<std::size_t>(0, below - 1);
  }

  void make_world() {
    Weather& weather = loop_.weather();
    weather.rough = random_.ConsumeBool();
    weather.latency_max = microseconds(choose(3000));
    weather.capacity_min = 400 + choose(100'000);
    weather.capacity_max = weather.capacity_min;
    loop_.on_batch([this] { shop_.epochs().reader(0).enter(); },
                   [this] { shop_.epochs().reader(0).leave(); });
    RedisStore& store = redis_.store();
    store.users["app"] = {.password = "word"};
    store.users["limited"] = {.password = "word", .key_prefix = "item:"};
    store.values[{0, "list:1"}] = {.is_list = true};
    store.values[{0, "user:7"}] = {.text = "seven"};
    store.values[{0, "item:t7"}] = {.text = std::string(5000, 'x')};
    constexpr std::array<std::uint32_t, 4> kInflight{4, 32, 200, 1024};
    settings_.limits = {.max_clients = static_cast<std::uint32_t>(1 + choose(kClients)),
                        .client_output_soft = (8 + choose(100)) * 1024,
                        .inflight_per_client = kInflight[choose(kInflight.size())]};
    proxy_ = std::make_unique<Clients>(Clients::Worker{.loop = loop_,
                                                       .guard = shop_.guard(),
                                                       .own_commands = shop_.own_commands(),
                                                       .settings = settings_,
                                                       .total = total_});
    loop_.on_connect([this](SimTransport& upstream) {
      const std::shared_ptr<Wire>& wire = wires_[index(admitted_)] = std::make_shared<Wire>();
      upstream.observe({.on_read = [wire](std::string_view bytes) { wire->read += bytes.size(); }});
      redis_.connect(upstream, admitted_);
    });
    shop_.start();
    shop_.publish_users({"app", "default"}, true);
  }

  void act() {
    const auto number = static_cast<int>(choose(kClients));
    FuzzedClient& client = *clients_[index(number)];
    if (admitted_before_ <= number) {
      admit(admitted_before_);
      return;
    }
    switch (choose(16)) {
      case 0:
      case 1:
        client.send(random_.ConsumeRandomLengthString(64));
        break;
      case 2:
      case 3:
        let_time_pass();
        break;
      case 4:
        client.read(random_.ConsumeBool() ? 1 + choose(2000) : std::string::npos);
        break;
      case 5:
        trouble_network(number);
        break;
      case 6:
        trouble_redis();
        break;
      case 7:
        trouble_shop();
        break;
      default:
        client.send(commands_.next(), choose(8) == 0);
    }
  }

  void admit(int number) {
    FuzzedClient& client = *clients_[index(number)];
    auto transport = loop_.accept(client.peer());
    transport->observe({.on_read = [&client](std::string_view bytes) {
      client.ledger().on_read_by_proxy(bytes.size());
    }});
    const bool is_refused = total_.open >= settings_.limits.max_clients;
    admitted_ = number;
    ++admitted_before_;
    loop_.as_batch([this, &transport] { proxy_->admit(std::move(transport)); });
    client.start(is_refused);
  }

  void let_time_pass() {
    constexpr std::array<microseconds, 6> kTimes{microseconds(20),
                                                 microseconds(500),
                                                 milliseconds(5),
                                                 milliseconds(50),
                                                 milliseconds(400),
                                                 milliseconds(2500)};
    const microseconds time = kTimes[choose(kTimes.size())];
    if (choose(8) == 0) {
      loop_.pass(time);  // the machine was suspended
    } else {
      pass(time);
    }
  }

  void trouble_network(int number) {
    FuzzedClient& client = *clients_[index(number)];
    switch (choose(6)) {
      case 0:
        client.finish();
        break;
      case 1:
        client.leave();
        break;
      case 2:
        client.reset();
        break;
      case 3:
        redis_.reset(number);
        break;
      case 4:
        redis_.stall_network(number, milliseconds(1 + choose(500)));
        break;
      default:
        client.peer().stall(milliseconds(1 + choose(500)));
    }
  }

  void trouble_redis() {
    switch (choose(6)) {
      case 0:
        redis_.crash(random_.ConsumeBool());
        break;
      case 1:
        redis_.start();
        break;
      case 2:
        redis_.set_deaf(random_.ConsumeBool());
        break;
      case 3:
        redis_.stall(milliseconds(1 + choose(600)));
        break;
      default:
        redis_.push_to_all(false);
    }
  }

  void trouble_shop() {
    const auto ns = static_cast<std::uint32_t>(choose(SimShop::kNamespaces));
    switch (choose(6)) {
      case 0:
        shop_.stall_applier(milliseconds(10 + choose(2500)));
        break;
      case 1:
        shop_.stop_proofs(milliseconds(10 + choose(2500)));
        break;
      case 2:
        shop_.rebuild(ns);
        break;
      case 3:
        shop_.publish_users({"app", "default"}, true);
        break;
      case 4:
        shop_.publish_users({}, false);
        break;
      default:
        shop_.commit_row(ns);
    }
  }

  // And what is to happen in that time.
  void pass(std::chrono::nanoseconds time) {
    loop_.run(microseconds(0));  // who has read outside of it is noticed
    bool is_over = false;
    loop_.at(time, [&is_over] { is_over = true; });
    for (std::uint64_t steps = 0; !is_over && loop_.step(); ++steps) {
      check_memory();
      if (steps > kStepsMax) {
        loop_.fail("it does not come to rest");
      }
    }
  }

  // What session.h allows, if every client were at every limit at once.
  void check_memory() {
    const std::size_t per_client = Session::kUpstreamQueueBytesMax + kReadBytes +
                                   2 * settings_.limits.client_output_soft + 2 * kReadBytes +
                                   2 * resp::kWholeCommandBytesMax;
    if (proxy_memory().live - memory_before_ > kSharedMemoryMax + proxy_->count() * per_client) {
      loop_.fail("the proxy holds more than it may");
    }
  }

  void come_to_rest() {
    constexpr std::chrono::hours kLongest{1};  // until nothing is left to happen
    shop_.stop();
    redis_.start();
    redis_.set_deaf(false);
    std::size_t read = 1;
    while (read > 0 && loop_.failure().empty()) {
      pass(kLongest);
      read = 0;
      for (const auto& client : clients_) {
        read += client->read(std::string::npos);
      }
    }
    for (const auto& client : clients_) {
      client->check_at_rest();
    }
  }

  void depart() {
    for (const auto& client : clients_) {
      client->leave();
    }
    pass(seconds(20));
    if (total_.open != 0 || proxy_->count() != 0) {
      loop_.fail("sessions stay though their clients have left");
    } else if (redis_.connections() != 0) {
      loop_.fail("connections to Redis stay without clients");
    }
    proxy_.reset();
  }

  FuzzedDataProvider& random_;
  FuzzedCommands commands_;
  SimLoop loop_;
  SimShop shop_;
  SimRedis redis_;
  Session::Settings settings_{.upstream = {.mode = config::UpstreamMode::pinned}};
  ClientCount total_;
  std::unique_ptr<Clients> proxy_;
  LedgerCounts counts_;
  std::array<std::shared_ptr<Wire>, kClients> wires_;  // by client
  std::vector<std::unique_ptr<FuzzedClient>> clients_;
  int admitted_ = 0;  // whose session is being made
  int admitted_before_ = 0;
  std::size_t memory_before_;
};

void run(const std::uint8_t* bytes, std::size_t size) {
  const std::size_t memory_before = proxy_memory().live;
  {
    FuzzedDataProvider random(bytes, size);
    Run(random).run();
  }
  if (proxy_memory().live != memory_before) {
    std::fprintf(stderr, "broken: memory of the proxy is left when all of it is gone\n");
    std::abort();
  }
}

}  // namespace
}  // namespace cuckooguard::proxy

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  cuckooguard::proxy::run(bytes, size);
  return 0;
}
