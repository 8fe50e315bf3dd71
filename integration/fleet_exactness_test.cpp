// Each follower's filter is the table: whatever befalls the database, its builders and Redis, at
// every quiet point each row passes at each follower, and its filters have exactly as many entries
// as there are rows.
//
// CUCKOOGUARD_SEED and CUCKOOGUARD_ROUNDS as in exactness_test.cpp: `./dev exactness`.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "builder/builder.h"
#include "exactness/rounds.h"
#include "exactness/shop_chaos.h"
#include "exactness/shop_follower.h"
#include "exactness/shop_tables.h"
#include "fixtures/on_sql_server.h"
#include "fleet/keys.h"
#include "follower/follower.h"
#include "harness/deadline.h"
#include "harness/redis_server.h"
#include "harness/seed.h"
#include "mysql/kind.h"
#include "upstream/redis_client.h"

namespace cuckooguard::harness {
namespace {

using testing::IsEmpty;

class Session final : public source::RedisSession {
 public:
  explicit Session(std::unique_ptr<upstream::RedisClient> redis) : redis_(std::move(redis)) {}

  using RedisSession::ask;
  Answer ask(std::span<const std::string_view> command) override {
    const upstream::Reply reply = redis_->call(command);
    return reply ? Answer(upstream::value_of(*reply)) : std::unexpected(redis_->why_lost());
  }

 private:
  std::unique_ptr<upstream::RedisClient> redis_;
};

// `user`: empty: the default one.
source::OpenRedis opens(std::uint16_t port, const std::string& user = "") {
  return [port, user](const std::string& /*key*/)
             -> std::expected<std::unique_ptr<source::RedisSession>, std::string> {
    config::Upstream settings;
    settings.address.port = port;
    if (!user.empty()) {
      settings.control = {.username = user, .password = "any"};
    }
    auto opened = upstream::RedisClient::open(
        static_cast<const io::TlsSlot*>(nullptr), settings, std::chrono::seconds(2));
    if (!opened) {
      return std::unexpected(opened.error().why);
    }
    return std::make_unique<Session>(*std::move(opened));
  };
}

source::TimePoint now() {
  return std::chrono::steady_clock::now();
}

const std::vector<const source::SourceKind*>& kinds() {
  static const std::vector<const source::SourceKind*> kAll{&source::mysql::kKind};
  return kAll;
}

ShopFilters& publishing(ShopFilters& guarded, source::Publication& to) {
  guarded.publish_to(to);
  return guarded;
}

// What the guards of a fleet have in common.
struct Fleet {
  TemporaryDirectory folder;
  fleet::KeyFiles keys;
  RedisServer redis;
  filter::HashSecret secret = filter::read_or_create_secret(folder.file("fleet.secret")).value();

  source::StorageDirectory storage(const std::string& name) const {
    return source::StorageDirectory::open(folder.file(name), folder.file("fleet.secret")).value();
  }
};

class RunningBuilder {
 public:
  RunningBuilder(const SqlServer& server, const Fleet& fleet, const std::string& name)
      : guarded_(fleet.secret),
        storage_(fleet.storage(name)),
        builder_({.name = "shop",
                  .prefix = "fleet",
                  .kind = "mysql",
                  .key = fleet.keys.signing(),
                  .keys = fleet.keys.verifying(),
                  .redis = opens(fleet.redis.port()),
                  .clock = now,
                  .want_proof = [] {},
                  .on_trouble = [this](const std::string& what) { say(what); },
                  .on_change = [this](const std::string& what) { say(what); }}),
        follower_(server, publishing(guarded_, builder_), open_counted_view, &storage_) {
    builder_.start();
  }

  std::string reports() const {
    const std::scoped_lock lock(mutex_);
    return said_ + follower_.reports();
  }
  bool is_proven_since(source::TimePoint at) const { return follower_.is_proven_since(at); }
  ShopFilters& filters() { return guarded_; }

 private:
  void say(const std::string& what) {
    const std::scoped_lock lock(mutex_);
    said_ += "fleet: " + what + "\n";
  }

