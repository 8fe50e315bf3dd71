#include "binlog/mariadb_position.h"

#include <string>

#include <gtest/gtest.h>

#include "made_events.h"

namespace cuckooguard::binlog {
namespace {

using namespace std::string_literals;

MariaDbPosition position_of(const std::string& text) {
  const auto position = MariaDbPosition::parse(text);
  EXPECT_TRUE(position) << text;
  return position.value_or(MariaDbPosition{});
}

std::string entry(std::uint32_t domain, std::uint32_t server, std::uint64_t sequence) {
  return little_endian(domain, 4) + little_endian(server, 4) + little_endian(sequence, 8);
}

TEST(MariaDbPosition, is_printed_as_it_was_read_by_domain) {
  EXPECT_EQ(position_of("").to_string(), "");
  EXPECT_EQ(position_of("1-2-3,0-1-75").to_string(), "0-1-75,1-2-3");
  EXPECT_EQ(position_of("4294967295-4294967295-18446744073709551615").to_string(),
            "4294967295-4294967295-18446744073709551615");
}

TEST(MariaDbPosition, is_not_read_from_any_other_text) {
  for (const std::string& text : {"0-1"s,
                                  "0-1-"s,
                                  "0-1-2,"s,
                                  ",0-1-2"s,
                                  "0-1-2-3"s,
                                  "a-1-2"s,
                                  "0-1-2 "s,
                                  "4294967296-1-2"s,
                                  "0--1-2"s,
                                  "0-1-2,0-2-3"s,
                                  "0-1-18446744073709551616"s}) {
    EXPECT_FALSE(MariaDbPosition::parse(text)) << text;
  }
}

TEST(MariaDbPosition, moves_in_the_domain_of_the_transaction_only) {
  MariaDbPosition position = position_of("0-1-75,1-2-3");
  EXPECT_TRUE(position.add({.domain = 1, .server_id = 9, .sequence = 4}));
  EXPECT_TRUE(position.add({.domain = 7, .server_id = 1, .sequence = 1}));
  EXPECT_EQ(position.to_string(), "0-1-75,1-9-4,7-1-1");
}

TEST(MariaDbPosition, covers_what_its_domain_has_passed) {
  const MariaDbPosition position = position_of("0-1-75,1-2-3");
  EXPECT_TRUE(position.covers(MariaDbGtid{.domain = 0, .server_id = 1, .sequence = 75}));
  EXPECT_TRUE(position.covers(MariaDbGtid{.domain = 0, .server_id = 5, .sequence = 74}));
  EXPECT_FALSE(position.covers(MariaDbGtid{.domain = 0, .server_id = 5, .sequence = 75}));
  EXPECT_FALSE(position.covers(MariaDbGtid{.domain = 0, .server_id = 1, .sequence = 76}));
  EXPECT_FALSE(position.covers(MariaDbGtid{.domain = 2, .server_id = 1, .sequence = 1}));
  EXPECT_TRUE(position.covers(position_of("")));
  EXPECT_TRUE(position.covers(position_of("0-1-75,1-2-3")));
  EXPECT_TRUE(position.covers(position_of("1-2-2")));
  EXPECT_FALSE(position.covers(position_of("0-1-75,1-2-4")));
  EXPECT_FALSE(position.covers(position_of("2-1-1")));
}

TEST(MariaDbPosition, is_disordered_by_another_server_that_does_not_count_on) {
  const MariaDbPosition position = position_of("0-1-75,1-2-3");
  for (const std::uint64_t sequence : {1U, 74U, 75U}) {
    EXPECT_TRUE(position.is_disordered_by({.domain = 0, .server_id = 5, .sequence = sequence}));
    EXPECT_FALSE(position.is_disordered_by({.domain = 0, .server_id = 1, .sequence = sequence}));
    EXPECT_FALSE(position.is_disordered_by({.domain = 2, .server_id = 5, .sequence = sequence}));
  }
  EXPECT_FALSE(position.is_disordered_by({.domain = 0, .server_id = 5, .sequence = 76}));
}

TEST(MariaDbPosition, stands_where_the_last_entry_of_a_domain_in_a_list_does) {
  const auto position =
      MariaDbPosition::decode("\3\0\0\x10"s + entry(0, 2, 90) + entry(0, 1, 75) + entry(5, 1, 1));
  ASSERT_TRUE(position);
  EXPECT_EQ(position->to_string(), "0-1-75,5-1-1");
}

TEST(MariaDbPosition, is_not_decoded_from_a_list_that_is_cut) {
  const std::string list = "\2\0\0\0"s + entry(0, 2, 90) + entry(5, 1, 1);
  for (std::size_t size = 0; size < list.size(); ++size) {
    EXPECT_FALSE(MariaDbPosition::decode(list.substr(0, size))) << size;
  }
  EXPECT_TRUE(MariaDbPosition::decode("\0\0\0\0\0\0"s)->is_empty());
}

TEST(MariaDbPosition, refuses_domains_beyond_its_limit_and_goes_on_with_those_it_has) {
  MariaDbPosition position;
  for (std::uint32_t domain = 0; domain < MariaDbPosition::kDomainsMax; ++domain) {
    ASSERT_TRUE(position.add({.domain = domain, .server_id = 1, .sequence = 1}));
  }
  EXPECT_FALSE(position.add({.domain = 1'000'000, .server_id = 1, .sequence = 1}));
  EXPECT_TRUE(position.add({.domain = 0, .server_id = 1, .sequence = 2}));
}

}  // namespace
}  // namespace cuckooguard::binlog
