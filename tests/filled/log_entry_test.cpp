#include "filled/log_entry.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuckooguard::filled {
namespace {

Entry some_entry() {
  return {.seq = 7,
          .writer = std::string(kWriterBytes, 'w'),
          .counter = 3,
          .after = 6,
          .body = body_of(std::vector<Operation>{{.kind = Operation::Kind::drop, .filter = "f"}})};
}

std::string in_hexadecimal(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += kDigits[static_cast<unsigned char>(byte) >> 4U];
    text += kDigits[static_cast<unsigned char>(byte) & 0xFU];
  }
  return text;
}

TEST(LogEntry, a_tag_is_an_hmac_sha_256) {
  // What is vouched for comes first, with its length: "abc" is u64 3, 'a', 'b', 'c'.
  Mac mac = LogKey("key").begin("abc");
  mac.add("The quick brown fox");
  // printf '\3\0\0\0\0\0\0\0abcThe quick brown fox' | openssl dgst -sha256 -hmac key
  EXPECT_EQ(in_hexadecimal(mac.finish()),
            "356baa5236b5c47ef587677bc3af0378c3a5c5a2d3ac5393c456c97e480680c5");
}

TEST(LogEntry, each_field_but_the_number_is_under_the_tag) {
  const LogKey key("a key that all guards have");
  const std::string tag = key.tag_of(some_entry(), "generation");
  EXPECT_EQ(tag, key.tag_of(some_entry(), "generation"));
  EXPECT_NE(tag, LogKey("another one").tag_of(some_entry(), "generation"));
  EXPECT_NE(tag, key.tag_of(some_entry(), "generatioN"));
  const std::vector<std::function<void(Entry&)>> changes{
      [](Entry& entry) { entry.writer[0] = 'x'; },
      [](Entry& entry) { ++entry.counter; },
      [](Entry& entry) { --entry.after; },
      [](Entry& entry) { entry.body.back() ^= 1; },
      [](Entry& entry) { entry.body.pop_back(); },
      // The end of one field is not the beginning of the next one.
      [](Entry& entry) {
        entry.body.insert(0, 1, entry.writer.back());
        entry.writer.pop_back();
      }};
  for (const auto& change : changes) {
    Entry changed = some_entry();
    change(changed);
    EXPECT_NE(tag, key.tag_of(changed, "generation"));
  }
  Entry renumbered = some_entry();
  renumbered.seq = 8;
  EXPECT_EQ(tag, key.tag_of(renumbered, "generation")) << "the script gives the number";
}

TEST(LogEntry, tags_are_the_same_only_if_all_of_them_is) {
  EXPECT_TRUE(is_same_tag("abcd", "abcd"));
  EXPECT_FALSE(is_same_tag("abcd", "abce"));
  EXPECT_FALSE(is_same_tag("abcd", "abc"));
  EXPECT_FALSE(is_same_tag("", "abc"));
}

TEST(LogEntry, a_body_is_read_as_it_was_written) {
  const std::vector<Operation> operations{
      {.kind = Operation::Kind::create, .filter = "seen", .shape = {.capacity = 5000}},
      {.kind = Operation::Kind::add_if_new, .filter = "seen", .hashes = {1, ~0ULL}},
      {.kind = Operation::Kind::load, .filter = "old", .until = 2, .blob = std::string(3, '\0')}};
  const auto body = read_body(body_of(operations));
  ASSERT_TRUE(body);
  EXPECT_EQ(body->operations, operations);
  EXPECT_TRUE(body->digest.empty());
}

TEST(LogEntry, a_digest_is_read_as_it_was_written) {
  const auto body = read_body(digest_body_of("0123456789abcdef"));
  ASSERT_TRUE(body);
  EXPECT_EQ(body->digest, "0123456789abcdef");
  EXPECT_TRUE(body->operations.empty());
}

TEST(LogEntry, what_is_cut_off_or_goes_on_is_no_body) {
  for (const std::string& whole :
       {body_of(std::vector<Operation>{{.filter = "f", .hashes = {1, 2}}}),
        digest_body_of("0123456789abcdef")}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(read_body(whole.substr(0, size))) << size;
    }
    EXPECT_FALSE(read_body(whole + "x"));
  }
  EXPECT_FALSE(read_body("\3 of a sort that is not known"));
}

TEST(LogEntry, a_trace_tells_outcomes_apart_but_not_what_is_said_of_them) {
  const auto trace_of = [](const Outcome& outcome) {
    std::string out;
    put_trace(out, outcome);
    return out;
  };
  const std::vector<std::string> traces{trace_of({}),
                                        trace_of({.status = Outcome::Status::exists}),
                                        trace_of({.items = {ItemOutcome::done}}),
                                        trace_of({.items = {ItemOutcome::not_done}}),
                                        trace_of({.items = {ItemOutcome::done, ItemOutcome::done}}),
                                        trace_of({.counts = {1}}),
                                        trace_of({.counts = {2}})};
  for (std::size_t i = 0; i < traces.size(); ++i) {
    for (std::size_t j = i + 1; j < traces.size(); ++j) {
      EXPECT_NE(traces[i], traces[j]) << i << ' ' << j;
    }
  }
  EXPECT_EQ(trace_of({.why = "in some words"}), trace_of({.why = "in others"}));
}

}  // namespace
}  // namespace cuckooguard::filled
