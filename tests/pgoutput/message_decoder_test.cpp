#include "pgoutput/message_decoder.h"

#include <array>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "made_messages.h"
#include "recording.h"

namespace cuckooguard::pgoutput {
namespace {

using namespace std::string_literals;
using Reason = DecodeError::Reason;

Value text(std::string_view bytes) {
  return {.state = Value::State::text, .bytes = bytes};
}

// The message views the bytes and the decoder, which are therefore kept to the end.
template <typename T>
T decoded(const std::string& bytes) {
  static std::list<std::string> kept;
  static std::list<MessageDecoder> decoders;
  const auto message = decoders.emplace_back().decode(kept.emplace_back(bytes));
  if (!message) {
    ADD_FAILURE() << describe(message.error());
    return {};
  }
  const T* body = std::get_if<T>(&*message);
  EXPECT_NE(body, nullptr) << message->index();
  return body != nullptr ? *body : T{};
}

DecodeError error_of(const std::string& bytes) {
  MessageDecoder decoder;
  const auto message = decoder.decode(bytes);
  EXPECT_FALSE(message) << bytes;
  return message ? DecodeError{} : message.error();
}

std::string columns_of(std::size_t count) {
  std::vector<RelationColumn> columns(count);
  return bytes_of(Message(Relation{.columns = columns}));
}

std::string row_of(std::size_t count) {
  const std::vector<Value> row(count);
  return bytes_of(Message(Insert{.row = row}));
}

TEST(MessageDecoder, reads_where_a_transaction_begins_and_ends) {
  const auto begin =
      decoded<Begin>(from_hex("42"
                              "000000160154d928"
                              "000303f7735909cd"
                              "800002e2"));
  EXPECT_EQ(begin.final_lsn.text(), "16/154D928");
  EXPECT_EQ(begin.commit_time.microseconds, 0x303f7735909cd);
  EXPECT_EQ(begin.xid, 0x800002e2U);
  const auto commit =
      decoded<Commit>(from_hex("43"
                               "00"
                               "000000160154d928"
                               "000000160154d958"
                               "000303f7735909cd"));
  EXPECT_EQ(commit.commit_lsn.text(), "16/154D928");
  EXPECT_EQ(commit.end_lsn.text(), "16/154D958");
  EXPECT_EQ(commit.commit_time.microseconds, 0x303f7735909cd);
}

TEST(MessageDecoder, reads_a_transaction_that_is_prepared_and_rolled_back) {
  const auto begin = decoded<BeginPrepare>(from_hex("62"
                                                    "0000000000000001"
                                                    "0000000000000002"
                                                    "0000000000000003"
                                                    "00000004") +
                                           "gid\0"s);
  EXPECT_EQ(begin.prepare_lsn, Lsn{1});
  EXPECT_EQ(begin.end_lsn, Lsn{2});
  EXPECT_EQ(begin.prepare_time, Timestamp{3});
  EXPECT_EQ(begin.xid, 4U);
  EXPECT_EQ(begin.gid, "gid");
  const auto rollback = decoded<RollbackPrepared>(from_hex("72"
                                                           "00"
                                                           "0000000000000001"
                                                           "0000000000000002"
                                                           "0000000000000003"
                                                           "0000000000000004"
                                                           "00000005") +
                                                  "gid\0"s);
  EXPECT_EQ(rollback.prepare_end_lsn, Lsn{1});
  EXPECT_EQ(rollback.rollback_end_lsn, Lsn{2});
  EXPECT_EQ(rollback.prepare_time, Timestamp{3});
  EXPECT_EQ(rollback.rollback_time, Timestamp{4});
  EXPECT_EQ(rollback.xid, 5U);
  EXPECT_EQ(rollback.gid, "gid");
}

TEST(MessageDecoder, reads_each_value_by_its_state) {
  const auto insert = decoded<Insert>("I\0\1\0\2N\0\4nut\0\0\0\2abb\0\0\0\0"s);
  EXPECT_EQ(insert.relation, 0x10002U);
  ASSERT_EQ(insert.row.size(), 4U);
  EXPECT_EQ(insert.row[0].state, Value::State::null);
  EXPECT_EQ(insert.row[1].state, Value::State::unchanged);
  EXPECT_EQ(insert.row[2].state, Value::State::text);
  EXPECT_EQ(insert.row[2].bytes, "ab");
  EXPECT_EQ(insert.row[3].state, Value::State::binary);
  EXPECT_EQ(insert.row[3].bytes, "");
}

TEST(MessageDecoder, keeps_the_row_before_an_update_apart_from_that_after_it) {
  const std::array before = {text("1"), Value{}};
  const std::array after = {text("2"), text("two")};
  for (const OldRow is : {OldRow::none, OldRow::key, OldRow::whole}) {
    const Row old_row = is == OldRow::none ? Row() : Row(before);
    const auto update = decoded<Update>(bytes_of(
        Message(Update{.relation = 7, .old_row_is = is, .old_row = old_row, .new_row = after})));
    EXPECT_EQ(update.relation, 7U);
    EXPECT_EQ(update.old_row_is, is);
    ASSERT_EQ(update.old_row.size(), old_row.size());
    EXPECT_TRUE(is == OldRow::none || update.old_row[0].bytes == "1");
    ASSERT_EQ(update.new_row.size(), 2U);
    EXPECT_EQ(update.new_row[0].bytes, "2");
    EXPECT_EQ(update.new_row[1].bytes, "two");
  }
}

TEST(MessageDecoder, leaves_nothing_of_a_message_in_the_next_one) {
  MessageDecoder decoder;
  const std::array wide = {text("a"), text("b"), text("c")};
  const std::array narrow = {Value{}};
  const std::string first = bytes_of(Message(
      Update{.relation = 1, .old_row_is = OldRow::whole, .old_row = wide, .new_row = wide}));
  const std::string second = bytes_of(Message(Update{.relation = 1, .new_row = narrow}));
  ASSERT_TRUE(decoder.decode(first));
  const auto message = decoder.decode(second);
  ASSERT_TRUE(message);
  const auto& update = std::get<Update>(*message);
  EXPECT_EQ(update.old_row_is, OldRow::none);
  EXPECT_TRUE(update.old_row.empty());
  ASSERT_EQ(update.new_row.size(), 1U);
  EXPECT_EQ(update.new_row[0].state, Value::State::null);
  EXPECT_EQ(update.new_row[0].bytes, "");
}

TEST(MessageDecoder, reads_on_after_a_message_that_it_refused) {
  MessageDecoder decoder;
  EXPECT_FALSE(decoder.decode("I\0\0\0\1N\0\2t"s));
  EXPECT_TRUE(decoder.decode("I\0\0\0\1N\0\1n"s));
}

TEST(MessageDecoder, refuses_rows_without_the_letter_that_says_which_they_are) {
  EXPECT_EQ(error_of("I\0\0\0\1K\0\1n"s).reason, Reason::malformed);
  EXPECT_EQ(error_of("I\0\0\0\1N\0\1x"s).reason, Reason::malformed);
  EXPECT_EQ(error_of("D\0\0\0\1N\0\1n"s).reason, Reason::malformed);
  EXPECT_EQ(error_of("U\0\0\0\1K\0\1nK\0\1n"s).reason, Reason::malformed);
  EXPECT_EQ(error_of("U\0\0\0\1x\0\1n"s).reason, Reason::malformed);
}

TEST(MessageDecoder, refuses_a_length_that_the_message_has_not_or_that_is_negative) {
  EXPECT_EQ(error_of("I\0\0\0\1N\0\1t\0\0\0\2a"s),
            (DecodeError{.reason = Reason::truncated, .type = 'I'}));
  EXPECT_EQ(error_of("I\0\0\0\1N\0\1t\xff\xff\xff\xff"s + "a").reason, Reason::truncated);
  EXPECT_EQ(error_of("M\0\0\0\0\0\0\0\0\0p\0\xff\xff\xff\xff"s + "a").reason, Reason::truncated);
  EXPECT_EQ(error_of("T\xff\xff\xff\xff\0\0\0\0\0"s).reason, Reason::truncated);
  EXPECT_EQ(error_of("T\x40\0\0\0\0"s).reason, Reason::truncated);
}

TEST(MessageDecoder, refuses_more_columns_than_a_table_can_have) {
  EXPECT_EQ(decoded<Relation>(columns_of(MessageDecoder::kColumnsMax)).columns.size(),
            MessageDecoder::kColumnsMax);
  EXPECT_EQ(decoded<Insert>(row_of(MessageDecoder::kColumnsMax)).row.size(),
            MessageDecoder::kColumnsMax);
  EXPECT_EQ(error_of(columns_of(MessageDecoder::kColumnsMax + 1)).reason, Reason::too_large);
  EXPECT_EQ(error_of(row_of(MessageDecoder::kColumnsMax + 1)).reason, Reason::too_large);
  EXPECT_EQ(error_of(row_of(0xffff)).reason, Reason::too_large);
}

TEST(MessageDecoder, refuses_names_that_are_too_long_wherever_they_stand) {
  const std::string most(MessageDecoder::kNameBytesMax, 'n');
  const std::string more = most + 'n';
  const auto messages = [](std::string_view name) {
    static std::vector<RelationColumn> columns(1);
    columns[0].name = name;
    return std::vector<std::string>{bytes_of(Message(Relation{.schema = name})),
                                    bytes_of(Message(Relation{.name = name})),
                                    bytes_of(Message(Relation{.columns = columns})),
                                    bytes_of(Message(Type{.schema = name})),
                                    bytes_of(Message(Type{.name = name})),
                                    bytes_of(Message(BeginPrepare{.gid = name})),
                                    bytes_of(Message(Prepare{.gid = name})),
                                    bytes_of(Message(CommitPrepared{.gid = name})),
                                    bytes_of(Message(RollbackPrepared{.gid = name}))};
  };
  for (const std::string& bytes : messages(most)) {
    MessageDecoder decoder;
    EXPECT_TRUE(decoder.decode(bytes)) << bytes[0];
  }
  for (const std::string& bytes : messages(more)) {
    EXPECT_EQ(error_of(bytes).reason, Reason::too_large) << bytes[0];
  }
}

TEST(MessageDecoder, takes_a_prefix_and_an_origin_of_any_length) {
  const std::string name(3 * MessageDecoder::kNameBytesMax, 'n');
  EXPECT_EQ(decoded<Origin>(bytes_of(Message(Origin{.name = name}))).name, name);
  EXPECT_EQ(decoded<LogicalMessage>(bytes_of(Message(LogicalMessage{.prefix = name}))).prefix,
            name);
}

TEST(MessageDecoder, reads_what_a_truncate_names) {
  const auto truncate = decoded<Truncate>("T\0\0\0\2\1\0\0\0\7\x80\0\0\1"s);
  ASSERT_EQ(truncate.relations.size(), 2U);
  EXPECT_EQ(truncate.relations[0], 7U);
  EXPECT_EQ(truncate.relations[1], 0x80000001U);
  EXPECT_TRUE(truncate.cascades);
  EXPECT_FALSE(truncate.restarts_sequences);
  EXPECT_TRUE(decoded<Truncate>("T\0\0\0\0\2"s).restarts_sequences);
}

TEST(MessageDecoder, refuses_flags_that_no_server_sets) {
  for (const Message& message : {Message(Commit{}),
                                 Message(Prepare{}),
                                 Message(CommitPrepared{}),
                                 Message(RollbackPrepared{})}) {
    std::string bytes = bytes_of(message);
    bytes[1] = '\1';
    EXPECT_EQ(error_of(bytes).reason, Reason::malformed) << bytes[0];
  }
  std::string message = bytes_of(Message(LogicalMessage{}));
  message[1] = '\2';
  EXPECT_EQ(error_of(message).reason, Reason::malformed);
  EXPECT_EQ(error_of("T\0\0\0\0\4"s).reason, Reason::malformed);
  EXPECT_EQ(error_of("R\0\0\0\1s\0n\0x\0\0"s).reason, Reason::malformed);
  EXPECT_EQ(error_of("R\0\0\0\1s\0n\0d\0\1\2c\0\0\0\0\1\0\0\0\1"s).reason, Reason::malformed);
}

TEST(MessageDecoder, names_the_byte_of_a_message_that_it_does_not_know) {
  for (const char type : "SEcAp"s) {
    const DecodeError error = error_of(type + "rest"s);
    EXPECT_EQ(error.reason, Reason::not_asked_for) << type;
    EXPECT_EQ(error.type, static_cast<std::uint8_t>(type));
  }
  EXPECT_EQ(error_of("z"s), (DecodeError{.reason = Reason::unknown_type, .type = 'z'}));
  EXPECT_EQ(describe(error_of("z"s)), "message 'z': its type is unknown");
  EXPECT_EQ(describe(error_of("\xfe"s)), "message 0xfe: its type is unknown");
  EXPECT_EQ(describe(error_of("\0"s)), "message 0x00: its type is unknown");
  EXPECT_EQ(error_of(""), DecodeError{});
}

}  // namespace
}  // namespace cuckooguard::pgoutput
