#include "binlog/event_decoder.h"

#include <list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <zlib.h>

#include "made_events.h"

namespace cuckooguard::binlog {
namespace {

using namespace std::string_literals;

EventDecoder decoder_of(Brand brand) {
  EventDecoder decoder;
  EXPECT_TRUE(decoder.decode(make_format(brand)));
  return decoder;
}

// The body views the bytes, which are therefore kept to the end.
template <typename T>
T decoded(EventDecoder& decoder, const std::string& bytes) {
  static std::list<std::string> kept;
  const auto event = decoder.decode(kept.emplace_back(bytes));
  if (!event) {
    ADD_FAILURE() << describe(event.error());
    return {};
  }
  const T* body = std::get_if<T>(&event->body);
  EXPECT_NE(body, nullptr) << event->body.index();
  return body != nullptr ? *body : T{};
}

template <typename T>
T decoded(Brand brand, EventType type, const std::string& body, std::uint16_t flags = 0) {
  EventDecoder decoder = decoder_of(brand);
  return decoded<T>(decoder, make_event(type, body, flags));
}

DecodeError error_of(Brand brand, EventType type, const std::string& body) {
  EventDecoder decoder = decoder_of(brand);
  const auto event = decoder.decode(make_event(type, body));
  EXPECT_FALSE(event);
  return event ? DecodeError{} : event.error();
}

std::string deflated(const std::string& text) {
  std::string out(::compressBound(text.size()), '\0');
  uLongf size = out.size();
  ::compress(reinterpret_cast<Bytef*>(out.data()),
             &size,
             reinterpret_cast<const Bytef*>(text.data()),
             text.size());
  return out.substr(0, size);
}

const std::string kQueryHead = zeros(8) + "\x04"s + zeros(2) + "\x02\x00"s + "st" + "shop\0"s;

TEST(EventDecoder, refuses_events_before_the_format_description) {
  EventDecoder decoder;
  EXPECT_EQ(decoder.decode(make_event(EventType::xid, zeros(8))).error(),
            DecodeError::no_format_description);
}

TEST(EventDecoder, takes_a_rotate_made_for_the_connection_first_with_the_checksum_asked_for) {
  EventDecoder decoder({.checksum = ChecksumAlgorithm::crc32});
  const std::string rotate =
      make_event(EventType::rotate, little_endian(4, 8) + "log.000002", EventHeader::kArtificial);
  EXPECT_EQ(decoder.decode(rotate).error(), DecodeError::checksum_mismatch);
  const std::string sent = with_checksum(rotate);
  const auto event = decoder.decode(sent);
  ASSERT_TRUE(event);
  EXPECT_TRUE(event->header.is_artificial());
  EXPECT_EQ(std::get<Rotate>(event->body).file, "log.000002");
  EXPECT_EQ(std::get<Rotate>(event->body).position, 4U);
}

TEST(EventDecoder, learns_from_the_format_description_whose_log_it_is_and_if_it_has_checksums) {
  EventDecoder decoder;
  const std::string lengths = post_header_lengths(Brand::mariadb);
  const auto format =
      decoded<FormatDescription>(decoder, make_format(lengths, ChecksumAlgorithm::crc32));
  EXPECT_TRUE(format.is_mariadb);
  EXPECT_TRUE(decoder.is_mariadb());
  EXPECT_EQ(decoder.checksum(), ChecksumAlgorithm::crc32);
  EXPECT_EQ(decoder.decode(make_event(EventType::xid, zeros(8))).error(),
            DecodeError::checksum_mismatch);
  EXPECT_TRUE(decoder.decode(with_checksum(make_event(EventType::xid, zeros(8)))));
  EXPECT_FALSE(decoded<FormatDescription>(decoder, make_format(Brand::mysql)).is_mariadb);
  EXPECT_TRUE(decoder.decode(make_event(EventType::xid, zeros(8))));
}

TEST(EventDecoder, checks_the_format_description_itself_even_if_nothing_else_has_a_checksum) {
  EventDecoder decoder;
  std::string format = make_format(Brand::mysql);
  format[25] = 'X';
  EXPECT_EQ(decoder.decode(format).error(), DecodeError::checksum_mismatch);
}

TEST(EventDecoder, refuses_formats_with_other_layouts) {
  for (const std::size_t type : {2UL, 4UL, 19UL, 23UL, 30UL, 31UL, 32UL}) {
    std::string lengths = post_header_lengths(Brand::mysql);
    lengths[type - 1] = 6;
    EventDecoder decoder;
    EXPECT_EQ(decoder.decode(make_format(lengths)).error(), DecodeError::unsupported_format)
        << type;
  }
  EventDecoder decoder;
  EXPECT_EQ(decoder.decode(make_format(post_header_lengths(Brand::mysql).substr(0, 27))).error(),
            DecodeError::unsupported_format);
}

TEST(EventDecoder, refuses_an_event_that_is_longer_or_shorter_than_its_header_says) {
  EventDecoder decoder = decoder_of(Brand::mysql);
  const std::string event = make_event(EventType::xid, zeros(8));
  EXPECT_EQ(decoder.decode(event + '\0').error(), DecodeError::length_mismatch);
  EXPECT_EQ(decoder.decode(event.substr(0, event.size() - 1)).error(),
            DecodeError::length_mismatch);
}

TEST(EventDecoder, skips_an_unknown_type_only_if_it_says_that_it_may_be_skipped) {
  constexpr auto kFuture = static_cast<EventType>(150);
  decoded<Unknown>(Brand::mysql, kFuture, "future");
  decoded<Ignorable>(Brand::mysql, kFuture, "future", EventHeader::kIgnorable);
  decoded<Unknown>(Brand::mariadb, static_cast<EventType>(172), "future");
}

TEST(EventDecoder, does_not_take_one_servers_types_for_the_others) {
  decoded<Unknown>(Brand::mysql, EventType::mariadb_gtid, zeros(19));
  decoded<Unknown>(Brand::mariadb, EventType::mysql_gtid, zeros(42));
}

TEST(EventDecoder, reads_a_query_behind_its_status_variables) {
  const auto query = decoded<Query>(Brand::mysql, EventType::query, kQueryHead + "DROP TABLE x");
  EXPECT_EQ(query.schema, "shop");
  EXPECT_EQ(query.text, "DROP TABLE x");
  EXPECT_EQ(error_of(Brand::mysql, EventType::query, kQueryHead.substr(0, 14)),
            DecodeError::truncated);
  EXPECT_EQ(error_of(Brand::mysql, EventType::query, zeros(8) + "\x01"s + zeros(4) + "sX"),
            DecodeError::malformed);
}

TEST(EventDecoder, reads_load_data_as_a_query) {
  const auto query = decoded<Query>(
      Brand::mysql,
      EventType::execute_load_query,
      zeros(8) + "\x04"s + zeros(2) + "\x02\x00"s + zeros(13) + "st" + "shop\0LOAD DATA"s);
  EXPECT_EQ(query.schema, "shop");
  EXPECT_EQ(query.text, "LOAD DATA");
}

TEST(EventDecoder, refuses_bytes_behind_the_last_field) {
  EXPECT_EQ(error_of(Brand::mysql, EventType::xid, zeros(9)), DecodeError::trailing_bytes);
  EXPECT_EQ(error_of(Brand::mysql, EventType::xid, zeros(7)), DecodeError::truncated);
}

TEST(EventDecoder, steps_over_what_a_row_event_says_of_partitions) {
  const auto rows = decoded<Rows>(Brand::mysql,
                                  EventType::write_rows,
                                  little_endian(0x123456789abc, 6) + "\x01\x00"s + "\x05\x00"s +
                                      "\x01\x07\x00"s + "\x03" + "\x07" + "images");
  EXPECT_EQ(rows.kind, RowsKind::write);
  EXPECT_EQ(rows.table_id, 0x123456789abcU);
  EXPECT_TRUE(rows.ends_statement);
  EXPECT_EQ(rows.column_count, 3U);
  EXPECT_EQ(rows.after_columns, "\x07");
  EXPECT_EQ(rows.images, "images");
}

TEST(EventDecoder, refuses_a_row_event_with_more_columns_than_a_table_has) {
  const std::string head = zeros(8) + "\x02\x00"s;
  EXPECT_EQ(error_of(Brand::mysql, EventType::write_rows, head + "\xfc\x01\x10"s + zeros(1000)),
            DecodeError::malformed);
  EXPECT_EQ(error_of(Brand::mysql, EventType::write_rows, zeros(8) + "\x01\x00\x00"s),
            DecodeError::malformed);
}

TEST(EventDecoder, tells_that_an_incident_has_happened) {
  const auto incident = decoded<Incident>(Brand::mysql, EventType::incident, "\x01\x00\x04lost"s);
  EXPECT_EQ(incident.number, 1U);
  EXPECT_EQ(incident.message, "lost");
}

TEST(EventDecoder, reads_both_kinds_of_heartbeat) {
  EventDecoder decoder = decoder_of(Brand::mysql);
  const std::string first = make_event(EventType::heartbeat, "log.000007", 0, 1234);
  auto heartbeat = decoded<Heartbeat>(decoder, first);
  EXPECT_EQ(heartbeat.file, "log.000007");
  EXPECT_EQ(heartbeat.position, 1234U);
  const std::string second =
      make_event(EventType::mysql_heartbeat_v2,
                 "\x01\x0alog.000007"s + "\x02\x09\xfe"s + little_endian(5'000'000'000, 8) + "\0"s);
  heartbeat = decoded<Heartbeat>(decoder, second);
  EXPECT_EQ(heartbeat.file, "log.000007");
  EXPECT_EQ(heartbeat.position, 5'000'000'000U);
}

TEST(EventDecoder, takes_a_heartbeat_that_it_cannot_read_for_a_heartbeat) {
  const auto heartbeat =
      decoded<Heartbeat>(Brand::mysql, EventType::mysql_heartbeat_v2, "\x02\xff");
  EXPECT_FALSE(heartbeat.position);
}

TEST(EventDecoder, reads_a_mariadb_gtid_of_a_group_commit) {
  const auto transaction =
      decoded<MariaDbTransaction>(Brand::mariadb,
                                  EventType::mariadb_gtid,
                                  little_endian(75, 8) + little_endian(3, 4) + "\x46" + zeros(8) +
                                      little_endian(7, 4) + "\x03\x02"s + "gtrbq");
  EXPECT_EQ(transaction.gtid, (MariaDbGtid{.domain = 3, .server_id = 77, .sequence = 75}));
  EXPECT_FALSE(transaction.is_standalone);
  EXPECT_TRUE(transaction.is_transactional);
  EXPECT_TRUE(transaction.prepares_xa);
  EXPECT_EQ(transaction.xid, Xid::make(7, "gtr", "bq"));
}

TEST(EventDecoder, refuses_a_mysql_gtid_with_a_number_that_none_has) {
  const std::string head = zeros(1) + std::string(16, 'u');
  for (const std::uint64_t number : {std::uint64_t{0}, MySqlGtid::kNumberMax + 1}) {
    EXPECT_EQ(error_of(Brand::mysql, EventType::mysql_gtid, head + little_endian(number, 8)),
              DecodeError::malformed);
  }
  EXPECT_TRUE(
      decoded<MySqlTransaction>(Brand::mysql, EventType::mysql_anonymous_gtid, head + zeros(8))
          .is_anonymous);
}

TEST(EventDecoder, inflates_a_compressed_query_of_mariadb_within_the_limit) {
  const std::string text(1000, 'q');
  const std::string event = make_event(EventType::mariadb_query_compressed,
                                       kQueryHead + "\x82\x03\xe8"s + deflated(text));
  EventDecoder decoder = decoder_of(Brand::mariadb);
  EXPECT_EQ(decoded<Query>(decoder, event).text, text);
  EventDecoder small({.decompressed_bytes_max = 999});
  ASSERT_TRUE(small.decode(make_format(Brand::mariadb)));
  EXPECT_EQ(small.decode(event).error(), DecodeError::too_large);
}

TEST(EventDecoder, refuses_compressed_events_that_do_not_become_what_they_announce) {
  const std::string stream = deflated(std::string(1000, 'q'));
  const auto error = [](const std::string& block) {
    return error_of(Brand::mariadb, EventType::mariadb_query_compressed, kQueryHead + block);
  };
  EXPECT_EQ(error("\x82\x03\xe7"s + stream), DecodeError::decompression_failed);
  EXPECT_EQ(error("\x82\x03\xe9"s + stream), DecodeError::decompression_failed);
  EXPECT_EQ(error("\x82\x03\xe8"s + stream + "more"), DecodeError::decompression_failed);
  EXPECT_EQ(error("\x82\x03\xe8"s + stream.substr(0, 8)), DecodeError::decompression_failed);
  EXPECT_EQ(error("\x84\x3f\xff\xff\xff"s + stream), DecodeError::decompression_failed);
  EXPECT_EQ(error("\x82\x03\xe8"s), DecodeError::decompression_failed);
  EXPECT_EQ(error("\x92\x03\xe8"s + stream), DecodeError::malformed);
  EXPECT_EQ(error("\x85\x00\x00\x00\x03\xe8"s + stream), DecodeError::malformed);
  EXPECT_EQ(error(""), DecodeError::truncated);
}

TEST(EventDecoder, is_as_before_after_an_event_that_it_refused) {
  EventDecoder decoder = decoder_of(Brand::mysql);
  EXPECT_FALSE(decoder.decode(make_event(EventType::xid, "short")));
  EXPECT_EQ(decoded<Commit>(decoder, make_event(EventType::xid, little_endian(9, 8))).xid, 9U);
}

TEST(EventDecoder, refuses_a_payload_in_a_payload) {
  EventDecoder decoder = decoder_of(Brand::mysql);
  EXPECT_EQ(
      decoder.decode_payload_event(make_event(EventType::mysql_transaction_payload, "\0"s)).error(),
      DecodeError::malformed);
}

}  // namespace
}  // namespace cuckooguard::binlog
