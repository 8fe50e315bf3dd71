#include "postgres/xid_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuckooguard::source::postgres {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

constexpr Xid kEpoch = 1ULL << 32U;

XidSnapshot snapshot(std::string_view text) {
  return XidSnapshot::parse(text).value();
}

TEST(XidSnapshot, is_read_and_written_as_the_server_does) {
  EXPECT_EQ(snapshot("10:20:10,14,19"),
            (XidSnapshot{.xmin = 10, .xmax = 20, .running = {10, 14, 19}}));
  for (const char* const text :
       {"10:20:10,14,19", "10:10:", "18446744073709551614:18446744073709551615:"}) {
    EXPECT_EQ(snapshot(text).text(), text);
  }
}

TEST(XidSnapshot, is_nothing_of_other_text) {
  for (const char* const text : {"",
                                 "10",
                                 "10:20",
                                 ":20:",
                                 "10::",
                                 "0:10:",
                                 "10:20:9",
                                 "10:20:20",
                                 "10:20:14,14",
                                 "10:20:14,12",
                                 "10:20:,14",
                                 "10:20:14,",
                                 "10:20:14 ",
                                 " 10:20:14",
                                 "-10:20:",
                                 "010:20:",
                                 "10:20:1a",
                                 "10:18446744073709551616:"}) {
    EXPECT_EQ(XidSnapshot::parse(text), std::nullopt) << text;
  }
}

TEST(XidSnapshot, shows_what_was_finished_when_it_was_taken) {
  const XidSnapshot some = snapshot("10:20:10,14");
  for (const Xid xid : {Xid{3}, Xid{9}, Xid{11}, Xid{13}, Xid{15}, Xid{19}}) {
    EXPECT_TRUE(some.shows(xid)) << xid;
  }
  for (const Xid xid : {Xid{10}, Xid{14}, Xid{20}, Xid{21}, kEpoch + 11}) {
    EXPECT_FALSE(some.shows(xid)) << xid;
  }
}

// As the server itself judges them.
TEST(XidSnapshot, shows_what_is_before_its_xmin_even_behind_its_xmax) {
  const XidSnapshot turned = snapshot("20:10:");
  EXPECT_TRUE(turned.shows(19));
  EXPECT_FALSE(turned.shows(20));
  EXPECT_THAT(turned.missing_from(snapshot("18:18:")), Optional(ElementsAre(18, 19)));
}

TEST(XidSnapshot, knows_what_another_one_does_not_show_yet) {
  EXPECT_THAT(snapshot("20:30:").missing_from(snapshot("10:20:10,14")),
              Optional(ElementsAre(10, 14, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29)));
  EXPECT_THAT(snapshot("12:24:12,21").missing_from(snapshot("12:20:12,14,19")),
              Optional(ElementsAre(14, 19, 20, 22, 23)));
  EXPECT_THAT(snapshot("10:20:14").missing_from(snapshot("30:30:")), Optional(IsEmpty()));
  EXPECT_THAT(snapshot("10:20:14").missing_from(snapshot("10:20:14")), Optional(IsEmpty()));
}

TEST(XidSnapshot, does_not_count_what_is_missing_without_an_end) {
  const Xid end = 10 + XidSnapshot::kMissingMax;
  const XidSnapshot few{.xmin = end, .xmax = end};
  EXPECT_EQ(few.missing_from(snapshot("10:10:")).value().size(), XidSnapshot::kMissingMax);
  const XidSnapshot many{.xmin = end + 1, .xmax = end + 1};
  EXPECT_EQ(many.missing_from(snapshot("10:10:")), std::nullopt);
}

TEST(WholeXid, is_the_number_next_to_one_of_about_then) {
  EXPECT_EQ(whole_xid(100, 90), 100U);
  EXPECT_EQ(whole_xid(90, 100), 90U);
  EXPECT_EQ(whole_xid(5, kEpoch + 7), kEpoch + 5);
  EXPECT_EQ(whole_xid(5, kEpoch - 3), kEpoch + 5);
  EXPECT_EQ(whole_xid(0xFFFFFFF0, kEpoch + 3), kEpoch - 16);
  EXPECT_EQ(whole_xid(0xFFFFFFF0, 3 * kEpoch + 3), 3 * kEpoch - 16);
  EXPECT_EQ(whole_xid(0x7FFFFFFF, kEpoch), kEpoch + 0x7FFFFFFF);
  EXPECT_EQ(whole_xid(0x80000001, kEpoch), kEpoch - 0x7FFFFFFF);
}

TEST(WholeXid, is_never_of_an_epoch_before_the_first) {
  EXPECT_EQ(whole_xid(0xFFFFFFF0, 3), 0xFFFFFFF0U);
  EXPECT_EQ(whole_xid(0x80000001, 0), 0x80000001U);
}

}  // namespace
}  // namespace cuckooguard::source::postgres
