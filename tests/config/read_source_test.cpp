#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/parse.h"
#include "config/read_config.h"

namespace cuckooguard::config {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::errors_of;
using ::testing::HasSubstr;

Source source_of(std::string_view settings) {
  return testing::config_of("sources:\n  shop: { " + std::string(settings) + " }\n").sources.at(0);
}

std::vector<std::string> source_errors(std::string_view settings) {
  return errors_of("sources:\n  shop: { " + std::string(settings) + " }\n");
}

TEST(ReadSource, sqlite_needs_a_path_and_has_defaults_for_the_rest) {
  EXPECT_EQ(source_of("type: sqlite, path: /x.db"),
            (Source{"shop", SqliteSource{.path = "/x.db", .poll_every = 250ms}, 1s}));
}

TEST(ReadSource, polling_follows_max_lag_unless_it_is_set) {
  EXPECT_EQ(
      std::get<SqliteSource>(source_of("type: sqlite, path: /x, max_lag: 200ms").kind).poll_every,
      50ms);
  EXPECT_EQ(std::get<SqliteSource>(
                source_of("type: sqlite, path: /x, max_lag: 200ms, poll_every: auto").kind)
                .poll_every,
            50ms);
  EXPECT_EQ(std::get<SqliteSource>(source_of("type: sqlite, path: /x, poll_every: 500ms").kind)
                .poll_every,
            500ms);
}

TEST(ReadSource, with_triggers_it_looks_as_often_as_a_new_row_should_be_known) {
  const auto sqlite = std::get<SqliteSource>(
      source_of("type: sqlite, path: /x, follow: triggers, install_triggers: true").kind);
  EXPECT_EQ(sqlite.follow, Follow::triggers);
  EXPECT_TRUE(sqlite.install_triggers);
  EXPECT_EQ(sqlite.poll_every, 10ms);
  EXPECT_EQ(std::get<SqliteSource>(
                source_of("type: sqlite, path: /x, follow: triggers, max_lag: 20ms").kind)
                .poll_every,
            5ms);
}

TEST(ReadSource, nothing_is_installed_that_nobody_follows) {
  EXPECT_THAT(source_errors("type: sqlite, path: /x, install_triggers: true"),
              ElementsAre(HasSubstr("install_triggers requires follow: triggers")));
  EXPECT_THAT(source_errors("type: sqlite, path: /x, follow: trigger"),
              ElementsAre(HasSubstr("did you mean \"triggers\"?")));
}

TEST(ReadSource, polling_too_seldom_for_max_lag_is_refused) {
  EXPECT_THAT(source_errors("type: sqlite, path: /x, poll_every: 501ms"),
              ElementsAre(HasSubstr(
                  "2:47: poll_every: \"501ms\" must be auto, or from 1ms to half of max_lag")));
  EXPECT_THAT(source_errors("type: sqlite, path: /x, poll_every: 0ms"),
              ElementsAre(HasSubstr("or from 1ms")));
}

TEST(ReadSource, files_have_a_format) {
  EXPECT_EQ(source_of("type: file, path: /x"),
            (Source{"shop", FileSource{"/x", FileFormat::lines}, 1s}));
  EXPECT_EQ(source_of("type: file, path: /x, format: csv, max_lag: 1h"),
            (Source{"shop", FileSource{"/x", FileFormat::csv}, 1h}));
  EXPECT_THAT(source_errors("type: file, path: /x, format: cvs"),
              ElementsAre(HasSubstr("format: \"cvs\" is unknown, did you mean \"csv\"?")));
}

TEST(ReadSource, filters_of_other_libraries_are_said_as_their_format_needs) {
  EXPECT_EQ(
      source_of("type: bloom, format: go-zero, key: k, bits: 20M, max_lag: 2s"),
      (Source{
          "shop",
          BloomSource{.format = &foreign::kGoZero, .key = "k", .bits = 20'000'000, .reload = 500ms},
          2s}));
  EXPECT_EQ(source_of("type: bloom, format: guava, path: /x, funnel: long, reload: 10ms"),
            (Source{"shop",
                    BloomSource{.format = &foreign::kGuava,
                                .path = "/x",
                                .funnel = foreign::Funnel::java_long,
                                .reload = 10ms},
                    1s}));
  EXPECT_EQ(std::get<BloomSource>(source_of("type: bloom, format: redisson, key: k, db: 3").kind),
            (BloomSource{.format = &foreign::kRedisson, .key = "k", .db = 3}));
  EXPECT_THAT(source_errors("type: bloom, key: k"), ElementsAre("2:3: format is missing"));
  EXPECT_THAT(
      source_errors("type: bloom, format: go-zero"),
      ElementsAre("2:32: format: go-zero also needs bits", "2:32: format: go-zero also needs key"));
  EXPECT_THAT(source_errors("type: bloom, format: guava-bitmap, key: k, bits: 1k"),
              ElementsAre(HasSubstr("format: guava-bitmap also needs hashes")));
  EXPECT_THAT(source_errors("type: bloom, format: guava, path: /x, key: k, hashes: 5"),
              ElementsAre(HasSubstr("key does not apply to format: guava"),
                          HasSubstr("hashes does not apply to format: guava")));
  EXPECT_THAT(source_errors("type: bloom, format: redisbloom, key: k, bits: 8, funnel: long"),
              ElementsAre(HasSubstr("bits does not apply to format: redisbloom"),
                          HasSubstr("funnel does not apply to format: redisbloom")));
  EXPECT_THAT(source_errors("type: bloom, format: go-zero, key: k, bits: 5G"),
              ::testing::Contains(HasSubstr("must be at most 4294967296")));
  EXPECT_THAT(source_errors("type: bloom, format: redisson, key: k, reload: 501ms"),
              ElementsAre(HasSubstr("must be auto, or from 1ms to half of max_lag")));
}

TEST(ReadSource, the_type_decides_which_keys_there_are) {
  EXPECT_THAT(source_errors("type: file, path: /x, poll_every: 1s"),
              ElementsAre(HasSubstr("unknown key poll_every in sources.* of type file; it belongs "
                                    "in sources.* of type sqlite")));
  EXPECT_THAT(source_errors("type: sqlite, path: /x, format: csv"),
              ElementsAre(HasSubstr("unknown key format")));
}

TEST(ReadSource, a_missing_or_unknown_type_is_the_only_complaint) {
  EXPECT_THAT(source_errors("path: /x, format: csv"), ElementsAre("2:3: type is missing"));
  EXPECT_THAT(
      source_errors("type: oracle, path: /x"),
      ElementsAre("2:17: type: \"oracle\" is unknown; valid: sqlite, mysql, postgres, file, "
                  "bloom, fleet, debezium"));
}

TEST(ReadSource, other_names_of_databases_lead_to_what_there_is) {
  EXPECT_THAT(
      source_errors("type: mariadb, user: guard"),
      ElementsAre(
          "2:17: type: \"mariadb\" is unknown, did you mean \"mysql\"? It works for MariaDB, too"));
  for (const std::string type : {"postgresql", "pgsql", "pg"}) {
    EXPECT_THAT(source_errors("type: " + type),
                ElementsAre("2:17: type: \"" + type + "\" is unknown, did you mean \"postgres\"?"));
  }
}

TEST(ReadSource, what_is_of_kafka_alone_is_not_of_redis) {
  const std::string debezium = "type: debezium, connector: mysql, topic_prefix: shop, ";
  const auto kafka = std::get<DebeziumSource>(
      source_of(debezium + "from: kafka, brokers: ['a:1', '[::1]:2'], stream: all, tls: required, "
                           "sasl: plain, user: guard, password: '${NOT_SET:-word}'")
          .kind);
  EXPECT_EQ(kafka.brokers.at(1).text(), "[::1]:2");
  EXPECT_EQ(kafka.password, "word");
  EXPECT_THAT(source_errors(debezium + "from: kafka"),
              ElementsAre("2:71: from: kafka also needs brokers"));
  EXPECT_THAT(source_errors(debezium + "from: kafka, brokers: 'unix:/k', db: 1"),
              ElementsAre(HasSubstr("from: kafka also needs brokers"),
                          HasSubstr("brokers: \"unix:/k\" must be host:port"),
                          HasSubstr("db does not apply to from: kafka")));
  EXPECT_THAT(source_errors(debezium + "brokers: 'a:1', tls: required, sasl: plain, user: guard, "
                                       "whole_topics: true, notifications: n, signals: s"),
              ElementsAre(HasSubstr("brokers does not apply to from: redis"),
                          HasSubstr("tls does not apply to from: redis"),
                          HasSubstr("sasl does not apply to from: redis"),
                          HasSubstr("whole_topics does not apply to from: redis"),
                          HasSubstr("signals does not apply to from: redis")));
  EXPECT_THAT(source_errors(debezium + "from: kafka, brokers: 'a:1', signals: s"),
              ElementsAre(HasSubstr("signals requires notifications")));
  EXPECT_THAT(source_errors(debezium + "from: kafka, brokers: 'a:1', sasl: plain"),
              ElementsAre(HasSubstr("sasl requires user")));
}

TEST(ReadSource, mysql_needs_addresses_a_user_and_a_database) {
  EXPECT_EQ(
      source_of("type: mysql, addresses: 'db:3306', user: guard, database: shop"),
      (Source{"shop",
              MysqlSource{
                  .addresses = {{.host = "db", .port = 3306}}, .user = "guard", .database = "shop"},
              1s}));
  EXPECT_THAT(
      source_errors("type: mysql"),
      ElementsAre("2:3: addresses is missing", "2:3: database is missing", "2:3: user is missing"));
  const auto several = std::get<MysqlSource>(
      source_of("type: mysql, addresses: ['a:1', 'unix:/b'], user: u, database: d, server_id: 7, "
                "tls: verified, ca_file: /ca, password: '${NOT_SET:-word}'")
          .kind);
  EXPECT_EQ(several.addresses.at(1).unix_path, "/b");
  EXPECT_EQ(several.server_id, 7U);
  EXPECT_EQ(several.tls, Tls::verified);
  EXPECT_EQ(several.password, "word");
}

TEST(ReadSource, mysql_says_what_is_wrong_and_shows_no_secret) {
  const std::string good = "type: mysql, addresses: 'db:3306', user: guard, database: shop, ";
  EXPECT_THAT(source_errors("type: mysql, addresses: ['db'], user: u, database: d"),
              ElementsAre(HasSubstr("addresses: \"db\" has no port")));
  for (const std::string_view address :
       {"guard:hunter2@db:3306", "guard:hunter2@db", "mysql://guard:hunter2@db:3306/shop"}) {
    EXPECT_THAT(source_errors("type: mysql, addresses: '" + std::string(address) +
                              "', user: u, database: d"),
                ElementsAre(::testing::AllOf(HasSubstr("addresses: the value "),
                                             HasSubstr("write host:port"),
                                             HasSubstr("user and password"),
                                             ::testing::Not(HasSubstr("hunter2")))))
        << address;
  }
  EXPECT_THAT(source_errors(good + "password: tell, password_file: /nobody"),
              ElementsAre(::testing::AllOf(HasSubstr("password_file and password are both set"),
                                           ::testing::Not(HasSubstr("tell")))));
  EXPECT_THAT(source_errors(good + "ca_file: /ca"), ElementsAre(HasSubstr("tls: verified")));
  EXPECT_THAT(source_errors(good + "server_id: 0"),
              ElementsAre(HasSubstr("must be auto, or from")));
}

TEST(ReadSource, postgres_needs_addresses_a_user_and_a_database) {
  EXPECT_EQ(source_of("type: postgres, addresses: db, user: guard, database: shop"),
            (Source{"shop",
                    PostgresSource{.addresses = {{.host = "db", .port = 5432}},
                                   .user = "guard",
                                   .database = "shop",
                                   .schema = "public",
                                   .publication = "cuckooguard",
                                   .slot = {}},
                    1s}));
  EXPECT_THAT(
      source_errors("type: postgres"),
      ElementsAre("2:3: addresses is missing", "2:3: database is missing", "2:3: user is missing"));
  const auto several = std::get<PostgresSource>(
      source_of("type: postgres, addresses: ['a:1', '[::1]:5433', 'unix:/run/postgresql'], user: "
                "u, database: d, schema: App, publication: guard, tls: verified, ca_file: /ca")
          .kind);
  EXPECT_EQ(several.addresses.at(0).text(), "a:1");
  EXPECT_EQ(several.addresses.at(1).text(), "[::1]:5433");
  EXPECT_EQ(several.addresses.at(2).unix_path, "/run/postgresql");
  EXPECT_EQ(several.schema, "App");
  EXPECT_EQ(several.publication, "guard");
  EXPECT_EQ(several.tls, Tls::verified);
}

TEST(ReadSource, a_slot_of_postgres_is_chosen_temporary_or_has_a_name) {
  const std::string good = "type: postgres, addresses: db, user: guard, database: shop, ";
  const auto slot_of = [&good](const std::string& text) {
    return std::get<PostgresSource>(source_of(good + "slot: " + text).kind).slot;
  };
  using enum ReplicationSlot::Kind;
  EXPECT_EQ(slot_of("auto"), (ReplicationSlot{automatic, ""}));
  EXPECT_EQ(slot_of("temporary"), (ReplicationSlot{temporary, ""}));
  const std::string longest(63, 'x');
  EXPECT_EQ(slot_of(longest), (ReplicationSlot{named, longest}));
  for (const std::string& wrong : {longest + "x", std::string("Guard"), std::string("'a-b'")}) {
    EXPECT_THAT(source_errors(good + "slot: " + wrong),
                ElementsAre(HasSubstr("must be auto, temporary, or a name of 1 to 63")))
        << wrong;
  }
}

TEST(ReadSource, postgres_says_what_is_wrong_and_shows_no_secret) {
  for (const std::string_view address : {"guard:hunter2@db:5432",
                                         "guard:hunter2@db",
                                         "hunter2@db",
                                         "postgres://guard:hunter2@db:5432/shop"}) {
    EXPECT_THAT(source_errors("type: postgres, addresses: '" + std::string(address) +
                              "', user: u, database: d"),
                ElementsAre(::testing::AllOf(HasSubstr("addresses: the value "),
                                             HasSubstr("write host:port"),
                                             ::testing::Not(HasSubstr("hunter2")))))
        << address;
  }
  const std::string good = "type: postgres, addresses: db, user: guard, database: shop, ";
  EXPECT_THAT(source_errors(good + "password: tell, password_file: /nobody"),
              ElementsAre(HasSubstr("password_file and password are both set")));
  EXPECT_THAT(source_errors(good + "ca_file: /ca"), ElementsAre(HasSubstr("tls: verified")));
}

TEST(ReadSource, a_path_is_needed) {
  EXPECT_THAT(source_errors("type: sqlite"), ElementsAre("2:3: path is missing"));
  EXPECT_THAT(source_errors("type: file, path: ''"), ElementsAre(HasSubstr("path: \"\" is empty")));
  EXPECT_THAT(source_errors("type: file, path: '${NOPE}'"),
              ElementsAre(HasSubstr("variable NOPE")));
}

TEST(ReadSource, max_lag_is_bounded) {
  EXPECT_THAT(source_errors("type: file, path: /x, max_lag: 9ms"),
              ElementsAre(HasSubstr("must be from 10ms to 1h")));
  EXPECT_THAT(source_errors("type: file, path: /x, max_lag: 61m"),
              ElementsAre(HasSubstr("must be from 10ms to 1h")));
}

TEST(ReadSource, strict_reads_wait_no_longer_than_proofs_are_good_for) {
  const Source shop = source_of("type: sqlite, path: /x");
  EXPECT_EQ(shop.strict_every, std::nullopt);
  EXPECT_EQ(shop.strict_hold, 20ms);
  EXPECT_EQ(source_of("type: sqlite, path: /x, max_lag: 10ms").strict_hold, 10ms);
  const Source set =
      source_of("type: file, path: /x, max_lag: 50ms, strict_every: 3ms, strict_hold: 50ms");
  EXPECT_EQ(set.strict_every, 3ms);
  EXPECT_EQ(set.strict_hold, 50ms);
  EXPECT_EQ(source_of("type: sqlite, path: /x, strict_every: auto").strict_every, std::nullopt);
  EXPECT_THAT(source_errors("type: file, path: /x, max_lag: 50ms, strict_hold: 51ms"),
              ElementsAre(HasSubstr("strict_hold: \"51ms\" must be from 1ms to max_lag")));
}

TEST(ReadSource, names_are_plain_and_sources_are_a_mapping) {
  EXPECT_THAT(errors_of("sources:\n  'a b': { type: file, path: /x }\n"),
              ElementsAre("2:3: a name in sources must have 1 to 64 letters, digits, '_' and '-'"));
  EXPECT_THAT(errors_of("sources: [ a ]\n"),
              ElementsAre("1:10: sources must be a mapping of names to their settings"));
  EXPECT_THAT(errors_of("sources:\n  shop: x\n"),
              ::testing::Contains(HasSubstr("2:9: sources.* must be a mapping of keys")));
}

TEST(ReadSource, a_source_of_no_type_is_told_each_key_of_all_types_once) {
  const std::vector<std::string> errors = errors_of("sources:\n  shop: [ a ]\n");
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_THAT(errors[1], HasSubstr("path,"));
  EXPECT_EQ(errors[1].find("max_lag"), errors[1].rfind("max_lag"));
  EXPECT_EQ(errors[1].find("path,"), errors[1].rfind("path,"));
}

TEST(ReadSource, a_fleet_needs_what_its_guards_have_in_common) {
  const std::string shop =
      "sources:\n"
      "  shop: { type: mysql, addresses: db:1, user: u, database: d, publish: redis }\n";
  EXPECT_THAT(testing::errors_of(shop),
              UnorderedElementsAre(HasSubstr("sources.shop needs fleet.public_key_files"),
                                   HasSubstr("sources.shop needs fleet.signing_key_file"),
                                   HasSubstr("sources.shop needs storage.secret_file"),
                                   HasSubstr("sources.shop needs storage.directory")));
  const Config config = testing::config_of(shop +
                                           "  other: { type: fleet, name: far }\n"
                                           "fleet: { signing_key_file: /k, public_key_files: /p }\n"
                                           "storage: { directory: /d, secret_file: /s }\n");
  EXPECT_EQ(config.sources[0].fleet, config.fleet);
  EXPECT_EQ(std::get<FleetSource>(config.sources[1].kind),
            (FleetSource{.name = "far", .fleet = config.fleet}));
  EXPECT_EQ(config.sources[0].strict_hold, 20ms);
  EXPECT_EQ(config.sources[1].strict_hold, 100ms) << "proofs come by Redis and a builder";
}

}  // namespace
}  // namespace cuckooguard::config
