#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "made_messages.h"
#include "pgoutput/message.h"
#include "recording.h"

namespace cuckooguard::pgoutput {
namespace {

using namespace std::string_literals;
using Reason = DecodeError::Reason;

DecodeError error_of(const std::string& bytes) {
  const auto message = decode_replication_message(bytes);
  EXPECT_FALSE(message);
  return message ? DecodeError{} : message.error();
}

TEST(ReplicationMessage, of_a_piece_of_log_has_its_places_clock_and_payload) {
  const std::string bytes = from_hex(
      "77000000160154d7b0000000160154d7c0000303f77359e6c4"
      "42ff00");
  const auto message = decode_replication_message(bytes);
  ASSERT_TRUE(message);
  const auto& data = std::get<WalMessage>(*message);
  EXPECT_EQ(data.start.text(), "16/154D7B0");
  EXPECT_EQ(data.server_end.text(), "16/154D7C0");
  EXPECT_EQ(data.clock.microseconds, 0x303f77359e6c4);
  EXPECT_EQ(data.payload, "B\xff\0"s);
}

TEST(ReplicationMessage, of_a_server_that_lives_says_whether_it_wants_a_reply) {
  for (const bool wants : {false, true}) {
    const std::string bytes =
        from_hex("6b000000160154ca90fffffffffffffffe") + (wants ? '\1' : '\0');
    const auto message = decode_replication_message(bytes);
    ASSERT_TRUE(message);
    const auto& keepalive = std::get<PrimaryKeepalive>(*message);
    EXPECT_EQ(keepalive.server_end.text(), "16/154CA90");
    EXPECT_EQ(keepalive.clock.microseconds, -2);
    EXPECT_EQ(keepalive.reply_requested, wants);
  }
}

TEST(ReplicationMessage, is_refused_where_it_is_cut) {
  const std::string keepalive = bytes_of(ReplicationMessage(PrimaryKeepalive{}));
  for (std::size_t size = 1; size < keepalive.size(); ++size) {
    EXPECT_EQ(error_of(keepalive.substr(0, size)),
              (DecodeError{.reason = Reason::truncated, .type = 'k'}));
  }
  const std::string data = bytes_of(ReplicationMessage(WalMessage{}));
  for (std::size_t size = 1; size < data.size(); ++size) {
    EXPECT_EQ(error_of(data.substr(0, size)),
              (DecodeError{.reason = Reason::truncated, .type = 'w'}));
  }
  EXPECT_EQ(error_of(""), DecodeError{});
}

TEST(ReplicationMessage, is_refused_with_what_no_server_writes) {
  const std::string keepalive = bytes_of(ReplicationMessage(PrimaryKeepalive{}));
  EXPECT_EQ(error_of(keepalive + "x").reason, Reason::trailing_bytes);
  EXPECT_EQ(error_of(keepalive.substr(0, keepalive.size() - 1) + '\2').reason, Reason::malformed);
  EXPECT_EQ(error_of("r" + keepalive.substr(1)),
            (DecodeError{.reason = Reason::unknown_type, .type = 'r'}));
}

TEST(StandbyStatusUpdate, is_written_as_the_protocol_says) {
  const auto bytes = encode({.written = {0x16'b374'd848},
                             .flushed = {0x16'b374'd847},
                             .applied = {0xffff'ffff'ffff'ffff},
                             .clock = {-2},
                             .reply_requested = true});
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()),
            from_hex("72"
                     "00000016b374d848"
                     "00000016b374d847"
                     "ffffffffffffffff"
                     "fffffffffffffffe"
                     "01"));
  EXPECT_EQ(encode({}).back(), '\0');
}

}  // namespace
}  // namespace cuckooguard::pgoutput
