// A namespace is guarded by the Bloom filter that its application keeps in Redis, and by no
// database: what the application has added passes, within max_lag of when it was added; whatever
// becomes of the filter, nothing is hidden that is in it.

#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/bloom_positions.h"
#include "harness/configuration.h"
#include "harness/deadline.h"
#include "harness/guard_process.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kBits = 1'000'000;
constexpr std::uint64_t kMembers = 1000;
constexpr milliseconds kLag{400};

std::string namespaces() {
  return "  users: { keys: \"user:{id:uint64}\", source: { from: shop }, mode: enforce, "
         "absent_reply: \"bytes:__ABSENT__\", overlay: { pass_at_start: false }, commands: { key: "
         "users } }\n";
}

class BloomSource : public testing::Test {
 protected:
  static constexpr const char* kGoZero =
      "type: bloom, format: go-zero, key: \"bloom:users\", bits: 1000000, max_lag: 400ms";

  void start(const std::string& source, const std::string& more = "") {
    guard_.emplace(GuardProcess::on_port(yaml(source, more)));
    client_.emplace(guard_->client());
  }
  std::string yaml(const std::string& source, const std::string& more = "") const {
    return Configuration{.upstream = "{ address: \"" + redis_.address() + "\"" + more + " }",
                         .source = source,
                         .namespaces = namespaces(),
                         .more = "admin: { operators: [default] }\n"}
        .yaml();
  }

  // As the application does it, which the guard does not see.
  void set(const std::string& key, const Positions& positions) const {
    std::string all;
    for (const std::uint64_t bit : positions) {
      all += command({"SETBIT", key, std::to_string(bit), "1"});
    }
    RawClient client = redis_.client();
    client.exchange(all, positions.size());
  }
  void add(std::uint64_t id, const std::string& key = "bloom:users") const {
    set(key, go_zero_positions(std::to_string(id), kBits));
  }
  void fill(const std::string& key = "bloom:users", std::uint64_t members = kMembers) const {
    Positions all;
    for (std::uint64_t id = 0; id < members; ++id) {
      const Positions positions = go_zero_positions(std::to_string(id), kBits);
      all.insert(all.end(), positions.begin(), positions.end());
    }
    set(key, all);
  }

