#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config_file.h"
#include "config/parse.h"

namespace cuckooguard::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Set {
  std::string path;
  std::string value;
};

std::expected<EffectiveConfig, std::vector<Diagnostic>> parse(std::string_view yaml,
                                                              const std::vector<Set>& sets) {
  std::vector<Override> overrides;
  overrides.reserve(sets.size());
  for (const Set& set : sets) {
    overrides.push_back({.flag = "--set " + set.path, .path = set.path, .value = set.value});
  }
  return parse_effective(yaml, "f", testing::lookup_in({{"LEVEL", "error"}}), overrides);
}

Config config_with(std::string_view yaml, const std::vector<Set>& sets) {
  auto effective = parse(yaml, sets);
  if (!effective) {
    throw std::invalid_argument(effective.error()[0].text());
  }
  return std::move(effective->config);
}

std::vector<std::string> errors_with(std::string_view yaml, const std::vector<Set>& sets) {
  std::vector<std::string> lines;
  if (const auto effective = parse(yaml, sets); !effective) {
    for (const Diagnostic& diagnostic : effective.error()) {
      lines.push_back(diagnostic.text());
    }
  }
  return lines;
}

TEST(Overrides, a_flag_is_above_the_file_and_the_environment) {
  EXPECT_EQ(config_with("log: { level: '${LEVEL}' }\n", {}).log.level, LogLevel::error);
  EXPECT_EQ(config_with("log: { level: '${LEVEL}' }\n", {{"log.level", "debug"}}).log.level,
            LogLevel::debug);
  EXPECT_EQ(config_with("workers: 3\n", {{"workers", "5"}, {"workers", "7"}}).workers, 7U)
      << "the last one";
}

TEST(Overrides, sections_that_the_file_leaves_out_are_made) {
  EXPECT_EQ(config_with("", {{"limits.max_clients", "5"}}).limits.max_clients, 5U);
  EXPECT_EQ(config_with("limits:\n", {{"limits.max_clients", "5"}}).limits.max_clients, 5U);
  const Config config = config_with(testing::with_namespace("    filter: { capacity: 7 }\n"),
                                    {{"namespaces.users.filter.deletes", "exact"}});
  EXPECT_EQ(config.namespaces.at(0).filter, (Filter{0.002, 7, Deletes::exact}));
}

TEST(Overrides, the_short_form_of_upstream_is_kept) {
  const Config config = config_with("upstream: redis:1\n", {{"upstream.mode", "pinned"}});
  EXPECT_EQ(config.upstream.address.text(), "redis:1");
  EXPECT_EQ(config.upstream.mode, UpstreamMode::pinned);
  EXPECT_EQ(
      config_with("upstream: redis:1\n", {{"upstream.address", "redis:2"}}).upstream.address.port,
      2);
}

TEST(Overrides, another_address_to_listen_on_does_not_switch_tls_off) {
  const std::string yaml = "listen: { address: '127.0.0.1:1', tls: { cert: c, key: k } }\n";
  const Config config = config_with(yaml, {{"listen.address", "127.0.0.1:2"}});
  EXPECT_EQ(config.listen.front().address.port, 2);
  EXPECT_TRUE(config.listen.front().tls);
  EXPECT_EQ(config_with("listen: 127.0.0.1:1\n", {{"listen.address", "127.0.0.1:2"}})
                .listen.front()
                .address.port,
            2);
}

TEST(Overrides, nothing_of_a_list_is_lost_by_a_part_of_it) {
  const std::string yaml = "listen: [ { tls: { cert: c, key: k } }, 'unix:/a' ]\n";
  EXPECT_THAT(errors_with(yaml, {{"listen.address", "127.0.0.1:2"}}),
              ElementsAre(HasSubstr("listen is a list in the file: override the whole list")));
  EXPECT_EQ(config_with(yaml, {{"listen", "127.0.0.1:2"}}).listen.size(), 1U);
  EXPECT_EQ(config_with("", {{"listen", "['127.0.0.1:2', 'unix:/a']"}}).listen.size(), 2U);
}

TEST(Overrides, values_are_as_they_stand_unless_they_are_yaml) {
  EXPECT_EQ(config_with("", {{"listen", "[::1]:7"}}).listen.front().address.text(), "[::1]:7");
  EXPECT_THAT(config_with("", {{"admin.operators", "[a, \"b c\"]"}}).admin.operators,
              ElementsAre("a", "b c"));
  EXPECT_EQ(config_with("", {{"storage.directory", "\"a b\""}}).storage.directory, "a b");
  EXPECT_EQ(config_with("", {{"storage.directory", "# a: b"}}).storage.directory, "# a: b");
  EXPECT_EQ(config_with("", {{"log.level", "${LEVEL}"}}).log.level, LogLevel::error);
}

TEST(Overrides, what_is_wrong_is_reported_under_the_flag) {
  EXPECT_THAT(errors_with("workers: many\n", {{"log.level", "inf"}, {"limits.max_client", "5"}}),
              ElementsAre("--set log.level: level: \"inf\" is unknown, did you mean \"info\"?",
                          "--set limits.max_client: unknown key max_client, did you mean "
                          "\"max_clients\"?",
                          HasSubstr("f:1:10: workers")));
  EXPECT_THAT(errors_with("", {{"", "x"}}), ElementsAre(HasSubstr("needs the path of a setting")));
  EXPECT_THAT(errors_with("", {{"log..level", "x"}}),
              ElementsAre(HasSubstr("the path of a setting")));
  EXPECT_THAT(errors_with("", {{"log.", "x"}}), ElementsAre(HasSubstr("the path of a setting")));
  EXPECT_THAT(errors_with("", {{"admin.operators", "[a: ]]"}}),
              ElementsAre(HasSubstr("--set admin")));
  EXPECT_THAT(errors_with("workers: 3\n", {{"workers.x", "1"}}),
              ElementsAre("--set workers.x: workers must be a single value"));
}

}  // namespace
}  // namespace cuckooguard::config
