// A small shop behind a Guard: what every test of the guard's decisions needs, in a state in which
// all conditions for answering hold. Tests then take away one at a time.
//
//   namespace  key                db  absent reply    in the filter
//   0 users    user:{id:uint64}   0   nil             1 .. 100 ; ids 101 .. 110 are fresh
//   1 items    item:{sku}         0   "*"             apple, pear
//   2 orders   order:{id:uint64}  0   nil, canonical  1 .. 100
//   3 carts    cart:{id}          2   nil             7
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/values.h"
#include "filter/epochs.h"
#include "filter/live_parts.h"
#include "guard/command_families.h"
#include "guard/fact_table.h"
#include "guard/guard.h"
#include "guard/process.h"

namespace cuckooguard::guard {

using std::chrono::seconds;

inline constexpr std::string_view kNil2 = "$-1\r\n";
inline constexpr std::string_view kNil3 = "_\r\n";
inline constexpr std::string_view kStar = "$1\r\n*\r\n";

inline filter::HashSecret fixed_secret(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  filter::HashSecret secret;
  for (std::byte& byte : secret.bytes) {
    byte = static_cast<std::byte>(random());
  }
  return secret;
}

class GuardedShop {
 public:
  static constexpr std::uint32_t kUsers = 0;
  static constexpr std::uint32_t kItems = 1;
  static constexpr std::uint32_t kOrders = 2;
  static constexpr std::uint32_t kCarts = 3;

  GuardedShop() : keyspace_(build_keyspace()), epochs_(1) {
    for (std::uint32_t ns = 0; ns < keyspace_.size(); ++ns) {
      parts.push_back(std::make_unique<filter::LiveParts>(epochs_, fixed_secret(ns)));
      filters.push_back(parts.back()->add("table"));
      parts.back()->set_complete(true);
      overlays.push_back(
          std::make_unique<Overlay>(Overlay::Limits{.max_keys = 1000, .ttl = seconds(60)}));
      spaces.push_back({.mode = config::Mode::enforce,
                        .filter = parts.back().get(),
                        .overlay = overlays.back().get()});
      filters.back()->publish(filter_of(ns));
      filters.back()->set_fresh_until(now + seconds(1));
    }
    filters[kUsers]->set_growth(100, 10);
    spaces[kItems].absent_reply = AbsentReplyBytes({.nil = false, .bytes = "*"});
    spaces[kCarts].db = 2;
    facts.publish_users(facts.epoch(),
                        {.unrestricted = {"default"}, .default_needs_no_password = true});
    epochs_.reader(0).enter();
    make_guard();
  }

  // The worker comes by: what it saw before it has let go of.
  void pass_readers() { epochs_.reader(0).enter(); }
  // Another Guard, whose absent reply for items is this.
  void answer_items_with(std::string_view absent_reply) {
    spaces[kItems].absent_reply =
        AbsentReplyBytes(config::parse_absent_reply(absent_reply).value());
    make_guard();
  }

  Decision decide(std::span<const std::string_view> arguments) {
    return guard->decide(guard->ask(arguments, client, now), may_answer ? room : 0);
  }
  Decision decide(std::initializer_list<std::string_view> arguments) {
    return decide(std::span(arguments.begin(), arguments.size()));
  }

  // The same where the guard may serve the command itself.
  OwnDecision serve(std::span<const std::string_view> arguments, const Attempt& attempt) {
    const auto* const served = commands->find(arguments, attempt.now);
    return served == nullptr ? OwnDecision() : commands->serve(*served, arguments, client, attempt);
  }

  // Sends a command that writes; Redis replies with `reply_type`.
  void write(std::span<const std::string_view> arguments, char reply_type = '+') {
    if (decide(arguments).awaits_reply) {
      client.writes()->await(++replies);
    }
    reply(reply_type);
  }
  void write(std::initializer_list<std::string_view> arguments, char reply_type = '+') {
    write(std::span(arguments.begin(), arguments.size()), reply_type);
  }
  // Redis replies to all that has been written so far.
  void reply(char reply_type) {
    client.replied_to(replies, reply_type == '-');
    learn();
  }
  void learn() {
    if (client.writes() != nullptr && client.writes()->has_outcomes()) {
      guard->learn_replied(client, now);
    }
  }
  // What another client, the user "default", is told.
  bool answers_others(std::initializer_list<std::string_view> arguments) const {
    Client other;
    const Question question =
        guard->ask(std::span(arguments.begin(), arguments.size()), other, now);
    return guard->decide(question, may_answer ? room : 0).action == Action::answer;
  }

