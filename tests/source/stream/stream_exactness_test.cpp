// Whatever restarts, snapshots, trimming, compaction and a reset log do to a stream, and whatever
// happens to the guard: no row that was committed before the last proof is ever absent, and in the
// end the filter has the rows and no others.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "made_log.h"
#include "simulation/seeds.h"
#include "source/bench.h"
#include "stream/stream_follower.h"

namespace cuckooguard::source::stream {
namespace {

constexpr int kIds = 30;
constexpr int kCodes = 20;
constexpr milliseconds kMaxLag{500};
const std::vector<std::string> kTables{"users", "items"};
const std::vector<Wanted> kNamespaces{
    Wanted{.name = "users", .keys = {"user:{code:uint64}"}, .table = "users"},
    Wanted{.name = "items", .keys = {"item:{code:uint64}"}, .table = "items"}};

MadeLayout layout_of(Random& random) {
  MadeLayout layout{.has_notifications = random.one_in(2)};
  switch (random.below(5)) {
    case 0:
      layout.is_one_stream = true;
      break;
    case 1:
      layout.partitions = 1 + random.below(3);
      break;
    case 2:
      layout.partitions = 1 + random.below(3);
      layout.is_compacted = true;
      break;
    default:
      break;
  }
  return layout;
}

class World {
 public:
  explicit World(std::uint64_t seed)
      : random(seed),
        secret(filter::random_secret()),
        database(kTables.size()),
        debezium(database, kTables, random, layout_of(random), random.one_in(2)),
        file(folder() + "kept-" + std::to_string(::getpid()) + ".position") {
    std::filesystem::remove(file);
    came_ms.resize(kTables.size());
    if (!debezium.layout.is_compacted) {
      debezium.garbled_one_in = random.one_in(2) ? 60 : debezium.garbled_one_in;
    }
    start_guard();
  }
  ~World() { std::filesystem::remove(file); }

  // Where nothing waits for a disk, if there is such a place.
  static std::string folder() {
    return std::filesystem::exists("/dev/shm") ? "/dev/shm/" : testing::TempDir();
  }

  FollowerSettings settings() const {
    FollowerSettings settings{.connector = debezium.is_postgres ? debezium::Connector::postgresql
                                                                : debezium::Connector::mysql,
                              .server = "shop",
                              .topics = debezium.topics};
    for (std::uint32_t table = 0; table < kTables.size(); ++table) {
      settings.wanted.tables.push_back(
          {.database = "inventory",
           .schema = debezium.is_postgres ? "public" : "",
           .name = kTables[table],
           .columns = {{.name = "code", .placeholders = {keyspace::ValueType::uint64}}}});
      settings.plans.push_back({.ns = table,
                                .table = kTables[table],
                                .topic = debezium.topic_of(table),
                                .wanted = table,
                                .identity = {0},
                                .is_whole = debezium.layout.is_compacted,
                                .definition = table + 1});
    }
    settings.poll_every = milliseconds(10);
    settings.wall_clock = [this] {
      return std::chrono::system_clock::time_point(milliseconds(now_ms()));
    };
    settings.file = file;
    settings.keep_every = milliseconds(200);
    return settings;
  }
  void start_guard() {
    const auto now = bench ? bench->clock.now() : TimePoint();
    follower.reset();
    bench.emplace(kNamespaces, secret);
    if (now > bench->clock.now()) {
      bench->clock.advance(now - bench->clock.now());
    }
    auto made = std::make_unique<MadeReader>(debezium, random);
    reader = made.get();
    follower = std::make_unique<StreamFollower>(
        std::move(made), settings(), bench->feeds(kMaxLag), bench->clock.clock(), bench->witness);
  }

