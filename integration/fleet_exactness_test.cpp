// Each follower's filter is the table: whatever befalls the database, its builders and Redis, at
// every quiet point each row passes at each follower, and its filters have exactly as many entries
// as there are rows. With MariaDB or MySQL, and with PostgreSQL.
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
#include <type_traits>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "builder/builder.h"
#include "exactness/postgres_shop.h"
#include "exactness/rounds.h"
#include "exactness/shop_chaos.h"
#include "exactness/shop_follower.h"
#include "exactness/shop_tables.h"
#include "fixtures/on_postgres.h"
#include "fixtures/on_sql_server.h"
#include "fleet/keys.h"
#include "follower/builder_client.h"
#include "follower/follower.h"
#include "harness/deadline.h"
#include "harness/redis_server.h"
#include "harness/seed.h"
#include "http/server.h"
#include "mysql/kind.h"
#include "postgres/kind.h"
#include "text/number.h"
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
  static const std::vector<const source::SourceKind*> kAll{&source::mysql::kKind,
                                                           &source::postgres::kKind};
  return kAll;
}

// --- databases: a shop, what is done to it, and who follows it ---

// In MariaDB, or MySQL.
struct SqlShop {
  using Fixture = OnSqlServer;
  using Server = SqlServer;
  using Filters = ShopFilters;
  using Follower = ShopFollower;
  using Application = Writers;
  using Chaos = ShopChaos;

  static constexpr const char* kKind = "mysql";
  static constexpr const char* kInsert = "INSERT INTO tag VALUES (x'0102', 1)";
  static constexpr const char* kChange = "ALTER TABLE tag ADD COLUMN more INT";

  static const char* name(const Server& server) {
    return server.is_mariadb() ? "mariadb" : "mysql";
  }
  static const char* position_sql(const Server& server) {
    return server.is_mariadb() ? "SELECT @@gtid_binlog_pos" : "SELECT @@gtid_executed";
  }
  static void create(const Server& server) { create_tables(server); }
  static Filters filters(const filter::HashSecret& secret) { return Filters(secret); }
  static std::vector<std::string> differences(Filters& guarded, SqlSession session) {
    return guarded.differences(session);
  }
  static Follower follow(const Server& server,
                         Filters& guarded,
                         const source::StorageDirectory& storage) {
    return {server, guarded, open_counted_view, &storage};
  }
  static std::string in_the_way(const Application& application) { return application.in_the_way(); }
};

struct PostgresShop {
  using Fixture = OnPostgres;
  using Server = PostgresServer;
  using Filters = GuardedFilters;
  using Follower = PostgresShopFollower;
  using Application = PostgresWriters;
  using Chaos = PostgresChaos;

  static constexpr const char* kKind = "postgres";
  static constexpr const char* kInsert = "INSERT INTO shop.item VALUES (1, 'a', 1)";
  static constexpr const char* kChange = "ALTER TABLE shop.item ADD COLUMN more INT";

  static const char* name(const Server& /*server*/) { return "postgres"; }
  static const char* position_sql(const Server& /*server*/) {
    return "SELECT pg_current_wal_lsn()";
  }
  static void create(Server& server) { create_postgres_shop(server); }
  static Filters filters(const filter::HashSecret& secret) {
    return Filters(postgres_tables(), postgres_namespaces_yaml(), secret);
  }
  static std::vector<std::string> differences(Filters& guarded, PostgresSession session) {
    return guarded.differences([&](const std::string& sql) { return session.run(sql); });
  }
  static Follower follow(const Server& server,
                         Filters& guarded,
                         const source::StorageDirectory& storage) {
    return {server, guarded, &storage};
  }
  static std::string in_the_way(const Application& /*application*/) { return {}; }
};

// --- the fleet ---

// What the guards of a fleet have in common.
struct Fleet {
  TemporaryDirectory folder;
  fleet::KeyFiles keys;
  RedisServer redis;
  std::chrono::nanoseconds canary{};
  bool has_files = false;  // of snapshots, which are not in Redis then
  filter::HashSecret secret = filter::read_or_create_secret(folder.file("fleet.secret")).value();

  source::StorageDirectory storage(const std::string& name) const {
    return source::StorageDirectory::open(folder.file(name), folder.file("fleet.secret")).value();
  }
  // Where a builder gives them to followers.
  config::Address admin(const std::string& name) const {
    return {.host = {}, .port = 0, .unix_path = folder.file(name + ".admin")};
  }
};

