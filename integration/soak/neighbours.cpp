#include "soak/neighbours.h"

#include <array>
#include <exception>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "fixtures/same_bytes.h"
#include "harness/redis_command.h"

namespace cuckooguard::soak {
namespace {

using harness::bulk;
using harness::command;
using harness::RawClient;

// No script of the checked clients names them.
constexpr std::uint64_t kNobodysId = 10'000'000;

std::string key_of(std::size_t number, std::size_t key) {
  return std::string(kNeighboursKeys) + std::to_string(number) + ":" + std::to_string(key);
}

struct Batch {
  std::string request;
  std::string replies;
  std::size_t commands = 0;
};

class Load {
 public:
  Load(std::size_t number, std::uint32_t seed) : number_(number), random_(seed) {}

  Batch next() {
    constexpr std::size_t kCommands = 100;
    constexpr std::size_t kValueMax = 1500;
    Batch batch;
    for (; batch.commands < kCommands; ++batch.commands) {
      const std::size_t key = random_() % values_.size();
      switch (random_() % 4) {
        case 0:
          values_[key] = std::to_string(++writes_) + std::string(random_() % kValueMax, 'n');
          batch.request += command({"SET", key_of(number_, key), values_[key]});
          batch.replies += harness::kOk;
          break;
        case 1: {
          const std::string text = std::to_string(number_) + "." + std::to_string(++writes_);
          batch.request += command({"ECHO", text});
          batch.replies += bulk(text);
          break;
        }
        case 2:
          batch.request +=
              command({"GET", harness::absent_user(kNobodysId + random_() % kNobodysId)});
          batch.replies += harness::kNil;
          break;
        default:
          batch.request += command({"GET", key_of(number_, key)});
          batch.replies += values_[key].empty() ? std::string(harness::kNil) : bulk(values_[key]);
      }
    }
    return batch;
  }

 private:
  std::size_t number_;
  std::mt19937 random_;
  std::array<std::string, 16> values_;
  std::uint64_t writes_ = 0;
};

void load_until(SoakWorld& world, Load& load, RawClient& client) {
  Batch in_flight = load.next();
  client.send(in_flight.request);
  while (!world.is_over()) {
    Batch next = load.next();
    const std::string is = client.exchange(next.request, in_flight.commands);
    if (const auto same = harness::same_bytes(is, in_flight.replies); !same) {
      world.mismatch("load", same.message());
    }
    world.count(in_flight.commands);
    in_flight = std::move(next);
  }
  client.exchange({}, in_flight.commands);
}

}  // namespace

void load(SoakWorld& world, std::size_t number, std::uint32_t seed) {
  try {
    Load load(number, seed);
    RawClient client = world.guarded_soak();
    load_until(world, load, client);
  } catch (const std::exception& error) {
    world.mismatch("load", error.what());
  }
}

void leave_again_and_again(SoakWorld& world, std::size_t number, std::uint32_t seed) {
  constexpr std::array<std::string_view, 8> kStates{
      "PING",
      "SELECT 1",
      "AUTH soak open",
      "HELLO 3 AUTH limited open",
      "MULTI",
      "WATCH plain:watched",
      "SUBSCRIBE news",
      "CLIENT REPLY OFF",
  };
  std::mt19937 random(seed);
  while (!world.is_over()) {
    try {
      RawClient client = world.guarded();
      if (random() % 2 == 0) {
        client.exchange(command({"ECHO", "here"}), 1);
      }
      std::string request = std::string(kStates[random() % kStates.size()]) + "\r\n";
      for (std::size_t left = random() % 200; left > 0; --left) {
        const std::string key = key_of(number, random() % 10);
        request += random() % 3 == 0 ? command({"SET", key, std::string(random() % 900, 'b')})
                                     : command({"ECHO", "for " + key});
      }
      request.resize(random() % (request.size() + 1));
      client.try_send(request);
      world.count(1);
    } catch (const std::exception& error) {
      world.mismatch("leaver", error.what());
    }
  }
}

}  // namespace cuckooguard::soak
