#include "cluster/addresses.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "made_replies.h"

namespace cuckooguard::cluster {
namespace {

TEST(Addresses, know_a_node_by_its_id_and_by_all_its_addresses) {
  Node named = made_node("aa", "10.0.0.1", 7001);
  named.hostname = "one.example";
  named.tls_port = 17001;
  Addresses addresses;
  addresses.add(named, 7101);
  EXPECT_EQ(addresses.find_by_id("aa"), 7101);
  EXPECT_EQ(addresses.find_by_id("bb"), std::nullopt);
  for (const std::string host : {"10.0.0.1", "one.example"}) {
    EXPECT_EQ(addresses.find_by_endpoint(host, 7001, ""), 7101);
    EXPECT_EQ(addresses.find_by_endpoint(host, 17001, ""), 7101);
    EXPECT_EQ(addresses.find_by_endpoint(host, 7002, ""), std::nullopt);
  }
  EXPECT_EQ(addresses.find_by_endpoint("10.0.0.2", 7001, "10.0.0.1"), std::nullopt);
}

TEST(Addresses, take_an_open_host_for_that_of_the_node_or_the_only_one_with_the_port) {
  Addresses addresses;
  addresses.add(made_node("aa", "10.0.0.1", 7001), 7101);
  addresses.add(made_node("bb", "10.0.0.2", 7001), 7102);
  addresses.add(made_node("cc", "10.0.0.2", 7003), 7103);
  for (const std::string open : {"", "?"}) {
    EXPECT_EQ(addresses.find_by_endpoint(open, 7001, "10.0.0.1"), 7101);
    EXPECT_EQ(addresses.find_by_endpoint(open, 7001, "10.0.0.2"), 7102);
    EXPECT_EQ(addresses.find_by_endpoint(open, 7001, "10.0.0.3"), std::nullopt) << "two have it";
    EXPECT_EQ(addresses.find_by_endpoint(open, 7003, "10.0.0.1"), 7103);
    EXPECT_EQ(addresses.find_by_endpoint(open, 7004, "10.0.0.1"), std::nullopt);
  }
}

TEST(Addresses, are_those_of_who_has_taken_the_place_of_another) {
  Node gone = made_node("aa", "10.0.0.1", 7001);
  gone.is_failing = true;
  gone.config_epoch = 9;
  const Node here = made_node("bb", "10.0.0.1", 7001);
  for (const bool gone_first : {true, false}) {
    Addresses addresses;
    addresses.add(gone_first ? gone : here, gone_first ? 7101 : 7102);
    addresses.add(gone_first ? here : gone, gone_first ? 7102 : 7101);
    EXPECT_EQ(addresses.find_by_endpoint("10.0.0.1", 7001, ""), 7102);
    EXPECT_EQ(addresses.find_by_endpoint("", 7001, "elsewhere"), 7102);
    EXPECT_EQ(addresses.find_by_id("aa"), 7101);
  }
}

TEST(Addresses, know_who_has_no_listener) {
  Addresses addresses;
  addresses.add(made_node("aa", "10.0.0.1", 7001), 0);
  EXPECT_EQ(addresses.find_by_id("aa"), 0);
  EXPECT_EQ(addresses.find_by_endpoint("10.0.0.1", 7001, ""), 0);
  EXPECT_EQ(addresses.size(), 1);
}

}  // namespace
}  // namespace cuckooguard::cluster
