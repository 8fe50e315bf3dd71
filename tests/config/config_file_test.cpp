#include "config/config_file.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/parse.h"
#include "config/yaml_tree.h"
#include "foreign/toy_format.h"

namespace cuckooguard::config {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using testing::config_of;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::errors_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(ConfigFile, an_empty_file_is_all_defaults) {
  const Config config = config_of("");
  EXPECT_EQ(config.listen, Config{}.listen);
  EXPECT_EQ(config.upstream, Upstream{});
  EXPECT_EQ(config.limits, Limits{});
  EXPECT_EQ(config.workers, 0U);
  EXPECT_EQ(config.drain_timeout, 10s);
}

TEST(ConfigFile, every_setting_arrives) {
  const Config config = config_of(
      "listen: unix:/run/guard.sock\n"
      "upstream:\n"
      "  address: redis:6379\n"
      "  mode: pinned\n"
      "  acl: trust\n"
      "  connect_timeout: 200ms\n"
      "  silence: 2s\n"
      "  control: { username: guard, password_file: /run/secrets/redis }\n"
      "sources:\n"
      "limits: { max_clients: 5, client_output_soft: 64KiB, client_output_hard: 1MiB,\n"
      "          output_total: 2MiB, inflight_per_client: 7, idle_timeout: 5m }\n"
      "log: { level: debug, format: json, keys: plain }\n"
      "workers: 3\n"
      "drain_timeout: 0s\n");
  EXPECT_EQ(config.listen.front().address.text(), "unix:/run/guard.sock");
  EXPECT_EQ(config.upstream,
            (Upstream{{"redis", 6379, ""},
                      UpstreamMode::pinned,
                      200ms,
                      2s,
                      Acl::trust,
                      {"guard", "", "/run/secrets/redis"}}));
  EXPECT_EQ(config.limits, (Limits{5, 64 * 1024, 1024 * 1024, 2 * 1024 * 1024, 7, 5min}));
  EXPECT_EQ(config.log, (Log{LogLevel::debug, LogFormat::json, LogKeys::plain}));
  EXPECT_EQ(config.workers, 3U);
  EXPECT_EQ(config.drain_timeout, 0ms);
}

TEST(ConfigFile, upstream_has_a_short_form) {
  EXPECT_EQ(config_of("upstream: redis:1\n").upstream.address, (Address{"redis", 1, ""}));
  EXPECT_EQ(config_of("upstream: '${REDIS:-redis:2}'\n").upstream.address.port, 2);
  EXPECT_THAT(errors_of("upstream: redis:0\n"), ElementsAre(HasSubstr("no port from 1 to 65535")));
  EXPECT_THAT(errors_of("upstream: [ redis:1 ]\n"),
              ElementsAre(HasSubstr("1:11: upstream must be a mapping of keys to values")));
}

TEST(ConfigFile, all_errors_come_at_once_in_the_files_order) {
  EXPECT_THAT(errors_of("workers: many\n"
                        "upstrem: redis:1\n"
                        "limits: { max_clients: 0, max_client: 5 }\n"
                        "log: { level: inf }\n"
                        "log: { level: info }\n"
                        "drain_timeout: 5\n"),
              ElementsAre(HasSubstr("1:10: workers: \"many\" is invalid"),
                          "2:1: unknown key upstrem, did you mean \"upstream\"?",
                          "3:24: max_clients: \"0\" must be from 1 to 1M",
                          "3:27: unknown key max_client, did you mean \"max_clients\"?",
                          "4:15: level: \"inf\" is unknown, did you mean \"info\"?",
                          "5:1: log is defined twice; the first definition is in line 4",
                          HasSubstr("6:16: drain_timeout: \"5\" has no unit")));
}

TEST(ConfigFile, timeouts_of_zero_would_hide_a_dead_redis) {
  EXPECT_THAT(errors_of("upstream: { address: redis:1, connect_timeout: 0s }\n"),
              ElementsAre(HasSubstr("connect_timeout: \"0s\" must be from 1ms")));
}

TEST(ConfigFile, an_idle_timeout_of_zero_is_none_and_one_without_a_unit_is_a_mistake) {
  EXPECT_EQ(config_of("limits: { idle_timeout: 0s }\n").limits.idle_timeout, 0ms);
  EXPECT_EQ(config_of("limits: { idle_timeout: 1d }\n").limits.idle_timeout, 24h);
  EXPECT_THAT(errors_of("limits: { idle_timeout: 300 }\n"),
              ElementsAre(HasSubstr("1:25: idle_timeout: \"300\" has no unit")));
  EXPECT_THAT(errors_of("limits: { idle_timeout: 2d }\n"),
              ElementsAre(HasSubstr("idle_timeout: \"2d\" must be from 0s to 1d")));
}

TEST(ConfigFile, operators_are_one_user_a_list_or_nobody) {
  EXPECT_THAT(config_of("admin: { operators: [] }\n").admin.operators, IsEmpty());
  EXPECT_THAT(config_of("admin: { operators: ops }\n").admin.operators, ElementsAre("ops"));
  EXPECT_THAT(config_of("admin: { operators: [ ops, default ] }\n").admin.operators,
              ElementsAre("ops", "default"));
}

TEST(ConfigFile, the_admin_servers_names_are_names_alone) {
  EXPECT_THAT(config_of("admin: { hosts: [ guard.svc, Metrics ] }\n").admin.hosts,
              ElementsAre("guard.svc", "Metrics"));
  for (const std::string_view wrong : {"guard:9180", "http://guard", "", "*"}) {
    EXPECT_THAT(errors_of("admin: { hosts: [ '" + std::string(wrong) + "' ] }\n"),
                ElementsAre(HasSubstr("is not a host name")))
        << wrong;
  }
}

TEST(ConfigFile, there_is_no_admin_server_unless_it_has_an_address) {
  EXPECT_EQ(config_of("").admin.address, std::nullopt);
  EXPECT_EQ(config_of("admin: { address: '' }\n").admin.address, std::nullopt);
  const Admin admin =
      config_of("admin: { address: 127.0.0.1:9180, token_file: /run/secrets/admin }\n").admin;
  EXPECT_EQ(admin.address, (Address{"127.0.0.1", 9180, ""}));
  EXPECT_EQ(admin.token_file, "/run/secrets/admin");
  EXPECT_THAT(errors_of("admin: { address: 9180 }\n"),
              ElementsAre(HasSubstr("1:19: address: \"9180\" has no port")));
}

TEST(ConfigFile, control_takes_one_password) {
  EXPECT_EQ(config_of("upstream: { control: { password: '${PW}' } }\n", {{"PW", "hunter2"}})
                .upstream.control.password,
            "hunter2");
  EXPECT_THAT(errors_of("upstream: { control: { password: a, password_file: /b } }\n"),
              ElementsAre("1:52: password_file and password are both set; remove one of them"));
  EXPECT_THAT(errors_of("upstream: { control: { username: a } }\n"),
              ElementsAre(HasSubstr("username needs a password")));
}

// Each of these is wrong in another way, and holds the secret `hunter2` where an operator may put
// it by mistake.
TEST(ConfigFile, secrets_are_never_part_of_a_diagnostic) {
  for (const std::string yaml : {
           "upstream: { control: { password: hunter2, password_file: /x } }\n",
           "upstream: { control: { password: [ hunter2 ] } }\n",
           "upstream: { control: { pasword: hunter2 } }\n",
           "upstream: { control: { password hunter2 } }\n",
           "upstream: { control: { password, hunter2 } }\n",
           "upstream: { control: password=hunter2 }\n",
           "upstream: { control: { username: hunter2 } }\n",
           "upstream: { control: { password: '${hunter2 }' } }\n",
           "upstream: { control: { password: '${PW:-hunter2' } }\n",
           "upstream: { control: { password: *hunter2 } }\n",
           "upstream: { control: { password: &hunter2 } }\n",
           "upstream: { control: { password: !hunter2 } }\n",
           "upstream: { control: { password: \"hunter2 } }\n",
           "upstream: { control: { password: %hunter2 } }\n",
           "upstream: { control: { password: @hunter2 } }\n",
           "upstream: { control: { password: {hunter2} } }\n",
           "upstream: { control: { password: hunter2: } }\n",
           "upstream:\n  control:\n    password: hunter2\n   other: x\n",
           "upstream: redis://:hunter2@redis:6379\n",
           "upstream: ':hunter2@redis:6379'\n",
           "upstream: '${PW}'\n",
           "listen: '${PW}'\n",
           "log: { level: '${PW}' }\n",
           "workers: '${PW}'\n",
       }) {
    EXPECT_THAT(errors_of(yaml, {{"PW", "hunter2"}}),
                AllOf(Not(IsEmpty()), Each(Not(HasSubstr("hunter2")))))
        << yaml;
  }
}

TEST(ConfigFile, names_and_places_of_a_broken_file_are_told) {
  const auto broken = parse_config("a: [\n", "dir/guard.yaml", testing::lookup_in({}));
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error()[0].text(), HasSubstr("dir/guard.yaml:1:1: "));
}

