#include "simulation/routed_world.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "redis/slot.h"
#include "routing/routed_texts.h"
#include "simulation/resp_frames.h"
#include "simulation/resp_text.h"

namespace cuckooguard::simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::size_t kRounds = 300;
constexpr std::uint64_t kTags = 6;  // slots that are in use
constexpr std::uint64_t kKeysOfTag = 3;
constexpr std::size_t kClients = 3;

bool is_refusal(std::string_view reply) {
  return reply.starts_with("-TRYAGAIN ") || reply.starts_with("-CLUSTERDOWN ") ||
         reply == routing::kSilentNode;
}

std::string suffix_of(std::size_t client) {
  return "c" + std::to_string(client);
}

}  // namespace

RoutedWorld::RoutedWorld(std::uint64_t seed, RoutedWeather weather)
    : loop_(seed),
      weather_(weather),
      routed_(loop_, settings_, weather.mode, [this] { tell_map_later(); }) {
  for (std::size_t i = 0; i < kClients; ++i) {
    clients_.push_back(std::make_unique<Client>(*this, i));
  }
  loop_.weather().rough = true;
  loop_.weather().latency_max = microseconds(loop_.random().between(50, 2000));
  loop_.on_connect(
      [this](SimTransport& transport) { cluster_.connect(transport, loop_.connected_address()); });
  settings_.split_mset = true;
  routed_.set(cluster_.map(), loop_.now());
}

