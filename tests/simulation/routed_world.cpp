#include "simulation/routed_world.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "cluster/slot.h"
#include "simulation/resp_frames.h"
#include "simulation/resp_text.h"

namespace cuckooguard::simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::size_t kRounds = 300;
constexpr std::uint64_t kTags = 6;  // slots that are in use
constexpr std::uint64_t kKeysOfTag = 3;

bool is_refusal(std::string_view reply) {
  return reply.starts_with("-TRYAGAIN ") || reply.starts_with("-CLUSTERDOWN ");
}

}  // namespace

RoutedWorld::RoutedWorld(std::uint64_t seed, RoutedWeather weather)
    : loop_(seed), weather_(weather), routed_(loop_, settings_, [this] { tell_map_later(); }) {
  loop_.weather().rough = true;
  loop_.weather().latency_max = microseconds(loop_.random().between(50, 2000));
  loop_.on_connect(
      [this](SimTransport& transport) { cluster_.connect(transport, loop_.connected_address()); });
  settings_.split_mset = true;
  routed_.set(cluster_.map());
}

// It is asked for, and comes when it comes: older than what a redirect has told, perhaps.
void RoutedWorld::tell_map_later() {
  if (std::exchange(is_map_due_, true)) {
    return;
  }
  loop_.at(microseconds(loop_.random().below(20'000)), [this] {
    is_map_due_ = false;
    loop_.at(microseconds(loop_.random().below(20'000)),
             [this, map = cluster_.map()] { loop_.as_batch([&] { routed_.set(map); }); });
  });
}

void RoutedWorld::connect() {
  is_lost_ = false;
  got_.clear();
  loop_.as_batch([this] {
    upstream::Connection::Owner& owner = *this;
    connection_ = std::make_unique<upstream::Connection>(routed_, settings_, owner);
  });
}

void RoutedWorld::on_upstream_bytes(std::string_view bytes) {
  loop_.trace(bytes);
  got_ += bytes;
  for (;;) {
    const std::size_t end = frame_bytes(got_);
    if (end == 0) {
      return;
    }
    if (end == std::string_view::npos) {
      loop_.fail("no RESP: " + printable(got_));
      return;
    }
    judge(got_.substr(0, end));
    got_.erase(0, end);
  }
}

void RoutedWorld::on_upstream_lost() {
  is_lost_ = true;
  ++outcome_.losses;
}

void RoutedWorld::judge(std::string_view reply) {
  if (sent_.empty()) {
    loop_.fail("a reply that nobody has asked for: " + printable(reply));
    return;
  }
  const Sent sent = std::move(sent_.front());
  sent_.pop_front();
  ++outcome_.replies;
  if (is_refusal(reply)) {
    ++outcome_.refused;
    // Of a split one other parts may have been run: what its keys are by now is asked of the nodes.
    const auto keys = keys_in(sent.words);
    if (keys.size() > 1) {
      doubted_.insert(keys.begin(), keys.end());
    }
    return;
  }
  const std::string wanted = run_in(model_, sent.words);
  const auto keys = keys_in(sent.words);
  const bool is_doubted =
      std::ranges::any_of(keys, [this](const std::string& key) { return doubted_.contains(key); });
  if (is_doubted) {
    return;
  }
  if (reply != wanted) {
    loop_.fail("reply " + std::to_string(sent.number) + " to " + sent.words[0] + " " +
               (sent.words.size() > 1 ? sent.words[1] : "") + ": " + printable(reply) + ", not " +
               printable(wanted));
  }
}

std::string RoutedWorld::some_key() {
  return "{" + std::to_string(loop_.random().below(kTags)) + "}" +
         std::to_string(loop_.random().below(kKeysOfTag));
}

std::uint16_t RoutedWorld::some_slot() {
  return cluster::slot_of("{" + std::to_string(loop_.random().below(kTags)) + "}");
}

Words RoutedWorld::some_words(std::uint64_t number) {
  Random& random = loop_.random();
  const std::string mark = std::to_string(number) + ",";
  switch (random.below(12)) {
    case 0:
      return {"SET", some_key(), mark};
    case 1:
    case 2:
      return {"GET", some_key()};
    case 3:
      return {"DEL", some_key()};
    case 4: {
      Words words{random.one_in(2) ? "MGET" : "EXISTS"};
      const std::string tag = "{" + std::to_string(random.below(kTags)) + "}";
      for (std::uint64_t i = random.between(2, 5); i > 0; --i) {
        words.push_back(random.one_in(3) ? some_key()
                                         : tag + std::to_string(random.below(kKeysOfTag)));
      }
      return words;
    }
    case 5:
      return {"DEL", some_key(), some_key(), some_key()};
    case 6:
      return random.one_in(3) ? Words{"SCRIPT", "LOAD", "x"} : Words{"PING"};
    default:
      return {"APPEND", some_key(), mark + (random.one_in(40) ? random.text(100'000) : "")};
  }
}

void RoutedWorld::send_some() {
  Random& random = loop_.random();
  std::string bytes;
  for (std::uint64_t i = random.between(1, 12); i > 0; --i) {
    Sent sent{.words = some_words(numbers_ + 1), .number = numbers_ + 1};
    ++numbers_;
    bytes += command(sent.words);
    sent_.push_back(std::move(sent));
    ++outcome_.commands;
  }
  const std::size_t cut = random.below(bytes.size());
  loop_.as_batch([&] { connection_->send(std::string_view(bytes).substr(0, cut)); });
  if (random.one_in(4)) {
    for (std::uint64_t i = random.below(20); i > 0; --i) {
      loop_.step();
    }
  }
  if (!is_lost_) {
    loop_.as_batch([&] { connection_->send(std::string_view(bytes).substr(cut)); });
  }
}

void RoutedWorld::disturb() {
  Random& random = loop_.random();
  const std::uint16_t slot = some_slot();
  switch (weather_.has_moves ? random.below(weather_.has_faults ? 12 : 9) : 99) {
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
    default:
      loop_.as_batch([&] {
        if (!is_lost_) {
          connection_->set_reading(random.one_in(2));
        }
      });
  }
}

// All that was sent is replied to, or the connection is gone.
void RoutedWorld::settle() {
  if (!is_lost_) {
    loop_.as_batch([this] { connection_->set_reading(true); });
  }
  cluster_.set_down(false);
  for (int i = 0; i < 200'000 && !is_lost_ && !sent_.empty() && loop_.step(); ++i) {
  }
  if (!is_lost_ && !sent_.empty()) {
    loop_.fail("no reply to " + std::to_string(sent_.front().number) + " " +
               sent_.front().words[0] + " " + std::to_string(sent_.size()) + " are owed");
  }
  loop_.run(milliseconds(50));  // what the nodes have been sent
  if (is_lost_) {
    sent_.clear();  // who knows which of them were run
  }
  judge_values();
  if (!is_lost_ && model_ != cluster_.values() && doubted_.empty()) {
    loop_.fail("a node has another value than was replied to");
  }
  doubted_.clear();
  model_ = cluster_.values();
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
  connect();
  for (std::size_t round = 0; round < kRounds && loop_.failure().empty(); ++round) {
    if (is_lost_) {
      settle();
      loop_.as_batch([this] { connection_.reset(); });
      connect();
    }
    if (sent_.size() < 200) {
      send_some();
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
  loop_.as_batch([this] { connection_->close(); });
  connection_.reset();
  outcome_.failure = loop_.failure();
  outcome_.counts = cluster_.counts();
  outcome_.trace_hash = loop_.trace_hash();
  return outcome_;
}

}  // namespace cuckooguard::simulation
