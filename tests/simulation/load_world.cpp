#include "simulation/load_world.h"

#include <algorithm>
#include <array>
#include <utility>

#include "simulation/redis_requests.h"
#include "simulation/resp_frames.h"
#include "simulation/resp_text.h"

namespace cuckooguard::simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::string_view kNil = "$-1\r\n";
constexpr std::uint64_t kKeys = 6;

keyspace::Keyspace build_keyspace() {
  std::vector<keyspace::NamespaceTemplates> all;
  all.push_back({"rows", {keyspace::KeyTemplate::parse("row:{id}").value()}, false});
  return keyspace::Keyspace::build(std::move(all)).value();
}

filter::HashSecret secret_of(Random& random) {
  filter::HashSecret secret;
  for (std::byte& byte : secret.bytes) {
    byte = static_cast<std::byte>(random.next());
  }
  return secret;
}

}  // namespace

LoadWorld::LoadWorld(std::uint64_t seed)
    : random_(seed),
      loop_(seed),
      keyspace_(build_keyspace()),
      secret_(secret_of(random_)),
      parts_(epochs_, secret_),
      bound_(static_cast<std::uint32_t>(random_.below(4))) {
  leases_ = std::make_shared<breakdown::Leases>(
      config::Breakdown{.hold = kHold, .lease = {}, .max_concurrent_misses = bound_},
      std::make_shared<breakdown::Addresses>(secret_),
      secret_);
  filter::LiveFilter* const live = parts_.add("rows");
  parts_.set_complete(true);
  auto filter = std::make_unique<filter::CuckooFilter>(
      filter::sizing_for(filter::Layout::w20, 10'000, filter::DeleteMode::exact), secret_);
  for (std::uint64_t id = 0; id < kKeys; ++id) {
    filter->insert(parts_.hash(std::to_string(id)));
  }
  live->publish(std::move(filter));
  live->prove(loop_.now(), std::chrono::hours(1));
  spaces_.push_back({.mode = config::Mode::enforce,
                     .filter = &parts_,
                     .overlay = &overlay_,
                     .consistency = config::Consistency::max_lag,
                     .loads = leases_});
  facts_.publish_users(facts_.epoch(),
                       {.unrestricted = {"default"}, .default_needs_no_password = true});
  epochs_.reader(0).enter();
  guard_ = std::make_unique<guard::Guard>(
      guard::Guard::Parts{.keyspace = keyspace_, .namespaces = spaces_, .facts = facts_});
  commands_ = std::make_unique<guard::OwnCommands>(
      *guard_, guard::guard_commands(*guard_), guard::filter_commands(*guard_));
  settings_.upstream.mode =
      random_.one_in(2) ? config::UpstreamMode::pinned : config::UpstreamMode::shared;
  clients_ = std::make_unique<proxy::Clients>(proxy::Clients::Worker{.loop = loop_,
                                                                     .guard = *guard_,
                                                                     .own_commands = *commands_,
                                                                     .settings = settings_,
                                                                     .total = total_});
  loop_.on_connect([this](SimTransport& upstream) { accept(upstream); });
}

LoadWorld::~LoadWorld() = default;

// --- Redis ---

void LoadWorld::accept(SimTransport& upstream) {
  Redis& redis = redis_.emplace_back(loop_);
  redis.peer.listen({.on_arrival = [this, &redis] { take(redis); }});
  upstream.establish(redis.peer);
}

// Each is carried out at a moment of its own, in their order.
void LoadWorld::take(Redis& redis) {
  redis.unread += redis.peer.read();
  for (;;) {
    const simulation::Request request = next_request(redis.unread);
    redis.unread.erase(0, request.consumed);
    if (request.parsed != Parsed::command) {
      return;
    }
    redis.replies_at =
        std::max(redis.replies_at, loop_.now() + microseconds(random_.between(20, 1500)));
    loop_.at(redis.replies_at - loop_.now(), [this, &redis, words = request.words] {
      if (!redis.is_lost) {
        redis.peer.send(carry_out(redis, words));
      }
    });
  }
}

std::string LoadWorld::carry_out(Redis& redis, const std::vector<std::string>& words) {
  if (words[0] == "MULTI") {
    redis.is_in_multi = true;
    return "+OK\r\n";
  }
  if (words[0] == "EXEC") {
    redis.is_in_multi = false;
    std::string reply = header('*', redis.queued.size());
    for (const auto& queued : std::exchange(redis.queued, {})) {
      reply += run_command(queued);
    }
    return reply;
  }
  if (redis.is_in_multi) {
    redis.queued.push_back(words);
    return "+QUEUED\r\n";
  }
  return run_command(words);
}

std::string LoadWorld::run_command(const std::vector<std::string>& words) {
  const auto read = [this](const std::string& key) {
    const auto& states = history_[key];
    return states.empty() || !states.back().value ? std::string(kNil) : bulk(*states.back().value);
  };
  if (words[0] == "GET") {
    return read(words[1]);
  }
  if (words[0] == "MGET") {
    std::string reply = header('*', words.size() - 1);
    for (std::size_t i = 1; i < words.size(); ++i) {
      reply += read(words[i]);
    }
    return reply;
  }
  if (words[0] == "SET") {
    if (words.size() > 3 && read(words[1]) != kNil) {
      return std::string(kNil);
    }
    set(words[1], words[2]);
    return "+OK\r\n";
  }
  if (words[0] == "DEL") {
    const bool is_there = read(words[1]) != kNil;
    set(words[1], std::nullopt);
    return is_there ? ":1\r\n" : ":0\r\n";
  }
  return words[0] == "PING" ? "+PONG\r\n" : "+OK\r\n";
}

void LoadWorld::set(const std::string& key, std::optional<std::string> value) {
  history_[key].push_back({.since = loop_.now(), .value = std::move(value)});
}

// The connections, too, that others share: their clients are closed.
void LoadWorld::lose_later() {
  loop_.at(milliseconds(random_.between(50, 400)), [this] {
    if (is_over_) {
      return;
    }
    Redis& lost = redis_[random_.below(redis_.size())];
    if (!lost.is_lost && random_.one_in(2)) {
      lost.is_lost = true;
      lost.peer.reset();
    }
    set(some_key(), std::nullopt);  // it has expired
    lose_later();
  });
}

// --- clients ---

std::string LoadWorld::some_key() {
  return "row:" + std::to_string(random_.one_in(2) ? 0 : random_.below(kKeys));
}

void LoadWorld::add_client(Kind kind) {
  Client& client = peers_.emplace_back(loop_);
  client.kind = kind;
  client.peer.listen({.on_arrival = [this, &client] { receive(client); }});
  loop_.as_batch([&] { clients_->admit(loop_.accept(client.peer)); });
  act_later(client);
}

void LoadWorld::act_later(Client& client) {
  loop_.at(microseconds(random_.between(100, 6000)), [this, &client] {
    if (is_over_ || client.is_gone) {
      return;
    }
    if (client.requests.empty() || client.kind == Kind::pipeliner) {
      act(client);
    }
    act_later(client);
  });
}

void LoadWorld::act(Client& client) {
  const std::string key = some_key();
  switch (client.kind) {
    case Kind::loader:
    case Kind::taker:
      send(client,
           {random_.one_in(6) ? std::vector<std::string>{"MGET", key, some_key()}
                              : std::vector<std::string>{"GET", key}});
      return;
    case Kind::pipeliner:
      send(client, {{"GET", key}});
      for (std::uint64_t more = random_.below(4); more > 0; --more) {
        send(client, {{"PING"}, {"GET", some_key()}});
      }
      return;
    case Kind::trader:
      send(client, {{"MULTI"}});
      send(client, {{"GET", key}});
      send(client, {{"SET", key, "t" + std::to_string(++values_)}});
      send(client, {{"EXEC"}});
      return;
    case Kind::changer:
      send(client,
           {random_.one_in(3)
                ? std::vector<std::string>{"SET", key, "c" + std::to_string(++values_), "NX"}
                : std::vector<std::string>{"DEL", key}});
      return;
  }
}

void LoadWorld::send(Client& client, std::vector<std::vector<std::string>> commands) {
  const bool is_trade = client.kind == Kind::trader;
  for (Request& request : client.requests) {
    request.next_byte = request.next_byte.value_or(loop_.now());
  }
  std::string bytes;
  for (std::vector<std::string>& words : commands) {
    bytes += command(words);
    const bool is_queued = is_trade && words[0] != "MULTI" && words[0] != "EXEC";
    client.requests.push_back(
        {.words = std::move(words), .sent = loop_.now(), .is_queued = is_queued});
  }
  client.peer.send(bytes);
}

void LoadWorld::receive(Client& client) {
  client.unread += client.peer.read();
  while (const std::size_t size = client.is_gone ? 0 : frame_bytes(client.unread)) {
    if (size == std::string_view::npos || client.requests.empty()) {
      loop_.fail("a reply that nobody has asked for: " + printable(client.unread));
      return;
    }
    const Request request = client.requests.front();
    client.requests.pop_front();
    const std::string reply = client.unread.substr(0, size);
    client.unread.erase(0, size);
    check(request, reply);
    if (reply == kNil && request.words[0] == "GET" && !request.is_queued) {
      ++outcome_.misses;
      miss(client, request.words[1]);
    }
  }
  if (client.peer.at_end() || client.peer.is_reset()) {
    client.is_gone = true;  // its connection to Redis was lost
    client.requests.clear();
  }
}

void LoadWorld::miss(Client& client, const std::string& key) {
  if (client.kind != Kind::loader) {
    return;
  }
  if (random_.one_in(15)) {
    client.is_gone = true;
    client.requests.clear();
    client.peer.reset();
    return;
  }
  loop_.at(milliseconds(random_.one_in(10) ? random_.between(60, 150) : random_.between(3, 20)),
           [this, &client, key] {
             if (!client.is_gone) {
               send(client, {{"SET", key, "v" + std::to_string(++values_)}});
             }
           });
}

void LoadWorld::check(const Request& request, std::string_view reply) {
  const auto& words = request.words;
  const io::TimePoint now = loop_.now();
  const bool may_wait = (words[0] == "GET" || words[0] == "MGET") && !request.is_queued;
  const auto most =
      may_wait ? kHold + kSlack : kSlack + (request.is_queued ? kSlack : milliseconds(0));
  // Those behind a read in a pipeline have its wait before them, until its client's next byte.
  if (now - request.sent > most) {
    loop_.fail(words[0] + " was answered after " +
               std::to_string((now - request.sent) / milliseconds(1)) + " ms");
  }
  if (request.next_byte && now - *request.next_byte > kSlack) {
    loop_.fail(words[0] + " was held although its client had sent more");
  }
  if (request.is_queued) {
    if (reply != "+QUEUED\r\n") {
      loop_.fail("in MULTI: " + printable(reply));
    }
  } else if (words[0] == "GET") {
    ++outcome_.reads;
    check_value(words[1], request, reply);
  } else if (words[0] == "MGET") {
    reply.remove_prefix(reply.find("\r\n") + 2);
    for (std::size_t i = 1; i < words.size(); ++i) {
      ++outcome_.reads;
      const std::size_t size = frame_bytes(reply);
      check_value(words[i], request, reply.substr(0, size));
      reply.remove_prefix(size);
    }
  } else if (words[0] == "PING" && reply != "+PONG\r\n") {
    loop_.fail("a PING has got " + printable(reply));
  }
}

void LoadWorld::check_value(const std::string& key,
                            const Request& request,
                            std::string_view reply) {
  const auto& states = history_[key];
  bool was_so = reply == kNil && (states.empty() || states.front().since >= request.sent);
  for (std::size_t i = 0; i < states.size() && !was_so; ++i) {
    const bool was_over = i + 1 < states.size() && states[i + 1].since < request.sent;
    was_so = !was_over && reply == (states[i].value ? bulk(*states[i].value) : std::string(kNil));
  }
  if (!was_so) {
    loop_.fail("a read of " + key + " has got " + printable(reply));
  }
}

LoadOutcome LoadWorld::run(std::chrono::milliseconds time) {
  constexpr std::array kKinds{Kind::loader,
                              Kind::loader,
                              Kind::loader,
                              Kind::loader,
                              Kind::taker,
                              Kind::pipeliner,
                              Kind::trader,
                              Kind::changer};
  for (const Kind kind : kKinds) {
    add_client(kind);
  }
  lose_later();
  loop_.at(time, [this] { is_over_ = true; });
  while (!is_over_ && loop_.step()) {
    // Who has gone comes again as somebody else.
    for (std::size_t i = 0; i < peers_.size() && peers_.size() < 2000; ++i) {
      if (peers_[i].is_gone && peers_[i].kind != Kind::changer) {
        const Kind kind = std::exchange(peers_[i].kind, Kind::changer);
        add_client(kind);
      }
    }
    if (bound_ != 0 && leases_->now().loads > bound_) {
      loop_.fail("more loads at once than the configuration allows");
    }
  }
  loop_.run(kHold + kSlack);
  for (Client& client : peers_) {
    if (!client.requests.empty()) {
      loop_.fail(client.requests.front().words[0] + " has never been answered");
    }
    client.peer.close();
  }
  loop_.run(proxy::Silence::kMax + kSlack);
  const guard::Loads::Now left = leases_->now();
  if (left.loads != 0 || left.held != 0) {
    loop_.fail("without end: leases " + std::to_string(left.loads) + ", waits " +
               std::to_string(left.held) + ", clients " + std::to_string(clients_->count()));
  }
  const guard::LoadCounters& counted = leases_->counters();
  outcome_.held = counted.held.value();
  outcome_.spared = counted.spared.value();
  outcome_.timed_out = counted.timed_out.value();
  outcome_.let_go = counted.let_go.value();
  outcome_.taken_over = counted.taken_over.value();
  outcome_.failure = loop_.failure();
  return outcome_;
}

}  // namespace cuckooguard::simulation
