// Replies of a real cluster, in all ways in which it names its nodes: what is expected is made of
// them by replacing text, and the lengths in front of it.

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/topology_reply.h"
#include "made_replies.h"
#include "recording.h"

namespace cuckooguard::cluster {
namespace {

using ::testing::Combine;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Values;

constexpr std::string_view kTold = "guard.example.org";

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

// The length in front of the reply's last string is what it was; all else is right.
void correct_length(std::string& reply, std::string_view before) {
  const auto type = reply.find_last_of("$=", reply.find("\r\n", reply.find("\r\n") + 2));
  const std::string_view number =
      std::string_view(reply).substr(type + 1, reply.find('\r', type) - type - 1);
  const std::size_t length = std::stoul(std::string(number)) + reply.size() - before.size();
  reply.replace(type + 1, number.size(), std::to_string(length));
}

std::string expected(std::string reply, bool has_tls) {
  for (const std::string host : {"127.0.0.1", "::1", "?"}) {
    replace_all(reply, bulk(host), bulk(kTold));
    replace_all(reply, " " + host + ":", " " + std::string(kTold) + ":");
  }
  for (const std::string node : {"1", "2", "3"}) {
    const std::string hostname = "node700" + node + ".example";
    replace_all(reply, bulk(hostname), bulk(kTold));
    replace_all(reply, "," + hostname, "," + std::string(kTold));
    replace_all(reply, " " + hostname + ":", " " + std::string(kTold) + ":");
    const std::string plain = bulk("port") + ":700" + node + "\r\n";
    const std::string tls = bulk("tls-port") + ":2700" + node + "\r\n";
    replace_all(reply, has_tls ? plain + tls : tls, has_tls ? tls : "");
    replace_all(reply, ":2700" + node, ":710" + node);
    replace_all(reply, ":700" + node, ":710" + node);
  }
  return reply;
}

class RecordedReplies
    : public ::testing::TestWithParam<std::tuple<std::string, std::string, bool>> {
 protected:
  std::string expected_text(const std::string& reply) const {
    std::string text = expected(reply, client_.has_tls);
    correct_length(text, reply);
    return text;
  }
  std::string expected_shards() const {
    std::string text = expected(recording_.shards, client_.has_tls);
    if (std::get<0>(GetParam()) == "tls") {
      replace_all(text, "%8\r\n", "%7\r\n");
      replace_all(text, "*16\r\n", "*14\r\n");
    }
    return text;
  }
  void expect(TopologyReply kind,
              const std::string& reply,
              const std::string& wanted,
              std::size_t nodes) const {
    const Rewritten rewritten = rewrite(kind, reply, addresses_, client_);
    EXPECT_EQ(rewritten.reply, wanted);
    EXPECT_EQ(rewritten.replaced, nodes);
    EXPECT_EQ(rewritten.unknown, 0);
    EXPECT_FALSE(rewritten.is_malformed);
    EXPECT_THAT(rewritten.reply, Not(HasSubstr(":700")));
    EXPECT_EQ(rewrite(kind, rewritten.reply, addresses_, client_).reply, rewritten.reply);
    const Rewritten left = rewrite(kind, reply, Addresses(), client_);
    EXPECT_EQ(left.reply, reply);
    EXPECT_EQ(left.unknown, nodes);
  }

  Recording recording_ = recorded(std::get<0>(GetParam()) + "_" + std::get<1>(GetParam()));
  Addresses addresses_ = addresses_of(recording_);
  ClientView client_{.host = kTold,
                     .host_of_this_node = std::get<0>(GetParam()) == "ipv6" ? "::1" : "127.0.0.1",
                     .has_tls = std::get<2>(GetParam())};
};

TEST_P(RecordedReplies, have_our_addresses_and_are_else_as_they_were) {
  if (client_.has_tls && std::get<0>(GetParam()) != "tls") {
    // Of nodes without TLS behind a guard with it: the port has the other name.
    std::string wanted = expected_shards();
    replace_all(wanted, bulk("port"), bulk("tls-port"));
    expect(TopologyReply::shards, recording_.shards, wanted, 3);
    return;
  }
  expect(TopologyReply::slots, recording_.slots, expected(recording_.slots, client_.has_tls), 5);
  expect(TopologyReply::shards, recording_.shards, expected_shards(), 3);
  expect(TopologyReply::nodes, recording_.nodes, expected_text(recording_.nodes), 3);
  expect(TopologyReply::replicas, recording_.replicas, expected_text(recording_.replicas), 1);
  expect(TopologyReply::none, recording_.moved, expected(recording_.moved, client_.has_tls), 1);
}

TEST_P(RecordedReplies, are_as_they_were_if_they_are_cut) {
  const auto kinds = {TopologyReply::slots,
                      TopologyReply::shards,
                      TopologyReply::nodes,
                      TopologyReply::replicas,
                      TopologyReply::none};
  auto kind = kinds.begin();
  for (const std::string& reply : recording_.all()) {
    for (std::size_t bytes = 0; bytes < reply.size(); ++bytes) {
      // Ends where a sanitizer sees it.
      const auto exactly = std::make_unique<char[]>(bytes);
      std::copy_n(reply.begin(), bytes, exactly.get());
      const std::string_view cut(exactly.get(), bytes);
      const Rewritten rewritten = rewrite(*kind, cut, addresses_, client_);
      ASSERT_EQ(rewritten.reply, cut);
      ASSERT_TRUE(rewritten.is_malformed);
      ASSERT_EQ(rewritten.replaced, 0);
    }
    ++kind;
  }
}

INSTANTIATE_TEST_SUITE_P(,
                         RecordedReplies,
                         Combine(Values("ip",
                                        "ip_and_hostname",
                                        "hostname",
                                        "no_hostname",
                                        "unknown_endpoint",
                                        "tls",
                                        "ipv6"),
                                 Values("resp2", "resp3"),
                                 Values(false, true)),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_" + std::get<1>(test.param) +
                                  (std::get<2>(test.param) ? "_to_tls" : "");
                         });

}  // namespace
}  // namespace cuckooguard::cluster
