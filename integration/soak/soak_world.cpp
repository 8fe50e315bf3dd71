#include "soak/soak_world.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <stdexcept>

#include "harness/command_mix.h"
#include "harness/redis_command.h"

namespace cuckooguard::soak {
namespace {

using harness::CommandMix;
using harness::RawClient;
using harness::RedisServer;

// Hostile clients fill their shares before memory is first looked at; the others never fill theirs,
// so that what was written passes to the end.
std::string overlay(std::uint32_t seconds) {
  constexpr std::uint64_t kMaxKeysEachMinute = 100'000;
  return "{ ttl: 24h, pass_at_start: false, max_keys: " +
         std::to_string(kMaxKeysEachMinute * std::max<std::uint64_t>(1, seconds / 60)) + " }";
}

harness::ShopSettings settings(const std::string& mode, std::uint32_t seconds) {
  harness::ShopSettings settings;
  settings.absent_reply = "nil";
  settings.mode = mode;
  settings.control = "password: word";
  settings.redis_arguments = {"--requirepass", "word"};
  settings.password = "word";
  settings.overlay = overlay(seconds);
  return settings;
}

void prepare(const RedisServer& redis) {
  RawClient client = redis.client();
  client.exchange(harness::command(harness::library_of_functions()), 1);
  for (const std::string_view script : {"{get}", "{set}"}) {
    client.call({"SCRIPT", "LOAD", harness::script_of(script)});
  }
  client.call({"ACL", "SETUSER", "soak", "on", ">open", "~*", "&*", "+@all"});
  client.call({"ACL", "SETUSER", "limited", "on", ">open", "~user:*", "&*", "+@all"});
  // PFMERGE of a destination alone writes any key in Redis 7.0, whatever the rights.
  const std::string neighbours = "~" + std::string(kNeighboursKeys) + "*";
  client.call({"ACL", "SETUSER", "no_rights", "on", ">open", "~*", "&*", "-@all", "+ping"});
  client.call({"ACL",
               "SETUSER",
               "hostile",
               "on",
               ">open",
               neighbours,
               "&hostile*",
               "+@all",
               "-@admin",
               "-@dangerous",
               "-@scripting",
               "-pfmerge",
               "-client|tracking"});
  client.call({"CONFIG", "RESETSTAT"});
}

std::string without_neighbours(const RedisServer& redis) {
  RawClient client = redis.client();
  constexpr int kDbs = 16;
  for (int db = 0; db < kDbs; ++db) {
    client.call({"SELECT", std::to_string(db)});
    client.call({"EVAL",
                 "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', key) end",
                 "0",
                 std::string(kNeighboursKeys) + "*"});
  }
  return client.call({"DEBUG", "DIGEST"});
}

}  // namespace

SoakWorld::SoakWorld(const std::string& mode, std::uint32_t seconds)
    : shop_(settings(mode, seconds)), straight_({"--requirepass", "word"}, "word") {
  for (std::size_t owner = 1; owner <= kCheckedClients; ++owner) {
    const std::size_t first = std::max(owner * CommandMix::kRowsOfOwner, harness::kUsers) + 1;
    shop_.database().insert_users(first, (owner + 1) * CommandMix::kRowsOfOwner);
  }
  prepare(shop_.redis());
  prepare(straight_);
  RawClient client = guarded_soak();
  if (!harness::eventually([&] { return shop_.answers_absent(client); })) {
    throw std::runtime_error("the guard answers nothing: " + shop_.guard().log());
  }
}

RawClient SoakWorld::guarded_soak() const {
  RawClient client = guarded();
  if (client.call({"AUTH", "soak", kPassword}) != harness::kOk) {
    throw std::runtime_error("the soak is not let in");
  }
  return client;
}

std::vector<std::unique_ptr<attack::Attackers>> SoakWorld::hostile(std::uint32_t seed) const {
  RawClient straight = shop_.redis().client();
  const auto commands = harness::reported_commands(straight);
  std::vector<std::unique_ptr<attack::Attackers>> all;
  for (const char* const user : {"", "no_rights", "hostile"}) {
    all.push_back(std::make_unique<attack::Attackers>(
        shop_.guard().port(),
        kHostileConnections,
        attack::AttackGrammar(commands,
                              {.user = user,
                               .password = *user == '\0' ? "guessed" : std::string(kPassword),
                               .key_prefix = std::string(kNeighboursKeys) + "hostile:"},
                              ++seed)));
  }
  return all;
}

// Connections to Redis are kept for a while.
SoakWorld::Rest SoakWorld::rest() {
  const std::string folder = "/proc/" + std::to_string(shop_.guard().pid()) + "/fd";
  const auto count = [&folder] {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
  };
  constexpr std::chrono::milliseconds kKept{12'000};
  const harness::Deadline deadline(kKept);
  std::size_t least = count();
  while (!deadline.has_passed()) {
    least = std::min(least, count());
    ::poll(nullptr, 0, 100);
  }
  return {.descriptors = least, .bytes = shop_.guard().resident_bytes()};
}

void SoakWorld::mismatch(const std::string& who, std::string_view what) {
  constexpr std::uint64_t kToldMax = 20;
  if (++mismatches_ <= kToldMax) {
    std::fprintf(stderr, "%s: %.*s\n", who.c_str(), static_cast<int>(what.size()), what.data());
  }
}

std::uint64_t SoakWorld::on_leases() const {
  constexpr std::array<std::string_view, 17> kNames{"multi",
                                                    "watch",
                                                    "select",
                                                    "auth",
                                                    "hello",
                                                    "reset",
                                                    "subscribe",
                                                    "eval",
                                                    "eval_ro",
                                                    "evalsha",
                                                    "evalsha_ro",
                                                    "fcall",
                                                    "fcall_ro",
                                                    "blpop",
                                                    "blmpop",
                                                    "blmove",
                                                    "debug"};
  std::uint64_t calls = 0;
  for (const std::string_view name : kNames) {
    calls += straight_.calls(name);
  }
  return calls;
}

std::uint64_t SoakWorld::answered() const {
  constexpr std::string_view kLabel = "answered_commands:";
  const std::string text = guarded_soak().call({"GUARD.INFO"});
  const std::size_t at = text.find(kLabel);
  return at == std::string::npos ? 0 : std::stoull(text.substr(at + kLabel.size()));
}

// A key that expires may do so a moment earlier in one of them.
bool SoakWorld::holds_the_same() {
  return harness::eventually(
      [this] { return without_neighbours(shop_.redis()) == without_neighbours(straight_); },
      std::chrono::seconds(10));
}

}  // namespace cuckooguard::soak
