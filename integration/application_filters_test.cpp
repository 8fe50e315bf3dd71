// Filters that applications fill, in front of a Redis that knows no such commands.

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/skip.h"
#include "harness/admin_client.h"
#include "harness/certificates.h"
#include "harness/deadline.h"
#include "harness/guard_process.h"
#include "harness/ports.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace json = boost::json;

constexpr std::string_view kYes = ":1\r\n";
constexpr std::string_view kNo = ":0\r\n";

class ApplicationFilters : public testing::TestWithParam<std::string_view> {
 protected:
  ApplicationFilters() { wait_until_it_answers(guard_); }
  std::string secret() const {
    const std::string path = folder_.file("secret");
    std::ofstream(path) << "a secret of this test alone\n";
    return path;
  }
  std::string configuration(const std::string& storage) const {
    return "upstream: " + redis_.address() +
           "\n"
           "storage: { directory: '" +
           folder_.file(storage) +
           "' }\n"
           "filters:\n"
           "  named: { seen: {}, ids: { kind: cuckoo, deletes: exact } }\n"
           "  allow_reserve: [ 'bf:{name}', 'cf:{name}' ]\n"
           "  dedupe: { keys: '{spider}:dupefilter' }\n"
           "  durability: " +
           std::string(GetParam()) +
           "\n"
           "  secret_file: '" +
           secret() + "'\n";
  }
  // Who asks is known, and what Redis has is here.
  static void wait_until_it_answers(const GuardProcess& guard) {
    ASSERT_TRUE(eventually([&] { return guard.call({"BF.EXISTS", "seen", "never"}) == kNo; }))
        << guard.log();
  }

  TemporaryDirectory folder_;
  RedisServer redis_;
  GuardProcess guard_ = GuardProcess::on_port(configuration("kept"));
};

INSTANTIATE_TEST_SUITE_P(Kept,
                         ApplicationFilters,
                         testing::Values("local", "redis"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(ApplicationFilters, python_redis_has_its_classes_answered) {
  const std::string python = "/usr/bin/python3";
  SKIP_IF_MISSING(missing_packages("python3-redis", {python, "-c", "import redis"}));
  const Ended ended = run_program({python,
                                   std::string(CUCKOOGUARD_CLIENTS) + "/python_filters.py",
                                   std::to_string(guard_.port())});
  ASSERT_EQ(ended.exit_code, 0) << ended.standard_error;
  EXPECT_EQ(ended.standard_output, "42\n");
}

TEST_P(ApplicationFilters, are_there_after_a_restart) {
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(guard_.call({"BF.ADD", "seen", std::to_string(i)}), kYes);
  }
  ASSERT_EQ(guard_.call({"SADD", "x:dupefilter", "a"}), kYes);
  guard_.restart(configuration("kept"));
  wait_until_it_answers(guard_);
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(guard_.call({"BF.ADD", "seen", std::to_string(i)}), kNo) << i;
  }
  EXPECT_EQ(guard_.call({"SADD", "x:dupefilter", "a"}), kNo);
  EXPECT_EQ(guard_.call({"SCARD", "x:dupefilter"}), kYes);
}

TEST_P(ApplicationFilters, replies_come_in_the_order_of_commands) {
  std::string commands;
  std::string replies;
  for (int id = 1; id <= 300; ++id) {
    const std::string text = std::to_string(id);
    commands += command({"SET", "other:" + text, text}) + command({"BF.ADD", "seen", text}) +
                command({"GET", "other:" + text}) + command({"BF.ADD", "seen", text}) +
                command({"BF.EXISTS", "seen", text});
    replies += "+OK\r\n" + std::string(kYes) + bulk(text) + std::string(kNo) + std::string(kYes);
  }
  RawClient client = guard_.client();
  EXPECT_EQ(client.exchange(commands, 1500), replies);
}

TEST_P(ApplicationFilters, what_cannot_be_answered_is_no_command_of_redis) {
  RawClient client = guard_.client();
  EXPECT_EQ(client.call({"MULTI"}), "+OK\r\n");
  EXPECT_THAT(client.call({"BF.ADD", "seen", "7"}),
              StartsWith("-ERR 'bf.add' of a filter of the guard is not allowed inside MULTI"));
  EXPECT_THAT(client.call({"EXEC"}), StartsWith("-EXECABORT"));
  EXPECT_THAT(client.call({"BF.ADD", "other", "7"}), StartsWith("-ERR unknown command 'BF.ADD'"));
  EXPECT_EQ(client.call({"BF.ADD", "seen", "7"}), kYes) << "the connection goes on";
}