  bool is_absent(std::uint64_t id) {
    return client_->call({"GET", "user:" + std::to_string(id)}) == kAnswer;
  }
  // Of what nobody has ever added.
  bool answers() { return is_absent(123'456'789'012); }
  bool comes_to_answer() {
    return eventually([this] { return answers(); });
  }
  bool comes_to_pass() {
    return eventually([this] { return !answers(); });
  }
  void expect_members_pass() {
    for (std::uint64_t id = 0; id < kMembers; ++id) {
      ASSERT_FALSE(is_absent(id)) << id;
    }
  }
  std::string field(const std::string& name) const { return info_field(*guard_, "users", name); }

  // How long after now a question was sent last that was answered "absent".
  milliseconds answered_absent(std::uint64_t id) {
    const auto then = SteadyClock::now();
    milliseconds last{0};
    (void)eventually([&] {
      const auto asked = std::chrono::duration_cast<milliseconds>(SteadyClock::now() - then);
      const bool is_absent_now = is_absent(id);
      last = is_absent_now ? asked : last;
      return !is_absent_now;
    });
    return last;
  }

  RedisServer redis_;
  std::optional<GuardProcess> guard_;
  std::optional<RawClient> client_;
};

TEST_F(BloomSource, members_of_go_zero_pass_and_others_are_absent) {
  fill();
  start(kGoZero);
  ASSERT_TRUE(comes_to_answer()) << guard_->log();
  expect_members_pass();
  for (std::uint64_t id = 1'000'000; id < 1'001'000; ++id) {
    ASSERT_TRUE(is_absent(id)) << id;
  }
  EXPECT_EQ(field("filter_format"), "go-zero");
  EXPECT_EQ(field("filter_hashes"), "14");
  EXPECT_EQ(":" + field("filter_bytes") + "\r\n", redis_.call({"STRLEN", "bloom:users"}));
  EXPECT_NEAR(std::stod(field("items")), kMembers, 20);
  EXPECT_EQ(guard_->call({"BF.EXISTS", "users", "7"}), ":1\r\n");
  EXPECT_EQ(guard_->call({"BF.EXISTS", "users", "1000000"}), ":0\r\n");
}

TEST_F(BloomSource, what_is_added_passes_within_max_lag) {
  fill();
  start(kGoZero);
  ASSERT_TRUE(comes_to_answer()) << guard_->log();
  for (std::uint64_t id = 2'000'000; id < 2'000'010; ++id) {
    ASSERT_TRUE(eventually([&] { return is_absent(id); })) << id;
    add(id);
    EXPECT_LE(answered_absent(id), kLag) << id;
    EXPECT_TRUE(eventually([&] { return answers() && !is_absent(id); })) << id;
  }
}

TEST_F(BloomSource, a_filter_that_changes_all_the_time_stays_current) {
  fill();
  start(kGoZero);
  ASSERT_TRUE(comes_to_answer()) << guard_->log();
  std::size_t answered = 0;
  for (std::uint64_t id = 3'000'000; id < 3'002'000; ++id) {
    add(id);
    answered += answers() ? 1 : 0;
  }
  EXPECT_GT(answered, 1800U) << "without a gap; " << guard_->log();
  EXPECT_LE(answered_absent(3'001'999), kLag);
}

// Without the right to WATCH it is read again each time.
TEST_F(BloomSource, where_changes_cannot_be_seen_it_is_read_again) {
  redis_.call({"ACL", "SETUSER", "guard", "on", ">word", "~*", "+@all", "-watch"});
  fill();
  start(kGoZero, ", control: { username: guard, password: word }");
  ASSERT_TRUE(comes_to_answer()) << guard_->log();
  add(2'000'000);
  EXPECT_LE(answered_absent(2'000'000), kLag);
  EXPECT_TRUE(comes_to_answer());
  EXPECT_FALSE(is_absent(2'000'000));
}

TEST_F(BloomSource, without_its_key_everything_passes) {
  start(kGoZero);
  ASSERT_TRUE(eventually([&] { return field("state") == "refused"; })) << guard_->log();
  EXPECT_THAT(field("why"), HasSubstr("Redis has no filter at the key bloom:users in db 0"));
  EXPECT_FALSE(answers());
  fill();
  EXPECT_TRUE(eventually([&] { return field("why").contains("may still be filling"); }));
  ASSERT_TRUE(comes_to_answer()) << "once it has stood still for a while; " << guard_->log();
  expect_members_pass();
  redis_.call({"DEL", "bloom:users"});
  EXPECT_TRUE(comes_to_pass());
  fill();
  ASSERT_TRUE(comes_to_answer()) << "with as many bits it counts again; " << guard_->log();
  redis_.call({"FLUSHALL"});
  EXPECT_TRUE(comes_to_pass());
}

TEST_F(BloomSource, what_is_filled_anew_passes_until_it_is_whole_or_an_operator_says_so) {
  fill();
  start(kGoZero);
  ASSERT_TRUE(comes_to_answer()) << guard_->log();
  redis_.call({"DEL", "bloom:users"});
  add(1);
  ASSERT_TRUE(eventually([&] { return field("state") == "loading"; })) << field("why");
  EXPECT_THAT(field("why"), HasSubstr("14 bits set, previously"));
  EXPECT_FALSE(answers());
  const auto asked = SteadyClock::now();
  EXPECT_EQ(guard_->call({"GUARD.REBUILD", "users"}), kOk);
  EXPECT_TRUE(comes_to_answer()) << field("why");
  EXPECT_LT(SteadyClock::now() - asked, std::chrono::seconds(8)) << "it need not stand still";
  EXPECT_FALSE(is_absent(1));
}

TEST_F(BloomSource, another_number_of_bits_is_refused) {
  fill();
  start("type: bloom, format: go-zero, key: \"bloom:users\", bits: 900000, max_lag: 400ms");
  ASSERT_TRUE(eventually([&] { return field("state") == "refused"; })) << guard_->log();
  EXPECT_THAT(field("why"), HasSubstr("it was created with another number of bits"));
  EXPECT_FALSE(answers());
  guard_->set_configuration(
      yaml("type: bloom, format: go-zero, key: \"bloom:users\", bits: 1200000, max_lag: 400ms"));
  guard_->send_signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return field("why").contains("it was created with fewer bits"); }))
      << field("why");
  EXPECT_FALSE(answers());
  guard_->set_configuration(yaml(kGoZero));
  guard_->send_signal(SIGHUP);
  EXPECT_TRUE(comes_to_answer()) << guard_->log();
}