// As admin/pages.h.
http::Response piece_of(const source::Publication& publication, const http::Request& request) {
  const auto parts = http::decoded_segments(request.target).value();  // "", v1, fleet, piece, …
  auto bytes = publication.piece(parts.at(4), text::number_of<std::uint32_t>(parts.at(5)).value());
  return bytes ? http::Response{.body = *std::move(bytes)}
               : http::refusal(400, "no_piece", "It is not here.");
}

template <class Shop>
class RunningBuilder {
 public:
  RunningBuilder(const typename Shop::Server& server, const Fleet& fleet, const std::string& name)
      : guarded_(Shop::filters(fleet.secret)),
        storage_(fleet.storage(name)),
        builder_({.name = "shop",
                  .prefix = "fleet",
                  .kind = Shop::kKind,
                  .key = fleet.keys.signing(),
                  .keys = fleet.keys.verifying(),
                  .redis = opens(fleet.redis.port()),
                  .snapshots = fleet.has_files ? &storage_ : nullptr,
                  .clock = now,
                  .canary = fleet.canary,
                  .want_proof = [] {},
                  .serves_strict = [] { return true; },
                  .on_trouble = [this](const std::string& what) { say(what); },
                  .on_change = [this](const std::string& what) { say(what); }}),
        follower_(Shop::follow(server, publishing(), storage_)),
        admin_(
            fleet.admin(name),
            {},
            {.answer = [this](const http::Request& request) { return piece_of(builder_, request); },
             .on_failure = [](std::error_code) {}}) {
    builder_.start();
    admin_.start();
  }

  std::string reports() const {
    const std::scoped_lock lock(mutex_);
    return said_ + follower_.reports();
  }
  bool is_proven_since(source::TimePoint at) const {
    return guarded_.is_proven_since(at, Shop::Follower::kMaxLag);
  }
  typename Shop::Filters& filters() { return guarded_; }

 private:
  // Which a source must know from the first.
  typename Shop::Filters& publishing() {
    guarded_.publish_to(builder_);
    return guarded_;
  }
  void say(const std::string& what) {
    const std::scoped_lock lock(mutex_);
    said_ += "fleet: " + what + "\n";
  }

  mutable std::mutex mutex_;
  std::string said_;
  typename Shop::Filters guarded_;
  source::StorageDirectory storage_;
  fleet::Builder builder_;
  typename Shop::Follower follower_;
  http::Server admin_;
};

template <class Shop>
class RunningFollower {
 public:
  // Keeps what it loads in `storage`; null: nowhere.
  explicit RunningFollower(const Fleet& fleet,
                           const source::StorageDirectory* storage = nullptr,
                           const std::string& user = "")
      : guarded_(Shop::filters(fleet.secret)),
        targets_(guarded_.targets()),
        thread_(std::make_unique<fleet::Follower>(
                    fleet::Follower::Settings{.source = "shop",
                                              .fleet = "shop",
                                              .prefix = "fleet",
                                              .keys = fleet.keys.verifying(),
                                              .redis = opens(fleet.redis.port(), user),
                                              .observer = reports_,
                                              .asking = {&questions_, {}},
                                              .kinds = kinds(),
                                              .storage = storage,
                                              .builder = client_of(fleet)},
                    source::Feeds(targets_, reports_, now, kMaxLag),
                    now),
                nullptr) {
    thread_.start();
  }

  static constexpr std::chrono::milliseconds kMaxLag{1000};

  static std::shared_ptr<const fleet::BuilderClient> client_of(const Fleet& fleet) {
    return std::make_shared<const fleet::BuilderClient>(
        std::vector{fleet.admin("one"), fleet.admin("two")}, std::string());
  }
  bool is_proven_since(source::TimePoint at) const { return guarded_.is_proven_since(at, kMaxLag); }
  typename Shop::Filters& filters() { return guarded_; }
  std::string reports() const { return reports_.last(); }
  source::SourceThread& source() { return thread_; }
  filter::Trial& trial() { return questions_.trial(); }

 private:
  filter::Questions questions_;
  typename Shop::Filters guarded_;
  std::vector<source::Target> targets_;
  Reports reports_;
  source::SourceThread thread_;
};

template <class Shop>
class FleetExactness : public Shop::Fixture {
 protected:
  using Builder = RunningBuilder<Shop>;
  using Follower = RunningFollower<Shop>;
  using Shop::Fixture::server_;