  mutable std::mutex mutex_;
  std::string said_;
  ShopFilters guarded_;
  source::StorageDirectory storage_;
  fleet::Builder builder_;
  ShopFollower follower_;
};

class RunningFollower {
 public:
  // Keeps what it loads in `storage`; null: nowhere.
  explicit RunningFollower(const Fleet& fleet,
                           const source::StorageDirectory* storage = nullptr,
                           const std::string& user = "")
      : guarded_(fleet.secret),
        targets_(guarded_.targets()),
        thread_(std::make_unique<fleet::Follower>(
                    fleet::Follower::Settings{.source = "shop",
                                              .fleet = "shop",
                                              .prefix = "fleet",
                                              .keys = fleet.keys.verifying(),
                                              .redis = opens(fleet.redis.port(), user),
                                              .observer = reports_,
                                              .asking = {},
                                              .kinds = kinds(),
                                              .storage = storage},
                    source::Feeds(targets_, reports_, now, kMaxLag),
                    now),
                nullptr) {
    thread_.start();
  }

  static constexpr std::chrono::milliseconds kMaxLag{1000};

  bool is_proven_since(source::TimePoint at) const { return guarded_.is_proven_since(at, kMaxLag); }
  ShopFilters& filters() { return guarded_; }
  std::string reports() const { return reports_.last(); }
  source::SourceThread& source() { return thread_; }

