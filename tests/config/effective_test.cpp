#include "config/effective.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/documented_file.h"
#include "config/parse.h"
#include "config/source_examples.h"

namespace cuckooguard::config {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

EffectiveConfig effective_of(std::string_view yaml,
                             const testing::Environment& environment = {},
                             const std::vector<Override>& overrides = {}) {
  auto effective = parse_effective(
      yaml, "/etc/guard/shop.yaml", testing::lookup_in(environment), overrides, testing::built());
  if (!effective) {
    throw std::invalid_argument(effective.error()[0].text());
  }
  return std::move(*effective);
}

// The line of this key, its spaces made one.
std::string line_of(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string all;
    for (std::string word; words >> word;) {
      all += (all.empty() ? "" : " ") + word;
    }
    if (all.starts_with(key + ":")) {
      return all;
    }
  }
  return "no line of " + key;
}

TEST(Effective, every_setting_has_its_origin) {
  const std::string text =
      print_settings(effective_of("listen: { tls: false }\n"
                                  "upstream: redis:6379\n"
                                  "limits: { max_clients: '${CLIENTS}' }\n"
                                  "drain_timeout: '${DRAIN:-7s}'\n",
                                  {{"CLIENTS", "500"}},
                                  {{.flag = "--log-level", .path = "log.level", .value = "debug"}})
                         .settings);
  EXPECT_EQ(line_of(text, "address"), "address: 127.0.0.1:6380 # default");
  EXPECT_EQ(line_of(text, "tls"), "tls: false # shop.yaml:1");
  EXPECT_THAT(text, ::testing::ContainsRegex("address: redis:6379 +# shop.yaml:2"));
  EXPECT_EQ(line_of(text, "max_clients"), "max_clients: 500 # environment CLIENTS");
  EXPECT_EQ(line_of(text, "drain_timeout"), "drain_timeout: 7s # shop.yaml:4");
  EXPECT_EQ(line_of(text, "level"), "level: debug # flag --log-level");
  EXPECT_EQ(line_of(text, "workers"), "workers: auto # default");
  EXPECT_EQ(line_of(text, "sources"), "sources: {} # default");
}

// What can be read is printed, and what is printed can be read.
TEST(Effective, the_output_is_a_configuration_that_does_the_same) {
  const std::string documented = testing::joined(testing::switched_on());
  std::string sources = "sources:\n";
  for (const testing::SourceExample& example : testing::kSourceExamples) {
    sources += example.yaml;
  }
  const std::string other =
      sources +
      "listen: { address: '[::1]:6380', tls: { cert: '/c d', key: /k, client_ca: /ca } }\n"
      "upstream: { address: unix:/run/redis.sock, mode: pinned, connect_timeout: 1500ms, silence: "
      "4s, acl: "
      "trust,\n"
      "            control: { username: guard, password_file: '/run/a b' },\n"
      "            tls: { ca: /ca.pem, cert: /c, key: /k, server_name: redis, verify: false } }\n"
      "namespaces:\n"
      "  users:\n"
      "    keys: ['user:{id:uint64}', '{{u}}:{id:uint64}:x']\n"
      "    source: { from: shop, table: [user, 'user_*'], columns: { id: 'user id' },\n"
      "              where: \"a = 7 AND b <> 'x, ''y''' AND c IN (1, 'z')\" }\n"
      "    mode: enforce\n"
      "    order: redis-first\n"
      "    absent_reply: 'bytes:nil # \"x\"'\n"
      "    verify_sample: 12.345%\n"
      "    db: 3\n"
      "    canonical_keys: true\n"
      "    consistency: max_lag\n"
      "    tolerate: 90/min\n"
      "    fresh_ids: 0\n"
      "    filter: { false_positive_rate: 0.0123%, capacity: 20M, deletes: exact }\n"
      "    overlay: { ttl: 90s, max_keys: 1500, pass_at_start: false }\n"
      "    commands: { key: users }\n"
      "  orders:\n"
      "    keys: 'order:{tenant}:{order}'\n"
      "    source: { from: main, table: orders, columns: { order: id } }\n"
      "    absent_reply: hex:00ff0a\n"
      "    fresh_ids: auto\n"
      "  events: { keys: 'e:{id}', source: { from: cdc, table: a.b, types: { id: decimal(2) } } }\n"
      "  vouchers: { keys: 'v:{code}', source: { from: list }, absent_reply: go-zero }\n"
      "fleet: { prefix: 'a fleet', signing_key_file: /fleet.key, public_key_files: [/a.pub, "
      "/b.pub], snapshots: http, canary: 10m }\n"
      "filters:\n"
      "  named: { a: { key: 'x:y', kind: cuckoo, capacity: 7, false_positive_rate: 2%, deletes: "
      "exact }, b: {} }\n"
      "  allow_reserve: [ 'bf:{name}', 'cf:{name:rest}' ]\n"
      "  dedupe: { keys: '{spider}:dupefilter', capacity: 5M, false_positive_rate: 0.0002% }\n"
      "  users: [crawler]\n"
      "  durability: redis\n"
      "  log: 'my:filters'\n"
      "  secret_file: /secret\n"
      "  max_filters: 10\n"
      "  max_memory: 3MiB\n"
      "storage: { directory: /var/lib/x, secret_file: /fleet.secret, checkpoint_every: 90s }\n"
      "limits: { max_clients: 12345, client_output_soft: 17000B, client_output_hard: 2GiB,\n"
      "          output_total: 1025KiB, inflight_per_client: 1k, idle_timeout: 23h }\n"
      "admin: { address: '127.0.0.1:9180', token_file: /t, hosts: guard.svc, operators: [ops, 'a, "
      "b'] }\n"
      "log: { level: error, format: json, keys: plain }\n"
      "workers: 3\n"
      "drain_timeout: 0s\n";
  for (const std::string& yaml : {std::string(), documented, other}) {
    const EffectiveConfig effective = effective_of(yaml);
    const std::string text = print_settings(effective.settings);
    EXPECT_EQ(testing::config_of(text), effective.config) << text;
  }
}

