#include "mysql/log_place.h"

#include <gtest/gtest.h>

#include "binlog/event_decoder.h"
#include "binlog/made_events.h"

namespace cuckooguard::source::mysql {
namespace {

using binlog::EventType;

class Counted {
 public:
  bool pass(const std::string& event) {
    const auto decoded = decoder_.decode(event);
    EXPECT_TRUE(decoded);
    return decoded && counter_.pass(*decoded);
  }
  bool rotate(const std::string& file, std::uint64_t position) {
    constexpr std::uint16_t kArtificial = 0x20;
    return pass(binlog::make_event(
        EventType::rotate, binlog::little_endian(position, 8) + file, kArtificial));
  }
  void event_that_ends_at(std::uint32_t position) {
    pass(binlog::make_event(EventType::xid, binlog::zeros(8), 0, position));
  }
  const LogPlace& place() const { return counter_.place(); }

 private:
  binlog::EventDecoder decoder_;
  LogPlaceCounter counter_;
};

TEST(LogPlace, is_ordered_by_file_and_then_by_position) {
  const LogPlace first{.file = "binlog.000009", .position = 500};
  EXPECT_LT(first, (LogPlace{.file = "binlog.000009", .position = 501}));
  EXPECT_LT(first, (LogPlace{.file = "binlog.000010", .position = 4}));
  EXPECT_LT((LogPlace{.file = "binlog.999999", .position = 500}),
            (LogPlace{.file = "binlog.1000000", .position = 4}));
  EXPECT_LT(LogPlace{}, first) << "a stream that has not named its file yet is nowhere";
}

TEST(LogPlace, tells_whether_it_is_in_the_first_file_of_its_log) {
  EXPECT_TRUE((LogPlace{.file = "binlog.000001", .position = 500}.is_in_first_file()));
  EXPECT_FALSE((LogPlace{.file = "binlog.000011"}.is_in_first_file()));
  EXPECT_FALSE((LogPlace{.file = "binlog.1000000"}.is_in_first_file()));
  EXPECT_FALSE((LogPlace{.file = "bin.1.log.000002"}.is_in_first_file()));
  EXPECT_TRUE((LogPlace{.file = "binlog"}.is_in_first_file())) << "nothing tells";
}

TEST(LogPlaceCounter, follows_events_through_files) {
  Counted counted;
  EXPECT_EQ(counted.place(), LogPlace{});
  counted.rotate("binlog.000001", 4);
  counted.pass(binlog::make_format(binlog::Brand::mysql));
  counted.event_that_ends_at(300);
  EXPECT_EQ(counted.place(), (LogPlace{.file = "binlog.000001", .position = 300}));
  counted.rotate("binlog.000002", 4);
  EXPECT_EQ(counted.place(), (LogPlace{.file = "binlog.000002", .position = 4}));
}

TEST(LogPlaceCounter, counts_on_where_positions_of_32_bits_begin_again) {
  Counted counted;
  counted.rotate("binlog.000001", 4);
  counted.pass(binlog::make_format(binlog::Brand::mysql));
  counted.event_that_ends_at(0xFFFFFF00);
  counted.event_that_ends_at(100);
  EXPECT_EQ(counted.place().position, 0x1'0000'0064U);
  counted.event_that_ends_at(200);
  EXPECT_EQ(counted.place().position, 0x1'0000'00C8U);
  counted.rotate("binlog.000002", 4);
  counted.event_that_ends_at(100);
  EXPECT_EQ(counted.place().position, 100U);
}

TEST(LogPlaceCounter, is_not_moved_by_what_is_in_no_file) {
  constexpr std::uint16_t kArtificial = 0x20;
  Counted counted;
  counted.rotate("binlog.000001", 4);
  counted.pass(binlog::make_format(binlog::Brand::mysql));
  counted.event_that_ends_at(300);
  counted.event_that_ends_at(0);
  counted.pass(binlog::make_event(EventType::xid, binlog::zeros(8), kArtificial, 77));
  EXPECT_EQ(counted.place().position, 300U);
}

TEST(LogPlaceCounter, says_when_a_stream_goes_back) {
  Counted counted;
  EXPECT_TRUE(counted.rotate("binlog.000002", 300));
  EXPECT_TRUE(counted.pass(binlog::make_format(binlog::Brand::mysql)));
  EXPECT_TRUE(counted.rotate("binlog.000003", 4));
  EXPECT_TRUE(counted.rotate("binlog.000003", 4));
  EXPECT_FALSE(counted.rotate("binlog.000001", 4));
}

// Between the last event of a file and the next file, say.
TEST(LogPlaceCounter, takes_the_place_of_a_heartbeat_in_its_own_file_and_only_onwards) {
  Counted counted;
  const auto beat = [&](const std::string& file, std::uint32_t position) {
    EXPECT_TRUE(counted.pass(binlog::make_event(binlog::EventType::heartbeat, file, 0, position)));
  };
  counted.rotate("binlog.000002", 4);
  counted.pass(binlog::make_format(binlog::Brand::mysql));
  beat("binlog.000001", 5000);
  EXPECT_EQ(counted.place(), (LogPlace{.file = "binlog.000002", .position = 4}));
  EXPECT_TRUE(counted.rotate("binlog.000002", 4));
  beat("binlog.000002", 700);
  EXPECT_EQ(counted.place(), (LogPlace{.file = "binlog.000002", .position = 700}));
  beat("binlog.000002", 600);
  EXPECT_EQ(counted.place(), (LogPlace{.file = "binlog.000002", .position = 700}));
}

}  // namespace
}  // namespace cuckooguard::source::mysql