  std::int64_t now_ms() const {
    return std::chrono::duration_cast<milliseconds>(bench->clock.now().time_since_epoch()).count();
  }
  int code() { return static_cast<int>(random.below(kCodes)); }
  int id() { return static_cast<int>(random.below(kIds)); }
  void change_row() {
    const std::size_t table = random.below(kTables.size());
    const int row = id();
    const int to = id();
    const int other = code();
    switch (random.below(9)) {
      case 0:
      case 1:
      case 2:
        database.insert(table, row, other, now_ms());
        break;
      case 3:
      case 4:
        database.update(table, row, other, now_ms());
        break;
      case 5:
        database.move(table, row, to, now_ms());
        break;
      case 6:
        if (random.one_in(30) && !debezium.layout.is_compacted) {
          database.truncate(table, now_ms());
        }
        break;
      default:
        database.remove(table, row, now_ms());
    }
    if (random.one_in(2)) {
      database.commit();
    }
    note_codes();
  }
  // Since when there is a row that has this code.
  void note_codes() {
    for (std::size_t table = 0; table < kTables.size(); ++table) {
      std::map<int, std::int64_t> now;
      for (const auto& [id, code] : database.rows[table]) {
        const auto known = came_ms[table].find(code);
        now[code] = known == came_ms[table].end() ? now_ms() : known->second;
      }
      came_ms[table] = std::move(now);
    }
  }
  void take_a_step() {
    bench->clock.advance(milliseconds(random.below(30)));
    disturb();
    if (is_streaming && random.one_in(3)) {
      debezium.follow(random.below(12));
    }
    if (is_streaming && random.one_in(6)) {
      debezium.read_chunk(static_cast<int>(1 + random.below(9)));
    }
    if (is_streaming && debezium.is_done() && random.one_in(3)) {
      debezium.heartbeat(now_ms());
    }
    for (std::uint64_t i = random.below(4); i > 0; --i) {
      change_row();
    }
    follow();
  }
  void disturb() {
    switch (random.below(60)) {
      case 0:
        debezium.restart(stored);
        break;
      case 1:
        take_snapshot();
        break;
      case 2:
      case 3:
        stored = debezium.next();
        break;
      case 4:
        reader->is_down = random.one_in(2);
        break;
      case 5:
        if (debezium.layout.is_compacted) {
          debezium.compact();
        } else if (random.one_in(2)) {
          debezium.trim();
        } else if (random.one_in(2) && reader->has_read_all()) {
          debezium.lose();
          has_lost = true;
        }
        break;
      case 6:
        if (random.one_in(5) && !debezium.is_postgres && !debezium.layout.is_compacted) {
          debezium.follow(1'000'000);
          database.reset_log();
          stored = debezium.next();
        }
        break;
      case 7:
        if (has_lost) {  // nobody would know that something is missing
          break;
        }
        if (random.one_in(2)) {
          follower->finish();
        }
        start_guard();
        break;
      case 8:
      case 9:
        debezium.signal(random.below(kTables.size()), random.one_in(2));
        break;
      default:
        break;
    }
  }
  void follow() {
    follower->step(bench->never);
    check();
  }
  void take_snapshot() {
    const bool is_broken = !debezium.layout.is_compacted && random.one_in(3);
    // Of a replica that is behind, now and then.
    const std::size_t length = database.log.size();
    const bool is_behind = !is_broken && !debezium.layout.is_compacted && random.one_in(6);
    const std::size_t behind = std::min<std::size_t>(length - database.first(), 20);
    std::size_t at = is_behind ? length - random.below(behind + 1) : length;
    if (std::ranges::any_of(database.rows_at(at), &std::map<int, int>::empty)) {
      at = length;  // of a table that was empty then nothing tells that it is behind
    }
    has_skipped = has_skipped || is_broken || debezium.next() < at;
    if (debezium.snapshot(at, is_broken ? std::optional(random.below(kIds)) : std::nullopt)) {
      is_streaming = true;
      has_lost = false;
      stored = debezium.next();
    } else {  // it takes another one, or goes back to offsets from before it
      is_streaming = is_streaming && random.one_in(2);
    }
  }
  static std::string key(std::size_t table, int code) {
    return (table == 0 ? "user:" : "item:") + std::to_string(code);
  }
  bool is_counted(std::uint32_t table, int code) const {
    const filter::CuckooFilter& filter = *bench->lives[table].writable();
    return filter.count(filter.hash(std::to_string(code))) > 0;
  }
  void check() {
    for (std::uint32_t table = 0; table < kTables.size(); ++table) {
      if (!bench->is_fresh(table)) {
        continue;
      }
      ++fresh;
      for (const auto& [code, came] : came_ms[table]) {
        hidden += came + kMaxLag.count() < now_ms() && !bench->has(key(table, code)) ? 1 : 0;
      }
    }
  }
  // Several channels: what went before a snapshot, and is told by nothing but that. Compacted: it
  // may be told by nothing but a tombstone.
  // A snapshot of a single row need not say that it begins.
  bool may_have_stale_rows(std::uint32_t table) const {
    return debezium.layout.is_compacted ||
           (has_skipped && (debezium.layout.partitions > 1 || read_last[table].size() < 2));
  }
  // All is quiet, and Debezium works as it should.
  void come_to_rest() {
    reader->is_down = false;
    debezium.garbled_one_in = ~std::uint64_t{0};
    for (int i = 0; i < 60; ++i) {
      bench->clock.advance(milliseconds(10));
      debezium.follow(is_streaming ? 100 : 0);
      follow();
    }
    // A partition without rows of the snapshot may notice only by the changes behind it that the
    // log has begun anew: then a second snapshot is needed.
    for (int times = debezium.layout.partitions > 1 ? 2 : 1; times > 0; --times) {
      has_skipped = has_skipped || !debezium.is_done();
      debezium.snapshot(database.log.size());
      read_last = database.rows;
      for (int each = 0; times == 2 && each < kIds; ++each) {
        database.update(0, each, code(), now_ms());
        database.update(1, each, code(), now_ms());
      }
      note_codes();
      for (int i = 0; i < 300; ++i) {
        bench->clock.advance(milliseconds(10));
        debezium.follow(100);
        debezium.heartbeat(now_ms());
        follow();
      }
    }
  }