TEST(Effective, every_key_that_there_is_is_printed) {
  const std::string text =
      print_settings(effective_of(testing::joined(testing::switched_on())).settings);
  Report report("output");
  const auto root = parse_tree(text, report);
  ASSERT_TRUE(root);
  for (const KeyList& list : all_sections()) {
    for (const std::string_view key : list.keys) {
      EXPECT_FALSE(testing::settings(*root, list, key).empty())
          << key << " of \"" << list.section << "\" is not in\n"
          << text;
    }
  }
}

TEST(Effective, secrets_are_not_shown) {
  const std::string yaml =
      "upstream: { address: redis:1, control: { password: hunter2 } }\n"
      "sources:\n"
      "  a: { type: mysql, addresses: db:1, user: u, database: d, password: 'x${PW}' }\n"
      "  b: { type: mysql, addresses: db:1, user: u, database: d, password: '${PW:-hunter2}' }\n"
      "  c: { type: mysql, addresses: db:1, user: u, database: d, password: '${PW}' }\n";
  const std::string text = print_settings(effective_of(yaml,
                                                       {{"PW", "hunter2"}},
                                                       {{.flag = "--set upstream.control.password",
                                                         .path = "upstream.control.password",
                                                         .value = "hunter2"}})
                                              .settings);
  EXPECT_THAT(text, Not(HasSubstr("hunter2")));
  EXPECT_EQ(line_of(text, "#password"),
            "#password: \"***\" # flag --set upstream.control.password; a secret, not shown");
  EXPECT_THAT(text, ::testing::ContainsRegex("password: \"[$][{]PW[}]\" +# environment PW\n"))
      << "a variable's name says nothing, and can be used again";
}

TEST(Effective, what_has_no_value_is_a_comment) {
  const std::string text = print_settings(effective_of(testing::with_namespace("")).settings);
  EXPECT_EQ(line_of(text, "#absent_reply"), "#absent_reply: # not set");
  EXPECT_EQ(line_of(text, "#where"), "#where: # not set");
  EXPECT_EQ(line_of(text, "id"), "id: id # default") << "columns";
}

TEST(Effective, scalars_are_quoted_where_they_would_be_read_as_something_else) {
  for (const std::string_view plain :
       {"7", "10s", "127.0.0.1:6380", "unix:/run/x.sock", "/a-b_c.d", "0.2%"}) {
    EXPECT_EQ(yaml_scalar(plain), plain);
  }
  EXPECT_EQ(yaml_scalar(""), R"("")");
  EXPECT_EQ(yaml_scalar("null"), R"("null")");
  EXPECT_EQ(yaml_scalar("a: b"), R"("a: b")");
  EXPECT_EQ(yaml_scalar("-x"), R"("-x")");
  EXPECT_EQ(yaml_scalar("[::1]:1"), R"("[::1]:1")");
  EXPECT_EQ(yaml_scalar("a\"\\\n"), R"("a\"\\\x0a")");
  EXPECT_EQ(yaml_scalar("${A} $${B}"), R"("$${A} $$${B}")");
}

TEST(Effective, a_list_of_sections_can_be_read_again) {
  const std::string yaml =
      "listen:\n  - { address: '[::1]:7', tls: { cert: c, key: k } }\n  - 'unix:/a'\n";
  const EffectiveConfig effective = effective_of(yaml);
  const std::string text = print_settings(effective.settings);
  EXPECT_THAT(text,
              ::testing::ContainsRegex(
                  "^listen:\n  - address: [^\n]*:7\"? +# shop.yaml:2\n    nodes: [^\n]*\n"
                  "    sentinels: [^\n]*\n    announce: [^\n]*\n    mode: [^\n]*\n    group: "
                  "[^\n]*\n    tls:\n"
                  "      cert: c +# shop.yaml:2\n"));
  EXPECT_EQ(testing::config_of(text), effective.config);
  const EffectiveConfig cluster = effective_of(
      "listen: { nodes: '[::1]:7000-7001' }\nupstream: { cluster: [ 'a:1', '[::2]:2' ], "
      "node_addresses: [ 'a:1=b:2', '[::2]:2=[::3]:3' ] }\n");
  EXPECT_EQ(testing::config_of(print_settings(cluster.settings)), cluster.config);
  const EffectiveConfig sentinels = effective_of(
      "listen: [ '[::1]:7000', { sentinels: '[::1]:7001' } ]\n"
      "upstream: { sentinels: [ 'a:1', '[::2]:2' ], master: shop }\n");
  EXPECT_EQ(testing::config_of(print_settings(sentinels.settings)), sentinels.config);
}

}  // namespace
}  // namespace cuckooguard::config
