#include "binlog/payload_reader.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include "made_events.h"

namespace cuckooguard::binlog {
namespace {

std::string compressed(const std::string& text) {
  std::string out(::ZSTD_compressBound(text.size()), '\0');
  out.resize(::ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

TransactionPayload payload_of(const std::string& bytes, std::size_t uncompressed_bytes) {
  return {.compression = TransactionPayload::Compression::zstd,
          .uncompressed_bytes = uncompressed_bytes,
          .payload = bytes};
}

struct Outcome {
  std::vector<std::string> events;
  std::optional<DecodeError> error;
};

Outcome read_all(PayloadReader& reader, const TransactionPayload& payload) {
  Outcome outcome;
  reader.open(payload);
  for (auto event = reader.next();; event = reader.next()) {
    if (!event) {
      outcome.error = event.error();
      EXPECT_EQ(reader.next().error(), event.error()) << "for good";
      return outcome;
    }
    if (event->empty()) {
      return outcome;
    }
    outcome.events.emplace_back(*event);
  }
}

// Of one byte to more than a block of zstd.
std::vector<std::string> some_events() {
  std::vector<std::string> events;
  for (const std::size_t size : {1UL, 0UL, 300UL, 400'000UL, 7UL, 131'053UL, 131'072UL}) {
    std::string body(size, 'a');
    for (std::size_t i = 0; i < size; ++i) {
      body[i] = static_cast<char>(i * i / 7);
    }
    events.push_back(make_event(EventType::rows_query, body));
  }
  return events;
}

std::string joined(const std::vector<std::string>& events) {
  std::string all;
  for (const std::string& event : events) {
    all += event;
  }
  return all;
}

TEST(PayloadReader, gives_the_events_one_by_one) {
  const auto events = some_events();
  const std::string all = joined(events);
  const std::string bytes = compressed(all);
  PayloadReader reader;
  for (int again = 0; again < 2; ++again) {
    const Outcome outcome = read_all(reader, payload_of(bytes, all.size()));
    EXPECT_EQ(outcome.error, std::nullopt);
    EXPECT_EQ(outcome.events, events);
  }
}

TEST(PayloadReader, reads_payloads_that_are_not_compressed) {
  const auto events = some_events();
  const std::string all = joined(events);
  PayloadReader reader;
  const Outcome outcome = read_all(reader, {.uncompressed_bytes = all.size(), .payload = all});
  EXPECT_EQ(outcome.error, std::nullopt);
  EXPECT_EQ(outcome.events, events);
}

TEST(PayloadReader, reads_on_behind_the_end_of_a_frame) {
  const auto events = some_events();
  const std::string all = joined(events);
  const std::string bytes = compressed(all.substr(0, 1000)) + compressed(all.substr(1000));
  PayloadReader reader;
  EXPECT_EQ(read_all(reader, payload_of(bytes, all.size())).events, events);
}

TEST(PayloadReader, refuses_a_stream_that_is_cut_or_changed) {
  const std::string all = joined(some_events());
  const std::string bytes = compressed(all);
  PayloadReader reader;
  for (const std::size_t size :
       {bytes.size() - 1, bytes.size() / 2, std::size_t{5}, std::size_t{0}}) {
    EXPECT_TRUE(read_all(reader, payload_of(bytes.substr(0, size), all.size())).error) << size;
  }
  std::string changed = bytes;
  changed[1] = '?';
  EXPECT_EQ(read_all(reader, payload_of(changed, all.size())).error,
            DecodeError::decompression_failed);
  EXPECT_EQ(read_all(reader, payload_of(bytes, all.size())).error, std::nullopt)
      << "open starts anew";
}

TEST(PayloadReader, refuses_more_or_fewer_bytes_than_announced) {
  const std::string all = joined(some_events());
  const std::string bytes = compressed(all);
  PayloadReader reader;
  EXPECT_EQ(read_all(reader, payload_of(bytes, all.size() - 1)).error,
            DecodeError::decompression_failed);
  EXPECT_EQ(read_all(reader, payload_of(bytes, all.size() + 1)).error, DecodeError::truncated);
}

TEST(PayloadReader, refuses_an_event_that_goes_beyond_the_payload) {
  const std::string all = joined(some_events());
  for (const std::size_t size : {all.size() - 1, all.size() - 131'072 - 18, std::size_t{18}}) {
    const std::string bytes = compressed(all.substr(0, size));
    PayloadReader reader;
    EXPECT_EQ(read_all(reader, payload_of(bytes, size)).error, DecodeError::truncated) << size;
  }
}

TEST(PayloadReader, refuses_an_event_beyond_the_limit_and_not_the_ones_before_it) {
  const auto events = some_events();
  const std::string all = joined(events);
  const std::string bytes = compressed(all);
  PayloadReader reader(400'000);
  const Outcome outcome = read_all(reader, payload_of(bytes, all.size()));
  EXPECT_EQ(outcome.error, DecodeError::too_large);
  EXPECT_EQ(outcome.events.size(), 3U);
  PayloadReader enough(400'000 + kEventHeaderBytes);
  EXPECT_EQ(read_all(enough, payload_of(bytes, all.size())).error, std::nullopt);
}

TEST(PayloadReader, of_no_events_is_at_its_end) {
  PayloadReader reader;
  EXPECT_EQ(read_all(reader, payload_of(compressed(""), 0)).error, std::nullopt);
  EXPECT_EQ(read_all(reader, {}).error, std::nullopt);
}

TEST(PayloadReader, refuses_an_event_that_is_shorter_than_its_header) {
  std::string event = make_event(EventType::rows_query, "");
  event[9] = 18;
  const std::string bytes = compressed(event);
  PayloadReader reader;
  EXPECT_EQ(read_all(reader, payload_of(bytes, event.size())).error, DecodeError::length_mismatch);
}

}  // namespace
}  // namespace cuckooguard::binlog
