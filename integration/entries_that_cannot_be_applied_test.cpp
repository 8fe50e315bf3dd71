// One entry that cannot be applied stops nobody: a dump of a filter that somebody has made up, or a
// filter that is too large for one of the guards that share it.

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filled/forged_dump.h"
#include "harness/deadline.h"
#include "harness/guard_process.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kYes = ":1\r\n";
constexpr std::string_view kNo = ":0\r\n";

class EntriesThatCannotBeApplied : public testing::TestWithParam<std::string_view> {
 protected:
  bool is_shared() const { return GetParam() == "redis"; }
  std::string configuration(const std::string& name, const std::string& max_memory = "1GiB") const {
    const std::string secret = folder_.file("secret");
    std::ofstream(secret) << "a secret of this test alone\n";
    return "upstream: " + redis_.address() + "\nstorage: { directory: '" + folder_.file(name) +
           "', checkpoint_every: 1s }\n"
           "filters:\n"
           "  named: { seen: {}, coupons: { kind: cuckoo, deletes: exact, capacity: 100 } }\n"
           "  allow_reserve: [ 'bf:{name}', 'cf:{name}' ]\n"
           "  max_memory: " +
           max_memory + "\n  durability: " + std::string(GetParam()) + "\n" +
           (is_shared() ? "  secret_file: '" + secret + "'\n" : "");
  }
  GuardProcess started(const std::string& name, const std::string& max_memory = "1GiB") const {
    auto guard = GuardProcess::on_port(configuration(name, max_memory));
    wait_until_it_answers(guard);
    return guard;
  }
  static void wait_until_it_answers(const GuardProcess& guard) {
    ASSERT_TRUE(eventually([&] { return guard.call({"BF.EXISTS", "seen", "never"}) == kNo; }))
        << guard.log();
  }
  // It says whether items are there, and takes new ones.
  static void expect_to_go_on(const GuardProcess& guard, const std::string& item) {
    EXPECT_EQ(guard.call({"BF.ADD", "seen", item}), kYes) << guard.log();
    EXPECT_EQ(guard.call({"BF.ADD", "seen", item}), kNo);
    EXPECT_EQ(guard.call({"BF.EXISTS", "seen", "never"}), kNo);
  }

  static std::string dump_of(const GuardProcess& guard, std::string_view filter) {
    std::string dump;
    std::string number = "0";
    do {
      const std::string reply = guard.call({"CF.SCANDUMP", filter, number});
      EXPECT_THAT(reply, StartsWith("*2\r\n:"));
      number = reply.substr(5, reply.find('\r', 5) - 5);
      const std::size_t bulk = reply.find("\r\n$") + 3;
      dump += reply.substr(reply.find("\r\n", bulk) + 2, std::stoul(reply.substr(bulk)));
    } while (number != "0");
    return dump;
  }
  // What was replied to the last piece.
  static std::string load(const GuardProcess& guard,
                          std::string_view filter,
                          std::string_view dump) {
    constexpr std::size_t kPiece = std::size_t{48} * 1024;
    std::string reply;
    for (std::size_t at = 0; at < dump.size(); at += kPiece) {
      reply = guard.call(
          {"CF.LOADCHUNK", filter, std::to_string(at / kPiece + 1), dump.substr(at, kPiece)});
    }
    return reply;
  }

  TemporaryDirectory folder_;
  RedisServer redis_;
};