  Random random;
  filter::HashSecret secret;
  std::optional<Bench> bench;
  MadeDatabase database;
  MadeDebezium debezium;
  std::string file;
  MadeReader* reader = nullptr;
  std::unique_ptr<StreamFollower> follower;
  std::vector<std::map<int, std::int64_t>> came_ms;
  std::size_t stored = 0;  // how far Debezium's offsets are, of the log
  bool is_streaming = false;
  MadeDatabase::Rows read_last;  // by the last snapshot
  bool has_lost = false;         // the stream has, since the last snapshot
  bool has_skipped = false;      // a snapshot: changes of the log
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
    if (world.debezium.layout.is_compacted) {
      world.debezium.snapshot(world.database.log.size());
      world.is_streaming = true;
      world.stored = world.debezium.next();
    } else {
      world.take_snapshot();
    }
    for (int i = 0; i < 300; ++i) {
      world.take_a_step();
      ASSERT_EQ(world.hidden, 0) << "seed " << seed << " step " << i;
    }
    fresh += static_cast<std::uint64_t>(world.fresh);
    world.come_to_rest();
    ASSERT_EQ(world.hidden, 0) << "seed " << seed;
    for (std::uint32_t table = 0; table < kTables.size(); ++table) {
      if (world.read_last[table].size() < 2 && !world.debezium.layout.has_notifications) {
        continue;  // says nothing of a snapshot
      }
      ASSERT_TRUE(world.bench->is_fresh(table))
          << "seed " << seed << ": " << world.bench->lives[table].why();
      if (world.may_have_stale_rows(table)) {
        continue;
      }
      ++ends;
      for (int code = 0; code < kCodes; ++code) {
        ASSERT_EQ(world.is_counted(table, code), world.came_ms[table].contains(code))
            << "seed " << seed << " " << code;
      }
    }
  }
  if (seeds.runs >= 100) {
    EXPECT_GT(fresh, seeds.runs * 100) << "most of the time it can be asked";
    EXPECT_GT(ends, seeds.runs);
  }
}

}  // namespace
}  // namespace cuckooguard::source::stream
