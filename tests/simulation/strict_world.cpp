#include "simulation/strict_world.h"

#include <algorithm>
#include <utility>

#include "simulation/resp_frames.h"
#include "simulation/resp_text.h"

namespace cuckooguard::simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::size_t kReaders = 6;
constexpr std::string_view kAbsent = "$1\r\n*\r\n";
constexpr std::string_view kNil = "$-1\r\n";

struct Plan {
  std::string_view name;
  std::string_view key;
  std::string_view prefix;    // of its keys
  std::string_view identity;  // how its identities begin
};
constexpr std::array<Plan, 3> kPlans{{{"items", "item:{sku}", "item:", "s"},
                                      {"pages", "page:{slug:rest}", "page:", "draft:"},
                                      {"drafts", "page:draft:{id}", "page:draft:", ""}}};

keyspace::Keyspace build_keyspace() {
  std::vector<keyspace::NamespaceTemplates> all;
  for (const Plan& plan : kPlans) {
    std::vector<keyspace::KeyTemplate> templates;
    templates.push_back(keyspace::KeyTemplate::parse(plan.key).value());
    all.push_back({std::string(plan.name), std::move(templates), false});
  }
  return keyspace::Keyspace::build(std::move(all)).value();
}

// Its words; of a frame that is an array of bulk strings.
std::vector<std::string> words_of(std::string_view frame) {
  std::vector<std::string> words;
  std::size_t at = frame.find("\r\n") + 2;
  while (at < frame.size()) {
    const std::size_t end = frame.find("\r\n", at);
    const std::size_t size = std::stoul(std::string(frame.substr(at + 1, end - at - 1)));
    words.emplace_back(frame.substr(end + 2, size));
    at = end + 2 + size + 2;
  }
  return words;
}

}  // namespace

StrictWorld::StrictWorld(std::uint64_t seed)
    : random_(seed), loop_(seed), keyspace_(build_keyspace()), pace_(random_.between(500, 5000)) {
  const auto on_proven = [this] {
    if (clients_ && clients_->proofs().is_to_hear()) {
      loop_.at(microseconds(random_.below(50)),
               [this] { loop_.as_batch([this] { clients_->proofs().on_proven(); }); });
    }
  };
  for (std::size_t i = 0; i < kDatabases; ++i) {
    databases_.emplace_back(on_proven).proofs.begin_at({});
  }
  make_namespaces();
  facts_.publish_users(facts_.epoch(),
                       {.unrestricted = {"default"}, .default_needs_no_password = true});
  epochs_.reader(0).enter();
  guard_ = std::make_unique<guard::Guard>(
      guard::Guard::Parts{.keyspace = keyspace_, .namespaces = spaces_, .facts = facts_});
  commands_ = std::make_unique<guard::OwnCommands>(
      *guard_, guard::guard_commands(*guard_), guard::filter_commands(*guard_));
  settings_.upstream.mode = config::UpstreamMode::pinned;
  clients_ = std::make_unique<proxy::Clients>(proxy::Clients::Worker{.loop = loop_,
                                                                     .guard = *guard_,
                                                                     .own_commands = *commands_,
                                                                     .settings = settings_,
                                                                     .total = total_});
  loop_.on_connect([this](SimTransport& upstream) { accept(upstream); });
}

StrictWorld::~StrictWorld() = default;