TEST_P(ApplicationFilters, are_for_users_who_may_do_everything_and_nobody_else) {
  redis_.call({"ACL", "SETUSER", "ann", "on", ">word", "~*", "+get"});
  RawClient client = guard_.client();
  EXPECT_EQ(client.call({"AUTH", "ann", "word"}), "+OK\r\n");
  EXPECT_TRUE(
      eventually([&] { return client.call({"BF.ADD", "seen", "1"}).starts_with("-NOPERM "); }));
  EXPECT_EQ(guard_.call({"BF.EXISTS", "seen", "1"}), kNo);
}

// The same pages as with a set of Redis's, which is not there.
TEST_P(ApplicationFilters, scrapy_crawls_as_with_a_set) {
  const std::string python = "/usr/bin/python3";
  SKIP_IF_MISSING(
      missing_packages("python3-scrapy python3-redis", {python, "-c", "import redis, scrapy"}));
  const auto crawl = [&](std::uint16_t port) {
    const Ended ended = run_program({python,
                                     std::string(CUCKOOGUARD_CLIENTS) + "/scrapy_crawl.py",
                                     std::to_string(port),
                                     "200"});
    EXPECT_EQ(ended.exit_code, 0) << ended.standard_error;
    return ended.standard_output;
  };
  const std::string with_set = crawl(redis_.port());
  EXPECT_EQ(with_set,
            "{\"fetched\": 200, \"twice\": 0, \"members\": 200, \"deleted\": 1, \"left\": 0}\n");
  const std::uint64_t asked = redis_.calls("sadd");
  EXPECT_GT(asked, 200U);
  EXPECT_EQ(crawl(guard_.port()), with_set);
  EXPECT_EQ(redis_.calls("sadd"), asked);
}

// The same numbers wherever an operator looks.
TEST_P(ApplicationFilters, are_shown_to_operators) {
  guard_.restart(configuration("kept") + std::string(kAdmin));
  wait_until_it_answers(guard_);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(guard_.call({"BF.ADD", "seen", std::to_string(i)}), kYes);
  }
  ASSERT_EQ(guard_.call({"CF.ADD", "cf:<b>", "1"}), kYes);
  ASSERT_EQ(guard_.call({"EXPIRE", "cf:<b>", "100"}), kYes);
  const AdminClient admin(guard_);
  ASSERT_EQ(admin.post("/-/reload", "").status, 200);
  const json::object all =
      json::parse(admin.get("/status").body).as_object().at("filters").as_object();
  EXPECT_EQ(all.at("count"), 2);
  EXPECT_EQ(all.at("items"), 4);
  EXPECT_EQ(std::string(all.at("durability").as_string()), GetParam());
  EXPECT_EQ(all.at("ready"), true);
  EXPECT_EQ(all.at("changes").at("done"), 5);
  const json::array& shown = all.at("shown").as_array();
  ASSERT_EQ(shown.size(), 3U);
  EXPECT_EQ(shown.at(0).at("key"), "seen");
  EXPECT_EQ(shown.at(0).at("items"), 3);
  EXPECT_EQ(shown.at(2).at("key"), "cf:<b>");
  EXPECT_GT(shown.at(2).at("expires_seconds").as_double(), 90.0);
  const std::string metrics = admin.get("/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("\ncuckooguard_application_filter_items 4\n"));
  EXPECT_THAT(metrics, Not(HasSubstr("cf:<b>")));
  const std::string info = guard_.call({"GUARD.INFO"});
  EXPECT_THAT(info, HasSubstr("\r\n# Filters\r\nfilters:2\r\n"));
  const bool has_log = GetParam() == "redis";
  EXPECT_EQ(info.contains("\r\nlog:ready\r\n"), has_log) << info;
  EXPECT_EQ(metrics.contains("\ncuckooguard_application_filter_log_waiting_changes 0\n"), has_log);
  if (has_log) {
    EXPECT_EQ(all.at("log").at("state"), "ready");
    EXPECT_GE(all.at("log").at("seq").to_number<int>(), 5);
    EXPECT_EQ(all.at("log").at("generation").as_string().size(), 32U);
  } else {
    EXPECT_TRUE(all.at("log").is_null());
  }
}

