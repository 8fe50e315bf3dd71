#include "config/values.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/absent_presets.h"

namespace cuckooguard::config {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(Values, ports_in_a_row_are_from_one_to_as_many_as_there_may_be) {
  EXPECT_EQ(parse_node_ports("10.0.0.1:7000-7063")->text(), "10.0.0.1:7000-7063");
  EXPECT_EQ(parse_node_ports("[::1]:7000-7000")->count(), 1U);
  EXPECT_EQ(parse_node_ports("node-1.local:7000-7001")->host, "node-1.local");
  for (const char* const wrong : {"127.0.0.1:7000",
                                  "node-1.local:7000",
                                  "127.0.0.1:7000-7064",
                                  "127.0.0.1:7001-7000",
                                  "127.0.0.1:0-5",
                                  "127.0.0.1:7000-",
                                  "127.0.0.1:7000-65536",
                                  "unix:/run/x-5"}) {
    const auto parsed = parse_node_ports(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_THAT(parsed.error(), ::testing::HasSubstr("write 127.0.0.1:7000-7063")) << wrong;
  }
}

TEST(Values, durations_carry_their_unit) {
  EXPECT_EQ(parse_duration("500ms"), 500ms);
  EXPECT_EQ(parse_duration("1s"), 1s);
  EXPECT_EQ(parse_duration("5m"), 5min);
  EXPECT_EQ(parse_duration("2h"), 2h);
  EXPECT_EQ(parse_duration("1d"), 24h);
  EXPECT_EQ(parse_duration("0s"), 0ms);
  EXPECT_THAT(parse_duration("5").error(), HasSubstr("has no unit: write a number and ms, s"));
}

TEST(Values, what_is_no_duration_is_refused) {
  for (const char* const text :
       {"", "s", "1.5s", "-1s", "+1s", " 1s", "1 s", "1S", "1sec", "1s1ms", "0x1s"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
  EXPECT_THAT(parse_duration("366d").error(), HasSubstr("longer than a year"));
  EXPECT_THAT(parse_duration("18446744073709551615d").error(), HasSubstr("too large"));
  EXPECT_THAT(parse_duration("18446744073709551616ms").error(), HasSubstr("too large"));
}

TEST(Values, sizes_are_powers_of_1024_and_carry_their_unit) {
  EXPECT_EQ(parse_bytes("512B"), 512U);
  EXPECT_EQ(parse_bytes("64KiB"), 64U * 1024);
  EXPECT_EQ(parse_bytes("1MiB"), 1024U * 1024);
  EXPECT_EQ(parse_bytes("2GiB"), 2ULL * 1024 * 1024 * 1024);
  EXPECT_THAT(parse_bytes("64").error(), HasSubstr("has no unit"));
  EXPECT_THAT(parse_bytes("64MB").error(), HasSubstr("such as 64MiB"));
  EXPECT_THAT(parse_bytes("18446744073709551615GiB").error(), HasSubstr("too large"));
}

TEST(Values, file_modes_are_octal) {
  EXPECT_EQ(parse_file_mode("0660"), 0660U);
  EXPECT_EQ(parse_file_mode("777"), 0777U);
  EXPECT_EQ(parse_file_mode(""), std::nullopt);
  for (const std::string wrong : {"0680", "1777", "rw", "660 ", "-1", "0x1ff"}) {
    EXPECT_THAT(parse_file_mode(wrong).error(), HasSubstr("octal permissions")) << wrong;
  }
}

TEST(Values, counts_may_be_abbreviated) {
  EXPECT_EQ(parse_count("20"), 20U);
  EXPECT_EQ(parse_count("10k"), 10'000U);
  EXPECT_EQ(parse_count("20M"), 20'000'000U);
  EXPECT_EQ(parse_count("1G"), 1'000'000'000U);
  for (const char* const text : {"", "k", "1K", "1.5M", "1_000", "-1"}) {
    EXPECT_FALSE(parse_count(text)) << text;
  }
}

TEST(Values, rates_are_percentages) {
  EXPECT_DOUBLE_EQ(*parse_fraction("0.2%"), 0.002);
  EXPECT_DOUBLE_EQ(*parse_fraction("10%"), 0.1);
  EXPECT_THAT(parse_fraction("0.2").error(), HasSubstr("has no unit"));
  for (const char* const text : {"", "%", "-1%", "nan%", "inf%", "1e-3%", "0x1%", "1..2%", ".%"}) {
    EXPECT_FALSE(parse_fraction(text)) << text;
  }
}

TEST(Values, rates_are_counts_per_second_or_minute) {
  EXPECT_DOUBLE_EQ(*parse_rate("10/s"), 10);
  EXPECT_DOUBLE_EQ(*parse_rate("2k/s"), 2000);
  EXPECT_DOUBLE_EQ(*parse_rate("30/min"), 0.5);
  EXPECT_EQ(parse_rate("0"), 0);
  EXPECT_EQ(parse_rate("0/s"), 0);
  EXPECT_THAT(parse_rate("10").error(), HasSubstr("has no unit: write a number per second"));
  for (const char* const text : {"", "/s", "-1/s", "1.5/s", "10/", "10/m", "10 /s", "10/s ", "s"}) {
    EXPECT_FALSE(parse_rate(text)) << text;
  }
}

TEST(Values, truth_is_one_of_two_words) {
  EXPECT_EQ(parse_bool("true"), true);
  EXPECT_EQ(parse_bool("false"), false);
  EXPECT_FALSE(parse_bool("yes"));
  EXPECT_FALSE(parse_bool("True"));
}

TEST(Values, addresses_are_host_and_port_or_a_socket) {
  EXPECT_EQ(parse_address("127.0.0.1:6379"), (Address{"127.0.0.1", 6379, ""}));
  EXPECT_EQ(parse_address("redis-0.redis_svc.local:1"),
            (Address{"redis-0.redis_svc.local", 1, ""}));
  EXPECT_EQ(parse_address("[::1]:6379"), (Address{"::1", 6379, ""}));
  EXPECT_EQ(parse_address("unix:/run/redis.sock"), (Address{"", 0, "/run/redis.sock"}));
}

TEST(Values, what_is_no_address_says_how_to_write_one) {
  EXPECT_THAT(parse_address("localhost").error(), HasSubstr("has no port: write host:port"));
  EXPECT_THAT(parse_address("localhost:").error(), HasSubstr("has no port from 0 to 65535"));
  EXPECT_THAT(parse_address("localhost:65536").error(), HasSubstr("has no port from 0 to 65535"));
  EXPECT_THAT(parse_address("localhost:6379x").error(), HasSubstr("has no port from 0 to 65535"));
  EXPECT_THAT(parse_address("::1:6379").error(), HasSubstr("without brackets"));
  EXPECT_THAT(parse_address(":6379").error(), HasSubstr("all interfaces"));
  EXPECT_THAT(parse_address("a b:1").error(), HasSubstr("no host name"));
  EXPECT_THAT(parse_address("redis://h:1").error(), HasSubstr("is a URL"));
  EXPECT_THAT(parse_address("unix:redis.sock").error(), HasSubstr("needs an absolute path"));
  EXPECT_THAT(parse_address("unix:/" + std::string(kUnixPathBytesMax, 'x')).error(),
              HasSubstr("exceeds"));
}

TEST(Values, absent_replies_are_nil_text_or_hex) {
  EXPECT_EQ(parse_absent_reply("nil"), (AbsentReply{true, ""}));
  EXPECT_EQ(parse_absent_reply("bytes:*"), (AbsentReply{false, "*"}));
  EXPECT_EQ(parse_absent_reply("bytes:nil:%s"), (AbsentReply{false, "nil:%s"}));
  EXPECT_EQ(parse_absent_reply("bytes:"), (AbsentReply{false, ""}));
  EXPECT_EQ(parse_absent_reply("hex:4a953A80"), (AbsentReply{false, "\x4a\x95\x3a\x80"}));
  EXPECT_EQ(parse_absent_reply("hex:00"), (AbsentReply{false, std::string(1, '\0')}));
  for (const char* const text : {"hex:4", "hex:4g", "hex:-1", "hex: 1", "hex:0x", "NIL", ""}) {
    EXPECT_FALSE(parse_absent_reply(text)) << text;
  }
  EXPECT_FALSE(parse_absent_reply("bytes:" + std::string(kAbsentReplyBytesMax + 1, 'x')));
}

TEST(Values, absent_replies_have_the_names_of_frameworks) {
  for (const char* const name : {"empty",
                                 "go-zero",
                                 "jetcache-go",
                                 "sponge",
                                 "spring",
                                 "jetcache",
                                 "django",
                                 "symfony",
                                 "hyperf",
                                 "keyv",
                                 "rails",
                                 "dogpile",
                                 "gorm-cache"}) {
    const auto reply = parse_absent_reply(name);
    ASSERT_TRUE(reply) << name;
    EXPECT_FALSE(reply->nil) << name;
    ASSERT_NE(reply->preset, nullptr) << name;
    EXPECT_EQ(reply->preset->name, name);
  }
  EXPECT_NE(parse_absent_reply("go-zero"), parse_absent_reply("sponge")) << "other forms";
  EXPECT_EQ(absent_reply_names().size(), 3 + absent_presets().size());
}

TEST(Values, an_unknown_absent_reply_is_told_the_nearest_or_all) {
  const auto error_of = [](std::string_view text) { return parse_absent_reply(text).error(); };
  EXPECT_EQ(error_of("jetcache_go"), "is not an absent reply, did you mean \"jetcache-go\"?");
  EXPECT_EQ(error_of("jetcach"), "is not an absent reply, did you mean \"jetcache\"?");
  EXPECT_EQ(error_of("djagno"), "is not an absent reply, did you mean \"django\"?");
  EXPECT_EQ(error_of("nul"), "is not an absent reply, did you mean \"nil\"?");
  EXPECT_THAT(error_of("laravel"), HasSubstr("; valid: nil, bytes:TEXT, hex:DIGITS, empty, "));
}

// A mistake in the table would be sent to applications.
TEST(AbsentPresets, times_stand_within_their_bytes_in_order) {
  for (const AbsentPreset& preset : absent_presets()) {
    for (const std::string_view text :
         {preset.framework, preset.constant, preset.keys, preset.caution}) {
      EXPECT_FALSE(text.empty()) << preset.name;
    }
    ASSERT_FALSE(preset.forms.empty());
    for (const AbsentForm& form : preset.forms) {
      std::size_t end = 0;
      for (const TimeField& time : form.times) {
        if (time.kind != TimeField::Kind::none) {
          EXPECT_GE(time.offset, end) << preset.name;
          EXPECT_LE(time.ahead, 5s) << preset.name;
          end = std::size_t{time.offset} + time.width;
          EXPECT_LE(end, form.bytes.size()) << preset.name;
        }
      }
    }
  }
}

TEST(Values, fresh_ids_are_auto_a_window_or_none) {
  using Kind = FreshIds::Kind;
  EXPECT_EQ(parse_fresh_ids("auto"), (FreshIds{Kind::automatic, 0}));
  EXPECT_EQ(parse_fresh_ids("1k"), (FreshIds{Kind::window, 1000}));
  EXPECT_EQ(parse_fresh_ids("0"), (FreshIds{Kind::off, 0}));
  EXPECT_FALSE(parse_fresh_ids("off"));
}

TEST(Values, bounds_include_both_ends) {
  const auto parse = bounded<int>(parse_count, 2, 4, "must be from 2 to 4");
  EXPECT_EQ(parse("2"), 2);
  EXPECT_EQ(parse("4"), 4);
  EXPECT_EQ(parse("1").error(), "must be from 2 to 4");
  EXPECT_EQ(parse("5").error(), "must be from 2 to 4");
  EXPECT_FALSE(parse("18446744073709551615"));
}

}  // namespace
}  // namespace cuckooguard::config
