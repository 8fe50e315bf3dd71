#include "resp/reply_framer.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "resp/frame_transcript.h"
#include "testing/every_split.h"

namespace cuckooguard::resp {
namespace {

using std::string_literals::operator""s;

// Checks the input at every cut and returns what it is made of.
FrameTranscript frame(std::string_view input) {
  FrameTranscript transcript = testing::expect_same_at_every_split(
      input, [](testing::Pieces pieces) { return frame_pieces(pieces); });
  EXPECT_EQ(transcript.broken_promise, "") << input.substr(0, 100);
  return transcript;
}

// That the input is exactly these replies.
void expect_replies(const std::vector<std::string>& replies) {
  std::string input;
  for (const std::string& reply : replies) {
    input += reply;
  }
  const FrameTranscript transcript = frame(input);
  EXPECT_FALSE(transcript.malformed) << input;
  ASSERT_EQ(transcript.replies.size(), replies.size()) << transcript;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    EXPECT_EQ(transcript.replies[i].bytes, replies[i]);
    EXPECT_TRUE(transcript.replies[i].ended);
  }
}

// That no reply ends in the input, although it is no nonsense.
void expect_unfinished(std::string_view input) {
  const FrameTranscript transcript = frame(input);
  EXPECT_FALSE(transcript.malformed) << input;
  ASSERT_EQ(transcript.replies.size(), 1) << input;
  EXPECT_FALSE(transcript.replies[0].ended) << input;
  EXPECT_EQ(transcript.unconsumed, 0);
}

// That the input is malformed at exactly this byte.
void expect_malformed(std::string_view input, std::size_t at) {
  const FrameTranscript transcript = frame(input);
  EXPECT_TRUE(transcript.malformed) << input;
  EXPECT_EQ(input.size() - transcript.unconsumed, at) << input;
}

FramedReply one(std::string_view input) {
  const FrameTranscript transcript = frame(input);
  EXPECT_EQ(transcript.replies.size(), 1);
  EXPECT_EQ(transcript.unconsumed, 0);
  return transcript.replies.empty() ? FramedReply{} : transcript.replies.front();
}

TEST(ReplyFramer, lines_end_at_crlf) {
  expect_replies({"+OK\r\n",
                  "-ERR no\r\n",
                  ":1\r\n",
                  ":-17\r\n",
                  "+\r\n",
                  "+" + std::string(500, 'x') + "\r\n"});
  expect_replies(
      {"_\r\n", "#t\r\n", "#f\r\n", ",3.14\r\n", ",inf\r\n", ",-inf\r\n", ",nan\r\n", ",1e10\r\n"});
  expect_replies({"(3492890328409238509324850943850943825024385\r\n", "(-1\r\n", ":1\r\n"});
}

TEST(ReplyFramer, a_cr_or_lf_alone_ends_no_line) {
  expect_replies({"+a\rb\nc\r\n", "+OK\r\n"});
  expect_replies({"+a\n\r\r\n", "-\n\n\r\n", "+\n\r\n", "+a\rb\n\nc\r\n"});
  expect_unfinished("+OK\n");
  expect_unfinished("+OK\r");
  expect_unfinished("+\n");
}

TEST(ReplyFramer, strings_end_where_their_length_says) {
  expect_replies({"$0\r\n\r\n", "$5\r\nhello\r\n", "$6\r\n\r\n+OK\r\r\n", "$1\r\n\0\r\n"s});
  expect_replies(
      {"$10\r\n0123456789\r\n", "$1234\r\n" + std::string(1234, '$') + "\r\n", "+OK\r\n"});
  expect_replies({"!21\r\nSYNTAX invalid syntax\r\n", "=15\r\ntxt:Some string\r\n", ":1\r\n"});
}

TEST(ReplyFramer, a_string_of_megabytes_passes_in_pieces) {
  expect_replies({"$3000000\r\n" + std::string(3'000'000, 'x') + "\r\n", "+OK\r\n"});
  expect_unfinished("$999999999999999999\r\nabc");
}

TEST(ReplyFramer, nulls_are_known) {
  expect_replies({"$-1\r\n", "*-1\r\n", "_\r\n", "+OK\r\n"});
  EXPECT_TRUE(one("$-1\r\n").is_null);
  EXPECT_TRUE(one("*-1\r\n").is_null);
  EXPECT_TRUE(one("_\r\n").is_null);
  for (const std::string_view other :
       {"$0\r\n\r\n", "*0\r\n", "+_\r\n", ":-1\r\n", "$3\r\n$-1\r\n"}) {
    EXPECT_FALSE(one(other).is_null) << other;
  }
}

TEST(ReplyFramer, a_null_inside_does_not_make_the_reply_null) {
  for (const std::string_view reply : {"*1\r\n*-1\r\n",
                                       "*1\r\n$-1\r\n",
                                       "*1\r\n_\r\n",
                                       "*2\r\n$1\r\na\r\n$-1\r\n",
                                       "|1\r\n+k\r\n_\r\n+OK\r\n",
                                       "|1\r\n+k\r\n$-1\r\n:1\r\n",
                                       "|1\r\n*-1\r\n*-1\r\n*0\r\n"}) {
    EXPECT_FALSE(one(reply).is_null) << reply;
  }
  EXPECT_TRUE(one("|1\r\n+k\r\n+v\r\n_\r\n").is_null);
  EXPECT_TRUE(one("|1\r\n+k\r\n+v\r\n$-1\r\n").is_null);
  const FrameTranscript transcript = frame("_\r\n+OK\r\n$-1\r\n$1\r\na\r\n");
  ASSERT_EQ(transcript.replies.size(), 4);
  EXPECT_FALSE(transcript.replies[1].is_null) << "nor does the reply before";
  EXPECT_FALSE(transcript.replies[3].is_null);
}

TEST(ReplyFramer, aggregates_end_with_their_last_value) {
  expect_replies({"*0\r\n", "%0\r\n", "~0\r\n", "*2\r\n$1\r\na\r\n:1\r\n", "+OK\r\n"});
  expect_replies(
      {"%2\r\n+a\r\n:1\r\n+b\r\n$-1\r\n", "~3\r\n:1\r\n:2\r\n:3\r\n", "*1\r\n*1\r\n*1\r\n:1\r\n"});
  expect_replies({"*3\r\n*2\r\n:1\r\n:2\r\n%1\r\n+k\r\n~2\r\n#t\r\n_\r\n*-1\r\n", ":7\r\n"});
  expect_replies({"*3\r\n*0\r\n*0\r\n*0\r\n", "*1\r\n%0\r\n", "%1\r\n*0\r\n~0\r\n", "+OK\r\n"});
  expect_unfinished("*2\r\n:1\r\n");
  expect_unfinished("%1\r\n+a\r\n");
  expect_unfinished("*1\r\n*1\r\n");
}

TEST(ReplyFramer, nesting_has_no_limit) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) {
    deep += "*1\r\n";
  }
  expect_replies({deep + "+OK\r\n", "+OK\r\n"});
}