INSTANTIATE_TEST_SUITE_P(Kept,
                         EntriesThatCannotBeApplied,
                         testing::Values("local", "redis"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(EntriesThatCannotBeApplied, a_dump_that_somebody_has_made_up_is_refused_by_all_guards) {
  GuardProcess guard = started("one");
  std::vector<GuardProcess> others;
  if (is_shared()) {
    others.push_back(started("other"));
  }
  EXPECT_EQ(guard.call({"CF.ADD", "coupons", "X"}), kYes);
  const std::string dump = dump_of(guard, "coupons");
  const std::string evil = filled::testing::with_a_hash_twice(dump);
  EXPECT_THAT(load(guard, "cf:evil", evil), StartsWith("-ERR received bad data: "));
  EXPECT_EQ(guard.call({"EXISTS", "cf:evil"}), kNo);
  EXPECT_EQ(load(guard, "cf:good", dump), kOk) << "what a guard has given is taken";
  for (std::string_view filter : {"cf:evil", "cf:good"}) {
    for (int i = 0; i < 255; ++i) {
      guard.call({"CF.DEL", filter, "X"});
    }
    EXPECT_EQ(guard.call({"CF.ADD", filter, "X"}), kYes);
  }
  expect_to_go_on(guard, "1");
  for (const GuardProcess& other : others) {
    ASSERT_TRUE(eventually([&] { return other.call({"CF.COUNT", "cf:evil", "X"}) == kYes; }));
    expect_to_go_on(other, "2");
    EXPECT_EQ(other.call({"CF.COUNT", "cf:good", "X"}), kYes);
    EXPECT_THAT(other.log(), Not(HasSubstr("filters_trouble")));
  }
  EXPECT_THAT(guard.log(), Not(HasSubstr("filters_trouble")));
  guard.restart(configuration("one"));
  wait_until_it_answers(guard);
  expect_to_go_on(guard, "3");
}

// Checksums are right in each of these, and the secret's name.
TEST_P(EntriesThatCannotBeApplied, a_dump_without_its_tag_is_refused_and_the_error_says_why) {
  const GuardProcess guard = started("one");
  EXPECT_EQ(guard.call({"CF.ADD", "cf:a", "X"}), kYes);
  const std::string dump = dump_of(guard, "cf:a");
  const auto edited = [&](const auto& edit) {
    return load(guard, "cf:b", filled::testing::forged(dump, edit));
  };
  using filled::testing::ForgedLayer;
  EXPECT_THAT(edited([](ForgedLayer& layer) { layer.header.stale = 1; }),
              HasSubstr("not created by a guard with this secret"));
  EXPECT_THAT(edited([](ForgedLayer& layer) {
                layer.header.position = {};
                layer.header.position_bytes = 0;
              }),
              HasSubstr("older version of the guard"));
  EXPECT_EQ(edited([](ForgedLayer& /*layer*/) {}), kOk) << "it is as it was";
  EXPECT_EQ(guard.call({"CF.EXISTS", "cf:b", "X"}), kYes);
}

TEST_P(EntriesThatCannotBeApplied, a_filter_that_is_too_large_for_one_guard_is_no_end_of_its_log) {
  const GuardProcess large = started("large");
  GuardProcess small = started("small", "2MiB");
  if (!is_shared()) {
    EXPECT_THAT(small.call({"BF.RESERVE", "bf:large", "0.001", "4000000"}),
                HasSubstr("filters.max_memory"));
    expect_to_go_on(small, "1");
    return;
  }
  EXPECT_EQ(large.call({"BF.RESERVE", "bf:large", "0.001", "4000000"}), kOk);
  EXPECT_EQ(large.call({"BF.ADD", "bf:large", "1"}), kYes);
  EXPECT_EQ(large.call({"BF.EXISTS", "bf:large", "2"}), kNo);
  ASSERT_TRUE(eventually([&] { return small.call({"BF.EXISTS", "bf:large", "2"}) == kYes; }));
  expect_to_go_on(small, "1");
  EXPECT_THAT(small.call({"BF.ADD", "bf:large", "3"}), HasSubstr("max_memory"));
  EXPECT_THAT(small.call({"BF.CARD", "bf:large"}), HasSubstr("max_memory"));
  EXPECT_THAT(small.call({"GUARD.INFO"}), HasSubstr("\r\nunsure:1\r\n"));
  EXPECT_TRUE(eventually([&] { return large.call({"BF.EXISTS", "bf:large", "3"}) == kYes; }));
  small.restart(configuration("small", "2MiB"));
  wait_until_it_answers(small);
  EXPECT_EQ(small.call({"BF.EXISTS", "bf:large", "2"}), kYes);

  EXPECT_EQ(small.call({"DEL", "bf:large"}), kYes);
  EXPECT_EQ(small.call({"BF.EXISTS", "bf:large", "2"}), kNo);
  expect_to_go_on(small, "2");
  ASSERT_TRUE(eventually([&] {
    return std::stoul(info_field(large.call({"GUARD.INFO"}), "log_snapshot_seq")) > 0 &&
           info_field(small.call({"GUARD.INFO"}), "log_rereads") == "1" &&
           small.call({"BF.EXISTS", "seen", "never"}) == kNo;
  })) << "it has what the others have, by a snapshot: "
      << small.log();
  EXPECT_EQ(small.call({"BF.ADD", "seen", "2"}), kNo);
  EXPECT_THAT(large.log(), Not(HasSubstr("filters_trouble")));
}

}  // namespace
}  // namespace cuckooguard::harness
