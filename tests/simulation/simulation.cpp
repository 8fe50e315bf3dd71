#include "simulation/simulation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "simulation/proxy_memory.h"
#include "simulation/resp_text.h"

namespace cuckooguard::simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kChaos{8000};
constexpr milliseconds kTroubleMax{600};  // that one trouble lasts
constexpr seconds kPatience{5};           // with clients that are to go
constexpr std::uint64_t kStepsMax = 3'000'000;
constexpr std::size_t kReadBytes = io::Loop::kReadBufferBytes;
// Of a guard and a worker, whatever their clients: scratch of the largest command, free chunks.
constexpr std::size_t kSharedMemoryMax = std::size_t{4} << 20U;
const std::string kAppPassword = "open sesame";

}  // namespace

Simulation::Simulation(std::uint64_t seed, config::UpstreamMode mode)
    : seed_(seed),
      random_(seed),
      loop_(random_.next()),
      shop_(loop_, random_.next()),
      redis_(loop_, *this),
      memory_before_(proxy_memory().live) {
  settings_.upstream.mode = mode;
  make_weather();
  make_redis();
  make_proxy();
  const auto count = static_cast<int>(random_.between(8, 40));
  for (int id = 0; id < count; ++id) {
    make_client(id);
  }
}

Simulation::~Simulation() {
  is_gone_ = true;
}

