// Look-ups in the parts of a namespace while the writer changes them: every interleaving in steps,
// and threads for the sanitizers.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "filter/hashes.h"
#include "filter/live_parts.h"

namespace cuckooguard::filter {
namespace {

using std::chrono::seconds;

const HashSecret kSecret = testing::fixed_secret(1);
constexpr TimePoint kNow{seconds(100)};

std::unique_ptr<CuckooFilter> filter_with(const std::vector<std::string>& identities) {
  auto filter =
      std::make_unique<CuckooFilter>(sizing_for(Layout::w20, 1000, DeleteMode::trusted), kSecret);
  for (const std::string& identity : identities) {
    filter->insert(filter->hash(identity));
  }
  return filter;
}

// A look-up and a writer, step by step in every order: between any two things that the look-up
// reads the writer does none, one, or several of its steps.
class LivePartsInterleaved : public ::testing::Test {
 protected:
  using Steps = std::vector<std::function<void()>>;

  struct World {
    World() : a(*parts.add("a")), b(*parts.add("b")) {
      publish(a, {"7"});
      publish(b, {});
      prove({&a, &b});
      parts.set_complete(true);
    }
    static void publish(LiveFilter& live, const std::vector<std::string>& identities) {
      live.publish(filter_with(identities));
    }
    static void prove(std::initializer_list<LiveFilter*> lives) {
      for (LiveFilter* const live : lives) {
        live->set_fresh_until(kNow + seconds(1));
      }
    }
    static void expire(std::initializer_list<LiveFilter*> lives) {
      for (LiveFilter* const live : lives) {
        live->set_fresh_until(TimePoint::min());
      }
    }

    Epochs epochs{1};
    LiveParts parts{epochs, kSecret};
    LiveFilter& a;
    LiveFilter& b;
  };

  // The verdicts of all interleavings of a look-up of key 7 with the steps that `steps_of` gives,
  // by itself and in a batch.
  static std::map<Finding, int> findings(const std::function<Steps(World&)>& steps_of) {
    std::map<Finding, int> all;
    for (const bool is_batch : {false, true}) {
      find_in_all_orders(steps_of, is_batch, all);
    }
    return all;
  }

 private:
  static constexpr int kReadsMax = 16;  // more than a look-up in three parts has

  static void find_in_all_orders(const std::function<Steps(World&)>& steps_of,
                                 bool is_batch,
                                 std::map<Finding, int>& all) {
    std::vector<int> before;  // of each of the writer's steps: how many the reader has made
    do {
      World world;
      const Steps steps = steps_of(world);
      before.resize(steps.size());
      const EpochScope inside(world.epochs.reader(0));
      std::size_t done = 0;
      const auto write_until = [&](int read) {
        for (; done < steps.size() && before[done] <= read; ++done) {
          steps[done]();
        }
      };
      int read = 0;
      write_until(read);
      const auto step = [&] { write_until(++read); };
      std::array<Finding, 1> found{};
      const bool is_found =
          is_batch && world.parts.find_many_in_steps(std::array{world.parts.hash("7")},
                                                     std::array{std::optional<std::uint64_t>(7)},
                                                     kNow,
                                                     found,
                                                     step);
      ++all[is_found ? found[0] : world.parts.find_in_steps("7", kNow, step)];
    } while (next(before));
  }

