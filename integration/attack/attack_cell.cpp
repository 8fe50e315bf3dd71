#include "attack/attack_cell.h"

#include <atomic>
#include <cstdio>
#include <exception>
#include <random>
#include <stdexcept>
#include <thread>

#include "attack/attackers.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::attack {
namespace {

using harness::command;
using harness::RawClient;
using harness::Shop;

constexpr std::size_t kBystanderCount = 3;
constexpr std::size_t kMany = 500;
constexpr std::string_view kPassword = "open";
constexpr std::string_view kMissing = ":0\r\n";  // what STRLEN says of them

harness::ShopSettings settings(const AttackCell& cell) {
  harness::ShopSettings settings;
  settings.mode = cell.mode;
  settings.control = "password: word";
  settings.max_lag = "30s";  // on a machine that is busy with the attack
  settings.redis_arguments = {
      "--requirepass", "word", "--maxmemory", "400mb", "--maxmemory-policy", "allkeys-random"};
  settings.password = "word";
  return settings;
}

void add_users(Shop& shop) {
  const std::string password = ">" + std::string(kPassword);
  shop.redis().call({"ACL", "SETUSER", "bystander", "on", password, "~*", "&*", "+@all"});
  shop.redis().call({"ACL", "SETUSER", "no_rights", "on", password, "~*", "&*", "-@all", "+ping"});
  shop.redis().call({"ACL",
                     "SETUSER",
                     "ordinary",
                     "on",
                     password,
                     "~*",
                     "&*",
                     "-@all",
                     "+@read",
                     "+@write",
                     "-@admin",
                     "-@dangerous"});
}

struct Count {
  std::atomic<bool> is_over{false};
  std::atomic<std::uint64_t> asked{0};
  std::atomic<std::uint64_t> wrong{0};
};

RawClient bystander(const Shop& shop) {
  RawClient client = shop.client();
  if (client.call({"AUTH", "bystander", kPassword}) != harness::kOk) {
    throw std::runtime_error("a bystander is not let in");
  }
  return client;
}

std::string ask(std::mt19937& random) {
  return command({kBystanders, harness::absent_user(random() % 1'000'000'000 + 1'000'000'000)});
}

void stand_by(const Shop& shop, Count& count, std::uint32_t seed) {
  constexpr std::size_t kAtOnce = 8;
  std::mt19937 random(seed);
  try {
    RawClient client = bystander(shop);
    while (!count.is_over) {
      std::string request;
      std::string expected;
      for (std::size_t left = kAtOnce; left > 0; --left) {
        request += ask(random);
        expected += kMissing;
      }
      const std::string replies = client.exchange(request, kAtOnce);
      count.asked += kAtOnce;
      if (replies != expected) {
        ++count.wrong;
        std::fprintf(stderr, "a bystander received %s\n", harness::shown(replies).c_str());
        return;
      }
    }
  } catch (const std::exception& error) {
    ++count.wrong;
    std::fprintf(stderr, "a bystander: %s\n", error.what());
  }
}

void wait_until_it_answers(Shop& shop) {
  RawClient client = bystander(shop);
  std::mt19937 random(1);
  if (!harness::eventually([&] {
        const std::uint64_t before = shop.redis().calls(kBystanders);
        client.exchange(ask(random), 1);
        return shop.redis().calls(kBystanders) == before;
      })) {
    throw std::runtime_error("the guard answers nothing: " + shop.guard().log());
  }
}

}  // namespace

std::vector<AttackCell> all_attack_cells() {
  std::vector<AttackCell> cells;
  for (const std::size_t connections : {std::size_t{1}, kMany}) {
    for (const char* const mode : {"pinned", "shared"}) {
      for (const char* const who : {"no_login", "no_rights", "ordinary"}) {
        cells.push_back({.mode = mode, .who = who, .connections = connections});
      }
    }
  }
  return cells;
}

AttackResult attack(const AttackCell& cell, std::chrono::milliseconds time, std::uint32_t seed) {
  Shop shop(settings(cell));
  add_users(shop);
  wait_until_it_answers(shop);
  RawClient straight = shop.redis().client();
  const auto commands = harness::reported_commands(straight);
  const bool logs_in = cell.who != "no_login";
  const std::uint64_t before = shop.redis().calls(kBystanders);

  Count count;
  std::mt19937 seeds(seed);
  AttackResult result;
  {
    Attackers attackers(shop.guard().port(),
                        cell.connections,
                        AttackGrammar(commands,
                                      {.user = logs_in ? cell.who : "",
                                       .password = logs_in ? std::string(kPassword) : "guessed"},
                                      static_cast<std::uint32_t>(seeds())));
    std::vector<std::jthread> bystanders;
    bystanders.reserve(kBystanderCount);
    for (std::size_t i = 0; i < kBystanderCount; ++i) {
      bystanders.emplace_back([&shop, &count, own = static_cast<std::uint32_t>(seeds())] {
        stand_by(shop, count, own);
      });
    }
    const harness::Deadline end(time);
    while (!end.has_passed()) {
      ::poll(nullptr, 0, end.milliseconds_left());
    }
    count.is_over = true;
    bystanders.clear();
    attackers.stop();
    result.attack_bytes = attackers.bytes_sent();
    result.attack_connects = attackers.connects();
  }
  result.asked = count.asked;
  result.wrong = count.wrong;
  result.reached_redis = shop.redis().calls(kBystanders) - before;
  return result;
}

std::string line_of(const AttackCell& cell,
                    std::chrono::milliseconds time,
                    std::uint32_t seed,
                    const AttackResult& result) {
  constexpr double kPercent = 100;
  char text[300];
  std::snprintf(text,
                sizeof(text),
                "mode=%s who=%s connections=%zu ms=%lld seed=%u asked=%llu reached_redis=%llu "
                "share=%.3f%% wrong=%llu attack_mb=%.1f attack_connects=%llu",
                cell.mode.c_str(),
                cell.who.c_str(),
                cell.connections,
                static_cast<long long>(time.count()),
                seed,
                static_cast<unsigned long long>(result.asked),
                static_cast<unsigned long long>(result.reached_redis),
                kPercent * result.share(),
                static_cast<unsigned long long>(result.wrong),
                static_cast<double>(result.attack_bytes) / 1e6,
                static_cast<unsigned long long>(result.attack_connects));
  return text;
}

}  // namespace cuckooguard::attack
