#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/nodes.h"

namespace cuckooguard::topology {
namespace {

using cluster::Map;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Change = NodeTable::Change;

constexpr io::TimePoint kStart{std::chrono::hours(1)};

std::string id_of(char letter) {
  return std::string(40, letter);
}
std::string line(char letter, std::string_view port, std::string_view flags) {
  return id_of(letter) + " 10.0.0.1:" + std::string(port) + "@17000 " + std::string(flags) +
         " 0 0 1 connected\n";
}
Map map_of(const std::string& text) {
  auto view = cluster::parse_nodes(text, "");
  if (!view) {
    throw std::runtime_error(view.error());
  }
  view->is_ok = true;
  return cluster::merge({&*view, 1});
}
config::Address at(std::uint16_t port) {
  return {.host = "10.0.0.1", .port = port, .unix_path = {}};
}

class NodeTableTest : public testing::Test {
 protected:
  NodeTable table_{3};
};

TEST_F(NodeTableTest, a_node_s_certificate_is_for_the_hostname_that_it_has_announced) {
  const std::string node = id_of('a') +
                           " 10.0.0.1:7001@17001,a.example myself,master - 0 0 1 "
                           "connected\n";
  config::Address named = at(7001);
  EXPECT_EQ(named.certified_name(), "10.0.0.1");
  named.tls_name = "a.example";
  EXPECT_THAT(table_.follow(map_of(node), kStart), ElementsAre(Change{0, named}));
  EXPECT_EQ(named.certified_name(), "a.example");
}

TEST_F(NodeTableTest, masters_come_first_and_each_keeps_its_endpoint) {
  const std::string a = line('a', "7001", "slave " + id_of('b'));
  const std::string b = line('b', "7002", "myself,master -");
  const std::string c = line('c', "7003", "master -");
  EXPECT_THAT(table_.follow(map_of(b + a), kStart),
              ElementsAre(Change{0, at(7002)}, Change{1, at(7001)}));
  EXPECT_THAT(table_.follow(map_of(c + b + a), kStart), ElementsAre(Change{2, at(7003)}));
  EXPECT_THAT(table_.follow(map_of(a + b + c), kStart), IsEmpty());
  EXPECT_EQ(table_.endpoint_of(id_of('a')), 1U);
  EXPECT_EQ(table_.endpoint_of(id_of('d')), std::nullopt);
  EXPECT_EQ(table_.endpoint_of(""), std::nullopt) << "of a place that is free";
}

TEST(NodeTable, without_endpoints_no_node_has_one) {
  NodeTable none(0);
  EXPECT_THAT(none.follow(map_of(line('a', "7001", "myself,master -")), kStart), IsEmpty());
  EXPECT_EQ(none.unplaced(), 1U);
  EXPECT_EQ(none.endpoint_of(id_of('a')), std::nullopt);
}

TEST_F(NodeTableTest, a_node_that_moves_is_followed) {
  table_.follow(map_of(line('a', "7001", "myself,master -")), kStart);
  EXPECT_THAT(table_.follow(map_of(line('a', "7009", "myself,master -")), kStart),
              ElementsAre(Change{0, at(7009)}));
}

TEST_F(NodeTableTest, one_that_has_left_keeps_its_endpoint_for_a_while) {
  const std::string a = line('a', "7001", "myself,master -");
  table_.follow(map_of(a + line('b', "7002", "master -")), kStart);
  EXPECT_THAT(table_.follow(map_of(a), kStart + NodeTable::kKeptFor), IsEmpty());
  const auto later = kStart + NodeTable::kKeptFor + std::chrono::seconds(1);
  EXPECT_THAT(table_.follow(map_of(a), later), ElementsAre(Change{1, std::nullopt}));
  EXPECT_THAT(table_.follow(map_of(a + line('c', "7003", "master -")), later),
              ElementsAre(Change{1, at(7003)}));
}

TEST_F(NodeTableTest, of_more_nodes_than_endpoints_some_have_none) {
  std::string all;
  for (const char letter : std::string("abcde")) {
    all += line(letter,
                "700" + std::to_string(letter - 'a'),
                letter == 'a' ? "myself,slave " + id_of('b') : "master -");
  }
  EXPECT_EQ(table_.follow(map_of(all), kStart).size(), 3U);
  EXPECT_EQ(table_.unplaced(), 2U);
  EXPECT_EQ(table_.endpoint_of(id_of('a')), std::nullopt) << "a replica";
}

TEST_F(NodeTableTest, where_endpoints_are_short_one_that_has_left_loses_its_own_at_once) {
  table_.restore("0 " + id_of('x') + "\n1 " + id_of('y') + "\n2 " + id_of('z') + "\n", kStart);
  const auto later = kStart + std::chrono::seconds(1);
  const std::string a = line('a', "7001", "myself,master -");
  EXPECT_EQ(table_.follow(map_of(a), later).size(), 1U) << "another cluster's ids were kept";
  EXPECT_EQ(table_.unplaced(), 0U);
  EXPECT_TRUE(table_.endpoint_of(id_of('a')));
}

TEST_F(NodeTableTest, one_without_an_address_is_led_to_by_nothing) {
  EXPECT_THAT(table_.follow(map_of(id_of('a') + " :0@0 master,noaddr - 0 0 1 disconnected\n" +
                                   line('b', "7002", "myself,master -")),
                            kStart),
              ElementsAre(Change{0, at(7002)}));
}

TEST_F(NodeTableTest, what_it_says_is_what_it_goes_on_with) {
  const std::string a = line('a', "7001", "myself,master -");
  const std::string b = line('b', "7002", "master -");
  const std::string b_alone = line('b', "7002", "myself,master -");
  table_.follow(map_of(a + b), kStart);
  NodeTable next(3);
  next.restore("garbage\n7 " + id_of('c') + "\n" + table_.text() + "0 " + id_of('d') + "\n1\n2 \n",
               kStart);
  EXPECT_EQ(next.text(), table_.text());
  EXPECT_THAT(next.follow(map_of(b_alone), kStart), ElementsAre(Change{1, at(7002)}));
  EXPECT_EQ(next.endpoint_of(id_of('a')), 0U) << "the cluster may not have told of it yet";
}

}  // namespace
}  // namespace cuckooguard::topology
