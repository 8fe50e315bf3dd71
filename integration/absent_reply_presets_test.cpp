// An absent key is answered with the bytes that a framework takes for its own "no such row", and
// with nothing else that a missing key would not be answered with.
//
// The bytes are written down here anew; a time within them is compared with the clock of this
// machine, which is the guard's.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/same_bytes.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using namespace std::string_literals;

constexpr int kConfiguration = 78;

std::string big_endian(std::int64_t number) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(number >> shift & 0xff);
  }
  return bytes;
}

std::string jetcache_at(std::int64_t now) {
  return "J\x95:\x80\xac\xed\0\5sr\0#com.alicp.jetcache."
         "CacheValueHolder\x91W\x92\x86\xbd\x9fTm\2\0\3J\0\naccessTime"
         "J\0\nexpireTimeL\0\5valuet\0\x12Ljava/lang/Object;xp"s +
         big_endian(now) + big_endian(now + 5000) + "p";
}

std::string dogpile_at(std::int64_t now) {
  const std::string digits = std::to_string(now);
  return "{\"ct\": " + digits.substr(0, 10) + "." + digits.substr(10) + ", \"v\": 2}|\x80\x04N.";
}

struct Preset {
  std::string setting;
  std::function<std::string(std::int64_t)> bytes;  // at a time, in milliseconds since 1970
};

void PrintTo(const Preset& preset, std::ostream* out) {
  *out << preset.setting;
}

Preset fixed(std::string setting, std::string bytes) {
  return {std::move(setting), [bytes = std::move(bytes)](std::int64_t) { return bytes; }};
}

const std::vector<Preset> kPresets = {
    fixed("empty", ""),
    fixed("go-zero", "*"),
    fixed("jetcache-go", "*"),
    fixed("sponge", "*"),
    fixed("spring",
          "\xac\xed\0\5sr\0+org.springframework.cache.support.NullValue\0\0\0\0\0\0\0\1\2\0\0xp"s),
    {"jetcache", jetcache_at},
    fixed("django", "\x80\x05N."),
    fixed("symfony", "N;"),
    fixed("hyperf", "N;"),
    fixed("keyv", "{\"value\":null}"),
    fixed("rails", "\0\x11\1\0\0\0\0\0\0\xf0\xbf\xff\xff\xff\xff\4\b0"s),
    {"dogpile", dogpile_at},
    fixed("gorm-cache", "recordNotFound"),
    fixed("bytes:__ABSENT__", "__ABSENT__"),
    fixed("hex:4a953a80", "J\x95:\x80"),
};