// It is asked for, and comes when it comes: older than what a redirect has told, perhaps.
void RoutedWorld::tell_map_later() {
  if (std::exchange(is_map_due_, true)) {
    return;
  }
  loop_.at(microseconds(loop_.random().below(20'000)), [this] {
    is_map_due_ = false;
    loop_.at(microseconds(loop_.random().below(20'000)), [this, map = cluster_.map()] {
      loop_.as_batch([&] { routed_.set(map, loop_.now()); });
    });
  });
}

void RoutedWorld::connect(Client& client) {
  client.is_lost = false;
  client.got.clear();
  loop_.as_batch([&] {
    upstream::Connection::Owner& owner = client;
    client.connection = std::make_unique<upstream::Connection>(routed_, settings_, owner);
  });
}

void RoutedWorld::disconnect(Client& client) {
  loop_.as_batch([&] { client.connection->close(); });
  client.connection.reset();
}

void RoutedWorld::reconnect_the_lost() {
  if (std::ranges::any_of(clients_, [](const auto& client) { return client->is_lost; })) {
    settle();
  }
  for (const auto& client : clients_) {
    if (client->is_lost) {
      loop_.as_batch([&] { client->connection.reset(); });
      connect(*client);
    }
  }
}

void RoutedWorld::Client::on_upstream_bytes(std::string_view bytes) {
  world.loop_.trace(bytes);
  got += bytes;
  for (;;) {
    const std::size_t end = frame_bytes(got);
    if (end == 0) {
      return;
    }
    if (end == std::string_view::npos) {
      world.loop_.fail("no RESP: " + printable(got));
      return;
    }
    world.judge(*this, got.substr(0, end));
    got.erase(0, end);
  }
}

void RoutedWorld::Client::on_upstream_lost() {
  is_lost = true;
  ++world.outcome_.losses;
}

void RoutedWorld::judge(Client& client, std::string_view reply) {
  if (client.sent.empty()) {
    loop_.fail("a reply that nobody has asked for: " + printable(reply));
    return;
  }
  const Sent sent = std::move(client.sent.front());
  client.sent.pop_front();
  ++outcome_.replies;
  if (is_refusal(reply)) {
    ++outcome_.refused;
    // Of a split one other parts may have been run: what its keys are by now is asked of the nodes.
    const auto keys = keys_in(sent.words);
    if (keys.size() > 1) {
      client.doubted.insert(keys.begin(), keys.end());
    }
    return;
  }
  const std::string wanted = run_in(client.model, sent.words);
  const auto keys = keys_in(sent.words);
  const bool is_doubted = std::ranges::any_of(
      keys, [&](const std::string& key) { return client.doubted.contains(key); });
  if (is_doubted) {
    return;
  }
  if (reply != wanted) {
    loop_.fail("reply " + std::to_string(sent.number) + " to " + sent.words[0] + " " +
               (sent.words.size() > 1 ? sent.words[1] : "") + ": " + printable(reply) + ", not " +
               printable(wanted));
  }
}

std::string RoutedWorld::some_key(const Client& client) {
  return "{" + std::to_string(loop_.random().below(kTags)) + "}" +
         std::to_string(loop_.random().below(kKeysOfTag)) + suffix_of(client.number);
}

std::uint16_t RoutedWorld::some_slot() {
  return redis::slot_of("{" + std::to_string(loop_.random().below(kTags)) + "}");
}

Words RoutedWorld::some_words(const Client& client, std::uint64_t number) {
  Random& random = loop_.random();
  const std::string mark = std::to_string(number) + ",";
  switch (random.below(12)) {
    case 0:
      return {"SET", some_key(client), mark};
    case 1:
    case 2:
      return {"GET", some_key(client)};
    case 3:
      return {"DEL", some_key(client)};
    case 4: {
      Words words{random.one_in(2) ? "MGET" : "EXISTS"};
      const std::string tag = "{" + std::to_string(random.below(kTags)) + "}";
      for (std::uint64_t i = random.between(2, 5); i > 0; --i) {
        words.push_back(random.one_in(3) ? some_key(client)
                                         : tag + std::to_string(random.below(kKeysOfTag)) +
                                               suffix_of(client.number));
      }
      return words;
    }
    case 5:
      return {"DEL", some_key(client), some_key(client), some_key(client)};
    case 6:
      return random.one_in(3) ? Words{"SCRIPT", "LOAD", "x"} : Words{"PING"};
    default:
      return {"APPEND", some_key(client), mark + (random.one_in(40) ? random.text(100'000) : "")};
  }
}

void RoutedWorld::send_some(Client& client) {
  Random& random = loop_.random();
  std::string bytes;
  for (std::uint64_t i = random.between(1, 12); i > 0; --i) {
    Sent sent{.words = some_words(client, numbers_ + 1), .number = numbers_ + 1};
    ++numbers_;
    bytes += command(sent.words);
    client.sent.push_back(std::move(sent));
    ++outcome_.commands;
  }
  const std::size_t cut = random.below(bytes.size());
  loop_.as_batch([&] { client.connection->send(std::string_view(bytes).substr(0, cut)); });
  if (random.one_in(4)) {
    for (std::uint64_t i = random.below(20); i > 0; --i) {
      loop_.step();
    }
  }
  if (!client.is_lost) {
    loop_.as_batch([&] { client.connection->send(std::string_view(bytes).substr(cut)); });
  }
}

void RoutedWorld::disturb() {
  Random& random = loop_.random();
  const std::uint16_t slot = some_slot();
  switch (weather_.has_moves ? random.below(weather_.has_faults ? 13 : 9) : 99) {
    case 0:
    case 1:
    case 2:
      cluster_.begin_move(slot, random.below(SimCluster::kNodes));
      return;
    case 3:
    case 4:
    case 5:
      cluster_.move_a_key(slot);
      return;
    case 6:
      cluster_.end_move(slot);
      return;
    case 7:
      cluster_.cancel_move(slot);
      return;
    case 8:
      if (random.one_in(4)) {
        cluster_.fail_over(random.below(SimCluster::kNodes), random.below(SimCluster::kNodes));
      }
      return;
    case 9:
      cluster_.set_down(random.one_in(3));
      return;
    case 10:
      if (random.one_in(8)) {
        cluster_.cut_a_connection();
      }
      return;
    case 11:
      cluster_.hang(random.below(SimCluster::kNodes), random.one_in(4));
      return;
    default:
      loop_.as_batch([&] {
        Client& client = some_client();
        if (!client.is_lost) {
          client.connection->set_reading(random.one_in(2));
        }
      });
  }
}

// All that was sent is replied to, or the connection is gone.
void RoutedWorld::settle() {
  cluster_.set_down(false);
  for (std::size_t node = 0; node < SimCluster::kNodes; ++node) {
    cluster_.hang(node, false);
  }
  for (const auto& client : clients_) {
    if (!client->is_lost) {
      loop_.as_batch([&] { client->connection->set_reading(true); });
    }
  }
  for (const auto& client : clients_) {
    for (int i = 0; i < 200'000 && !client->is_lost && !client->sent.empty() && loop_.step(); ++i) {
    }
    if (!client->is_lost && !client->sent.empty()) {
      loop_.fail("no reply to " + std::to_string(client->sent.front().number) + " " +
                 client->sent.front().words[0] + " " + std::to_string(client->sent.size()) +
                 " are owed");
    }
  }
  loop_.run(milliseconds(300));  // what the nodes have been sent
  judge_values();
  for (const auto& client : clients_) {
    settle(*client);
  }
}

void RoutedWorld::settle(Client& client) {
  const Values values = values_of(client);
  if (client.is_lost) {
    client.sent.clear();  // who knows which of them were run
  } else if (client.model != values && client.doubted.empty()) {
    loop_.fail("a node has another value than was replied to");
  }
  client.doubted.clear();
  client.model = values;
}

Values RoutedWorld::values_of(const Client& client) const {
  Values values = cluster_.values();
  std::erase_if(values, [suffix = suffix_of(client.number)](const auto& value) {
    return !value.first.ends_with(suffix);
  });
  return values;
}

// Numbers of one value rise: nothing twice, nothing behind what came later.
void RoutedWorld::judge_values() {
  for (const auto& [key, value] : cluster_.values()) {
    std::uint64_t last = 0;
    std::uint64_t number = 0;
    for (const char c : value) {
      if (c >= '0' && c <= '9') {
        number = number * 10 + static_cast<std::uint64_t>(c - '0');
      } else if (c == ',') {
        if (number <= last) {
          loop_.fail(key + " has " + std::to_string(number) + " behind " + std::to_string(last));
        }
        last = std::exchange(number, 0);
      }
    }
  }
}

RoutedOutcome RoutedWorld::run() {
  for (const auto& client : clients_) {
    connect(*client);
  }
  for (std::size_t round = 0; round < kRounds && loop_.failure().empty(); ++round) {
    reconnect_the_lost();
    Client& client = some_client();
    if (client.sent.size() < 200 && !client.is_lost) {
      send_some(client);
    }
    for (std::uint64_t i = loop_.random().below(12); i > 0; --i) {
      disturb();
      for (std::uint64_t steps = loop_.random().below(15); steps > 0; --steps) {
        loop_.step();
      }
    }
    if (round % 20 == 19) {
      settle();
    }
  }
  if (loop_.failure().empty()) {
    settle();
  }
  for (const auto& client : clients_) {
    disconnect(*client);
  }
  outcome_.failure = loop_.failure();
  outcome_.counts = cluster_.counts();
  outcome_.trace_hash = loop_.trace_hash();
  return outcome_;
}

std::chrono::microseconds RoutedWorld::longest_wait_beside_a_node_that_hangs() {
  constexpr int kRoundsBeside = 60;
  Client& needs_it = *clients_[0];
  Client& is_there = *clients_[1];
  Client& comes = *clients_[2];
  connect(needs_it);
  connect(is_there);
  const std::size_t hung = loop_.random().below(SimCluster::kNodes);
  for (int i = 0; i < 20; ++i) {
    (void)wait_for_a_reply(is_there, SimCluster::kNodes);
  }
  cluster_.hang(hung, true);
  for (int i = 0; i < 20; ++i) {
    send_some(needs_it);
  }
  loop_.run(milliseconds(loop_.random().below(200)));
  std::chrono::microseconds longest{};
  for (int i = 0; i < kRoundsBeside && loop_.failure().empty(); ++i) {
    longest = std::max(longest, wait_for_a_reply(is_there, hung));
    connect(comes);
    longest = std::max(longest, wait_for_a_reply(comes, hung));
    disconnect(comes);
  }
  cluster_.hang(hung, false);
  disconnect(needs_it);
  disconnect(is_there);
  if (!loop_.failure().empty()) {
    throw std::runtime_error(loop_.failure());
  }
  return longest;
}

// To a command that this node has no part in.
std::chrono::microseconds RoutedWorld::wait_for_a_reply(Client& client, std::size_t hung) {
  constexpr auto kMost = std::chrono::seconds(20);
  Sent sent{.words = {"PING"}, .number = ++numbers_};
  if (!loop_.random().one_in(4)) {
    do {
      sent.words = {loop_.random().one_in(2) ? "GET" : "APPEND", some_key(client)};
    } while (cluster_.owner_of(redis::slot_of(sent.words[1])) == hung);
    if (sent.words[0] == "APPEND") {
      sent.words.push_back(std::to_string(sent.number) + ",");
    }
  }
  const io::TimePoint begin = loop_.now();
  loop_.as_batch([&] { client.connection->send(command(sent.words)); });
  client.sent.push_back(std::move(sent));
  while (!client.sent.empty() && !client.is_lost && loop_.now() - begin < kMost && loop_.step()) {
  }
  if (client.is_lost || !client.sent.empty()) {
    loop_.fail("client " + std::to_string(client.number) + " is not served");
  }
  return std::chrono::duration_cast<microseconds>(loop_.now() - begin);
}

}  // namespace cuckooguard::simulation
