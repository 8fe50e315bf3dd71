// Who reads which keys of a namespace, and which of them are to expire together, as clients, the
// page and metrics are told.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/admin_client.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr int kCommands = 6400;  // of which a hundred reads are seen

class WhoReadsWhat : public testing::Test {
 protected:
  WhoReadsWhat() { shop_.wait_until_it_answers(); }

  void send(std::initializer_list<std::string_view> arguments) {
    RawClient client = shop_.client();
    for (int i = 0; i < kCommands; ++i) {
      client.call(arguments);
    }
  }
  std::string call(std::initializer_list<std::string_view> arguments) {
    return shop_.guard().call(arguments);
  }
  std::string metrics() const { return AdminClient(shop_.guard()).get("/metrics").body; }

  Shop shop_{{.more = std::string(kAdmin)}};
};

TEST_F(WhoReadsWhat, is_told_to_who_may_read_the_keys_and_to_nobody_else) {
  send({"GET", absent_user(7)});
  EXPECT_THAT(call({"GUARD.TOP", "users"}),
              AllOf(HasSubstr("few_keys"), HasSubstr(bulk(absent_user(7)))));
  EXPECT_THAT(call({"GUARD.TOP", "users", "clients"}), HasSubstr(bulk("127.0.0.1")));
  shop_.redis().call({"ACL", "SETUSER", "tags", "on", ">word", "+get", "~tag:*"});
  RawClient other = shop_.client();
  ASSERT_EQ(other.call({"AUTH", "tags", "word"}), kOk);
  EXPECT_THAT(other.call({"GUARD.TOP", "users"}), StartsWith("-NOPERM"));
  EXPECT_THAT(other.call({"GUARD.TOP", "tags"}), StartsWith("*8"));
}

TEST_F(WhoReadsWhat, has_no_key_in_metrics_and_on_the_page_its_hash) {
  send({"GET", absent_user(7)});
  const std::string samples = metrics();
  EXPECT_THAT(samples,
              HasSubstr("cuckooguard_absent_pattern{namespace=\"users\",pattern=\"few_keys\"} 1"));
  EXPECT_THAT(
      samples,
      ContainsRegex("cuckooguard_top_reads_ratio.namespace=\"users\",of=\"absent_keys\". (1|0.9)"));
  const std::string status = AdminClient(shop_.guard()).get("/status").body;
  EXPECT_THAT(status, HasSubstr("100 % of them from 127.0.0.1, most often key_hash "));
  EXPECT_THAT(samples + status, Not(HasSubstr(absent_user(7))));
}

TEST_F(WhoReadsWhat, keys_that_expire_together_are_counted) {
  send({"SET", user(1), "v", "EX", "600"});
  const std::string samples = metrics();
  EXPECT_THAT(samples,
              ContainsRegex("cuckooguard_expiring_keys_total.namespace=\"users\". [567]..."));
  EXPECT_THAT(samples, Not(HasSubstr("cuckooguard_expiring_keys_max{namespace=\"users\"} 0\n")));
  EXPECT_THAT(samples, HasSubstr("cuckooguard_expiring_keys_max_in_seconds{namespace=\"users\"} "));
}

}  // namespace
}  // namespace cuckooguard::harness