void StrictWorld::make_namespaces() {
  for (std::uint32_t ns = 0; ns < kNamespaces; ++ns) {
    filter::HashSecret secret;
    for (std::byte& byte : secret.bytes) {
      byte = static_cast<std::byte>(random_.next());
    }
    parts_.push_back(std::make_unique<filter::LiveParts>(epochs_, secret));
    filters_.push_back(parts_.back()->add(kPlans[ns].name));
    parts_.back()->set_complete(true);
    filters_.back()->publish(std::make_unique<filter::CuckooFilter>(
        filter::sizing_for(filter::Layout::w20, 10'000, filter::DeleteMode::exact), secret));
    filters_.back()->prove(loop_.now(), kMaxLag);
    overlays_.push_back(std::make_unique<guard::Overlay>(
        guard::Overlay::Limits{.max_keys = 1000, .ttl = std::chrono::seconds(60)}));
    spaces_.push_back({.mode = config::Mode::enforce,
                       .absent_reply = guard::AbsentReplyBytes({.nil = false, .bytes = "*"}),
                       .filter = parts_.back().get(),
                       .overlay = overlays_.back().get(),
                       .consistency = config::Consistency::strict,
                       .questions = &databases_[database_of(ns)].questions,
                       .strict_hold = kHold});
  }
}

// --- Redis ---

void StrictWorld::accept(SimTransport& upstream) {
  Redis& redis = redis_.emplace_back(loop_);
  redis.peer.listen({.on_arrival = [this, &redis] { reply(redis); }});
  upstream.establish(redis.peer);
}

void StrictWorld::reply(Redis& redis) {
  redis.unread += redis.peer.read();
  while (const std::size_t size = frame_bytes(redis.unread)) {
    const std::vector<std::string> words = words_of(redis.unread.substr(0, size));
    redis.unread.erase(0, size);
    std::string bytes = "+PONG\r\n";
    if (words[0] == "GET") {
      bytes = kNil;
    } else if (words[0] == "MGET") {
      bytes = header('*', words.size() - 1);
      for (std::size_t i = 1; i < words.size(); ++i) {
        bytes += kNil;
      }
    }
    redis.replies_at =
        std::max(redis.replies_at, loop_.now() + microseconds(random_.between(20, 2000)));
    loop_.at(redis.replies_at - loop_.now(), [&redis, bytes] { redis.peer.send(bytes); });
  }
}

// --- writers ---

void StrictWorld::commit() {
  const auto ns = static_cast<std::uint32_t>(random_.below(kNamespaces));
  const Plan& plan = kPlans[ns];
  std::string identity = std::string(plan.identity) + std::to_string(++next_id_[ns]);
  const std::string key = std::string(plan.prefix) + identity;
  Database& database = databases_[database_of(ns)];
  database.unapplied.push_back({.ns = ns, .identity = identity, .is_insert = true});
  ++database.committed.changes;
  rows_[key].push_back({.committed = loop_.now()});
  committed_.push_back({.ns = ns, .identity = std::move(identity), .key = key});
}

void StrictWorld::remove_row() {
  const Committed& row = committed_[random_.below(committed_.size())];
  // Of one namespace a key has one row; the other's is another one, which stays.
  for (Row& each : rows_[row.key]) {
    if (!each.deleted && rows_[row.key].size() == 1) {
      each.deleted = loop_.now();
      Database& database = databases_[database_of(row.ns)];
      database.unapplied.push_back({.ns = row.ns, .identity = row.identity, .is_insert = false});
      ++database.committed.changes;
    }
  }
}

void StrictWorld::commit_later() {
  loop_.at(microseconds(random_.between(50, 3000)), [this] {
    if (is_over_) {
      return;
    }
    commit();
    if (random_.one_in(6)) {
      remove_row();
    }
    if (random_.one_in(100)) {
      databases_[random_.below(kDatabases)].stalled_until =
          loop_.now() + milliseconds(random_.between(5, 200));
    }
    commit_later();
  });
}

// --- sources ---

void StrictWorld::apply(Database& database) {
  bool goes_on = true;
  for (; goes_on && !database.unapplied.empty(); database.unapplied.pop_front()) {
    const Change& change = database.unapplied.front();
    filter::LiveFilter& live = *filters_[change.ns];
    const std::uint64_t hash = live.writable()->hash(change.identity);
    if (change.is_insert) {
      live.insert(hash);
    } else {
      live.erase(hash);
    }
    ++database.applied.changes;
    goes_on = !random_.one_in(4);  // else the rest comes later
  }
}

void StrictWorld::apply_later(std::size_t number) {
  loop_.at(microseconds(random_.between(50, 3000)), [this, number] {
    Database& database = databases_[number];
    if (database.stalled_until <= loop_.now()) {
      apply(database);
      prove(number);
    }
    if (!is_over_) {
      apply_later(number);
    }
  });
}

void StrictWorld::watch_questions(std::size_t number) {
  loop_.at(microseconds(100), [this, number] {
    ask_if_wanted(databases_[number]);
    prove(number);
    if (!is_over_) {
      watch_questions(number);
    }
  });
}

// As a source's probe does: the time, the question, and some time later its answer.
void StrictWorld::ask_if_wanted(Database& database) {
  const io::TimePoint now = loop_.now();
  const bool is_due = database.questions.is_wanted() ? now - database.asked_at >= pace_
                                                     : now - database.asked_at >= kMaxLag / 4;
  if (database.is_being_asked || !is_due) {
    return;
  }
  database.questions.begin();
  database.is_being_asked = true;
  database.asked_at = now;
  ++outcome_.questions;
  loop_.at(microseconds(random_.between(10, 500)), [this, &database, now] {
    const Position position = database.committed;
    loop_.at(microseconds(random_.between(10, 500)), [this, &database, now, position] {
      database.is_being_asked = false;
      if (!database.proofs.add(now, now, position)) {
        loop_.fail("a database's log went back");
      }
    });
  });
}

void StrictWorld::prove(std::size_t number) {
  Database& database = databases_[number];
  const auto at = database.proofs.take_proven(database.applied);
  if (!at) {
    return;
  }
  for (std::uint32_t ns = 0; ns < kNamespaces; ++ns) {
    if (database_of(ns) == number) {
      filters_[ns]->prove(*at, kMaxLag);
    }
  }
  database.questions.proven();
}

// --- readers ---

// A row just committed, one about to be, an old one, or nothing.
std::string StrictWorld::some_key() {
  const auto ns = random_.below(kNamespaces);
  const auto key = [&](std::uint64_t id) {
    return std::string(kPlans[ns].prefix) + std::string(kPlans[ns].identity) + std::to_string(id);
  };
  switch (random_.below(8)) {
    case 0:
    case 1:
    case 2:
      return key(next_id_[ns] - std::min<std::uint64_t>(next_id_[ns], random_.below(4)));
    case 3:
      return key(next_id_[ns] + random_.between(1, 3));
    case 4:
      return key(random_.between(1, next_id_[ns] + 1));
    default:
      return key(1'000'000 + random_.below(1000));
  }
}

void StrictWorld::send(Reader& reader) {
  std::string bytes;
  const std::uint64_t burst = random_.one_in(4) ? random_.between(2, 20) : 1;
  for (std::uint64_t i = 0; i < burst; ++i) {
    Request request{.keys = {}, .sent = loop_.now()};
    if (!reader.reads_alone && random_.one_in(3)) {
      bytes += command({"PING"});
    } else if (random_.one_in(5)) {
      request.keys = {some_key(), some_key(), some_key()};
      bytes += command({"MGET", request.keys[0], request.keys[1], request.keys[2]});
    } else {
      request.keys = {some_key()};
      bytes += command({"GET", request.keys[0]});
    }
    reader.requests.push_back(std::move(request));
  }
  const std::size_t cut = random_.one_in(3) ? random_.below(bytes.size()) : bytes.size();
  reader.peer.send(std::string_view(bytes).substr(0, cut));
  loop_.at(microseconds(random_.below(300)),
           [&reader, rest = bytes.substr(cut)] { reader.peer.send(rest); });
}

void StrictWorld::send_later(Reader& reader) {
  loop_.at(microseconds(random_.between(300, 6000)), [this, &reader] {
    if (is_over_) {
      return;
    }
    if (reader.requests.empty() || !reader.waits_for_replies) {
      send(reader);
    }
    send_later(reader);
  });
}

void StrictWorld::receive(Reader& reader) {
  reader.unread += reader.peer.read();
  while (const std::size_t size = frame_bytes(reader.unread)) {
    if (size == std::string_view::npos || reader.requests.empty()) {
      loop_.fail("a reply that nobody has asked for: " + printable(reader.unread));
      return;
    }
    check(reader.requests.front(), std::string_view(reader.unread).substr(0, size));
    reader.unread.erase(0, size);
    reader.requests.pop_front();
  }
}

void StrictWorld::check(const Request& request, std::string_view reply) {
  outcome_.slowest =
      std::max<std::chrono::nanoseconds>(outcome_.slowest, loop_.now() - request.sent);
  if (request.keys.empty()) {
    if (reply != "+PONG\r\n") {
      loop_.fail("a PING has got " + printable(reply));
    }
    return;
  }
  if (request.keys.size() > 1) {
    reply.remove_prefix(reply.find("\r\n") + 2);
  }
  for (const std::string& key : request.keys) {
    ++outcome_.reads;
    outcome_.nowhere += rows_.contains(key) ? 0 : 1;
    if (reply.starts_with(kAbsent)) {
      check_absent(key, request);
      reply.remove_prefix(kAbsent.size());
    } else if (reply.starts_with(kNil)) {
      reply.remove_prefix(kNil.size());
    } else {
      loop_.fail("a read of " + key + " has got " + printable(reply));
      return;
    }
  }
}

void StrictWorld::check_absent(const std::string& key, const Request& request) {
  ++outcome_.absent;
  const auto rows = rows_.find(key);
  if (rows == rows_.end()) {
    return;
  }
  for (const Row& row : rows->second) {
    if (row.committed <= request.sent && !row.deleted) {
      loop_.fail(key + " is absent although its row was committed " +
                 std::to_string((request.sent - row.committed).count()) +
                 " ns before the read was sent");
    }
  }
}

StrictOutcome StrictWorld::run(std::chrono::milliseconds time) {
  for (std::size_t i = 0; i < kReaders; ++i) {
    Reader& reader = readers_.emplace_back(loop_);
    reader.waits_for_replies = i % 3 != 0;
    reader.reads_alone = i % 2 == 0;
    reader.peer.listen({.on_arrival = [this, &reader] { receive(reader); }});
    loop_.as_batch([&] { clients_->admit(loop_.accept(reader.peer)); });
    send_later(reader);
  }
  commit_later();
  for (std::size_t i = 0; i < kDatabases; ++i) {
    apply_later(i);
    watch_questions(i);
  }
  loop_.at(time, [this] { is_over_ = true; });
  while (!is_over_ && loop_.step()) {
  }
  loop_.run(kPatience);
  for (Reader& reader : readers_) {
    if (!reader.requests.empty()) {
      loop_.fail("a read has never been answered");
    }
    reader.peer.close();
  }
  loop_.run();
  outcome_.failure = loop_.failure();
  return outcome_;
}

}  // namespace cuckooguard::simulation
