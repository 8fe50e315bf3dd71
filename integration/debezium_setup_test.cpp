// From a Debezium Server that writes into Redis to a guard that follows it, by nothing but
// `cuckooguard init`, `check` and `plan`, and what they say.

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/child_process.h"
#include "harness/deadline.h"
#include "harness/guard_process.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Of a table whose key is an INT, as the JSON converter writes it with its schema.
constexpr const char* kKey =
    R"({"schema":{"type":"struct","fields":[{"type":"int32","optional":false,"field":"id"}],)"
    R"("optional":false,"name":"shop.inventory.products.Key"},"payload":{"id":1}})";

class DebeziumSetup : public testing::Test {
 protected:
  DebeziumSetup() {
    redis_.call({"XADD", "shop.inventory.products", "*", "key", kKey, "value", "default"});
    redis_.call({"XADD", "shop.inventory.tags", "*", R"({"sku":"a","n":1})", "default"});
    redis_.call({"XADD", "shop.inventory.log", "*", "key", "default", "value", "{}"});
    redis_.call({"XADD", "shop.transaction", "*", "key", "{}", "value", "{}"});
    redis_.call({"XADD", "shopping.inventory.carts", "*", "key", kKey, "value", "{}"});
    redis_.call({"SET", "shop.inventory.users", "no stream"});
  }

  std::string file() const { return folder_ / "guard.yaml"; }
  Ended init() const {
    std::vector<std::string> command{guard_binary(), "init", "--force"};
    for (const auto& [flag, value] : flags_) {
      command.insert(command.end(), {flag, value});
    }
    return run_program(command, "/dev/null");
  }
  std::string refusal() const {
    const Ended ended = init();
    EXPECT_EQ(ended.exit_code, 1) << ended.standard_output;
    return ended.standard_error;
  }
  std::string written() const {
    const Ended ended = init();
    EXPECT_EQ(ended.exit_code, 0) << ended.standard_error;
    return read_whole_file(file());
  }

  TemporaryDirectory folder_;
  RedisServer redis_;
  std::map<std::string, std::string> flags_{{"--redis", redis_.address()},
                                            {"--type", "debezium"},
                                            {"--connector", "mysql"},
                                            {"--topic-prefix", "shop"},
                                            {"--heartbeat-table", "inventory.heartbeat"},
                                            {"--freshness", "trust_lag"},
                                            {"--table", "inventory.products"},
                                            {"--output", file()}};
};

TEST_F(DebeziumSetup, lists_the_tables_whose_streams_there_are_and_takes_a_key_from_a_message) {
  EXPECT_THAT(written(), HasSubstr("keys: \"products:{id:int64}\""));
  const Ended checked = run_guard({"check", "--config", file()});
  EXPECT_EQ(checked.exit_code, 0) << checked.standard_error;
  EXPECT_THAT(checked.standard_output, HasSubstr(": valid; "));
  const Ended planned = run_guard({"plan", "--config", file()});
  EXPECT_EQ(planned.exit_code, 0) << planned.standard_error;
  EXPECT_THAT(planned.standard_output,
              HasSubstr("? marks tables whose rows are known when Debezium's snapshot"));

  flags_["--table"] = "inventory.product";
  EXPECT_THAT(refusal(), HasSubstr("did you mean \"inventory.products\"?"));
  flags_["--table"] = "inventory.nothing";
  EXPECT_THAT(refusal(), HasSubstr("valid: inventory.log, inventory.products, inventory.tags\n"));
}

TEST_F(DebeziumSetup, needs_a_template_where_no_message_tells_what_a_key_is) {
  for (const char* const table : {"inventory.tags", "inventory.log"}) {
    flags_["--table"] = table;
    const Ended ended = init();
    EXPECT_NE(ended.exit_code, 0);
    EXPECT_THAT(ended.standard_error, HasSubstr("--key is missing")) << table;
  }
}

TEST_F(DebeziumSetup, says_what_keeps_a_guard_from_answering) {
  flags_["--freshness"] = "none";
  EXPECT_THAT(refusal(), HasSubstr("set freshness: trust_lag if the guard's clock"));
  flags_["--freshness"] = "trustlag";
  EXPECT_THAT(refusal(), HasSubstr("did you mean \"trust_lag\"?"));
  flags_.erase("--freshness");
  EXPECT_THAT(init().standard_error, HasSubstr("--freshness is missing")) << "it is a promise";
  flags_["--freshness"] = "trust_lag";
  flags_["--topic-prefix"] = "sh*p";
  EXPECT_THAT(refusal(), HasSubstr("Redis has no stream sh*p.database.table: start Debezium"));
  flags_["--topic-prefix"] = "shop";
  flags_["--connector"] = "sqlserver";
  EXPECT_THAT(refusal(), HasSubstr("Redis has no stream shop.database.schema.table"));
}

// `check` finds what a start would refuse.
TEST_F(DebeziumSetup, is_checked_without_redis) {
  std::string yaml = written();
  const auto words = [&yaml, this](const std::string& from, const std::string& to) {
    std::string changed = yaml;
    changed.replace(changed.find(from), from.size(), to);
    write_whole_file(file(), changed);
    const Ended checked = run_guard({"check", "--config", file()});
    EXPECT_EQ(checked.exit_code, 78);
    EXPECT_EQ(run_guard({"--config", file()}).exit_code, 78);
    return checked.standard_error;
  };
  EXPECT_THAT(words("freshness: trust_lag", "freshness: none"),
              HasSubstr("set freshness: trust_lag"));
  EXPECT_THAT(words("table: inventory.products", "table: products"),
              HasSubstr("named as in their topics, behind the prefix: database.table"));
  EXPECT_THAT(words("heartbeat_table: inventory.heartbeat", "heartbeat_table: heartbeat"),
              HasSubstr("heartbeat_table: table heartbeat: tables of this source are named"));
}

TEST_F(DebeziumSetup, names_the_rights_that_the_guard_s_user_lacks) {
  redis_.call({"ACL",
               "SETUSER",
               "guard",
               "on",
               ">open",
               "resetkeys",
               "-@all",
               "+acl|getuser",
               "+acl|list",
               "+acl|dryrun",
               "+command",
               "+info",
               "+dbsize",
               "+config|get"});
  flags_["--redis-user"] = "guard";
  flags_["--redis-password-file"] = folder_ / "password";
  write_whole_file(folder_ / "password", "open\n");
  const std::string words = refusal();
  EXPECT_THAT(words, AllOf(HasSubstr("NOPERM"), Not(HasSubstr("open"))));
  const std::size_t at = words.find("ACL SETUSER ");
  ASSERT_NE(at, std::string::npos) << words;
  RawClient administrator = redis_.client();
  administrator.send(words.substr(at, words.find('\n', at) - at) + "\r\n");
  ASSERT_EQ(administrator.read_reply(), "+OK\r\n");
  std::string yaml = written();

  // And it is what the guard itself needs.
  yaml.erase(yaml.find("listen:"), yaml.find("upstream:") - yaml.find("listen:"));
  const GuardProcess guard = GuardProcess::on_port(yaml + "admin: { operators: [default] }\n");
  RawClient client = guard.client();
  EXPECT_TRUE(eventually([&client] {
    return client.call({"GUARD.INFO"}).contains("type:debezium\r\nstate:following");
  })) << client.call({"GUARD.INFO"});
  EXPECT_THAT(client.call({"GUARD.INFO"}), Not(HasSubstr("NOPERM")));
}

}  // namespace
}  // namespace cuckooguard::harness
