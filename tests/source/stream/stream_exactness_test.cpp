// Whatever restarts, snapshots, trimming and a reset log do to a stream: no row that was committed
// before the last proof is ever absent, and in the end the filter has the rows and no others.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "made_log.h"
#include "simulation/seeds.h"
#include "source/bench.h"
#include "stream/stream_follower.h"

namespace cuckooguard::source::stream {
namespace {

constexpr int kIds = 40;
constexpr milliseconds kMaxLag{500};
const std::vector<std::string> kTables{"users", "items"};

TablePlan plan_of(const std::string& table) {
  TablePlan plan;
  plan.wanted = {.database = "inventory",
                 .name = table,
                 .columns = {{.name = "id", .placeholders = {keyspace::ValueType::uint64}}}};
  plan.identity = {0};
  plan.has_whole_before = true;
  return plan;
}

class World {
 public:
  explicit World(std::uint64_t seed)
      : random(seed),
        bench({Wanted{.name = "users", .keys = {"user:{id:uint64}"}, .table = "users"},
               Wanted{.name = "items", .keys = {"item:{id:uint64}"}, .table = "items"}}),
        database(kTables),
        debezium(database, random, random.one_in(2) ? 1 : 2) {
    debezium.garbled_one_in = random.one_in(2) ? 60 : debezium.garbled_one_in;
    auto made = std::make_unique<MadeReader>(debezium, random);
    reader = made.get();
    follower = std::make_unique<StreamFollower>(
        std::move(made),
        FollowerSettings{
            .tables = {plan_of("users"), plan_of("items")},
            .channels = {debezium.channel_of(0), debezium.channel_of(1)},
            .poll_every = milliseconds(10),
            .wall_clock =
                [this] { return std::chrono::system_clock::time_point(milliseconds(now_ms())); }},
        bench.feeds(kMaxLag),
        bench.clock.clock());
    for (std::size_t table = 0; table < kTables.size(); ++table) {
      came_ms.emplace_back(kIds, 0);
    }
  }

  std::int64_t now_ms() const {
    return std::chrono::duration_cast<milliseconds>(bench.clock.now().time_since_epoch()).count();
  }
  void change_row() {
    const std::size_t table = random.below(kTables.size());
    const int id = static_cast<int>(random.below(kIds));
    const bool was_there = database.rows[table].contains(id);
    switch (random.below(8)) {
      case 0:
      case 1:
      case 2:
        database.insert(table, id, now_ms());
        break;
      case 3:
        database.update(table, id, now_ms());
        break;
      case 4:
        if (random.one_in(20)) {
          database.truncate(table, now_ms());
        }
        break;
      default:
        database.remove(table, id, now_ms());
    }
    if (!was_there && database.rows[table].contains(id)) {
      came_ms[table][static_cast<std::size_t>(id)] = now_ms();
    }
  }
  void take_a_step() {
    bench.clock.advance(milliseconds(random.below(30)));
    switch (random.below(40)) {
      case 0:
        debezium.restart(stored);
        break;
      case 1:
        take_snapshot();
        break;
      case 2:
        stored = debezium.next();
        break;
      case 3:
        reader->is_down = random.one_in(2);
        break;
      case 4:
        trim();
        break;
      case 5:
        if (random.one_in(5)) {
          debezium.follow(1'000'000);
          database.reset_log();
          stored = debezium.next();
        }
        break;
      default:
        break;
    }
    if (is_streaming && random.one_in(3)) {
      debezium.follow(random.below(12));
    }
    if (is_streaming && debezium.is_done() && random.one_in(3)) {
      debezium.heartbeat(now_ms());
    }
    for (std::uint64_t i = random.below(4); i > 0; --i) {
      change_row();
    }
    follow();
  }
  void follow() {
    follower->step(bench.never);
    check();
  }
  void take_snapshot() {
    const bool is_broken = random.one_in(3);
    if (debezium.snapshot(is_broken ? std::optional(random.below(kIds)) : std::nullopt)) {
      is_streaming = true;
      stored = debezium.next();
    } else {  // it takes another one, or goes back to offsets from before it
      is_streaming = is_streaming && random.one_in(2);
    }
  }
  void trim() {
    for (MadeChannel& channel : debezium.channels) {
      for (std::uint64_t i = random.below(channel.entries.size() + 1); i > 0; --i) {
        channel.entries.pop_front();
        ++channel.trimmed;
      }
    }
  }
  static std::string key(std::size_t table, int id) {
    return (table == 0 ? "user:" : "item:") + std::to_string(id);
  }
  bool is_counted(std::uint32_t table, int id) const {
    const filter::CuckooFilter& filter = *bench.lives[table].writable();
    return filter.count(filter.hash(std::to_string(id))) > 0;
  }
  void check() {
    for (std::uint32_t table = 0; table < kTables.size(); ++table) {
      if (!bench.is_fresh(table)) {
        continue;
      }
      ++fresh;
      for (const int id : database.rows[table]) {
        const bool is_old =
            came_ms[table][static_cast<std::size_t>(id)] + kMaxLag.count() < now_ms();
        hidden += is_old && !bench.has(key(table, id)) ? 1 : 0;
      }
    }
  }
  // All is quiet, and Debezium works as it should.
  void come_to_rest() {
    reader->is_down = false;
    debezium.garbled_one_in = ~std::uint64_t{0};
    debezium.snapshot();
    is_streaming = true;
    for (int i = 0; i < 400; ++i) {
      bench.clock.advance(milliseconds(10));
      debezium.follow(100);
      debezium.heartbeat(now_ms());
      follow();
    }
  }

  Random random;
  Bench bench;
  MadeDatabase database;
  MadeDebezium debezium;
  MadeReader* reader = nullptr;
  std::unique_ptr<StreamFollower> follower;
  std::vector<std::vector<std::int64_t>> came_ms;  // when each row that is there was inserted
  std::size_t stored = 0;                          // how far Debezium's offsets are, of the log
  bool is_streaming = false;
  int hidden = 0;
  int fresh = 0;
};

TEST(StreamExactness, no_row_is_hidden_and_none_stays) {
  std::uint64_t fresh = 0;
  std::uint64_t ends = 0;
  const simulation::Seeds seeds = simulation::chosen_seeds(300);
  for (std::uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    World world(seed);
    for (int i = 0; i < 20; ++i) {
      world.change_row();
    }
    world.take_snapshot();
    for (int i = 0; i < 300; ++i) {
      world.take_a_step();
    }
    fresh += static_cast<std::uint64_t>(world.fresh);
    ASSERT_EQ(world.hidden, 0) << "seed " << seed;
    world.come_to_rest();
    for (std::uint32_t table = 0; table < kTables.size(); ++table) {
      if (world.database.rows[table].size() < 2) {
        continue;  // says nothing of a snapshot
      }
      ++ends;
      ASSERT_TRUE(world.bench.is_fresh(table))
          << "seed " << seed << ": " << world.bench.lives[table].why();
      for (int id = 0; id < kIds; ++id) {
        const bool is_there = world.database.rows[table].contains(id);
        ASSERT_EQ(world.is_counted(table, id), is_there) << "seed " << seed << " " << id;
      }
    }
  }
  EXPECT_GT(fresh, seeds.runs * 100) << "most of the time it can be asked";
  EXPECT_GT(ends, seeds.runs);
}

}  // namespace
}  // namespace cuckooguard::source::stream
