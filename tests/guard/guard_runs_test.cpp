// Runs of reads: whatever is judged together is judged as it would be one by one, and counts alike.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "guard/guarded_shop.h"
#include "guard/traffic.h"
#include "simulation/random.h"

namespace cuckooguard::guard {
namespace {

using simulation::Random;

constexpr std::uint64_t kRuns = 4000;
constexpr std::array kNamespaces{
    GuardedShop::kUsers, GuardedShop::kItems, GuardedShop::kOrders, GuardedShop::kCarts};
// What stands before the key, and behind it.
using Words = std::vector<std::string_view>;
const std::vector<std::pair<std::string_view, Words>> kCommands{{"GET", {}},
                                                                {"get", {}},
                                                                {"EXISTS", {}},
                                                                {"EXISTS", {"user:500"}},
                                                                {"GET", {"user:500"}},
                                                                {"TTL", {}},
                                                                {"HGETALL", {}},
                                                                {"HGET", {"field"}},
                                                                {"ZRANGE", {"0", "-1"}},
                                                                {"STRLEN", {}}};

class SeenTraffic final : public Traffic {
 public:
  void saw(const Read& read, std::size_t /*worker*/, TimePoint /*now*/) override {
    keys.emplace_back(read.key);
    absent += read.is_absent ? 1 : 0;
  }
  void expires(TimePoint /*at*/, TimePoint /*now*/) override {}

  std::vector<std::string> keys;
  std::uint64_t absent = 0;
};

std::string some_key(Random& random) {
  const std::string number = std::to_string(random.below(130));
  switch (random.below(12)) {
    case 0:
      return "item:" + std::string(random.one_in(2) ? "apple" : "plum") +
             (random.one_in(3) ? "s" : "");
    case 1:
      return "order:" + (random.one_in(3) ? "x" + number : number);
    case 2:
      return "cart:" + std::to_string(random.below(9));
    case 3:
      return "other:" + number;
    case 4:
      return "user:0" + number;
    default:
      return "user:" + number;
  }
}

void arrange_filter(Random& random, GuardedShop& shop, std::uint32_t ns) {
  if (random.one_in(6)) {
    shop.filters[ns]->set_fresh_until(TimePoint::min());
  } else if (random.one_in(2)) {
    shop.filters[ns]->prove(shop.now - seconds(random.below(3)), seconds(5));
  }
}

void arrange_spaces(Random& random, GuardedShop& shop) {
  for (const std::uint32_t ns : kNamespaces) {
    GuardedNamespace& space = shop.spaces[ns];
    if (random.one_in(5)) {
      space.mode = random.one_in(2) ? config::Mode::observe : config::Mode::bypass;
    }
    space.verify_sample = random.one_in(6) ? 1 : 0;
    space.order = random.one_in(10) ? config::Order::redis_first : config::Order::guard_first;
    if (random.one_in(4)) {
      space.tolerance->set_rate(static_cast<double>(1 + random.below(5)));
    }
    if (random.one_in(4)) {
      space.consistency = config::Consistency::strict;
    }
    arrange_filter(random, shop, ns);
    for (int i = 0; i < 20; ++i) {
      if (random.one_in(6)) {
        shop.overlays[ns]->add(space.filter->hash(std::to_string(random.below(130))), shop.now);
      }
    }
  }
}

// One state of a shop and its client, the same for both that are compared.
void arrange(Random random, GuardedShop& shop) {
  arrange_spaces(random, shop);
  if (random.one_in(4)) {
    shop.write({"SET", "user:120", "v"});
  }
  if (random.one_in(6)) {
    if (shop.decide({"SET", "user:121", "v"}).awaits_reply) {
      shop.client.writes()->await(++shop.replies);
    }
  }
  if (random.one_in(8)) {
    shop.send({"SELECT", "2"}, '+');
  } else if (random.one_in(10)) {
    shop.send({"MULTI"}, '+');
  }
}

struct Outcome {
  Action action = Action::forward;
  std::string reply{};
  std::size_t compared = 0;

