#include "log/event_text.h"

#include <random>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuckooguard::log {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

const std::chrono::system_clock::time_point kTime{1'700'000'000'007ms};

std::string text(const std::vector<Field>& fields) {
  return text_of({.time = kTime, .name = "state", .fields = fields});
}

std::string json(const std::vector<Field>& fields) {
  return json_of(
      {.time = kTime, .level = config::LogLevel::warning, .name = "state", .fields = fields});
}

TEST(EventText, plain_words_and_numbers_stand_as_they_are) {
  EXPECT_EQ(text({{"namespace", "users/user_3"}, {"rows", 5U}, {"by", -7}, {"seconds", 0.257}}),
            "event=state namespace=users/user_3 rows=5 by=-7 seconds=0.26");
}

TEST(EventText, time_and_level_stand_in_front_of_text_and_within_json) {
  const Event event{.time = kTime, .level = config::LogLevel::warning, .name = "state"};
  EXPECT_EQ(line_of(event, config::LogFormat::text),
            "2023-11-14T22:13:20.007Z warning event=state");
  EXPECT_EQ(line_of(event, config::LogFormat::json), json_of(event));
}

TEST(EventText, what_could_be_taken_for_something_else_stands_in_quotes) {
  EXPECT_EQ(text({{"why", ""}}), "event=state why=\"\"");
  EXPECT_EQ(text({{"why", "it is gone"}}), "event=state why=\"it is gone\"");
  EXPECT_EQ(text({{"why", "a=b"}}), "event=state why=\"a=b\"");
  EXPECT_EQ(text({{"why", "say \"no\" \\"}}), "event=state why=\"say \\\"no\\\" \\\\\"");
}

// An attacker who chooses a value would write a line, or a field, of his own.
TEST(EventText, no_value_forges_a_line_or_a_field) {
  const std::string forged =
      "x\n2026-11-22T06:05:08.123Z info event=loaded\x1b[2J\r\t\x7f\xe2\x80\xa8";
  EXPECT_EQ(text({{"user", forged}}),
            "event=state user=\"x\\n2026-11-22T06:05:08.123Z info "
            "event=loaded\\x1b[2J\\r\\t\\x7f\\xe2\\x80\\xa8\"");
  EXPECT_THAT(text({{"user", "x\" event=\"loaded"}}), Not(HasSubstr("x\" event")));
}

TEST(EventText, long_values_are_cut) {
  const std::string all(kFieldBytesMax + 1, 'x');
  EXPECT_EQ(text({{"why", all}}), "event=state why=" + std::string(kFieldBytesMax, 'x') + "...");
  EXPECT_EQ(text({{"why", all.substr(1)}}), "event=state why=" + all.substr(1));
}

TEST(EventText, json_has_time_level_event_and_fields) {
  EXPECT_EQ(json({{"namespace", "users"}, {"rows", 5U}, {"seconds", 0.5}, {"why", "a \"b\"\n"}}),
            R"({"time":"2023-11-14T22:13:20.007Z","level":"warning","event":"state",)"
            R"("namespace":"users","rows":5,"seconds":0.50,"why":"a \"b\"\n"})");
  EXPECT_EQ(json({{"seconds", std::numeric_limits<double>::quiet_NaN()}}), json({{"seconds", 0}}));
}

TEST(EventText, json_keeps_text_in_any_language_and_replaces_what_is_none) {
  EXPECT_THAT(json({{"why", "数据 é \xf0\x9f\x90\xa6"}}), HasSubstr("数据 é \xf0\x9f\x90\xa6"));
  EXPECT_THAT(json({{"why",
                     "\xff"
                     "a\xc3"}}),
              HasSubstr(R"("\ufffda\ufffd")"));
}

TEST(EventText, any_bytes_give_one_line_and_json_that_others_can_read) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 20, '\0');
    for (char& byte : bytes) {
      byte = static_cast<char>(random());
    }
    const std::string line = json({{"why", bytes}});
    boost::system::error_code error;
    const boost::json::value read = boost::json::parse(line, error);
    ASSERT_FALSE(error) << line;
    ASSERT_EQ(read.as_object().size(), 4U) << line;
    for (const std::string& either : {line, text({{"why", bytes}})}) {
      ASSERT_EQ(either.find_first_of("\n\r"), std::string::npos) << either;
    }
  }
}

}  // namespace
}  // namespace cuckooguard::log