 private:
  ShopFilters guarded_;
  std::vector<source::Target> targets_;
  Reports reports_;
  source::SourceThread thread_;
};

class FleetExactness : public OnSqlServer {
 protected:
  static constexpr milliseconds kCurrentWithin{30'000};
  static constexpr milliseconds kForgottenWithin{2000};

  void prepare() override { create_tables(*server_); }
  void TearDown() override {
    followers_.clear();
    builders_.clear();
  }

  void start_builder(const std::string& name) {
    builders_[name].reset();  // no two have its folder at a time
    builders_[name] = std::make_unique<RunningBuilder>(*server_, fleet_, name);
  }
  void start_follower(std::size_t n) {
    followers_[n].reset();
    followers_[n] = std::make_unique<RunningFollower>(fleet_);
  }
  std::string reports() const {
    std::string all;
    for (const auto& [name, builder] : builders_) {
      all += "-- " + name + "\n" + builder->reports();
    }
    for (const auto& follower : followers_) {
      all += "-- follower\n" + follower.second->reports();
    }
    return all;
  }

  // While nothing writes.
  std::vector<std::string> differences() {
    const auto stopped = now();
    SqlSession session = server_->session();
    std::vector<std::string> found;
    const auto compare = [&](auto& guard, const std::string& who) {
      if (!eventually([&] { return guard.is_proven_since(stopped); }, kCurrentWithin)) {
        found.push_back(who + " does not become current");
        return;
      }
      std::vector<std::string> its;
      (void)eventually([&] { return (its = guard.filters().differences(session)).empty(); },
                       kForgottenWithin);
      for (const std::string& each : its) {
        found.push_back(who + ": " + each);
      }
    };
    for (auto& [name, builder] : builders_) {
      compare(*builder, "builder " + name);
    }
    for (auto& [n, follower] : followers_) {
      compare(*follower, "follower " + std::to_string(n));
    }
    return found;
  }

  void befall(unsigned choice) {
    RedisServer& redis = fleet_.redis;
    switch (choice) {
      case 0:
        start_builder("one");
        break;
      case 1:
        start_builder("two");
        break;
      case 2:
        redis.call({"FLUSHALL"});
        break;
      case 3:
        redis.kill();
        redis.start_again();  // with nothing
        break;
      case 4:
        redis.call({"DEL", "{fleet:shop}:manifest"});
        break;
      case 5:
        redis.call({"XTRIM", "{fleet:shop}:log", "MAXLEN", "1"});
        break;
      case 6:
        redis.call({"HSET", "{fleet:shop}:meta", "epoch", "9"});
        break;
      default:
        start_follower(1);
        break;
    }
  }

  Fleet fleet_;
  std::map<std::string, std::unique_ptr<RunningBuilder>> builders_;
  std::map<std::size_t, std::unique_ptr<RunningFollower>> followers_;
};

TEST_F(FleetExactness, at_every_quiet_point_each_followers_filter_is_the_table) {
  const std::uint32_t seed = seed_of_this_run();
  const unsigned rounds = rounds_of_this_run(2);
  Writers writers(*server_, seed, 3);
  ShopChaos chaos(*server_, writers, seed);
  start_builder("one");
  start_builder("two");
  start_follower(0);
  start_follower(1);
  ASSERT_THAT(differences(), IsEmpty());
  const Asker asker(followers_.at(0)->filters());
  std::map<unsigned, unsigned> befallen;
  unsigned wrong = 0;
  unsigned round = 0;
  for (; round < rounds && wrong == 0; ++round) {
    for (unsigned left = 1 + chaos.pick(4); left > 0; --left) {
      ASSERT_TRUE(chaos.let_write(50 + chaos.pick(300))) << writers.in_the_way();
      if (chaos.pick(2) == 0) {
        const unsigned choice = chaos.pick(8);
        ++befallen[choice];
        befall(choice);
      } else {
        chaos.happen();
      }
    }
    writers.pause();
    const auto found = differences();
    EXPECT_THAT(found, IsEmpty()) << "round " << round << "\n" << reports();
    wrong += found.empty() ? 0 : 1;
  }
  EXPECT_EQ(asker.hidden(), 0U);
  std::string happened;
  for (const auto& [choice, count] : befallen) {
    happened += " fault_" + std::to_string(choice) + "=" + std::to_string(count);
  }
  for (const auto& [name, count] : chaos.counts()) {
    happened += " " + name + "=" + std::to_string(count);
  }
  std::printf("fleet_exactness: server=%s seed=%u rounds=%u wrong=%u transactions=%llu%s\n",
              server_->is_mariadb() ? "mariadb" : "mysql",
              seed,
              round,
              wrong,
              static_cast<unsigned long long>(writers.transactions()),
              happened.c_str());
}

TEST_F(FleetExactness, a_follower_that_comes_back_needs_only_the_log_behind_what_it_has_kept) {
  fleet_.redis.call({"ACL", "SETUSER", "reader", "on", "nopass", "+@all", "~*"});
  start_builder("one");
  const source::StorageDirectory storage = fleet_.storage("kept");
  const auto start = [&] {
    followers_[0].reset();  // waits for the disk
    followers_[0] = std::make_unique<RunningFollower>(fleet_, &storage, "reader");
  };
  start();
  ASSERT_THAT(differences(), IsEmpty());
  followers_[0].reset();
  run("INSERT INTO tag VALUES (x'0102', 1)");
  fleet_.redis.call({"ACL", "SETUSER", "reader", "resetkeys", "~{fleet:shop}:[^p]*"});
  start();
  EXPECT_THAT(differences(), IsEmpty()) << "it has tried to read a piece";
}

// As when it grows, or wastes room.
TEST_F(FleetExactness, filters_are_built_again_while_followers_go_on) {
  start_builder("one");
  start_follower(0);
  ASSERT_THAT(differences(), IsEmpty());
  RunningFollower& follower = *followers_.at(0);
  const std::string reports = follower.reports();
  const filter::LiveFilter& users = follower.filters().live(0);
  const filter::CuckooFilter* const filter = users.current();
  const auto snapshots = [&] {
    const std::string reply = fleet_.redis.call({"GET", "{fleet:shop}:manifest"});
    const std::size_t begins = reply.find("\r\n") + 2;
    const std::string bytes = reply.substr(begins, reply.size() - begins - 2);
    const auto manifest = fleet::read_manifest(bytes, fleet_.keys.verifying());
    std::set<std::string> names;
    for (const auto& snapshot : manifest ? manifest->snapshots : std::vector<fleet::Snapshot>()) {
      names.insert(snapshot.name);
    }
    return names;
  };
  const auto before = snapshots();
  builders_.at("one")->filters().live(0).ask_for_rebuild();
  ASSERT_TRUE(eventually([&] { return snapshots() != before; }, kCurrentWithin)) << reports;
  run("INSERT INTO tag VALUES (x'0102', 1)");
  follower.filters().live(0).ask_for_rebuild();
  ASSERT_TRUE(eventually([&] { return users.current() != filter; }, kCurrentWithin));
  EXPECT_THAT(differences(), IsEmpty());
  EXPECT_EQ(follower.reports(), reports) << "in no moment keys passed";
}

TEST_F(FleetExactness, a_follower_says_when_it_has_reached_a_position_of_the_database) {
  start_builder("one");
  start_follower(0);
  ASSERT_THAT(differences(), IsEmpty());
  const auto& source = followers_.at(0)->source();
  EXPECT_EQ(source.reached("no position"), source::Reached::not_a_position);
  run("INSERT INTO tag VALUES (x'0102', 1)");
  const std::string position = server_->session().value(
      server_->is_mariadb() ? "SELECT @@gtid_binlog_pos" : "SELECT @@gtid_executed");
  EXPECT_TRUE(eventually([&] { return source.reached(position) == source::Reached::yes; }))
      << source.status().position;
}

}  // namespace
}  // namespace cuckooguard::harness