TEST(ReplyFramer, large_counts_are_followed) {
  std::string many = "*30000\r\n";
  for (int i = 0; i < 10'000; ++i) {
    many += "$2\r\nab\r\n:1\r\n+x\r\n";
  }
  expect_replies({many, "+OK\r\n"});
  expect_unfinished("*999999999999999999\r\n:1\r\n");
}

TEST(ReplyFramer, attributes_belong_to_the_value_behind_them) {
  const std::string popularity =
      "|1\r\n+key-popularity\r\n%2\r\n$1\r\na\r\n,0.1923\r\n$1\r\nb\r\n,0.0012\r\n";
  expect_replies({popularity + "*2\r\n:2039123\r\n:9543892\r\n", "+OK\r\n"});
  EXPECT_EQ(one(popularity + "*1\r\n:1\r\n").type, '*');
  expect_replies({"*3\r\n:1\r\n:2\r\n|1\r\n+ttl\r\n:3600\r\n:3\r\n", "+OK\r\n"});
  expect_replies(
      {"|0\r\n+OK\r\n", "|1\r\n+a\r\n+b\r\n|1\r\n+c\r\n|0\r\n+d\r\n$1\r\nx\r\n", ":1\r\n"});
  expect_unfinished("|1\r\n+a\r\n+b\r\n");
}

