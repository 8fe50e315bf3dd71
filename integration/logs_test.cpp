// What the guard says by itself: a few lines at the start, nothing while all is well, one line per
// event whatever clients send, no keys unless they are wanted.

#include <csignal>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/guard_process.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

std::vector<std::string> lines_of(const std::string& log) {
  std::vector<std::string> lines;
  std::istringstream text(log);
  for (std::string line; std::getline(text, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::size_t count_of(const std::vector<std::string>& lines, const std::string& what) {
  return static_cast<std::size_t>(std::ranges::count_if(
      lines, [&what](const std::string& line) { return line.contains(what); }));
}

class Logs : public testing::Test {
 protected:
  // Loaded, answering, and all that a start says has been said.
  static void wait_until_started(Shop& shop, const std::string& up) {
    shop.wait_until_it_answers();
    ASSERT_TRUE(eventually([&] { return shop.guard().log().contains(up); })) << shop.guard().log();
    ASSERT_TRUE(eventually([&] { return info_field(shop.guard(), "tags", "fresh") == "1"; }));
  }
};

TEST_F(Logs, an_attack_is_said_when_it_begins_once_and_with_its_keys) {
  Shop shop;
  wait_until_started(shop, "event=upstream_up");
  RawClient client = shop.client();
  for (std::uint64_t n = 0; n < 40; ++n) {
    client.call({"GET", absent_user(n)});
  }
  EXPECT_EQ(info_field(shop.guard(), "users", "attack"), "0") << "40 in 5 s are none";
  for (std::uint64_t n = 0; n < 4000; ++n) {
    client.call({"GET", absent_user(n)});
  }
  ASSERT_TRUE(eventually([&] { return info_field(shop.guard(), "users", "attack") == "1"; }));
  EXPECT_EQ(info_field(shop.guard(), "tags", "attack"), "0");
  ASSERT_TRUE(eventually([&] { return shop.guard().log().contains("event=attack_began"); }));
  const std::vector<std::string> lines = lines_of(shop.guard().log());
  EXPECT_THAT(lines,
              Contains(MatchesRegex(".* warning event=attack_began namespace=users "
                                    "per_second=[0-9]+ tolerate=0 mode=enforce "
                                    "keys=.*user:.id:uint64.*")));
  EXPECT_EQ(count_of(lines, "event=attack_"), 1U);
}

TEST_F(Logs, a_healthy_guard_says_what_it_does_and_then_nothing) {
  Shop shop;
  wait_until_started(shop, "event=upstream_up");
  const std::string started = shop.guard().log();
  const std::vector<std::string> lines = lines_of(started);
  // The one warning is true where these tests run in a container: they listen on 127.0.0.1.
  const std::size_t warnings = count_of(lines, " warning event=loopback_in_container ");
  EXPECT_LE(warnings, 1U) << started;
  for (const std::string& line : lines) {
    if (line.contains("event=loopback_in_container")) {
      continue;
    }
    EXPECT_THAT(line,
                MatchesRegex("[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+\\.[0-9]+Z info event=.+"));
  }
  EXPECT_EQ(count_of(lines, "event=starting version="), 1U) << started;
  EXPECT_EQ(count_of(lines, "event=namespace namespace="), 2U) << started;
  EXPECT_EQ(count_of(lines, "event=listening address="), 1U) << started;
  EXPECT_EQ(count_of(lines, "event=loaded namespace="), 2U) << started;
  EXPECT_LE(lines.size() - warnings, 12U) << started;

  for (int round = 0; round < 20; ++round) {
    RawClient client = shop.client();
    for (std::uint64_t n = 0; n < 50; ++n) {
      client.call({"GET", user(n + 1)});
      if (n < 2) {  // 40 in all: more would be an attack
        client.call({"GET", absent_user(n)});
      }
      client.call({"SET", absent_user(n), "x"});
      client.call({"NONSENSE"});
    }
    client.send("*bad\r\n");
  }
  EXPECT_EQ(shop.guard().log(), started);
}

// Once each, however often it is tried again.
void expect_that_redis_is_missed(RedisServer& redis, const GuardProcess& guard) {
  const auto has = [&guard](const std::string& event, std::size_t times) {
    return eventually([&] { return count_of(lines_of(guard.log()), "event=" + event) == times; });
  };
  ASSERT_TRUE(has("upstream_up", 1)) << guard.log();
  ASSERT_EQ(::kill(redis.pid(), SIGSTOP), 0);
  EXPECT_TRUE(has("upstream_down why=\"no reply within 2 s\"", 1)) << guard.log();
  ASSERT_EQ(::kill(redis.pid(), SIGCONT), 0);
  EXPECT_TRUE(has("upstream_up", 2)) << guard.log();
  redis.kill();
  EXPECT_TRUE(has("upstream_down", 2)) << guard.log();
  redis.start_again();
  EXPECT_TRUE(has("upstream_up", 3)) << guard.log();
  EXPECT_TRUE(has("upstream_down", 2)) << guard.log();
}

TEST_F(Logs, a_redis_that_hangs_or_is_killed_is_said_once_and_so_is_that_it_is_back) {
  Shop shop;
  wait_until_started(shop, "event=upstream_up");
  expect_that_redis_is_missed(shop.redis(), shop.guard());
}

TEST_F(Logs, a_guard_without_namespaces_says_so_too) {
  RedisServer redis({"--requirepass", "word"}, "word");
  const GuardProcess guard =
      GuardProcess::on_port("upstream: { address: \"" + redis.address() + "\" }\n");
  expect_that_redis_is_missed(redis, guard);
  EXPECT_EQ(count_of(lines_of(guard.log()), "event=control_"), 0U) << "it asks for nothing else";
}

TEST_F(Logs, json_is_one_object_per_line) {
  Shop shop({.more = "log: { format: json }\n"});
  wait_until_started(shop, R"("event":"upstream_up")");
  shop.guard().send_signal(SIGTERM);
  EXPECT_EQ(shop.guard().exit_code(), 0);
  std::vector<std::string> events;
  for (const std::string& line : lines_of(shop.guard().log())) {
    const boost::json::object read = boost::json::parse(line).as_object();
    EXPECT_TRUE(read.at("time").is_string() && read.at("level").is_string()) << line;
    events.emplace_back(read.at("event").as_string());
  }
  for (const char* const name :
       {"starting", "namespace", "listening", "loaded", "draining", "drained"}) {
    EXPECT_THAT(events, Contains(name));
  }
}

// Of a namespace of text: a client chooses the bytes.
constexpr std::string_view kForged = "tag:x\n2026-11-22T06.05 info event=forged y=\"1";

std::string log_of_a_hidden_value(const std::string& keys, const std::string& format) {
  Shop shop(
      {.guarding = "observe", .more = "log: { keys: " + keys + ", format: " + format + " }\n"});
  EXPECT_TRUE(eventually([&] { return info_field(shop.guard(), "tags", "fresh") == "1"; }));
  shop.redis().call({"SET", kForged, "a session, say"});
  EXPECT_EQ(shop.client().call({"GET", kForged}), bulk("a session, say"));
  EXPECT_TRUE(eventually([&] { return shop.guard().log().contains("hidden_value"); }));
  return shop.guard().log();
}

TEST_F(Logs, keys_are_hashes) {
  const std::string log = log_of_a_hidden_value("hashed", "text");
  EXPECT_THAT(log, HasSubstr("event=hidden_value namespace=tags key_hash="));
  EXPECT_THAT(log, Not(HasSubstr("forged"))) << "keys are nobody's business";
}

TEST_F(Logs, keys_that_are_wanted_forge_no_line) {
  const std::string log = log_of_a_hidden_value("plain", "text");
  EXPECT_THAT(log, HasSubstr(" key=\"tag:x\\n2026-11-22T06.05 info event=forged y=\\\"1\"\n"));
  for (const std::string& line : lines_of(log_of_a_hidden_value("plain", "json"))) {
    EXPECT_NO_THROW(boost::json::parse(line)) << line;
  }
}

}  // namespace
}  // namespace cuckooguard::harness
