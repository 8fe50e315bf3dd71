#include "neighbours/attacks.h"

#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>

#include "harness/deadline.h"
#include "harness/raw_client.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

void let_pass(milliseconds time, const std::stop_token& stop) {
  (void)eventually([&stop] { return stop.stop_requested(); }, time);
}

std::string many(const std::string& one, std::size_t times) {
  std::string all;
  all.reserve(one.size() * times);
  for (std::size_t i = 0; i < times; ++i) {
    all += one;
  }
  return all;
}

// A filter of the wished size, whose dump others would wait for.
void dumps(const Place& place, unsigned attacker, const std::stop_token& stop) {
  constexpr double kBytesPerItem = 2.6;  // at 0.1 %
  RawClient client = RawClient::to_port(place.port);
  const std::string name = "bf:large" + std::to_string(attacker);
  (void)client.call({"BF.RESERVE",
                     name,
                     "0.001",
                     std::to_string(static_cast<std::size_t>(
                         static_cast<double>(place.filter_bytes) / kBytesPerItem))});
  (void)client.call({"BF.ADD", name, "1"});
  std::string number = "0";
  while (!stop.stop_requested()) {
    const std::string reply = client.call({"BF.SCANDUMP", name, number});
    if (reply.starts_with("*2\r\n:")) {
      number = reply.substr(5, reply.find('\r', 5) - 5);
    } else {
      let_pass(milliseconds(100), stop);  // one dump a second
    }
  }
  (void)client.call({"DEL", name});
}

void makes_filters(const Place& place, unsigned attacker, const std::stop_token& stop) {
  RawClient client = RawClient::to_port(place.port);
  std::string made;
  std::string dropped;
  for (std::size_t i = 0; i < place.filters; ++i) {
    const std::string name = "bf:s" + std::to_string(attacker) + "x" + std::to_string(i);
    made += command({"BF.RESERVE", name, "0.01", "100"});
    dropped += command({"DEL", name});
  }
  while (!stop.stop_requested()) {
    (void)client.exchange(made, place.filters);
    (void)client.exchange(dropped, place.filters);
  }
}

void loads_what_is_no_dump(const Place& place, unsigned attacker, const std::stop_token& stop) {
  RawClient client = RawClient::to_port(place.port);
  const std::string name = "cf:made-up" + std::to_string(attacker);
  const std::string load =
      many(command({"CF.LOADCHUNK", name, "1", std::string(48 * 1024, 'x')}), 16);
  while (!stop.stop_requested()) {
    (void)client.exchange(load, 16);
  }
}

void asks_for_much(const Place& place, unsigned attacker, const std::stop_token& stop) {
  constexpr std::size_t kKeys = 8;
  const std::string large(9 * kMiB, 'x');
  std::vector<std::string> keys;
  RawClient client = RawClient::to_port(place.port);
  for (std::size_t i = 0; i < kKeys; ++i) {
    const std::string& tag = place.tag_beside.empty() || i % 2 == 0 ? place.tag : place.tag_beside;
    keys.push_back(tag + "much" + std::to_string(attacker) + "x" + std::to_string(i));
    (void)client.call({"SET", keys.back(), large});
  }
  std::vector<std::string_view> mget{"MGET"};
  mget.insert(mget.end(), keys.begin(), keys.end());
  while (!stop.stop_requested()) {
    RawClient asks = RawClient::to_port(place.port);
    asks.send(command(mget));
    try {
      (void)asks.read_reply();
    } catch (const std::runtime_error&) {  // closed: it was too much
    }
    let_pass(milliseconds(50), stop);
  }
}

void reads_nothing(const Place& place, unsigned attacker, const std::stop_token& stop) {
  const std::string key = place.tag + "unread" + std::to_string(attacker);
  (void)RawClient::to_port(place.port).call({"SET", key, std::string(kMiB, 'x')});
  const std::string asks = many(command({"GET", key}), 50);
  while (!stop.stop_requested()) {
    RawClient client = RawClient::to_port(place.port);
    (void)client.send_some(asks);
    let_pass(milliseconds(300), stop);
  }
}

void speaks_nonsense(const Place& place, unsigned /*attacker*/, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    RawClient client = RawClient::to_port(place.port);
    if (client.try_send("*1\r\n$-9\r\n")) {
      (void)client.read_until_closed();
    }
  }
}

void begins_and_goes(const Place& place, unsigned attacker, const std::stop_token& stop) {
  const std::string key = place.tag + "queued" + std::to_string(attacker);
  const std::string begun =
      command({"WATCH", key}) + command({"MULTI"}) + many(command({"INCR", key}), 500);
  while (!stop.stop_requested()) {
    RawClient client = RawClient::to_port(place.port);
    client.send(begun);
    (void)client.read_reply();
  }
}

void blocks(const Place& place, unsigned attacker, const std::stop_token& stop) {
  const std::string key = place.tag + "empty" + std::to_string(attacker);
  while (!stop.stop_requested()) {
    std::vector<RawClient> waiting;
    for (int i = 0; i < 50; ++i) {
      waiting.push_back(RawClient::to_port(place.port));
      waiting.back().send(command({"BLPOP", key, "0.2"}));
    }
    for (RawClient& client : waiting) {
      (void)client.read_reply();
    }
  }
}

// Of a node that is not the neighbours'.
void keeps_a_node_busy(const Place& place, unsigned attacker, const std::stop_token& stop) {
  constexpr const char* kBusy =
      "local function now() local t = redis.call('TIME') return t[1] * 1000000 + t[2] end "
      "local till = now() + 300000 while now() < till do end return 1";
  const std::string key = place.tag_beside + "busy" + std::to_string(attacker);
  RawClient client = RawClient::to_port(place.port_beside);
  while (!stop.stop_requested()) {
    (void)client.call({"EVAL", kBusy, "1", key});
  }
}

}  // namespace

const std::vector<Attack>& all_attacks() {
  static const std::vector<Attack> all{
      {.name = "dumps a filter", .run = dumps},
      {.name = "makes and drops filters", .run = makes_filters},
      {.name = "loads what is no dump", .run = loads_what_is_no_dump},
      {.name = "asks for 72 MiB at once", .run = asks_for_much},
      {.name = "reads nothing", .run = reads_nothing},
      {.name = "speaks nonsense", .run = speaks_nonsense},
      {.name = "begins transactions and goes", .run = begins_and_goes},
      {.name = "blocks", .run = blocks},
      {.name = "keeps another node busy", .run = keeps_a_node_busy, .needs_cluster = true}};
  return all;
}

}  // namespace cuckooguard::harness