TEST(ReplyFramer, the_type_is_that_of_the_value) {
  EXPECT_EQ(one("+OK\r\n").type, '+');
  EXPECT_EQ(one("-ERR\r\n").type, '-');
  EXPECT_EQ(one("!3\r\nERR\r\n").type, '!');
  EXPECT_EQ(one("*1\r\n:1\r\n").type, '*');
  EXPECT_EQ(one("%1\r\n+a\r\n+b\r\n").type, '%');
  EXPECT_EQ(one("|1\r\n+a\r\n*1\r\n:1\r\n_\r\n").type, '_');
  EXPECT_EQ(one("|1\r\n+a\r\n+b\r\n").type, '\0') << "the value has not come yet";
  EXPECT_EQ(one("|1\r\n+a\r\n*?\r\n:1\r\n.\r\n$1\r\nx\r\n").type, '$');
}

TEST(ReplyFramer, a_push_between_replies_is_a_reply_of_its_own) {
  const std::string push = ">2\r\n$10\r\ninvalidate\r\n*1\r\n$3\r\nfoo\r\n";
  expect_replies({"+OK\r\n", push, "$3\r\nbar\r\n", push, push, ":1\r\n"});
  EXPECT_EQ(one(push).type, '>');
  EXPECT_EQ(one(">2\r\n$10\r\ninvalidate\r\n_\r\n").type, '>');
  EXPECT_FALSE(one(">2\r\n$10\r\ninvalidate\r\n_\r\n").is_null);
}

TEST(ReplyFramer, a_streamed_string_ends_with_its_empty_part) {
  expect_replies({"$?\r\n;4\r\nHell\r\n;5\r\no wor\r\n;1\r\nd\r\n;0\r\n", "+OK\r\n"});
  expect_replies({"$?\r\n;0\r\n", "*2\r\n$?\r\n;1\r\na\r\n;0\r\n:1\r\n", "+OK\r\n"});
  expect_unfinished("$?\r\n;4\r\nHell\r\n");
  expect_malformed("$?\r\n+OK\r\n", 4);
  expect_malformed("$?\r\n.\r\n", 4);
  expect_malformed(";1\r\na\r\n", 0);
}

TEST(ReplyFramer, a_streamed_aggregate_ends_with_a_dot) {
  expect_replies({"*?\r\n:1\r\n:2\r\n.\r\n", "+OK\r\n"});
  expect_replies(
      {"%?\r\n+a\r\n:1\r\n.\r\n", "~?\r\n.\r\n", "*?\r\n*2\r\n:1\r\n:2\r\n.\r\n", ":1\r\n"});
  expect_replies({"*2\r\n*?\r\n~?\r\n:1\r\n.\r\n%1\r\n+a\r\n*?\r\n.\r\n.\r\n:1\r\n", "+OK\r\n"});
  expect_replies(
      {"*?\r\n|1\r\n+a\r\n+b\r\n:1\r\n$?\r\n;1\r\nx\r\n;0\r\n$1\r\ny\r\n.\r\n", "+OK\r\n"});
  expect_unfinished("*?\r\n:1\r\n");
  expect_malformed(".\r\n", 0);
  expect_malformed("*1\r\n.\r\n", 4);
  expect_malformed("*?\r\n*1\r\n.\r\n", 8);
  expect_malformed("*?\r\n|0\r\n.\r\n", 8);
}

