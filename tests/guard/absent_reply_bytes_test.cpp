#include "guard/absent_reply_bytes.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "config/values.h"

namespace cuckooguard::guard {
namespace {

using resp::Version;

TEST(AbsentReplyBytes, nil_is_redis_own_null_of_each_version) {
  const AbsentReplyBytes nil{config::AbsentReply{}};
  EXPECT_EQ(nil.of_string_read(Version::resp2), "$-1\r\n");
  EXPECT_EQ(nil.of_string_read(Version::resp3), "_\r\n");
}

TEST(AbsentReplyBytes, bytes_are_a_bulk_string_in_both_versions) {
  const AbsentReplyBytes reply({.nil = false, .bytes = std::string("J\x95:\r\n\0", 6)});
  const std::string expected("$6\r\nJ\x95:\r\n\0\r\n", 12);
  EXPECT_EQ(reply.of_string_read(Version::resp2), expected);
  EXPECT_EQ(reply.of_string_read(Version::resp3), expected);
}

TEST(AbsentReplyBytes, no_bytes_are_an_empty_string_and_not_nil) {
  const AbsentReplyBytes reply({.nil = false, .bytes = ""});
  EXPECT_EQ(reply.of_string_read(Version::resp2), "$0\r\n\r\n");
  EXPECT_TRUE(reply.is_written_as(""));
}

TEST(AbsentReplyBytes, only_its_own_bytes_are_a_write_of_it) {
  const AbsentReplyBytes reply({.nil = false, .bytes = "*"});
  EXPECT_TRUE(reply.is_written_as("*"));
  EXPECT_FALSE(reply.is_written_as("**"));
  EXPECT_FALSE(reply.is_written_as(""));
}

bool is_in_time(const config::AbsentPreset& preset, std::size_t at) {
  return std::ranges::any_of(preset.forms, [at](const config::AbsentForm& form) {
    return std::ranges::any_of(form.times, [at](const config::TimeField& time) {
      return at >= time.offset && at < std::size_t{time.offset} + time.width;
    });
  });
}

// Whatever the time, and wherever the bytes are touched.
TEST(AbsentReplyBytes, is_known_at_any_time_and_not_with_another_byte) {
  const char* const given = std::getenv("CUCKOOGUARD_SEED");  // NOLINT(concurrency-mt-unsafe)
  const std::uint64_t seed = given != nullptr ? std::stoull(given) : std::random_device{}();
  SCOPED_TRACE("CUCKOOGUARD_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const config::AbsentPreset& preset : config::absent_presets()) {
    const auto settings = config::parse_absent_reply(preset.name).value();
    const AbsentReplyBytes unstamped(settings);
    for (int i = 0; i < 2000; ++i) {
      AbsentReplyBytes reply(settings);
      if (reply.is_stamped()) {
        const int bits = static_cast<int>(random() % 44);
        reply.stamp(WallTime(std::chrono::milliseconds(random() & ((1ULL << bits) - 1))));
      }
      const std::string_view resp = reply.of_string_read(Version::resp2);
      const std::size_t begin = resp.find('\n') + 1;
      std::string bytes(resp.substr(begin, resp.size() - begin - 2));
      ASSERT_EQ(bytes.size(), settings.bytes.size()) << preset.name;
      ASSERT_TRUE(unstamped.is_written_as(bytes)) << preset.name << testing::PrintToString(bytes);
      if (bytes.empty()) {
        continue;
      }
      const std::size_t at = random() % bytes.size();
      const bool is_protocol = static_cast<unsigned char>(bytes[at - (at > 0 ? 1 : 0)]) == 0x80;
      if (!is_in_time(preset, at) && !is_protocol) {
        bytes[at] = static_cast<char>(bytes[at] ^ (1 + random() % 255));
        EXPECT_FALSE(unstamped.is_written_as(bytes))
            << preset.name << testing::PrintToString(bytes);
      }
      EXPECT_FALSE(unstamped.is_written_as(bytes + " ")) << preset.name;
      EXPECT_FALSE(unstamped.is_written_as(" " + bytes)) << preset.name;
    }
  }
}

TEST(AbsentReplyBytes, before_its_first_stamp_has_times_of_long_ago) {
  const AbsentReplyBytes jetcache(config::parse_absent_reply("jetcache").value());
  const std::string_view resp = jetcache.of_string_read(Version::resp3);
  EXPECT_EQ(resp.substr(resp.size() - 19),
            std::string_view("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0p\r\n", 19));
}

// What Redis replies where the application has cached "no such row" by itself, whenever that was.
TEST(AbsentReplyBytes, is_known_when_redis_has_it_with_another_time) {
  for (const config::AbsentPreset& preset : config::absent_presets()) {
    const auto settings = config::parse_absent_reply(preset.name).value();
    AbsentReplyBytes cached(settings);
    if (cached.is_stamped()) {
      cached.stamp(WallTime(std::chrono::milliseconds{1'700'000'000'123}));
    }
    const AbsentReplyBytes reply(settings);
    const std::string relayed(cached.of_string_read(Version::resp2));
    EXPECT_EQ(reply.is_relayed_as(relayed), !settings.nil) << preset.name;
    if (settings.nil) {
      continue;
    }
    EXPECT_LE(relayed.size(), reply.relayed_bytes_max()) << preset.name;
    EXPECT_FALSE(reply.is_relayed_as("+" + relayed.substr(1))) << preset.name;
    EXPECT_FALSE(reply.is_relayed_as("$5\r\nother\r\n")) << preset.name;
  }
}

TEST(AbsentReplyBytes, nothing_that_can_be_written_is_nil) {
  const AbsentReplyBytes nil{config::AbsentReply{}};
  EXPECT_FALSE(nil.is_written_as(""));
  EXPECT_FALSE(nil.is_written_as("$-1\r\n"));
}

}  // namespace
}  // namespace cuckooguard::guard