  static constexpr milliseconds kCurrentWithin{30'000};
  static constexpr milliseconds kForgottenWithin{2000};

  void prepare() override { Shop::create(*server_); }
  void TearDown() override {
    followers_.clear();
    builders_.clear();
  }

  void start_builder(const std::string& name) {
    builders_[name].reset();  // no two have its folder at a time
    builders_[name] = std::make_unique<Builder>(*server_, fleet_, name);
  }
  void start_follower(std::size_t n) {
    followers_[n].reset();
    followers_[n] = std::make_unique<Follower>(fleet_);
  }
  void start_all() {
    start_builder("one");
    start_builder("two");
    start_follower(0);
    start_follower(1);
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
    std::vector<std::string> found;
    const auto compare = [&](auto& guard, const std::string& who) {
      if (!eventually([&] { return guard.is_proven_since(stopped); }, kCurrentWithin)) {
        found.push_back(who + " does not become current");
        return;
      }
      std::vector<std::string> its;
      (void)eventually(
          [&] { return (its = Shop::differences(guard.filters(), server_->session())).empty(); },
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

  // What it was.
  std::string befall(unsigned choice) {
    RedisServer& redis = fleet_.redis;
    switch (choice) {
      case 0:
        start_builder("one");
        return "builder_one";
      case 1:
        start_builder("two");
        return "builder_two";
      case 2:
        redis.call({"FLUSHALL"});
        return "flushed";
      case 3:
        redis.kill();
        redis.start_again();  // with nothing
        return "redis_killed";
      case 4:
        redis.call({"DEL", "{fleet:shop}:manifest"});
        return "manifest_lost";
      case 5:
        redis.call({"XTRIM", "{fleet:shop}:log", "MAXLEN", "1"});
        return "log_trimmed";
      case 6:
        redis.call({"HSET", "{fleet:shop}:meta", "epoch", "9"});
        return "epoch";
      default:
        start_follower(1);
        return "follower";
    }
  }

  Fleet fleet_;
  std::map<std::string, std::unique_ptr<Builder>> builders_;
  std::map<std::size_t, std::unique_ptr<Follower>> followers_;
};

class Names {
 public:
  template <class Shop>
  static std::string GetName(int /*number*/) {
    return std::is_same_v<Shop, SqlShop> ? "sql" : "postgres";
  }
};
using Shops = testing::Types<SqlShop, PostgresShop>;
TYPED_TEST_SUITE(FleetExactness, Shops, Names);

TYPED_TEST(FleetExactness, at_every_quiet_point_each_followers_filter_is_the_table) {
  const std::uint32_t seed = seed_of_this_run();
  const unsigned rounds = rounds_of_this_run(2);
  typename TypeParam::Application application(*this->server_, seed, 3);
  typename TypeParam::Chaos chaos(*this->server_, application, seed);
  this->fleet_.has_files = seed % 2 == 1;
  this->start_all();
  ASSERT_THAT(this->differences(), IsEmpty()) << this->reports();
  const Asker asker(this->followers_.at(0)->filters());
  std::map<std::string, unsigned> befallen;
  unsigned wrong = 0;
  unsigned round = 0;
  for (; round < rounds && wrong == 0; ++round) {
    for (unsigned left = 1 + chaos.pick(4); left > 0; --left) {
      ASSERT_TRUE(chaos.let_write(50 + chaos.pick(300)))
          << TypeParam::in_the_way(application) << this->reports();
      if (chaos.pick(2) == 0) {
        ++befallen[this->befall(chaos.pick(8))];
      } else {
        chaos.happen();
      }
    }
    application.pause();
    const auto found = this->differences();
    EXPECT_THAT(found, IsEmpty()) << "round " << round << "\n" << this->reports();
    wrong += found.empty() ? 0 : 1;
  }
  EXPECT_EQ(asker.hidden(), 0U);
  befallen.insert(chaos.counts().begin(), chaos.counts().end());
  std::string happened;
  for (const auto& [name, count] : befallen) {
    happened += " " + name + "=" + std::to_string(count);
  }
  std::printf(
      "exactness_fleet: server=%s snapshots=%s seed=%u rounds=%u wrong=%u transactions=%llu%s\n",
      TypeParam::name(*this->server_),
      this->fleet_.has_files ? "http" : "redis",
      seed,
      round,
      wrong,
      static_cast<unsigned long long>(application.transactions()),
      happened.c_str());
}

TYPED_TEST(FleetExactness, a_follower_that_comes_back_needs_only_the_log_behind_what_it_has_kept) {
  this->fleet_.redis.call({"ACL", "SETUSER", "reader", "on", "nopass", "+@all", "~*"});
  this->start_builder("one");
  const source::StorageDirectory storage = this->fleet_.storage("kept");
  const auto start = [&] {
    this->followers_[0].reset();  // waits for the disk
    this->followers_[0] =
        std::make_unique<RunningFollower<TypeParam>>(this->fleet_, &storage, "reader");
  };
  start();
  ASSERT_THAT(this->differences(), IsEmpty());
  this->followers_[0].reset();
  this->run(TypeParam::kInsert);
  this->fleet_.redis.call({"ACL", "SETUSER", "reader", "resetkeys", "~{fleet:shop}:[^p]*"});
  start();
  EXPECT_THAT(this->differences(), IsEmpty()) << "it has tried to read a piece";
}

// As when it grows, or wastes room.
TYPED_TEST(FleetExactness, filters_are_built_again_while_followers_go_on) {
  this->start_builder("one");
  this->start_follower(0);
  ASSERT_THAT(this->differences(), IsEmpty());
  auto& follower = *this->followers_.at(0);
  const std::string reports = follower.reports();
  const filter::LiveFilter& users = follower.filters().live(0);
  const filter::CuckooFilter* const filter = users.current();
  const auto snapshots = [&] {
    const std::string reply = this->fleet_.redis.call({"GET", "{fleet:shop}:manifest"});
    const std::size_t begins = reply.find("\r\n") + 2;
    const std::string bytes = reply.substr(begins, reply.size() - begins - 2);
    const auto manifest = fleet::read_manifest(bytes, this->fleet_.keys.verifying());
    std::set<std::string> names;
    for (const auto& snapshot : manifest ? manifest->snapshots : std::vector<fleet::Snapshot>()) {
      names.insert(snapshot.name);
    }
    return names;
  };
  const auto before = snapshots();
  this->builders_.at("one")->filters().live(0).ask_for_rebuild();
  ASSERT_TRUE(eventually([&] { return snapshots() != before; }, this->kCurrentWithin)) << reports;
  this->run(TypeParam::kInsert);
  follower.filters().live(0).ask_for_rebuild();
  ASSERT_TRUE(eventually([&] { return users.current() != filter; }, this->kCurrentWithin));
  EXPECT_THAT(this->differences(), IsEmpty());
  EXPECT_EQ(follower.reports(), reports) << "in no moment keys passed";
}

TYPED_TEST(FleetExactness, what_was_changed_is_tried_by_one_before_all_believe_it) {
  this->fleet_.canary = milliseconds(500);
  this->start_builder("one");
  this->start_follower(0);
  this->start_follower(1);
  ASSERT_THAT(this->differences(), IsEmpty());
  this->server_->session().run(TypeParam::kChange);
  auto& one = *this->followers_.at(0);
  auto& other = *this->followers_.at(1);
  ASSERT_TRUE(
      eventually([&] { return one.trial().is_on || other.trial().is_on; }, this->kCurrentWithin))
      << this->reports();
  auto& trying = one.trial().is_on ? one : other;
  auto& waiting = one.trial().is_on ? other : one;
  trying.trial().compared = 1000;
  trying.trial().hidden = 1;
  const auto says = [](const auto& guard, std::string_view what) {
    return eventually([&] { return guard.reports().contains(what); });
  };
  EXPECT_TRUE(says(waiting, "other followers test the new version first")) << this->reports();
  EXPECT_TRUE(says(*this->builders_.at("one"), "it is not promoted")) << this->reports();
  EXPECT_TRUE(trying.trial().is_on);
  EXPECT_FALSE(waiting.trial().is_on);
  EXPECT_FALSE(waiting.is_proven_since(now() - milliseconds(100)));
  trying.trial().hidden = 0;
  EXPECT_THAT(this->differences(), IsEmpty()) << this->reports();
  EXPECT_TRUE(eventually([&] { return !trying.trial().is_on; }));
}

TYPED_TEST(FleetExactness, a_follower_says_when_it_has_reached_a_position_of_the_database) {
  this->start_builder("one");
  this->start_follower(0);
  ASSERT_THAT(this->differences(), IsEmpty()) << this->reports();
  const auto& source = this->followers_.at(0)->source();
  EXPECT_EQ(source.reached("no position"), source::Reached::not_a_position);
  this->run(TypeParam::kInsert);
  const std::string position =
      this->server_->session().value(TypeParam::position_sql(*this->server_));
  EXPECT_TRUE(eventually([&] { return source.reached(position) == source::Reached::yes; }))
      << source.status().position;
}

}  // namespace
}  // namespace cuckooguard::harness