class SharedFilters : public ApplicationFilters {};
INSTANTIATE_TEST_SUITE_P(Kept, SharedFilters, testing::Values("redis"));

TEST_P(SharedFilters, are_the_same_for_all_guards) {
  const GuardProcess other = GuardProcess::on_port(configuration("other"));
  wait_until_it_answers(other);
  EXPECT_EQ(guard_.call({"CF.ADDNX", "ids", "1"}), kYes);
  EXPECT_EQ(other.call({"CF.ADDNX", "ids", "1"}), kNo);
  EXPECT_TRUE(eventually([&] { return other.call({"CF.EXISTS", "ids", "1"}) == kYes; }));
  EXPECT_EQ(other.call({"CF.DEL", "ids", "1"}), kYes);
  EXPECT_EQ(guard_.call({"CF.ADDNX", "ids", "1"}), kYes);
}

TEST_P(ApplicationFilters, are_gone_with_a_flush_of_redis) {
  for (const std::string_view flush : {"FLUSHALL", "FLUSHDB", "flushall"}) {
    ASSERT_EQ(guard_.call({"BF.ADD", "seen", "1"}), kYes) << flush;
    EXPECT_EQ(guard_.call({flush}), "+OK\r\n");
    EXPECT_EQ(guard_.call({"BF.EXISTS", "seen", "1"}), kNo) << guard_.log();
  }
}

TEST_P(SharedFilters, end_with_what_redis_has) {
  EXPECT_EQ(guard_.call({"BF.ADD", "seen", "1"}), kYes);
  EXPECT_EQ(redis_.call({"FLUSHALL"}), "+OK\r\n");
  EXPECT_TRUE(eventually([&] { return guard_.call({"BF.EXISTS", "seen", "1"}) == kNo; }))
      << guard_.log();
}

// What is not known to be missing may be there.
TEST_P(SharedFilters, say_so_while_redis_is_away) {
  EXPECT_EQ(guard_.call({"BF.ADD", "seen", "1"}), kYes);
  redis_.kill();
  EXPECT_TRUE(eventually([&] {
    return guard_.call({"BF.ADD", "seen", "2"}).starts_with("-ERR ") &&
           guard_.call({"SADD", "x:dupefilter", "a"}) == kYes;
  })) << guard_.log();
  EXPECT_TRUE(eventually([&] { return guard_.call({"BF.EXISTS", "seen", "2"}) == kYes; }));
  EXPECT_THAT(guard_.call({"GUARD.INFO"}), HasSubstr("\r\nlog:lost\r\n"));
  redis_.start_again();
  wait_until_it_answers(guard_);
  EXPECT_EQ(guard_.call({"BF.ADD", "seen", "1"}), kYes) << "what Redis has lost is lost";
}

TEST(FiltersOverTls, are_shared_by_guards_that_reach_redis_by_tls_alone) {
  const TemporaryDirectory folder;
  write_certificates(folder.path());
  write_whole_file(folder.file("secret"), "a secret of this test alone\n");
  const std::uint16_t port = free_port();
  RedisServer redis(redis_tls_arguments(folder.path(), port, "no"));
  const std::string configuration = "upstream: { address: '127.0.0.1:" + std::to_string(port) +
                                    "', tls: { ca: '" + folder.file("ca.crt") +
                                    "' } }\n"
                                    "filters:\n"
                                    "  named: { seen: {} }\n"
                                    "  durability: redis\n"
                                    "  secret_file: '" +
                                    folder.file("secret") + "'\n";
  const GuardProcess first = GuardProcess::on_port(configuration);
  const GuardProcess second = GuardProcess::on_port(configuration);
  ASSERT_TRUE(eventually([&] { return first.call({"BF.ADD", "seen", "1"}) == kYes; }))
      << first.log();
  EXPECT_TRUE(eventually([&] { return second.call({"BF.ADD", "seen", "1"}) == kNo; }))
      << second.log();
  EXPECT_EQ(second.call({"BF.EXISTS", "seen", "2"}), kNo);
  EXPECT_EQ(redis.call({"EXISTS", "{cuckooguard:filters}:log"}), kYes);
}

}  // namespace
}  // namespace cuckooguard::harness