  // The next of the ascending sequences; false behind the last.
  static bool next(std::vector<int>& before) {
    for (std::size_t i = before.size(); i-- > 0;) {
      if (before[i] < kReadsMax) {
        std::fill(before.begin() + static_cast<std::ptrdiff_t>(i), before.end(), before[i] + 1);
        return true;
      }
    }
    return false;
  }
};

TEST_F(LivePartsInterleaved, a_row_that_moves_to_the_other_table_and_back_is_never_absent) {
  const auto seen = findings([](World& world) -> Steps {
    const std::uint64_t row = world.parts.hash("7");
    return {[&world, row] { world.b.insert(row); },
            [&world, row] { world.a.erase(row); },
            [&world, row] { world.a.insert(row); },
            [&world, row] { world.b.erase(row); }};
  });
  EXPECT_EQ(seen.count(Finding::absent), 0U);
  EXPECT_GT(seen.at(Finding::may_exist), 1000);
}

IsolatedRows isolated(const LiveParts& parts, std::initializer_list<std::string_view> values) {
  constexpr std::array kTypes = {keyspace::ValueType::text_ci};
  IsolatedRows rows;
  for (const std::string_view value : values) {
    rows.add(parts.hash(value),
             *keyspace::IdentityPattern::of(std::array<std::string_view, 1>{value}, kTypes));
  }
  return rows;
}

// Of one table, which is the usual case, and of two.
TEST_F(LivePartsInterleaved, a_row_that_becomes_an_isolated_one_and_back_is_never_absent) {
  for (const bool is_sole : {true, false}) {
    const auto seen = findings([is_sole](World& world) -> Steps {
      if (is_sole) {
        world.parts.remove("b");
      }
      const std::uint64_t row = world.parts.hash("7");
      const std::uint64_t spelled = world.parts.hash("\u2466");
      return {[&world] { world.a.set_isolated(isolated(world.parts, {"\u2466"})); },
              [&world, spelled] { world.a.insert(spelled); },
              [&world, row] { world.a.erase(row); },
              [&world, row] { world.a.insert(row); },
              [&world, spelled] {
                world.a.erase(spelled);
                world.a.set_isolated({});
              }};
    });
    EXPECT_EQ(seen.count(Finding::absent), 0U);
    EXPECT_GT(seen.at(Finding::may_exist), 1000);
  }
}

// As UPDATE does, by one letter of its name, and a load that has seen the other spelling.
TEST_F(LivePartsInterleaved, a_row_that_is_isolated_under_another_spelling_is_never_absent) {
  const auto begin_with = [](World& world) {
    world.parts.remove("b");
    world.a.set_isolated(isolated(world.parts, {"\u2466"}));
    World::publish(world.a, {"\u2466"});
  };
  const auto updated = findings([&](World& world) -> Steps {
    begin_with(world);
    return {[&world] { world.a.set_isolated(isolated(world.parts, {"\u2466", "\uff17"})); },
            [&world] { world.a.insert(world.parts.hash("\uff17")); },
            [&world] { world.a.erase(world.parts.hash("\u2466")); },
            [&world] { world.a.set_isolated(isolated(world.parts, {"\uff17"})); }};
  });
  EXPECT_EQ(updated.count(Finding::absent), 0U);
  const auto loaded = findings([&](World& world) -> Steps {
    begin_with(world);
    return {[&world] { world.a.set_isolated(isolated(world.parts, {"\u2466", "\uff17"})); },
            [&world] { World::publish(world.a, {"\uff17"}); },
            [&world] { world.a.set_isolated(isolated(world.parts, {"\uff17"})); }};
  });
  EXPECT_EQ(loaded.count(Finding::absent), 0U);
}

TEST_F(LivePartsInterleaved, a_row_that_moves_while_all_tables_are_read_again_is_never_absent) {
  const auto seen = findings([](World& world) -> Steps {
    return {[&world] { World::expire({&world.a, &world.b}); },
            [&world] { World::publish(world.a, {}); },
            [&world] { World::publish(world.b, {"7"}); },
            [&world] { World::prove({&world.a, &world.b}); }};
  });
  EXPECT_EQ(seen.count(Finding::absent), 0U);
  EXPECT_GT(seen.at(Finding::not_fresh), 100);
}

TEST_F(LivePartsInterleaved,
       a_row_in_a_table_that_joins_is_not_absent_once_others_are_proven_again) {
  const auto seen = findings([](World& world) -> Steps {
    World::publish(world.a, {});  // 7 is in the new table alone
    World::expire({&world.b});
    return {[&world] { world.parts.add("c"); },
            [&world] { World::prove({&world.b}); },
            [&world] { World::publish(*world.parts.add("c"), {"7"}); },
            [&world] { World::prove({world.parts.add("c")}); }};
  });
  EXPECT_EQ(seen.count(Finding::absent), 0U);
  EXPECT_GT(seen.at(Finding::may_exist), 10);
}

TEST_F(LivePartsInterleaved,
       a_row_in_the_second_table_is_not_absent_once_the_first_is_proven_again) {
  const auto seen = findings([](World& world) -> Steps {
    world.parts.remove("b");
    World::publish(world.a, {});
    World::expire({&world.a});
    return {[&world] { world.parts.add("c"); },
            [&world] { World::prove({&world.a}); },
            [&world] { World::publish(*world.parts.add("c"), {"7"}); },
            [&world] { World::prove({world.parts.add("c")}); }};
  });
  EXPECT_EQ(seen.count(Finding::absent), 0U);
  EXPECT_GT(seen.at(Finding::may_exist), 10);
}

TEST_F(LivePartsInterleaved, a_row_that_comes_before_a_proof_is_not_absent_by_it) {
  const auto seen = findings([](World& world) -> Steps {
    world.parts.remove("b");
    World::publish(world.a, {});
    World::expire({&world.a});
    return {[&world] { world.a.insert(world.parts.hash("7")); },
            [&world] { World::prove({&world.a}); },
            [&world] { World::publish(world.a, {"7"}); }};
  });
  EXPECT_EQ(seen.count(Finding::absent), 0U);
  EXPECT_GT(seen.at(Finding::may_exist), 10);
}

TEST_F(LivePartsInterleaved, a_set_that_was_in_doubt_is_not_trusted_by_who_began_before) {
  const auto seen = findings([](World& world) -> Steps {
    World::publish(world.a, {});  // 7 is in a table that is not known
    World::expire({&world.b});
    return {[&world] { world.parts.set_complete(false); }, [&world] { World::prove({&world.b}); }};
  });
  EXPECT_EQ(seen.count(Finding::absent), 0U);
}

// A table that is renamed: its rows are read under the new name before the old one goes.
TEST_F(LivePartsInterleaved, the_rows_of_a_renamed_table_are_never_absent) {
  const auto seen = findings([](World& world) -> Steps {
    return {[&world] { world.parts.add("c"); },
            [&world] { World::publish(*world.parts.add("c"), {"7"}); },
            [&world] { World::prove({world.parts.add("c")}); },
            [&world] { world.parts.remove("a"); }};
  });
  EXPECT_EQ(seen.count(Finding::absent), 0U);
}

// The rest runs with the thread sanitizer, too. Rows move between tables all the time, tables come
// and go, filters are replaced: a row that is somewhere is never absent.
class LivePartsUnderChange : public ::testing::Test {
 protected:
  static constexpr std::size_t kReaders = 2;
  static constexpr auto kLag = std::chrono::hours(1);

