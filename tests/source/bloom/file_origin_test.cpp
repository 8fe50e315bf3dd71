#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bloom/kind.h"
#include "foreign/toy_format.h"
#include "formats/formats.h"
#include "harness/temporary_directory.h"
#include "source/bench.h"

namespace cuckooguard::source {
namespace {

using ::testing::HasSubstr;
using Kind = BloomReading::Kind;

// Of Guava: one long, in which every bit is `bits`.
std::string guava(char bits) {
  return std::string("\1\3\0\0\0\1", 6) + std::string(8, bits);
}

struct InFile {
  explicit InFile(const foreign::Format& format = foreign::kGuava)
      : origin({.format = &format, .path = path}, clock.clock()) {}

  BloomReading read_settled() {
    origin.read({});
    clock.advance(SettledFile::kSettle);
    return origin.read({});
  }
  void replace(const std::string& content) const {
    harness::write_whole_file(path + ".new", content);
    std::filesystem::rename(path + ".new", path);
  }

  harness::TemporaryDirectory directory;
  std::string path = directory.file("filter");
  ManualClock clock;
  BloomFileOrigin origin;
};

TEST(BloomFileOrigin, a_file_is_read_when_it_has_stood_still) {
  InFile file;
  EXPECT_THAT(file.origin.read({}).why, HasSubstr("no such file"));
  file.replace(guava('\xFF'));
  EXPECT_EQ(file.origin.read({}).kind, Kind::unclear);
  file.clock.advance(SettledFile::kSettle);
  const BloomReading reading = file.origin.read({});
  ASSERT_EQ(reading.kind, Kind::taken) << reading.why;
  EXPECT_TRUE(reading.filter->may_contain("anything"));
  EXPECT_EQ(file.origin.look().kind, BloomLook::Kind::unchanged);
  EXPECT_FALSE(file.origin.only_gains_bits()) << "another file is another filter";
}

TEST(BloomFileOrigin, another_file_is_a_change_and_none_is_a_loss) {
  InFile file;
  file.replace(guava('\xFF'));
  ASSERT_EQ(file.read_settled().kind, Kind::taken);
  file.replace(guava('\0'));
  EXPECT_EQ(file.origin.look().kind, BloomLook::Kind::changed);
  const BloomReading reading = file.read_settled();
  ASSERT_EQ(reading.kind, Kind::taken) << reading.why;
  EXPECT_FALSE(reading.filter->may_contain("anything"));
  EXPECT_EQ(file.origin.look().kind, BloomLook::Kind::unchanged);
  std::filesystem::remove(file.path);
  EXPECT_EQ(file.origin.look().kind, BloomLook::Kind::lost);
}

TEST(BloomFileOrigin, what_the_format_does_not_know_is_refused) {
  InFile file;
  file.replace("half a filter");
  const BloomReading reading = file.read_settled();
  EXPECT_EQ(reading.kind, Kind::refused);
  EXPECT_THAT(reading.why, HasSubstr(file.path + ": "));
  InFile seiflotfy(foreign::kSeiflotfy);
  seiflotfy.replace(std::string(64, '\0'));
  EXPECT_EQ(seiflotfy.read_settled().kind, Kind::taken);
}

TEST(BloomFileOrigin, who_is_told_to_stop_stops) {
  InFile file;
  file.replace(guava('\xFF'));
  file.origin.read({});
  file.clock.advance(SettledFile::kSettle);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(file.origin.read(stop.get_token()).kind, Kind::stopped);
}

TEST(BloomFileOrigin, reads_any_format_that_it_is_handed) {
  InFile toy(foreign::kToy);
  toy.replace("seen\nknown\n");
  const BloomReading reading = toy.read_settled();
  ASSERT_EQ(reading.kind, Kind::taken) << reading.why;
  EXPECT_TRUE(reading.filter->may_contain("known"));
  EXPECT_FALSE(reading.filter->may_contain("now"));
}

}  // namespace
}  // namespace cuckooguard::source