std::int64_t milliseconds_since_1970() {
  return std::chrono::duration_cast<milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class AbsentReplyPresets : public testing::TestWithParam<Preset> {
 protected:
  AbsentReplyPresets() : shop_({.absent_reply = GetParam().setting}) {
    shop_.wait_until_it_answers();
  }

  // Whether `reply` is the preset's bytes between `before` and `behind`, stamped since `begin` or
  // up to 10 ms before.
  static testing::AssertionResult is_absent_reply(const std::string& reply,
                                                  std::int64_t begin,
                                                  const std::string& before = "",
                                                  const std::string& behind = "") {
    constexpr std::int64_t kStampedEvery = 10;
    std::string expected;
    for (std::int64_t time = begin - kStampedEvery; time <= milliseconds_since_1970(); ++time) {
      expected = before;
      expected.append(bulk(GetParam().bytes(time))).append(behind);
      if (reply == expected) {
        return testing::AssertionSuccess();
      }
    }
    return same_bytes(reply, expected);
  }

  Shop shop_;
};

TEST_P(AbsentReplyPresets, all_string_reads_of_an_absent_key_get_the_frameworks_bytes) {
  for (const std::string version : {"2", "3"}) {
    RawClient client = shop_.client();
    client.call({"HELLO", version});
    const std::string key = absent_user();
    const std::int64_t begin = milliseconds_since_1970();
    const std::string nil = version == "2" ? "$-1\r\n" : "_\r\n";
    EXPECT_TRUE(is_absent_reply(client.call({"GET", key}), begin));
    EXPECT_TRUE(is_absent_reply(client.call({"GETEX", key}), begin));
    EXPECT_TRUE(is_absent_reply(client.call({"GETEX", key, "EX", "60"}), begin));
    EXPECT_TRUE(is_absent_reply(client.call({"GETEX", key, "PERSIST"}), begin));
    EXPECT_TRUE(is_absent_reply(client.call({"MGET", key}), begin, "*1\r\n"));
    EXPECT_TRUE(
        is_absent_reply(client.call({"MGET", user(1), key, "other"}), begin, "*3\r\n" + nil, nil));
    EXPECT_EQ(client.call({"GETEX", key, "EX", "0", "PERSIST"}), "-ERR syntax error\r\n");
  }
  EXPECT_EQ(shop_.redis().calls("getex"), 2) << "what cannot be answered is Redis's to refuse";
}

TEST_P(AbsentReplyPresets, all_other_reads_get_what_redis_says_of_a_missing_key) {
  RawClient client = shop_.client();
  RawClient redis = shop_.redis().client();
  const std::string key = absent_user();
  for (const std::vector<std::string_view>& words :
       std::vector<std::vector<std::string_view>>{{"EXISTS", key},
                                                  {"TTL", key},
                                                  {"STRLEN", key},
                                                  {"TYPE", key},
                                                  {"HGET", key, "field"},
                                                  {"HGETALL", key},
                                                  {"GETRANGE", key, "0", "-1"},
                                                  {"DUMP", key}}) {
    const std::uint64_t before = shop_.redis().calls("exists");
    const std::string request = command(std::span(words));
    EXPECT_EQ(client.exchange(request, 1), redis.exchange(request, 1)) << words[0];
    EXPECT_EQ(shop_.redis().calls("exists") - before, words[0] == "EXISTS" ? 1 : 0)
        << "only the straight one";
  }
}

TEST_P(AbsentReplyPresets, an_existing_key_is_redis_own) {
  RawClient client = shop_.client();
  EXPECT_EQ(client.call({"GET", user(7)}), kNil) << "a row, and not cached yet";
  client.call({"SET", user(7), "seven"});
  EXPECT_EQ(client.call({"GET", user(7)}), bulk("seven"));
  EXPECT_EQ(client.call({"GETEX", user(7), "EX", "60"}), bulk("seven"));
  EXPECT_EQ(client.call({"TTL", user(7)}), ":60\r\n");
  EXPECT_EQ(client.call({"MGET", user(7), user(8)}), "*2\r\n" + bulk("seven") + std::string(kNil));
}

// Else one attack through the application would make every key pass that it asks for.
TEST_P(AbsentReplyPresets, an_application_that_caches_them_itself_does_not_make_the_key_pass) {
  RawClient client = shop_.client();
  const std::string key = absent_user(1);
  const std::string written = GetParam().bytes(milliseconds_since_1970() - 60'000);
  EXPECT_EQ(client.call({"SET", key, written, "EX", "60"}), kOk);
  EXPECT_EQ(client.call({"SETEX", key, "60", written}), kOk);
  const std::uint64_t before = shop_.redis().calls("get");
  EXPECT_TRUE(is_absent_reply(client.call({"GET", key}), milliseconds_since_1970()));
  EXPECT_EQ(shop_.redis().calls("get"), before) << "it passes";
  client.call({"SET", key, written + "?"});
  EXPECT_EQ(client.call({"GET", key}), bulk(written + "?"));
}

INSTANTIATE_TEST_SUITE_P(All, AbsentReplyPresets, testing::ValuesIn(kPresets));

TEST(AbsentReplyNil, is_redis_own_null_in_both_versions) {
  Shop shop({.absent_reply = "nil"});
  shop.wait_until_it_answers();
  RawClient client = shop.client();
  EXPECT_EQ(client.call({"GETEX", absent_user(), "EX", "60"}), "$-1\r\n");
  client.call({"HELLO", "3"});
  EXPECT_EQ(client.call({"GETEX", absent_user(), "EX", "60"}), "_\r\n");
  EXPECT_EQ(client.call({"MGET", absent_user()}), "*1\r\n_\r\n");
  EXPECT_EQ(shop.redis().calls("getex"), 0);
}

// A replica refuses GETEX.
TEST(AbsentReplyNil, of_a_replica_getex_gets_the_replicas_refusal) {
  RedisServer master;
  Shop shop({.absent_reply = "go-zero",
             .redis_arguments = {"--replicaof", "127.0.0.1", std::to_string(master.port())}});
  ASSERT_TRUE(eventually(
      [&shop] { return shop.redis().info("replication", "master_link_status") == "up"; }));
  shop.wait_until_it_answers();
  RawClient client = shop.client();
  EXPECT_EQ(client.call({"GET", absent_user()}), bulk("*"));
  EXPECT_THAT(client.call({"GETEX", absent_user()}), testing::StartsWith("-READONLY "));
}

TEST(AbsentReplyNames, that_are_listed_are_those_that_a_configuration_may_have) {
  std::set<std::string> expected{"nil", "bytes:TEXT", "hex:DIGITS"};
  for (const Preset& preset : kPresets) {
    if (preset.setting.find(':') == std::string::npos) {
      expected.insert(preset.setting);
    }
  }
  const Ended ended = run_guard({"presets"});
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(ended.standard_error, "");
  std::set<std::string> listed;
  std::istringstream lines(ended.standard_output);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.find(' ') == std::string::npos) {
      listed.insert(line);
    }
  }
  EXPECT_EQ(listed, expected);
}

TEST(AbsentReplyNames, that_do_not_exist_are_refused_with_their_place_and_the_nearest) {
  TemporaryDirectory directory;
  const std::filesystem::path file = directory / "guard.yaml";
  const std::string start =
      "sources: { shop: { type: file, path: /rows } }\n"
      "namespaces:\n"
      "  users:\n"
      "    keys: \"user:{id}\"\n"
      "    source: { from: shop }\n"
      "    mode: enforce\n";
  write_whole_file(file, start + "    absent_reply: gozero\n");
  const Ended wrong = run_guard({"--check-config", "--config", file.string()});
  EXPECT_EQ(wrong.exit_code, kConfiguration);
  EXPECT_EQ(
      wrong.standard_error,
      file.string() +
          ":7:19: absent_reply: \"gozero\" is not an absent reply, did you mean \"go-zero\"?\n");
  write_whole_file(file, start);
  const Ended missing = run_guard({"--check-config", "--config", file.string()});
  EXPECT_EQ(missing.exit_code, kConfiguration);
  EXPECT_THAT(missing.standard_error,
              testing::StartsWith(file.string() + ":6:11: mode enforce requires absent_reply"));
  EXPECT_EQ(std::ranges::count(missing.standard_error, '\n'), 4);
  write_whole_file(file, start + "    absent_reply: dogpile\n");
  EXPECT_EQ(run_guard({"--check-config", "--config", file.string()}).exit_code, 0);
}

}  // namespace
}  // namespace cuckooguard::harness