void Simulation::make_weather() {
  Weather& weather = loop_.weather();
  weather.rough = true;
  weather.latency_max = microseconds(random_.between(10, 3000));
  weather.capacity_min = random_.between(64, 4000);
  weather.capacity_max = weather.capacity_min + random_.below(300'000);
  loop_.on_batch([this] { shop_.epochs().reader(0).enter(); },
                 [this] { shop_.epochs().reader(0).leave(); });
}

void Simulation::make_redis() {
  password_ = random_.one_in(3) ? "swordfish" : "";
  RedisStore& store = redis_.store();
  store.users["default"] = {.password = password_};
  store.users["app"] = {.password = kAppPassword};
  store.users["limited"] = {.password = kAppPassword, .key_prefix = "item:"};
  for (int db = 0; db < 3; ++db) {
    store.values[{db, "list:1"}] = {.is_list = true};
    store.values[{db, "free:3"}] = {.text = "three"};
  }
  for (int i = 0; i < 200; ++i) {
    const std::string key =
        shop_.existing_key(static_cast<std::uint32_t>(i) % SimShop::kNamespaces);
    store.values[{key.starts_with("cart:") ? 2 : 0, key}] = {.text = "value of " + key};
  }
}

void Simulation::make_proxy() {
  constexpr std::array<std::uint32_t, 3> kInflight{32, 200, 1024};
  settings_.limits = {.max_clients = static_cast<std::uint32_t>(random_.between(10, 60)),
                      .client_output_soft = random_.between(8, 512) * 1024,
                      .inflight_per_client = random_.pick(kInflight)};
  proxy_ =
      std::make_unique<proxy::Clients>(proxy::Clients::Worker{.loop = loop_,
                                                              .guard = shop_.guard(),
                                                              .own_commands = shop_.own_commands(),
                                                              .settings = settings_,
                                                              .total = total_});
  loop_.on_connect([this](SimTransport& upstream) { connect(upstream); });
}

SimClient::Habits Simulation::habits() {
  constexpr std::array kLeavings{SimClient::Leaving::stays,
                                 SimClient::Leaving::stays,
                                 SimClient::Leaving::half_closes,
                                 SimClient::Leaving::half_closes,
                                 SimClient::Leaving::closes,
                                 SimClient::Leaving::resets,
                                 SimClient::Leaving::quits};
  SimClient::Habits habits{.commands = random_.between(5, 500),
                           .burst_max = random_.between(1, 40),
                           .awaits_replies = random_.one_in(2),
                           .thinks_max = microseconds(random_.between(10, 60'000)),
                           .leaving = random_.pick(kLeavings)};
  if (random_.one_in(4)) {  // writes long pipelines before it reads
    habits.burst_max = 250;
    habits.reads_late = milliseconds(random_.between(1, 800));
  }
  if (random_.one_in(4)) {
    habits.reads_at_once = random_.between(1, 3000);
    habits.reads_late = microseconds(random_.between(1, 3000));
  }
  return habits;
}

void Simulation::make_client(int id) {
  const Ledger::World world{.loop = loop_,
                            .shop = shop_,
                            .counts = counts_,
                            .inflight_per_client = settings_.limits.inflight_per_client,
                            .client = id,
                            .shares = shares()};
  constexpr std::array<std::uint64_t, 4> kChangesPerMille{0, 0, 15, 100};
  Standing at_start;
  at_start.authenticated = password_.empty();
  clients_.push_back(
      std::make_unique<SimClient>(world,
                                  Script(shop_,
                                         random_.next(),
                                         {.client = id,
                                          .password = password_,
                                          .app_password = kAppPassword,
                                          .changes_per_mille = random_.pick(kChangesPerMille),
                                          .signs = shares()}),
                                  habits(),
                                  at_start));
  if (!shares()) {
    wires_.push_back(std::make_shared<Wire>());
    wires_.back()->client = id;
  }
  loop_.at(microseconds(random_.below(2'000'000)), [this, id] { admit(id); });
}

void Simulation::admit(int id) {
  SimClient& client = *clients_[static_cast<std::size_t>(id)];
  auto transport = loop_.accept(client.peer());
  // A suspended machine reads on where it was, later: what was read is judged by the time after the
  // read.
  transport->observe({.on_read =
                          [this, &client](std::string_view bytes) {
                            if (!is_calm_ && random_.one_in(50)) {
                              loop_.pass(random_.one_in(20) ? seconds(3) : seconds(0));
                              loop_.pass(microseconds(random_.below(2000)));
                            }
                            client.ledger().on_read_by_proxy(bytes.size());
                          },
                      .on_write = {},
                      .on_close =
                          [this, &client] {
                            if (!is_gone_) {
                              client.on_proxy_closed();
                            }
                          },
                      .on_finish = [&client] { client.ledger().on_farewell(); }});
  const bool is_refused = total_.open >= settings_.limits.max_clients;
  admitted_ = id;
  loop_.as_batch([this, &transport] { proxy_->admit(std::move(transport)); });
  client.start(is_refused);
}

void Simulation::cause_trouble() {
  if (is_calm_) {
    return;
  }
  const std::uint64_t dice = random_.below(10);
  if (dice < 2) {
    trouble_redis();
  } else if (dice < 5) {
    trouble_network();
  } else {
    trouble_shop();
  }
  loop_.at(milliseconds(random_.between(5, 150)), [this] { cause_trouble(); });
}

void Simulation::trouble_redis() {
  switch (random_.below(8)) {
    case 0:
      redis_.crash(random_.one_in(2));
      loop_.at(milliseconds(random_.between(1, 1000)), [this] { redis_.start(); });
      break;
    case 1:
      redis_.set_deaf(true);
      loop_.at(milliseconds(random_.between(1, 200)), [this] { redis_.set_deaf(false); });
      break;
    case 2:
    case 3:
      redis_.stall(milliseconds(random_.between(1, 600)));
      break;
    default:
      if (shares() && random_.one_in(3)) {
        redis_.demote();
      } else {
        redis_.push_to_all(shares());
      }
  }
}

void Simulation::trouble_network() {
  const int any = any_client();
  SimClient& victim = client(any);
  const int link = shares() ? redis_.any_link(random_).value_or(0) : any;
  switch (random_.below(6)) {
    case 0:
      redis_.reset(link);
      break;
    case 1:
      victim.lose_connection();
      break;
    case 2:
    case 3:
      redis_.stall_network(link, milliseconds(random_.between(1, 500)));
      break;
    default:
      victim.peer().stall(milliseconds(random_.between(1, 500)));
  }
}

void Simulation::trouble_shop() {
  const auto ns = static_cast<std::uint32_t>(random_.below(SimShop::kNamespaces));
  switch (random_.below(14)) {
    case 0:
      shop_.stall_applier(milliseconds(random_.between(10, 2500)));
      break;
    case 1:
      shop_.stop_proofs(milliseconds(random_.between(10, 2500)));
      break;
    case 2:
    case 3:
      shop_.rebuild(ns);
      break;
    case 4:
      shop_.publish_users({}, false);
      loop_.at(milliseconds(random_.between(1, 300)),
               [this] { shop_.publish_users({"app", "default"}, password_.empty()); });
      break;
    case 5:
      shop_.publish_users({"default"}, password_.empty());
      break;
    case 6:
      loop_.pass(seconds(random_.between(1, 5)));
      break;
    case 7:
    case 8:
    case 9:
      shop_.delete_row(ns);
      break;
    default:
      shop_.commit_row(ns);
  }
}

void Simulation::run_for(std::chrono::nanoseconds time) {
  const io::TimePoint end = loop_.now() + time;
  for (std::uint64_t steps = 0; loop_.now() < end && loop_.step(); ++steps) {
    check_memory();
    if (steps > kStepsMax) {
      loop_.fail("it does not come to rest");
    }
  }
}

// What is shared is read for clients that do not read.
std::size_t Simulation::memory_for_slow_readers() const {
  std::size_t bytes = 0;
  for (const auto& client : clients_) {
    bytes += shares() && client->is_held() ? client->ledger().unreceived() : 0;
  }
  return 2 * bytes;
}

// What session.h allows, if every client were at every limit at once.
void Simulation::check_memory() {
  const std::size_t per_client = proxy::Session::kUpstreamQueueBytesMax + kReadBytes +
                                 2 * settings_.limits.client_output_soft + 2 * kReadBytes +
                                 2 * resp::kWholeCommandBytesMax;
  const std::size_t live = proxy_memory().live - memory_before_;
  if (live > kSharedMemoryMax + proxy_->count() * per_client + memory_for_slow_readers()) {
    loop_.fail("the proxy holds " + std::to_string(live) + " bytes for " +
               std::to_string(proxy_->count()) + " clients");
  }
}

void Simulation::come_to_rest() {
  is_calm_ = true;
  shop_.stop();
  redis_.start();
  redis_.set_deaf(false);
  for (const auto& client : clients_) {
    client->calm_down();
  }
  run_for(std::chrono::hours(1));
  for (const auto& client : clients_) {
    client->check_at_rest();
  }
}

void Simulation::depart() {
  for (const auto& client : clients_) {
    client->leave();
  }
  run_for(std::chrono::hours(1));
  if (total_.open != 0 || proxy_->count() != 0) {
    loop_.fail(std::to_string(proxy_->count()) + " sessions stay though their clients have left");
  } else if (redis_.connections() != 0) {
    loop_.fail(std::to_string(redis_.connections()) + " connections to Redis stay without clients");
  } else if (loop_.chunks().pooled() > io::ChunkPool::kPooledChunksMax) {
    loop_.fail("the chunk pool keeps more than it may");
  }
  check_memory();
}

void Simulation::begin() {
  proxy_memory().peak = proxy_memory().live;
  loop_.at(milliseconds(random_.below(300)), [this] { shop_.start(); });
  loop_.at(milliseconds(random_.below(300)),
           [this] { shop_.publish_users({"app", "default"}, password_.empty()); });
  cause_trouble();
}

Outcome Simulation::run() {
  const io::TimePoint began = loop_.now();
  begin();
  run_for(kChaos);
  come_to_rest();
  depart();
  return outcome(began);
}

Outcome Simulation::run_drained() {
  const io::TimePoint began = loop_.now();
  begin();
  run_for(milliseconds(Random(seed_).between(200, 2500)));  // as run() until then
  is_calm_ = true;                                          // but for the clients
  redis_.start();
  redis_.set_deaf(false);
  run_for(kTroubleMax);
  loop_.as_batch([this] { proxy_->drain([] {}); });
  run_for(kPatience);
  const std::size_t left = proxy_->count();
  for (const auto& client : clients_) {
    client->on_cut_off();
  }
  for (int twice = 0; twice < 2; ++twice) {  // Redis may say a last word, or nothing
    loop_.as_batch([this] { proxy_->cut_off(); });
    run_for(seconds(1));
  }
  run_for(upstream::Upstreams::kKeptFor);
  if (proxy_->count() != 0 || redis_.connections() != 0) {
    loop_.fail("somebody stays: " + std::to_string(proxy_->count()) + " clients, " +
               std::to_string(redis_.connections()) + " connections to Redis");
  }
  Outcome drained = outcome(began);
  drained.cut_off = left;
  return drained;
}

void Simulation::silence_a_wire() {
  const auto number = redis_.any_link(random_);
  if (number && redis_.is_over_a_network(*number) &&
      std::ranges::find(silent_, *number) == silent_.end()) {
    silent_.push_back(*number);
    redis_.stall_network(*number, std::chrono::hours(1));
    on_redis_end(*number, RedisEnd::fault);
  }
}

// Who owns what is lost for good waits for as long as the kernel keeps such a connection alive. Who
// was there when a connection was begun waits until that is made or given up, and who has sent
// something behind replies that still move, until these have come. Others do not wait.
void Simulation::check_waits() {
  // Until the silence is noticed, for which a connection is looked at a few times, and another one
  // has answered.
  const milliseconds longest = settings_.upstream.silence + milliseconds(1500);
  constexpr milliseconds kBegins{350};
  constexpr milliseconds kMoves{250};
  const auto is_lost = [this](int number) {
    return std::ranges::find(silent_, number) != silent_.end();
  };
  const auto is_excused = [&](SimClient& client) {
    return std::ranges::any_of(wires_, [&, number = 0](const auto& wire) mutable {
      return (is_lost(number++) || loop_.now() - wire->read_at < kMoves) &&
             client.ledger().loss_with(*wire) == Ledger::Loss::certain;
    });
  };
  for (const auto& client : clients_) {
    const auto since = client->waits_since();
    if (!since || is_excused(*client)) {
      continue;
    }
    const auto wait =
        std::chrono::duration_cast<milliseconds>(loop_.now() - std::max(*since, calm_since_));
    const bool is_connecting = std::ranges::any_of(wires_, [&](const auto& wire) {
      return !wire->is_used && *since <= wire->opened + kBegins &&
             wait <= settings_.upstream.connect_timeout + longest;
    });
    longest_wait_ = std::max(longest_wait_, wait);
    if (wait > longest && !is_connecting) {
      loop_.fail("a client waits for another's connection that is silent: " +
                 client->ledger().describe_next());
    }
  }
}

Outcome Simulation::run_beside_silence() {
  constexpr milliseconds kEvery{20};
  constexpr int kSilent = 6;
  const io::TimePoint began = loop_.now();
  begin();
  run_for(seconds(1));
  is_calm_ = true;  // but for the clients
  redis_.start();
  redis_.set_deaf(false);
  run_for(kTroubleMax);
  calm_since_ = loop_.now();
  for (int i = 0; i < kSilent; ++i) {
    loop_.at(milliseconds(random_.below(4000)), [this] { silence_a_wire(); });
  }
  const io::TimePoint end = loop_.now() + seconds(12);
  while (loop_.now() < end && loop_.failure().empty()) {
    run_for(kEvery);
    check_waits();
  }
  for (const int number : silent_) {
    redis_.reset(number);
  }
  come_to_rest();
  depart();
  return outcome(began);
}

Outcome Simulation::outcome(io::TimePoint began) {
  return {.failure = loop_.failure(),
          .trace_hash = loop_.trace_hash(),
          .counts = counts_,
          .clients = clients_.size(),
          .memory_peak = proxy_memory().peak - memory_before_,
          .batches = loop_.batches(),
          .virtual_time = std::chrono::duration_cast<milliseconds>(loop_.now() - began),
          .wires = wires_.size(),
          .handovers = handovers_,
          .retired = static_cast<std::uint64_t>(std::ranges::count_if(
              wires_, [](const auto& wire) { return wire->retired.has_value(); })),
          .let_go = static_cast<std::size_t>(std::ranges::count_if(
              clients_, [](const auto& client) { return client->was_let_go(); })),
          .longest_wait = longest_wait_,
          .silent = silent_.size()};
}

}  // namespace cuckooguard::simulation
