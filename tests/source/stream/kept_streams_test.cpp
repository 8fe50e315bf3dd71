// What is kept of streams between runs: as it was, or not at all.
#include "stream/kept_streams.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "source/bench.h"

namespace cuckooguard::source::stream {
namespace {

constexpr std::uint64_t kSecret = 7;

class KeptStreamsTest : public testing::Test {
 public:
  KeptStreamsTest()
      : path(testing::TempDir() + "kept-streams-" + std::to_string(::getpid()) + ".position"),
        feeds(bench.feeds()),
        tables{{feeds.front(),
                {.definition = 11},
                wanted,
                filter::KeyHash(bench.parts.front().secret())}} {
    std::filesystem::remove(path);
    tables.front().restore(1, {{1, 10}, {2, 20}, {3, 10}}, {}, milliseconds(99));
  }
  ~KeptStreamsTest() override { std::filesystem::remove(path); }

  std::string bytes() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(std::string_view text) const { std::ofstream(path, std::ios::binary) << text; }

  Bench bench;
  std::string path;
  Feeds feeds;
  debezium::Table wanted;
  std::vector<StreamedTable> tables;
  const std::vector<KeptStreams::Channel> channels{
      {.topic = "shop.users", .partition = 2, .place = "5-0 7 0", .seen = "bytes"}};
};

TEST_F(KeptStreamsTest, are_what_was_kept) {
  ASSERT_TRUE(keep_streams(path, kSecret, channels, tables));
  const auto kept = KeptStreams::read(path, kSecret);
  ASSERT_TRUE(kept.has_value()) << kept.error();
  ASSERT_TRUE(kept->has_value());
  const KeptStreams& all = **kept;
  ASSERT_EQ(all.channels.size(), 1U);
  EXPECT_EQ(all.channels[0].topic, "shop.users");
  EXPECT_EQ(all.channels[0].partition, 2U);
  EXPECT_EQ(all.channels[0].place, "5-0 7 0");
  EXPECT_EQ(all.channels[0].seen, "bytes");
  ASSERT_EQ(all.tables.size(), 1U);
  EXPECT_EQ(all.tables[0].definition, 11U);
  EXPECT_EQ(all.tables[0].rows, tables.front().rows());
  EXPECT_EQ(all.tables[0].torn_until, milliseconds(99));
}

TEST_F(KeptStreamsTest, of_a_table_that_is_in_doubt_are_not_kept) {
  tables.front().doubt("a message");
  ASSERT_TRUE(keep_streams(path, kSecret, channels, tables));
  EXPECT_TRUE(KeptStreams::read(path, kSecret)->value().tables.empty());
}

TEST_F(KeptStreamsTest, are_none_without_a_file_and_of_another_secret) {
  EXPECT_EQ(KeptStreams::read(path, kSecret)->has_value(), false);
  ASSERT_TRUE(keep_streams(path, kSecret, channels, tables));
  EXPECT_EQ(KeptStreams::read(path, kSecret + 1).error(), path + " is of another secret");
}

TEST_F(KeptStreamsTest, are_refused_whatever_byte_is_another) {
  ASSERT_TRUE(keep_streams(path, kSecret, channels, tables));
  const std::string good = bytes();
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string other = good;
    other[i] = static_cast<char>(other[i] ^ 1);
    write(other);
    EXPECT_FALSE(KeptStreams::read(path, kSecret)) << i;
    write(good.substr(0, i));
    EXPECT_FALSE(KeptStreams::read(path, kSecret)) << i;
  }
}

}  // namespace
}  // namespace cuckooguard::source::stream