TEST_F(BloomSource, what_is_no_string_is_refused) {
  redis_.call({"SADD", "bloom:users", "7"});
  start(kGoZero);
  ASSERT_TRUE(eventually([&] { return field("state") == "refused"; })) << guard_->log();
  EXPECT_THAT(field("why"), HasSubstr("WRONGTYPE"));
}

TEST_F(BloomSource, a_redis_that_comes_back_empty_lets_everything_pass) {
  fill();
  start(kGoZero);
  ASSERT_TRUE(comes_to_answer()) << guard_->log();
  redis_.kill();
  redis_.start_again();
  client_.emplace(guard_->client());
  ASSERT_TRUE(eventually([&] { return field("state") == "refused"; })) << guard_->log();
  EXPECT_FALSE(answers());
  fill();
  EXPECT_TRUE(comes_to_answer()) << guard_->log();
}

// It may lack what its master has.
TEST_F(BloomSource, a_replica_is_refused) {
  fill();
  start(kGoZero);
  ASSERT_TRUE(comes_to_answer()) << guard_->log();
  const RedisServer master;
  redis_.call({"REPLICAOF", "127.0.0.1", std::to_string(master.port())});
  ASSERT_TRUE(eventually([&] { return field("state") == "refused"; })) << guard_->log();
  EXPECT_THAT(field("why"), HasSubstr("Redis is a replica"));
  EXPECT_FALSE(answers());
}

TEST_F(BloomSource, redisson_tells_its_shape_itself) {
  const auto put = [this](std::uint64_t id) {
    set("users", redisson_positions(std::to_string(id), kBits, 7));
  };
  const auto config = [this](const std::string& size) {
    redis_.call({"HSET",
                 "{users}:config",
                 "size",
                 size,
                 "hashIterations",
                 "7",
                 "expectedInsertions",
                 "100000",
                 "falseProbability",
                 "0.01"});
  };
  start("type: bloom, format: redisson, key: users, max_lag: 400ms");
  ASSERT_TRUE(eventually([&] { return field("state") == "refused"; })) << guard_->log();
  EXPECT_THAT(field("why"), HasSubstr("{users}:config lacks size"));
  config("1000000");
  for (std::uint64_t id = 0; id < kMembers; ++id) {
    put(id);
  }
  ASSERT_TRUE(comes_to_answer()) << guard_->log();
  expect_members_pass();
  ASSERT_TRUE(is_absent(2'000'000));
  put(2'000'000);
  EXPECT_LE(answered_absent(2'000'000), kLag);
  config("500000");
  EXPECT_TRUE(comes_to_pass()) << "a bitmap that is larger than its size";
}

TEST_F(BloomSource, guava_bits_in_redis_are_read) {
  for (std::uint64_t id = 0; id < kMembers; ++id) {
    set("bloom:users", guava_positions(std::to_string(id), kBits, 5));
  }
  start(
      "type: bloom, format: guava-bitmap, key: \"bloom:users\", bits: 1M, hashes: 5, "
      "max_lag: 400ms");
  ASSERT_TRUE(comes_to_answer()) << guard_->log();
  expect_members_pass();
  EXPECT_EQ(field("filter_format"), "guava-bitmap");
}

}  // namespace
}  // namespace cuckooguard::harness