  bool operator==(const Outcome&) const = default;
};

void PrintTo(const Outcome& outcome, std::ostream* out) {
  *out << static_cast<int>(outcome.action) << " " << outcome.reply << " " << outcome.compared;
}

Words command_of(std::size_t command, std::string_view key) {
  Words words{kCommands[command].first, key};
  words.insert(words.end(), kCommands[command].second.begin(), kCommands[command].second.end());
  return words;
}

Question question_of(GuardedShop& shop, const Words& words) {
  Question question = shop.guard->ask(words, shop.client, shop.now);
  question.proof.read_at = shop.now - seconds(1);
  return question;
}

Outcome one(GuardedShop& shop, std::size_t command, std::string_view key) {
  const Words words = command_of(command, key);
  const Decision decision = shop.guard->decide(question_of(shop, words), shop.room);
  return {decision.action, std::string(decision.reply), decision.absent_keys.size()};
}

std::vector<Outcome> in_runs(GuardedShop& shop,
                             std::size_t command,
                             const std::vector<std::string_view>& keys,
                             Random& random,
                             std::size_t& together) {
  std::vector<Outcome> all;
  while (all.size() < keys.size()) {
    const Words words = command_of(command, keys[all.size()]);
    const Question question = question_of(shop, words);
    const auto left = std::span(keys).subspan(all.size());
    const RunDecision run =
        shop.guard->judge_run(question, left.first(std::min(left.size(), KeyRun::kMax)));
    if (run.commands == 0) {
      all.push_back(one(shop, command, keys[all.size()]));
      continue;
    }
    // The session may have room for some of them only.
    const std::size_t done = random.one_in(3) ? 1 + random.below(run.commands) : run.commands;
    for (std::size_t i = 0; i < done; ++i) {
      const bool is_answered = (run.answered >> i & 1U) != 0;
      all.push_back(is_answered ? Outcome{Action::answer, std::string(run.reply)} : Outcome{});
    }
    shop.guard->carried_out_run(question, left.first(done));
    together += done;
  }
  return all;
}

std::vector<std::uint64_t> counts(const GuardedShop& shop) {
  const GuardCounters& all = shop.guard->counters();
  std::vector<std::uint64_t> counts{all.answered.value(),
                                    all.guarded_keys.value(),
                                    all.unguarded_keys.value(),
                                    all.unsettled_reads.value(),
                                    all.not_allowed_reads.value(),
                                    all.unavailable_reads.value(),
                                    all.share_filled_keys.value()};
  for (const std::uint32_t ns : kNamespaces) {
    for (const Counter& verdict : shop.guard->counters(ns).keys) {
      counts.push_back(verdict.value());
    }
    counts.push_back(shop.guard->counters(ns).sampled.value());
  }
  return counts;
}

TEST(GuardRuns, are_judged_as_their_reads_would_be_one_by_one) {
  std::size_t together = 0;
  for (std::uint64_t seed = 1; seed <= kRuns && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    GuardedShop by_one;
    GuardedShop by_run;
    for (GuardedShop* const shop : {&by_one, &by_run}) {
      arrange(Random(seed), *shop);
    }
    const std::size_t command = random.below(kCommands.size());
    std::vector<std::string> texts;
    const std::uint64_t alike = random.below(3) == 0 ? 1 : 30;  // so many keys of one kind in a row
    for (std::uint64_t i = 2 + random.below(80); i > 0; --i) {
      texts.push_back(random.one_in(alike) ? some_key(random)
                                           : "user:" + std::to_string(random.below(130)));
    }
    const std::vector<std::string_view> keys(texts.begin(), texts.end());
    std::vector<Outcome> expected;
    for (const std::string_view key : keys) {
      expected.push_back(one(by_one, command, key));
    }
    EXPECT_EQ(in_runs(by_run, command, keys, random, together), expected)
        << kCommands[command].first;
    EXPECT_EQ(counts(by_run), counts(by_one)) << kCommands[command].first;
  }
  EXPECT_GT(together, 20 * kRuns / 2) << "most are judged together";
}

// Of an MGET, behind its name: those that a GET of each does not answer.
std::vector<std::string_view> that_pass(const std::vector<std::string_view>& words,
                                        GuardedShop& by_get) {
  std::vector<std::string_view> passing{words[0]};
  std::ranges::copy_if(
      words.begin() + 1, words.end(), std::back_inserter(passing), [&](std::string_view key) {
        return one(by_get, 0, key).action != Action::answer;
      });
  return passing;
}

// An MGET is a run of its own.
TEST(GuardRuns, the_keys_of_an_mget_are_judged_as_by_gets) {
  for (std::uint64_t seed = 1; seed <= kRuns && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    GuardedShop by_get;
    GuardedShop by_mget;
    for (GuardedShop* const shop : {&by_get, &by_mget}) {
      arrange(Random(seed), *shop);
      for (GuardedNamespace& space : shop->spaces) {
        space.verify_sample = 0;
        space.tolerance->set_rate(0);
      }
    }
    std::vector<std::string> texts{"MGET"};
    const std::uint64_t alike = random.one_in(3) ? 1 : 10;
    for (std::uint64_t i = 1 + random.below(80); i > 0; --i) {
      texts.push_back(random.one_in(alike) ? some_key(random)
                                           : "user:" + std::to_string(random.below(130)));
    }
    const std::vector<std::string_view> words(texts.begin(), texts.end());
    const std::vector<std::string_view> passing = that_pass(words, by_get);
    std::string request;
    resp::append_command(request, passing);
    const Decision decision = by_mget.guard->decide(question_of(by_mget, words), by_mget.room);
    EXPECT_EQ(decision.action,
              passing.size() == 1              ? Action::answer
              : passing.size() == words.size() ? Action::forward
                                               : Action::merge);
    if (decision.action == Action::merge) {
      EXPECT_EQ(decision.request, request);
    }
    EXPECT_EQ(counts(by_mget)[1], counts(by_get)[1]);
    EXPECT_EQ(counts(by_mget)[2], counts(by_get)[2]);
  }
}

struct KeyAndValue {
  std::string key;
  std::string value;
};

// What others are told of some keys, and what the client itself is.
std::vector<bool> answered(GuardedShop& shop) {
  std::vector<bool> all;
  for (int id = 0; id < 130; ++id) {
    const std::string key = "user:" + std::to_string(id);
    all.push_back(shop.answers_others({"GET", key}));
    all.push_back(shop.answers({"GET", key}));
  }
  return all;
}

TEST(GuardRuns, writes_are_learned_as_if_they_came_one_by_one) {
  for (std::uint64_t seed = 1; seed <= kRuns / 4 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    GuardedShop by_one;
    GuardedShop by_run;
    for (GuardedShop* const shop : {&by_one, &by_run}) {
      arrange(Random(seed), *shop);
    }
    std::vector<KeyAndValue> pairs;
    for (std::uint64_t i = 1 + random.below(20); i > 0; --i) {
      pairs.push_back({some_key(random), random.one_in(4) ? "*" : "v"});
    }
    std::vector<resp::AlikeCommand> alike;
    for (const auto& [key, value] : pairs) {
      alike.push_back({.key = key, .value = value});
      ++by_one.replies;
      if (by_one.decide({"SET", key, value}).awaits_reply) {
        by_one.client.writes()->await(by_one.replies);
      }
    }
    by_run.replies += pairs.size();
    const Words first{"SET", pairs[0].key, pairs[0].value};
    by_run.guard->scan_writes(question_of(by_run, first), alike, by_run.replies);
    EXPECT_EQ(answered(by_run), answered(by_one));
    // Redis replies to some of them, and refuses the next.
    const std::uint64_t replied = by_one.replies - random.below(pairs.size());
    for (GuardedShop* const shop : {&by_one, &by_run}) {
      shop->client.replied_to(replied - 1, false);
      shop->client.replied_to(replied, true);
      shop->learn();
    }
    EXPECT_EQ(answered(by_run), answered(by_one));
  }
}

TEST(GuardRuns, the_log_finds_what_they_have_hidden) {
  GuardedShop shop;
  const std::vector<std::string_view> keys{"item:fig", "item:plum", "item:apple"};
  const Question question =
      shop.guard->ask(std::array{std::string_view("GET"), keys[0]}, shop.client, shop.now);
  const RunDecision run = shop.guard->judge_run(question, keys);
  EXPECT_EQ(run.commands, 3U);
  EXPECT_EQ(run.answered, 0b011U);
  EXPECT_EQ(run.reply, kStar);
  shop.guard->carried_out_run(question, keys);
  const filter::LiveParts& items = *shop.spaces[GuardedShop::kItems].filter;
  for (const std::string_view identity : {"plum", "apple"}) {
    const std::uint64_t hash = items.hash(identity);
    shop.filters[GuardedShop::kItems]->committed({&hash, 1}, {.by = shop.now});
  }
  shop.pass_readers();
  shop.filters[GuardedShop::kItems]->prove(shop.now + seconds(1), seconds(1));
  EXPECT_EQ(items.absent_reads().hidden_by_lag, 1U);
  EXPECT_EQ(items.absent_reads().key, "item:plum");
}

TEST(GuardRuns, traffic_sees_a_sample_of_them) {
  constexpr std::uint64_t kRounds = 1000;
  GuardedShop shop;
  auto traffic = std::make_unique<SeenTraffic>();
  SeenTraffic& seen = *traffic;
  shop.spaces[GuardedShop::kUsers].counts->traffic = std::move(traffic);
  const std::vector<std::string_view> keys{"user:1", "user:500", "user:2", "user:501"};
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    const Question question =
        shop.guard->ask(std::array{std::string_view("GET"), keys[0]}, shop.client, shop.now);
    ASSERT_EQ(shop.guard->judge_run(question, keys).commands, keys.size());
    shop.guard->carried_out_run(question, keys);
  }
  constexpr std::uint64_t kExpected = kRounds * 4 / Traffic::kEvery;
  EXPECT_NEAR(static_cast<double>(seen.keys.size()), kExpected, kExpected / 3.0);
  EXPECT_NEAR(static_cast<double>(seen.absent), kExpected / 2.0, kExpected / 3.0);
  for (const std::string_view key : keys) {
    EXPECT_GT(std::ranges::count(seen.keys, key), 0) << key;
  }
}

}  // namespace
}  // namespace cuckooguard::guard
