// What Prometheus scrapes from a guard that works between a real Redis and a real database, and
// what /status tells.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/skip.h"
#include "harness/admin_client.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;

class Metrics : public testing::Test {
 protected:
  Metrics() { shop_.wait_until_it_answers(); }

  // Of a whole sample name, labels included; -1: it is not there.
  double value(const std::string& sample) const {
    const std::string all = "\n" + admin_.get("/metrics").body;
    const std::size_t at = all.find("\n" + sample + " ");
    return at == std::string::npos ? -1 : std::stod(all.substr(at + sample.size() + 2));
  }

  Shop shop_{{.more = std::string(kAdmin)}};
  AdminClient admin_{shop_.guard()};
};

TEST_F(Metrics, count_what_clients_were_told_on_all_workers) {
  const std::string absent = "cuckooguard_keys_total{namespace=\"users\",verdict=\"absent\"}";
  const std::string exists = "cuckooguard_keys_total{namespace=\"users\",verdict=\"may_exist\"}";
  const std::vector<std::string> keys = shop_.find_absent_users(1);
  const double absent_before = value(absent);
  const double exists_before = value(exists);
  std::vector<RawClient> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(shop_.client());
    EXPECT_EQ(clients.back().call({"GET", keys[0]}), absent_reply());
    clients.back().call({"GET", user(1)});
  }
  EXPECT_EQ(value(absent), absent_before + 6);
  EXPECT_EQ(value(exists), exists_before + 6);
  EXPECT_TRUE(eventually([&] {
    return value("cuckooguard_clients{worker=\"0\"}") +
               value("cuckooguard_clients{worker=\"1\"}") ==
           6;
  })) << "those before them have gone";
  EXPECT_EQ(value("cuckooguard_filter_items{namespace=\"users\"}"), kUsers);
  EXPECT_EQ(value("cuckooguard_namespace_fresh{namespace=\"users\"}"), 1);
  EXPECT_GE(value("cuckooguard_source_proof_age_seconds{source=\"shop\"}"), 0);
  EXPECT_EQ(value("cuckooguard_upstream_up"), 1);
  EXPECT_GT(value("process_resident_memory_bytes"), 1e6);
}

TEST_F(Metrics, say_that_redis_is_gone_and_back) {
  shop_.redis().kill();
  EXPECT_TRUE(eventually([&] { return value("cuckooguard_upstream_up") == 0; }));
  EXPECT_THAT(admin_.get("/status").body, HasSubstr("\"redis\":{\"up\":false"));
  shop_.redis().start_again();
  EXPECT_TRUE(eventually([&] { return value("cuckooguard_upstream_up") == 1; }));
}

TEST_F(Metrics, are_text_that_promtool_finds_no_fault_with) {
  SKIP_IF_MISSING(missing_program("promtool", "prometheus"));
  const HttpAnswer page = admin_.get("/metrics");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.header, HasSubstr("\r\nContent-Type: text/plain; version=0.0.4"));
  const TemporaryDirectory folder;
  const auto file = folder / "metrics";
  write_whole_file(file, page.body);
  const Ended ended = run_program({"promtool", "check", "metrics"}, file);
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(ended.standard_output + ended.standard_error, "");
}

TEST_F(Metrics, status_tells_the_same_as_json) {
  const HttpAnswer page = admin_.get("/status");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.body, HasSubstr("\"redis\":{\"up\":true,\"role\":\"master\""));
  EXPECT_THAT(page.body, HasSubstr("\"users\":{\"mode\":\"enforce\",\"db\":0,\"state\":\"ready\""));
  EXPECT_THAT(page.body, HasSubstr("\"rows\":1000,"));
  EXPECT_THAT(page.body, HasSubstr("\"shop\":{\"type\":\"sqlite\",\"state\":\"following\""));
  EXPECT_THAT(page.body, HasSubstr("\"workers\":[{\"clients\":"));
}

// Scrapes read what the workers write: tsan looks at this.
TEST_F(Metrics, are_read_while_the_workers_count) {
  RawClient client = shop_.client();
  for (int i = 0; i < 200; ++i) {
    client.send("*2\r\n$3\r\nGET\r\n$6\r\nuser:1\r\n*2\r\n$3\r\nGET\r\n$12\r\nuser:1000000\r\n");
    ASSERT_EQ(admin_.get(i % 2 == 0 ? "/metrics" : "/status").status, 200);
    client.read_replies(2);
  }
}

TEST(MetricsOfAPlainProxy, are_there_without_any_namespace) {
  const RedisServer redis;
  const GuardProcess guard =
      GuardProcess::on_port("upstream: " + redis.address() + "\n" + std::string(kAdmin));
  const AdminClient admin(guard);
  EXPECT_THAT(admin.get("/metrics").body, HasSubstr("cuckooguard_build_info{version="));
  EXPECT_THAT(admin.get("/status").body, HasSubstr("\"redis\":{\"up\":null"));
  EXPECT_EQ(admin.get("/v1/check/users/1").status, 400);
}

}  // namespace
}  // namespace cuckooguard::harness
