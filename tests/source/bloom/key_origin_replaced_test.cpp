// A filter that is replaced by another one between any two commands by which it is read: what is in
// both is found, in whatever format it is, and wherever it stands in either.
#include <array>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bloom/key_origin.h"
#include "formats/formats.h"
#include "harness/bloom_positions.h"
#include "source/bloom/fake_redis.h"
#include "source/bloom/made_dumps.h"

namespace cuckooguard::source {
namespace {

using Kind = BloomReading::Kind;
using Words = FakeRedis::Words;

constexpr int kItems = 100;

std::string item(int number) {
  return std::to_string(number);
}

// Two filters under one key, of which one is there.
struct Two {
  using Put = std::function<void(FakeRedis&)>;
  config::BloomSource settings;
  std::array<Put, 2> put;
};

Two two_texts(config::BloomSource settings, std::string one, std::string other) {
  settings.key = "ids";
  const auto text = [](std::string bytes) {
    return [bytes = std::move(bytes)](FakeRedis& redis) { redis.texts["ids"] = bytes; };
  };
  return {.settings = std::move(settings), .put = {text(std::move(one)), text(std::move(other))}};
}

template <typename Made>
Two::Put dump_of(const Made& made, const std::string& data) {
  return [header = made.header(), data](FakeRedis& redis) {
    redis.more = [=](const Words& words) { return dumped(words.at(2), header, data); };
  };
}

// Each item is in another layer of the one than of the other.
Two redisbloom() {
  std::array<MadeBloom, 2> made;
  for (std::size_t which = 0; which < 2; ++which) {
    made.at(which).layers = 2;
    made.at(which).bits.resize(1024, '\0');
    for (int i = 0; i < kItems; ++i) {
      made.at(which).add(item(i), (static_cast<std::size_t>(i) + which) % 2);
    }
  }
  return {.settings = {.format = &foreign::kRedisBloom, .key = "ids"},
          .put = {dump_of(made[0], made[0].bits), dump_of(made[1], made[1].bits)}};
}

// And here in another bucket.
Two rediscuckoo() {
  std::array<MadeCuckoo, 2> made;
  for (std::size_t which = 0; which < 2; ++which) {
    for (int i = 0; i < 10; ++i) {
      made.at(which).add(item(i), which == 1);
    }
  }
  return {.settings = {.format = &foreign::kRedisCuckoo, .key = "ids"},
          .put = {dump_of(made[0], made[0].slots), dump_of(made[1], made[1].slots)}};
}

// An item that is added again and again fills the one bucket and then the other one.
Two seiflotfy() {
  auto filter = foreign::make_seiflotfy(std::uint64_t{1} << 21U).value();
  const auto add_all = [&filter] {
    for (int i = 0; i < 10 * 4; ++i) {
      EXPECT_TRUE(filter->add(item(i % 10)));
    }
    return filter->bytes();
  };
  const std::string one = add_all();
  std::string other = add_all();
  for (std::size_t i = 0; i < one.size(); ++i) {
    other[i] = one[i] == '\0' ? other[i] : '\0';
  }
  return two_texts({.format = &foreign::kSeiflotfy}, one, other);
}

Two guava() {
  const auto made = [](std::uint32_t hashes) {
    auto filter = foreign::make_guava({.bits = std::uint64_t{1} << 24U, .hashes = hashes},
                                      foreign::Funnel::utf8)
                      .value();
    for (int i = 0; i < kItems; ++i) {
      EXPECT_TRUE(filter->add(item(i)));
    }
    return filter->bytes();
  };
  return two_texts({.format = &foreign::kGuava}, made(5), made(3));
}

std::string bitmap(int from, int to) {
  constexpr std::uint64_t kBits = std::uint64_t{20} << 20U;
  std::string bits(kBits / 8, '\0');
  for (int i = from; i < to; ++i) {
    bits = harness::with_bits(std::move(bits), harness::go_zero_positions(item(i), kBits));
  }
  return bits;
}
Two go_zero() {
  return two_texts({.format = &foreign::kGoZero, .bits = std::uint64_t{20} << 20U},
                   bitmap(0, kItems),
                   bitmap(0, 2 * kItems));
}

// Another shape, too.
Two redisson() {
  const auto put = [](std::uint64_t size, std::uint32_t hashes) {
    std::string bits;
    for (int i = 0; i < kItems; ++i) {
      bits =
          harness::with_bits(std::move(bits), harness::redisson_positions(item(i), size, hashes));
    }
    return [=](FakeRedis& redis) {
      redis.texts["ids"] = bits;
      redis.hashes["{ids}:config"] = {{"size", std::to_string(size)},
                                      {"hashIterations", std::to_string(hashes)}};
    };
  };
  return {.settings = {.format = &foreign::kRedisson, .key = "ids"},
          .put = {put(100'000, 5), put(90'000, 7)}};
}

struct Named {
  const char* name;
  Two (*make)();
  int items;  // in both
};

class Replaced : public testing::TestWithParam<Named> {
 protected:
  void expect_all(const BloomReading& reading, const std::string& when) const {
    for (int i = 0; i < GetParam().items; ++i) {
      ASSERT_TRUE(reading.filter->may_contain(item(i))) << i << ' ' << when;
    }
  }

  const Two two_ = GetParam().make();
};

TEST_P(Replaced, once_between_any_two_commands) {
  int commands = 1;
  for (int at = 0; at < commands; ++at) {
    FakeRedis redis;
    BloomKeyOrigin origin(two_.settings, redis.open());
    two_.put[0](redis);
    int sent = 0;
    redis.before = [&](const Words&) {
      if (sent++ == at) {
        redis.change([&] { two_.put[1](redis); });
      }
    };
    const BloomReading reading = origin.read({});
    commands = at == 0 ? sent + 1 : std::max(commands, sent);
    ASSERT_EQ(reading.kind, Kind::taken) << at << ' ' << reading.why;
    expect_all(reading, "replaced before command " + std::to_string(at));
  }
  EXPECT_GT(commands, 4);
}

// Not of Redisson, whose shape is asked for before and after: it does not show one of another shape
// that was there in between alone.
class ReplacedByTurns : public Replaced {};

TEST_P(ReplacedByTurns, before_every_command) {
  for (const std::size_t first : {0U, 1U}) {
    FakeRedis redis;
    BloomKeyOrigin origin(two_.settings, redis.open());
    std::size_t turn = first;
    redis.before = [&](const Words&) { redis.change([&] { two_.put.at(turn++ % 2)(redis); }); };
    const BloomReading reading = origin.read({});
    if (reading.kind == Kind::taken) {
      expect_all(reading, "by turns");
    } else {
      EXPECT_EQ(reading.kind, Kind::unclear) << reading.why;
    }
  }
}

constexpr std::array kFormats{Named{"go_zero", go_zero, kItems},
                              Named{"guava", guava, kItems},
                              Named{"seiflotfy", seiflotfy, 10},
                              Named{"redisbloom", redisbloom, kItems},
                              Named{"rediscuckoo", rediscuckoo, 10}};
constexpr auto kName = [](const auto& each) { return each.param.name; };

INSTANTIATE_TEST_SUITE_P(Formats, Replaced, testing::ValuesIn(kFormats), kName);
INSTANTIATE_TEST_SUITE_P(Redisson,
                         Replaced,
                         testing::Values(Named{"redisson", redisson, kItems}),
                         kName);
INSTANTIATE_TEST_SUITE_P(Formats, ReplacedByTurns, testing::ValuesIn(kFormats), kName);

}  // namespace
}  // namespace cuckooguard::source