TEST(ConfigFile, a_file_that_cannot_be_read_is_a_diagnostic) {
  const auto missing = load_config("/nonexistent/guard.yaml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error()[0].text(),
            "/nonexistent/guard.yaml: cannot be read: No such file or directory");
  EXPECT_FALSE(load_config("/"));
}

TEST(ConfigFile, an_endless_file_is_refused_and_not_read_to_its_end) {
  const auto endless = load_config("/dev/zero");
  ASSERT_FALSE(endless);
  EXPECT_THAT(endless.error()[0].text(), HasSubstr("is larger than"));
}

TEST(ConfigFile, a_top_level_that_is_no_mapping_is_refused) {
  EXPECT_THAT(errors_of("just text\n"),
              ElementsAre(HasSubstr("1:1: the top level must be a mapping of keys to values")));
  EXPECT_THAT(errors_of("- a\n"),
              ElementsAre(HasSubstr("1:1: the top level must be a mapping of keys to values")));
}

TEST(ConfigFile, what_the_program_was_built_without_is_refused_where_it_stands) {
  const Built built{.without = {"sqlite", "kafka", "filters", "cluster", "breakdown"}};
  EXPECT_THAT(
      errors_of("sources:\n  shop: { type: sqlite, path: /shop.db }\n", {}, built),
      ElementsAre(
          "2:17: type: sqlite: this build does not include sqlite (CUCKOOGUARD_WITH_SQLITE)"));
  EXPECT_THAT(
      errors_of(
          "sources:\n  cdc: { type: debezium, from: kafka, connector: mysql, topic_prefix: c, "
          "brokers: 'k:1' }\n",
          {},
          built),
      ElementsAre("2:32: from: this build does not include kafka (CUCKOOGUARD_WITH_KAFKA)"));
  EXPECT_THAT(
      errors_of("filters: { allow_reserve: 'seen:{name}' }\n", {}, built),
      ElementsAre("1:10: filters: this build does not include filters (CUCKOOGUARD_WITH_FILTERS)"));
  EXPECT_THAT(
      errors_of("listen: [ { nodes: '127.0.0.1:7000-7003' }, '127.0.0.1:6380' ]\n"
                "upstream: { cluster: [ 'a:1' ] }\n",
                {},
                built),
      ElementsAre("2:22: cluster: this build does not include cluster (CUCKOOGUARD_WITH_CLUSTER)"));
  EXPECT_THAT(
      errors_of("upstream: { sentinels: [ 'a:1' ], master: shop }\n", {}, built),
      ElementsAre(
          "1:24: sentinels: this build does not include cluster (CUCKOOGUARD_WITH_CLUSTER)"));
  const std::string ids =
      "sources: { ids: { type: file, path: /ids } }\n"
      "namespaces:\n"
      "  users: { keys: 'user:{id}', source: { from: ids }, breakdown: { hold: ";
  EXPECT_THAT(errors_of(ids + "5ms } }\n", {}, built),
              ElementsAre("3:73: breakdown: this build does not include breakdown "
                          "(CUCKOOGUARD_WITH_BREAKDOWN)"));
  EXPECT_THAT(errors_of(ids + "0ms } }\n", {}, built), IsEmpty());
  EXPECT_THAT(errors_of("filters: {}\nupstream: { address: 'a:1' }\n", {}, built), IsEmpty());
}

TEST(ConfigFile, a_filter_of_another_library_has_a_format_that_the_program_has) {
  const Built built{.formats = foreign::kToys};
  const auto errors = [&](const std::string& settings) {
    return errors_of("sources:\n  seen: { type: bloom, " + settings + " }\n", {}, built);
  };
  EXPECT_THAT(errors("format: toy, path: /seen, funnel: long"), IsEmpty());
  EXPECT_THAT(errors("format: toy"), ElementsAre(HasSubstr("format: toy also needs path")));
  EXPECT_THAT(errors("format: toy, path: /seen, bits: 8"),
              ElementsAre(HasSubstr("bits does not apply to format: toy")));
  EXPECT_THAT(errors("format: tony, path: /seen"),
              ElementsAre(HasSubstr("format: \"tony\" is unknown, did you mean \"toy\"?")));
}

}  // namespace
}  // namespace cuckooguard::config