  // Sends a command that changes the connection; Redis replies with `reply_type`.
  void send(std::span<const std::string_view> arguments, char reply_type) {
    const redis::StateChange change = send(arguments);
    client.replied(change, reply_type);
    learn();
  }
  void send(std::initializer_list<std::string_view> arguments, char reply_type) {
    send(std::span(arguments.begin(), arguments.size()), reply_type);
  }
  // The same, and Redis has not replied yet.
  redis::StateChange send(std::span<const std::string_view> arguments) {
    const Decision decision = decide(arguments);
    if (decision.action != Action::forward || decision.change == nullptr) {
      throw std::logic_error(std::string(arguments.front()) + " is not known to change anything");
    }
    redis::StateChange change = *decision.change;
    client.sent(change);
    return change;
  }
  redis::StateChange send(std::initializer_list<std::string_view> arguments) {
    return send(std::span(arguments.begin(), arguments.size()));
  }

  bool answers(std::span<const std::string_view> arguments) {
    return decide(arguments).action == Action::answer;
  }
  bool answers(std::initializer_list<std::string_view> arguments) {
    return decide(arguments).action == Action::answer;
  }

  std::uint64_t count(std::uint32_t ns, Verdict verdict) const {
    return guard->counters(ns).of(verdict).value();
  }

  // What tests change.
  TimePoint now{std::chrono::hours(5)};
  WallTime wall_time{std::chrono::milliseconds{1'700'000'000'123}};
  int wall_time_asked = 0;
  bool may_answer = true;
  std::size_t room = std::size_t{1} << 30U;  // if it may
  Client client;
  std::uint64_t replies = 0;  // to writes
  redis::Facts facts;
  std::vector<std::unique_ptr<filter::LiveParts>> parts;
  std::vector<filter::LiveFilter*> filters;  // the one part of each namespace
  std::vector<std::unique_ptr<Overlay>> overlays;
  std::vector<GuardedNamespace> spaces;
  Process process;
  FactProviders shown = fact_providers();
  std::unique_ptr<Guard> guard;
  std::unique_ptr<OwnCommands> commands;  // of all families

  // Without those of FilledShop.
  void make_commands() {
    commands =
        std::make_unique<OwnCommands>(*guard, guard_commands(*guard), filter_commands(*guard));
  }

 private:
  void make_guard() {
    guard = std::make_unique<Guard>(Guard::Parts{.keyspace = keyspace_,
                                                 .namespaces = spaces,
                                                 .facts = facts,
                                                 .process = &process,
                                                 .wall_time =
                                                     [this] {
                                                       ++wall_time_asked;
                                                       return wall_time;
                                                     },
                                                 .shown = &shown});
    make_commands();
  }

  static keyspace::Keyspace build_keyspace() {
    std::vector<keyspace::NamespaceTemplates> namespaces;
    const auto add = [&namespaces](std::string name, std::string_view key, bool canonical) {
      std::vector<keyspace::KeyTemplate> templates;
      templates.push_back(keyspace::KeyTemplate::parse(key).value());
      namespaces.push_back({std::move(name), std::move(templates), canonical});
    };
    add("users", "user:{id:uint64}", false);
    add("items", "item:{sku}", false);
    add("orders", "order:{id:uint64}", true);
    add("carts", "cart:{id}", false);
    return keyspace::Keyspace::build(std::move(namespaces)).value();
  }

  static std::vector<std::string> identities_of(std::uint32_t ns) {
    if (ns == kItems) {
      return {"apple", "pear"};
    }
    if (ns == kCarts) {
      return {"7"};
    }
    std::vector<std::string> identities;
    for (int id = 1; id <= 100; ++id) {
      identities.push_back(std::to_string(id));
    }
    return identities;
  }

  // Long fingerprints and a fixed secret: no test depends on a false positive.
  static std::unique_ptr<filter::CuckooFilter> filter_of(std::uint32_t ns) {
    auto filter = std::make_unique<filter::CuckooFilter>(
        filter::sizing_for(filter::Layout::w20, 1000, filter::DeleteMode::deferred),
        fixed_secret(ns));
    for (const std::string& identity : identities_of(ns)) {
      filter->insert(filter->hash(identity));
    }
    return filter;
  }

  keyspace::Keyspace keyspace_;
  filter::Epochs epochs_;
};

}  // namespace cuckooguard::guard
