// What a real server sends, message by message.

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_messages.h"
#include "pgoutput/message_decoder.h"
#include "recording.h"
#include "transcript.h"

namespace cuckooguard::pgoutput {
namespace {

using Lines = std::vector<std::string>;

TEST(RecordedChanges, are_told_apart) {
  EXPECT_THAT(
      transcript(recorded_messages("changes")),
      ::testing::ElementsAreArray(Lines{
          "begin",
          "type public.mood",
          "relation public.plain d: id*/23 name/25 feeling/public.mood big/25",
          "insert public.plain '1' 'one' 'happy' (3000)",
          "insert public.plain '2' '' null null",
          "commit",
          "begin",
          "update public.plain -> '1' 'uno' 'happy' unchanged",
          "commit",
          "begin",
          "update public.plain key '1' null null null -> '10' 'uno' 'happy' unchanged",
          "commit",
          "begin",
          "delete public.plain key '10' null null null",
          "commit",
          "begin",
          "relation shop.whole f: id*/20 name*/1043/24 big*/25",
          "insert shop.whole '9223372036854775807' 'Grüße' (3000)",
          "commit",
          "begin",
          "update shop.whole row '9223372036854775807' 'Grüße' (3000) -> "
          "'9223372036854775807' null unchanged",
          "commit",
          "begin",
          "delete shop.whole row '9223372036854775807' null (3000)",
          "commit",
          "begin",
          "relation public.by_index i: a/23 b*/23 c/23",
          "insert public.by_index '1' '2' '3'",
          "insert public.by_index '4' '5' null",
          "commit",
          "begin",
          "update public.by_index key null '2' null -> '1' '6' '3'",
          "commit",
          "begin",
          "update public.by_index -> '1' '6' '7'",
          "commit",
          "begin",
          "delete public.by_index key null '6' null",
          "commit",
          "begin",
          "relation public.unnamed n: a/23",
          "insert public.unnamed '-1'",
          "commit",
          "begin",
          "type public.mood",
          "relation public.plain d: id*/23 name/25 feeling/public.mood big/25",
          "relation shop.whole f: id*/20 name*/1043/24 big*/25",
          "truncate public.plain shop.whole",
          "commit",
          "begin",
          "relation public.by_index i: a/23 b*/23 c/23",
          "truncate public.by_index cascade restart",
          "commit",
          "begin",
          "message transactional inside: a transaction",
          "commit",
          "message outside: ",
          "begin",
          "origin elsewhere 16/B374D848",
          "insert public.unnamed '-2'",
          "commit",
          "begin",
          "type public.mood",
          "relation public.plain d: id*/23 name/25 feeling/public.mood big/25 further/1700/655366",
          "insert public.plain '3' null null null '1.50'",
          "commit"}));
}

TEST(RecordedChanges, in_two_phases_are_told_apart) {
  EXPECT_THAT(
      transcript(recorded_messages("two_phase")),
      ::testing::ElementsAreArray(Lines{
          "begin prepare to keep",
          "type public.mood",
          "relation public.plain d: id*/23 name/25 feeling/public.mood big/25 further/1700/655366",
          "insert public.plain '20' 'kept' null null null",
          "prepare to keep",
          "commit prepared to keep",
          "begin prepare to drop",
          "insert public.plain '21' 'dropped' null null null",
          "prepare to drop",
          "rollback prepared to drop"}));
}

TEST(RecordedChanges, in_binary_are_told_apart) {
  EXPECT_THAT(
      transcript(recorded_messages("binary")),
      ::testing::ElementsAreArray(Lines{
          "begin",
          "type public.mood",
          "relation public.plain d: id*/23 name/25 feeling/public.mood big/25 further/1700/655366",
          "insert public.plain .0.0.0.30 .105.110.32.98.105.110.97.114.121 .115.97.100 null null",
          "commit"}));
}

class Recorded : public ::testing::TestWithParam<std::string> {};

TEST_P(Recorded, messages_written_again_are_the_same) {
  MessageDecoder decoder;
  for (const std::string& bytes : recorded_messages(GetParam())) {
    const auto outer = decode_replication_message(bytes);
    ASSERT_TRUE(outer);
    ASSERT_EQ(bytes_of(*outer), bytes);
    if (const auto* data = std::get_if<WalMessage>(&*outer)) {
      const auto message = decoder.decode(data->payload);
      ASSERT_TRUE(message);
      ASSERT_EQ(bytes_of(*message), data->payload);
    }
  }
}

// What a follower counts on: where a transaction was, and that it goes on behind it.
TEST_P(Recorded, transactions_end_where_they_said_and_one_behind_the_other) {
  MessageDecoder decoder;
  Begin begin;
  Lsn end;
  std::size_t commits = 0;
  for (const std::string& bytes : recorded_messages(GetParam())) {
    const auto outer = decode_replication_message(bytes);
    const auto* data = std::get_if<WalMessage>(&*outer);
    if (data == nullptr) {
      const auto& keepalive = std::get<PrimaryKeepalive>(*outer);
      EXPECT_GE(keepalive.server_end, end);
      continue;
    }
    EXPECT_EQ(data->start, data->server_end);
    const auto message = decoder.decode(data->payload);
    if (std::holds_alternative<Relation>(*message) || std::holds_alternative<Type>(*message)) {
      EXPECT_EQ(data->start, Lsn{});
    }
    if (const auto* first = std::get_if<Begin>(&*message)) {
      begin = *first;
      EXPECT_GE(begin.final_lsn, end);
    }
    if (const auto* commit = std::get_if<Commit>(&*message)) {
      ++commits;
      end = commit->end_lsn;
      EXPECT_EQ(commit->commit_lsn, begin.final_lsn);
      EXPECT_EQ(commit->commit_time, begin.commit_time);
      EXPECT_GT(commit->end_lsn, commit->commit_lsn);
      EXPECT_EQ(data->start, commit->end_lsn);
    }
  }
  EXPECT_EQ(commits > 0, GetParam() != "two_phase");
}

INSTANTIATE_TEST_SUITE_P(All,
                         Recorded,
                         ::testing::Values("changes", "two_phase", "binary"),
                         [](const auto& instance) { return instance.param; });

TEST(RecordedChanges, that_are_streamed_are_refused_by_their_first_bytes) {
  std::map<char, DecodeError::Reason> refused;
  MessageDecoder decoder;
  for (const std::string& bytes : recorded_messages("streamed")) {
    const auto outer = decode_replication_message(bytes);
    ASSERT_TRUE(outer);
    const auto* data = std::get_if<WalMessage>(&*outer);
    if (data == nullptr) {
      continue;
    }
    const auto message = decoder.decode(data->payload);
    if (!message) {
      refused[data->payload.front()] = message.error().reason;
    }
  }
  using Reason = DecodeError::Reason;
  EXPECT_THAT(refused,
              ::testing::IsSupersetOf({std::pair('S', Reason::not_asked_for),
                                       std::pair('E', Reason::not_asked_for),
                                       std::pair('A', Reason::not_asked_for),
                                       std::pair('c', Reason::not_asked_for)}));
}

}  // namespace
}  // namespace cuckooguard::pgoutput
