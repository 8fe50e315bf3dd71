#include "soak/soak_world.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "harness/command_mix.h"
#include "harness/redis_command.h"

namespace cuckooguard::soak {
namespace {

using harness::CommandMix;
using harness::RawClient;
using harness::RedisServer;

harness::ShopSettings settings() {
  harness::ShopSettings settings;
  settings.absent_reply = "nil";
  settings.mode = "shared";
  settings.overlay = "{ ttl: 24h, pass_at_start: false }";  // what was written passes to the end
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
  client.call({"CONFIG", "RESETSTAT"});
}

std::string without_neighbours(const RedisServer& redis) {
  RawClient client = redis.client();
  for (const std::string_view db : {"0", "1"}) {
    client.call({"SELECT", db});
    client.call({"EVAL",
                 "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', key) end",
                 "0",
                 std::string(kNeighboursKeys) + "*"});
  }
  return client.call({"DEBUG", "DIGEST"});
}

}  // namespace

SoakWorld::SoakWorld() : shop_(settings()) {
  for (std::size_t owner = 1; owner <= kCheckedClients; ++owner) {
    const std::size_t first = std::max(owner * CommandMix::kRowsOfOwner, harness::kUsers) + 1;
    shop_.database().insert_users(first, (owner + 1) * CommandMix::kRowsOfOwner);
  }
  prepare(shop_.redis());
  prepare(straight_);
  shop_.wait_until_it_answers();
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

std::uint64_t SoakWorld::answered() {
  constexpr std::string_view kLabel = "answered_commands:";
  const std::string text = shop_.guard().call({"GUARD.INFO"});
  const std::size_t at = text.find(kLabel);
  return at == std::string::npos ? 0 : std::stoull(text.substr(at + kLabel.size()));
}

bool SoakWorld::holds_the_same() {
  return without_neighbours(shop_.redis()) == without_neighbours(straight_);
}

}  // namespace cuckooguard::soak
