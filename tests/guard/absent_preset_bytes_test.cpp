// The bytes of every preset, written down here anew, in hexadecimal, as the frameworks' own code
// has them: one wrong byte and an application deletes the key, fails, or asks its database.
//
// The times: 1 700 000 000 123 ms since 1970 (0x018bcfe5687b), and the moments around a change of
// digits.

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "config/values.h"
#include "guard/absent_reply_bytes.h"

namespace cuckooguard::guard {
namespace {

using resp::Version;
using std::chrono::milliseconds;

constexpr std::int64_t kNow = 1'700'000'000'123;

std::string bytes_of_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

AbsentReplyBytes reply_at(std::string_view preset, std::int64_t milliseconds_since_1970) {
  AbsentReplyBytes reply(config::parse_absent_reply(preset).value());
  if (reply.is_stamped()) {
    reply.stamp(WallTime(milliseconds(milliseconds_since_1970)));
  }
  return reply;
}

std::string bulk(const std::string& bytes) {
  return "$" + std::to_string(bytes.size()) + "\r\n" + bytes + "\r\n";
}

struct Golden {
  std::string_view name;
  std::string_view hex;
  std::int64_t at = kNow;
};

void PrintTo(const Golden& golden, std::ostream* out) {
  *out << golden.name << " at " << golden.at;
}

// com.alicp.jetcache.CacheValueHolder up to its two times.
#define JETCACHE                                                                                   \
  "4a953a80aced000573720023636f6d2e616c6963702e6a657463616368652e436163686556616c7565486f6c646572" \
  "91579286bd9f546d0200034a000a61636365737354696d654a000a65787069726554696d654c000576616c756574"   \
  "00124c6a6176612f6c616e672f4f626a6563743b7870"

constexpr Golden kGolden[] = {
    // go-redis/cache, cache.go: len(b) == 0
    {"empty", ""},
    // go-zero, core/stores/cache/cachenode.go: notFoundPlaceholder = "*"
    {"go-zero", "2a"},
    // jetcache-go, cache.go: notFoundPlaceholder = []byte("*")
    {"jetcache-go", "2a"},
    // sponge, pkg/cache/cache.go: NotFoundPlaceholder = "*"
    {"sponge", "2a"},
    // spring-data-redis, RedisCache.java: BINARY_NULL_VALUE =
    // RedisSerializer.java().serialize(NullValue.INSTANCE), as the real class writes it
    {"spring",
     "aced00057372002b6f72672e737072696e676672616d65776f726b2e63616368652e737570706f72742e4e756c6c5"
     "6"
     "616c756500000000000000010200007870"},
    // JetCache, CacheValueHolder by Java's encoder: access = now, expire = now + 5 s
    {"jetcache", JETCACHE "0000018bcfe5687b0000018bcfe57c0370"},
    // the low byte of the first runs over; 0x018bcfe568ff + 5000 = 0x...7c87
    {"jetcache", JETCACHE "0000018bcfe568ff0000018bcfe57c8770", 1'700'000'000'255},
    {"jetcache", JETCACHE "0000018bcfe569000000018bcfe57c8870", 1'700'000'000'256},
    // and of five bytes
    {"jetcache",
     JETCACHE "000000ffffffffff0000010000001387"
              "70",
     1'099'511'627'775},
    {"jetcache",
     JETCACHE "00000100000000000000010000001388"
              "70",
     1'099'511'627'776},
    // Django, backends/redis.py: pickle.dumps(None, pickle.HIGHEST_PROTOCOL)
    {"django", "80054e2e"},
    // PHP: serialize(null)
    {"symfony", "4e3b"},
    {"hyperf", "4e3b"},
    // Keyv 5.6.0: JSON.stringify({ value: null })
    {"keyv", "7b2276616c7565223a6e756c6c7d"},
    // activesupport 7.1, cache/coder.rb, as Rails' own coder writes it
    {"rails", "001101000000000000f0bfffffffff040830"},
    // dogpile.cache 1.1.8: {"ct": 1700000000.123, "v": 2}| and pickle.dumps(None)
    {"dogpile", "7b226374223a20313730303030303030302e3132332c202276223a20327d7c80044e2e"},
    {"dogpile",
     "7b226374223a20313639393939393939392e3939392c202276223a20327d7c80044e2e",
     1'699'999'999'999},
    {"dogpile",
     "7b226374223a20313730303030303030302e3030302c202276223a20327d7c80044e2e",
     1'700'000'000'000},
    // in 2001 and before: one digit less, and JSON has no zeros before a number
    {"dogpile",
     "7b226374223a2020"
     "3939393939393939392e3939392c202276223a20327d7c80044e2e",
     999'999'999'999},
    {"dogpile",
     "7b226374223a20"
     "313030303030303030302e3030302c202276223a20327d7c80044e2e",
     1'000'000'000'000},
    {"dogpile",
     "7b226374223a20"
     "202020202020202020302e3030372c202276223a20327d7c80044e2e",
     7},
    // asjdf/gorm-cache, cache/query.go: "recordNotFound"
    {"gorm-cache", "7265636f72644e6f74466f756e64"},
};

class AbsentPresetBytes : public testing::TestWithParam<Golden> {};

TEST_P(AbsentPresetBytes, are_the_frameworks_own_in_both_versions) {
  const AbsentReplyBytes reply = reply_at(GetParam().name, GetParam().at);
  const std::string expected = bulk(bytes_of_hex(GetParam().hex));
  EXPECT_EQ(reply.of_string_read(Version::resp2), expected);
  EXPECT_EQ(reply.of_string_read(Version::resp3), expected);
}

TEST_P(AbsentPresetBytes, are_known_for_a_write_of_them) {
  const AbsentReplyBytes reply = reply_at(GetParam().name, kNow + 86'400'000);
  EXPECT_TRUE(reply.is_written_as(bytes_of_hex(GetParam().hex)));
}

INSTANTIATE_TEST_SUITE_P(All, AbsentPresetBytes, testing::ValuesIn(kGolden));

TEST(AbsentPresetBytes, are_written_down_for_every_preset) {
  for (const config::AbsentPreset& preset : config::absent_presets()) {
    EXPECT_TRUE(std::ranges::any_of(kGolden, [&](const Golden& golden) {
      return golden.name == preset.name;
    })) << preset.name;
  }
}

// What the frameworks write themselves where it is not, byte for byte, what is sent.
TEST(AbsentPresetBytes, other_forms_of_the_same_are_known_too) {
  const auto is_known = [](std::string_view preset, const std::string& value) {
    return reply_at(preset, kNow).is_written_as(value);
  };
  for (const char* const hex : {"80024e2e", "80034e2e", "80044e2e", "80054e2e", "4e2e"}) {
    EXPECT_TRUE(is_known("django", bytes_of_hex(hex))) << hex;  // pickle.dumps(None, protocol)
  }
  EXPECT_TRUE(is_known("sponge", ""));
  EXPECT_TRUE(is_known("symfony", bytes_of_hex("0000000200")));  // igbinary_serialize(null)
  EXPECT_TRUE(is_known("keyv", R"({"value":null,"expires":1700000060123})"));
  EXPECT_TRUE(is_known("keyv", R"({"value":null,"expires":null})"));
  // expires_at = 1700000060.25, little-endian
  EXPECT_TRUE(is_known("rails", bytes_of_hex("001101000010af3f55d941ffffffff040830")));
  // time.time() has as many digits as it needs
  for (const char* const time :
       {"1700000000.1234567", "1700000000.5", "1700000000", "1700000000.0"}) {
    for (const char* const pickled : {"80044e2e", "80054e2e"}) {
      EXPECT_TRUE(is_known(
          "dogpile", "{\"ct\": " + std::string(time) + ", \"v\": 2}|" + bytes_of_hex(pickled)))
          << time;
    }
  }
}

TEST(AbsentPresetBytes, a_value_that_is_almost_one_is_a_value) {
  const auto is_known = [](std::string_view preset, const std::string& value) {
    return reply_at(preset, kNow).is_written_as(value);
  };
  EXPECT_FALSE(is_known("go-zero", ""));
  EXPECT_FALSE(is_known("empty", " "));
  EXPECT_FALSE(is_known("django", bytes_of_hex("80054b012e"))) << "1, and not None";
  EXPECT_FALSE(is_known("symfony", "i:1;"));
  EXPECT_FALSE(is_known("hyperf", bytes_of_hex("0000000200"))) << "not its packer's";
  for (const char* const value : {R"({"value":0})",
                                  R"({"value":null,"expires":})",
                                  R"({"value":null,"expires":-1})",
                                  R"({"value":null,"expires":"1"})",
                                  R"({"value":null,"expires":1,"x":2})",
                                  R"({"value":null,"expires":1)",
                                  R"({"value":{"value":null}})"}) {
    EXPECT_FALSE(is_known("keyv", value)) << value;
  }
  for (const char* const metadata : {R"({"ct": 1700000000.1, "v": 1}|)",
                                     R"({"ct": .5, "v": 2}|)",
                                     R"({"ct": , "v": 2}|)",
                                     R"({"ct": "x", "v": 2}|)",
                                     R"({"v": 2, "ct": 1700000000.1}|)"}) {
    EXPECT_FALSE(is_known("dogpile", metadata + bytes_of_hex("80044e2e"))) << metadata;
  }
  EXPECT_FALSE(
      is_known("dogpile", R"({"ct": 1700000000.1, "v": 2}|)" + bytes_of_hex("80044b012e")));
  const std::string held = bytes_of_hex(JETCACHE "0000018bcfe5687b0000018bcfe57c03");
  EXPECT_TRUE(is_known("jetcache", held + "p"));
  EXPECT_FALSE(is_known("jetcache", held + std::string("t\0\0", 3))) << "a string";
  EXPECT_FALSE(is_known("jetcache", held));
  EXPECT_FALSE(is_known("rails", bytes_of_hex("001101000010af3f55d941ffffffff04086906"))) << "1";
}

}  // namespace
}  // namespace cuckooguard::guard