  // `found` is asked by readers until `change` has been called `rounds` times.
  template <typename Found, typename Change>
  std::uint64_t count_not_found(int rounds, Found found, Change change) {
    std::atomic<bool> stop{false};
    std::array<std::uint64_t, kReaders> hidden{};
    std::atomic<std::size_t> ready{0};
    std::vector<std::thread> readers;
    readers.reserve(kReaders);
    for (std::size_t i = 0; i < kReaders; ++i) {
      readers.emplace_back([&, i] {
        ++ready;
        while (!stop.load(std::memory_order_relaxed)) {
          const EpochScope inside(epochs_.reader(i));
          hidden[i] += found() ? 0 : 1;
        }
      });
    }
    while (ready < kReaders) {
      std::this_thread::yield();
    }
    for (int round = 0; round < rounds; ++round) {
      change(round);
    }
    stop = true;
    for (std::thread& reader : readers) {
      reader.join();
    }
    return hidden[0] + hidden[1];
  }

  LiveFilter& add(const std::string& name, const std::vector<std::string>& identities) {
    LiveFilter& live = *parts_.add(name);
    live.publish(filter_with(identities));
    live.set_fresh_until(std::chrono::steady_clock::now() + kLag);
    return live;
  }
  // So that a reader takes its time from the set to what is behind, and from one table to another.
  void add_a_long_way() {
    for (int i = 0; i < 300; ++i) {
      add("between " + std::to_string(i), {});
    }
  }
  bool passes(std::string_view identity) const {
    return parts_.find(identity, std::chrono::steady_clock::now()) != Finding::absent;
  }

  Epochs epochs_{kReaders};
  LiveParts parts_{epochs_, kSecret};
};

TEST_F(LivePartsUnderChange, a_row_that_moves_from_table_to_table_is_never_absent) {
  LiveFilter* from = &add("a", {"7"});
  add_a_long_way();
  LiveFilter* to = &add("b", {});
  parts_.set_complete(true);
  const std::uint64_t row = parts_.hash("7");
  const auto hidden = count_not_found(
      300'000,
      [this] { return passes("7"); },
      [&](int) {
        to->insert(row);
        from->erase(row);
        std::swap(from, to);
      });
  EXPECT_EQ(hidden, 0U);
}

TEST_F(LivePartsUnderChange, a_row_that_moves_while_filters_are_replaced_is_never_absent) {
  std::array<LiveFilter*, 2> tables{&add("a", {"7"}), nullptr};
  add_a_long_way();
  tables[1] = &add("b", {});
  parts_.set_complete(true);
  const auto hidden = count_not_found(
      3'000,
      [this] { return passes("7"); },
      [&](int round) {  // both are read again, as after a change of the database
        const auto has_it = static_cast<std::size_t>(round + 1) % tables.size();
        for (LiveFilter* const live : tables) {
          live->set_fresh_until(TimePoint::min());
        }
        for (const std::size_t i : {1 - has_it, has_it}) {
          tables.at(i)->publish(filter_with(i == has_it ? std::vector<std::string>{"7"}
                                                        : std::vector<std::string>{}));
        }
        for (LiveFilter* const live : tables) {
          live->set_fresh_until(std::chrono::steady_clock::now() + kLag);
        }
      });
  EXPECT_EQ(hidden, 0U);
}

TEST_F(LivePartsUnderChange, a_table_that_has_joined_is_not_missed_by_who_trusts_a_later_proof) {
  add_a_long_way();
  LiveFilter& first = *parts_.add("a");
  first.publish(filter_with({}));
  parts_.set_complete(true);
  // Table a is proven only while there is table b, which is not loaded: no key is ever absent.
  const auto hidden = count_not_found(
      20'000,
      [this] { return passes("9"); },
      [&](int) {
        parts_.add("b");
        first.set_fresh_until(std::chrono::steady_clock::now() + kLag);
        first.set_fresh_until(TimePoint::min());
        parts_.remove("b");
      });
  EXPECT_EQ(hidden, 0U);
}

TEST_F(LivePartsUnderChange, rows_are_found_while_tables_come_and_go) {
  add("stays", {"7"});
  parts_.set_complete(true);
  const auto hidden = count_not_found(
      2'000,
      [this] { return passes("7"); },
      [this](int round) {
        add("t" + std::to_string(round), {});
        if (round >= 5) {
          parts_.remove("t" + std::to_string(round - 5));
        }
      });
  EXPECT_EQ(hidden, 0U);
  EXPECT_TRUE(parts_.reclaim());
}

}  // namespace
}  // namespace cuckooguard::filter