TEST(ReplyFramer, streamed_aggregates_nest_four_deep) {
  const std::string open = "*?\r\n";
  const std::string close = ".\r\n";
  expect_replies({open + open + open + open + ":1\r\n" + close + close + close + close, "+OK\r\n"});
  expect_malformed(open + open + open + open + open, 19);
}

TEST(ReplyFramer, refuses_what_is_no_type) {
  expect_malformed("OK\r\n", 0);
  expect_malformed("\r\n", 0);
  expect_malformed("\0"s, 0);
  expect_malformed("+OK\r\nx", 5);
  expect_malformed("*2\r\n:1\r\n?\r\n", 8);
}

TEST(ReplyFramer, refuses_bad_lengths_at_their_first_bad_byte) {
  expect_malformed("$\r\n", 1);
  expect_malformed("$x\r\n", 1);
  expect_malformed("$1x\r\n", 2);
  expect_malformed("$01\r\n", 2);
  expect_malformed("$-2\r\n", 2);
  expect_malformed("$-\r\n", 2);
  expect_malformed("$-11\r\n", 3);
  expect_malformed("$--1\r\n", 2);
  expect_malformed("$+1\r\n", 1);
  expect_malformed("%-1\r\n", 1);
  expect_malformed("=-1\r\n", 1);
  expect_malformed("$1\n", 2);
  expect_malformed("$1\r\r\n", 3);
  expect_malformed("*?1\r\n", 2);
  expect_malformed("*1?\r\n", 2);
  expect_malformed(">?\r\n", 1);
  expect_malformed("!?\r\n", 1);
  expect_malformed("*1000000000000000000\r\n", 19);
}

TEST(ReplyFramer, refuses_a_string_without_crlf_behind_it) {
  expect_malformed("$1\r\nab\r\n", 5);
  expect_malformed("$1\r\na\n", 5);
  expect_malformed("$1\r\na\rb", 6);
  expect_malformed("*2\r\n$0\r\n+OK\r\n", 8);
}

TEST(ReplyFramer, refuses_more_values_than_it_can_count) {
  std::string bomb;
  for (int i = 0; i < 5; ++i) {
    bomb += "*999999999999999999\r\n";
  }
  expect_malformed(bomb + "*1\r\n", bomb.size() + 3);
  std::string maps;
  for (int i = 0; i < 3; ++i) {
    maps += "%999999999999999999\r\n";
  }
  expect_malformed(maps + "%1\r\n", maps.size() + 3);
}

TEST(ReplyFramer, tells_where_replies_begin_and_end) {
  ReplyFramer framer;
  EXPECT_TRUE(framer.at_reply_boundary());
  EXPECT_EQ(framer.type(), '\0');
  ReplyFramer::Piece piece = framer.next("$3\r\nfo");
  EXPECT_TRUE(piece.begins);
  EXPECT_FALSE(piece.ends);
  EXPECT_EQ(piece.bytes, 6);
  EXPECT_EQ(framer.type(), '$');
  EXPECT_FALSE(framer.at_reply_boundary());
  EXPECT_EQ(framer.next("").bytes, 0);
  EXPECT_FALSE(framer.next("").begins);
  piece = framer.next("o\r\n+OK\r\n");
  EXPECT_FALSE(piece.begins);
  EXPECT_TRUE(piece.ends);
  EXPECT_EQ(piece.bytes, 3);
  EXPECT_TRUE(framer.at_reply_boundary());
  EXPECT_EQ(framer.type(), '$') << "still that of the reply that just ended";
  piece = framer.next("+OK\r\n");
  EXPECT_TRUE(piece.begins && piece.ends);
  EXPECT_EQ(framer.type(), '+');
}

}  // namespace
}  // namespace cuckooguard::resp
