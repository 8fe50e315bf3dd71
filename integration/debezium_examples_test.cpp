// docs/debezium.md and docker-compose.debezium.yml: what they say to Debezium is spelled as
// Debezium 3 has it, and agrees with what they say to the guard; and a guard with each page's
// configuration answers, once messages are there as that connector writes them. Debezium itself is
// not run.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "debezium/made_messages.h"
#include "harness/deadline.h"
#include "harness/guard_process.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

using debezium::Connector;
using testing::HasSubstr;
using testing::IsSupersetOf;
using Properties = std::map<std::string, std::string>;

const std::string kSourceFolder = CUCKOOGUARD_SOURCE "/";

// Of the pages of Debezium 3 on its connectors, its server and its storage in Redis. Behind
// `debezium.`.
const std::set<std::string> kKnown{"source.connector.class",
                                   "source.database.hostname",
                                   "source.database.port",
                                   "source.database.user",
                                   "source.database.password",
                                   "source.database.dbname",
                                   "source.database.names",
                                   "source.database.pdb.name",
                                   "source.database.server.id",
                                   "source.driver.encrypt",
                                   "source.connect.keep.alive.interval.ms",
                                   "source.plugin.name",
                                   "source.topic.prefix",
                                   "source.table.include.list",
                                   "source.heartbeat.interval.ms",
                                   "source.heartbeat.action.query",
                                   "source.notification.enabled.channels",
                                   "source.notification.sink.topic.name",
                                   "source.signal.data.collection",
                                   "source.skipped.operations",
                                   "source.offset.storage",
                                   "source.offset.storage.redis.address",
                                   "source.schema.history.internal",
                                   "source.schema.history.internal.redis.address",
                                   "sink.type",
                                   "sink.redis.address",
                                   "sink.redis.message.format",
                                   "format.key",
                                   "format.value",
                                   "format.key.schemas.enable",
                                   "format.value.schemas.enable"};
const std::map<std::string, Connector> kClasses{
    {"io.debezium.connector.mysql.MySqlConnector", Connector::mysql},
    {"io.debezium.connector.mariadb.MariaDbConnector", Connector::mariadb},
    {"io.debezium.connector.postgresql.PostgresConnector", Connector::postgresql},
    {"io.debezium.connector.sqlserver.SqlServerConnector", Connector::sqlserver},
    {"io.debezium.connector.oracle.OracleConnector", Connector::oracle}};

Properties properties_in(std::istream&& text) {
  Properties properties;
  for (std::string line; std::getline(text, line);) {
    if (!line.empty() && line.front() != '#') {
      const std::size_t equals = line.find('=');
      EXPECT_TRUE(line.starts_with("debezium.") && equals != std::string::npos) << line;
      const std::string key = line.substr(9, equals - 9);
      EXPECT_TRUE(kKnown.contains(key)) << line;
      EXPECT_TRUE(properties.emplace(key, line.substr(equals + 1)).second) << line;
    }
  }
  return properties;
}

struct Example {
  Properties properties;
  std::string yaml;

  const std::string& at(const std::string& key) const { return properties.at(key); }
  Connector connector() const { return kClasses.at(at("source.connector.class")); }
  YAML::Node source() const { return YAML::Load(yaml)["sources"]["changes"]; }
};

// A block of Debezium Server's properties, and the guard's configuration behind it; what a later
// one does not say is as in the first. Kafka Connect has other properties.
std::vector<Example> examples() {
  std::vector<Example> all;
  std::istringstream text(read_whole_file(kSourceFolder + "docs/debezium.md"));
  std::string language;
  std::string block;
  for (std::string line; std::getline(text, line) && line != "## Kafka";) {
    if (!line.starts_with("```")) {
      block += language.empty() ? "" : line + "\n";
      continue;
    }
    if (language == "ini") {
      Example example{.properties = properties_in(std::istringstream(block)), .yaml = {}};
      if (!all.empty()) {
        example.properties.insert(all.front().properties.begin(), all.front().properties.end());
      }
      all.push_back(std::move(example));
    } else if (language == "yaml") {
      all.back().yaml = block;
    }
    language = language.empty() ? line.substr(3) : "";
    block.clear();
  }
  return all;
}

std::vector<std::string> words_of(const std::string& text, char separator) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, separator);) {
    words.push_back(word);
  }
  return words;
}

// What Debezium captures, as the guard calls it.
std::vector<std::string> captured_by(const Example& example) {
  std::vector<std::string> tables = words_of(example.at("source.table.include.list"), ',');
  if (example.connector() == Connector::sqlserver) {
    for (std::string& table : tables) {
      table.insert(0, example.at("source.database.names") + ".");
    }
  }
  return tables;
}

void expect_agreement(const Example& example) {
  const YAML::Node source = example.source();
  EXPECT_EQ(source["connector"].as<std::string>(), name_of(example.connector()));
  EXPECT_EQ(source["topic_prefix"].as<std::string>(), example.at("source.topic.prefix"));
  const auto heartbeat = source["heartbeat_table"].as<std::string>();
  const auto table =
      YAML::Load(example.yaml)["namespaces"]["products"]["source"]["table"].as<std::string>();
  EXPECT_THAT(captured_by(example), testing::UnorderedElementsAre(heartbeat, table));
  EXPECT_THAT(example.at("source.heartbeat.action.query"), HasSubstr("UPDATE " + heartbeat + " "));
  const auto notifications = example.properties.find("source.notification.sink.topic.name");
  EXPECT_EQ(source["notifications"].as<std::string>(""),
            notifications == example.properties.end() ? "" : notifications->second);
  EXPECT_EQ(example.at("source.skipped.operations"), "none");
  EXPECT_EQ(example.at("sink.type"), "redis");
  EXPECT_EQ(example.at("format.value"), "json");
  const auto max_lag = source["max_lag"].as<std::string>();  // in seconds
  EXPECT_TRUE(max_lag.ends_with('s'));
  EXPECT_LT(3 * std::stoi(example.at("source.heartbeat.interval.ms")), 1000 * std::stoi(max_lag));
  if (is_binlog(example.connector())) {
    EXPECT_LE(2 * std::stoi(example.at("source.connect.keep.alive.interval.ms")),
              1000 * std::stoi(max_lag))
        << "in quiet times there is no heartbeat sooner";
  }
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << text;
  return text.replace(at, from.size(), to);
}

// A database with one connector, which writes into Redis as the sink does.
class Written {
 public:
  Written(const RedisServer& redis, const Example& example)
      : client_(redis.client()), connector_(example.connector()) {}

  void write(std::string_view op, const std::string& table, int id, std::string_view snapshot) {
    const std::string column = connector_ == Connector::oracle ? "ID" : "id";
    const std::string fields = R"({"type":"int64","optional":false,"field":")" + column + R"("})";
    const std::string key = "{\"" + column + "\":" + std::to_string(id) + "}";
    const std::string more = R"(,{"type":"string","optional":true,"field":"deleted_at"})";
    const std::string row = "{\"" + column + "\":" + std::to_string(id) + R"(,"deleted_at":null})";
    client_.call({"XADD",
                  "shop." + table,
                  "*",
                  "key",
                  debezium::key_with_schema(fields, key),
                  "value",
                  debezium::with_schema(
                      fields + more,
                      debezium::envelope_of(
                          op, op == "u" ? row : "null", row, source_of(table, snapshot)))});
  }

 private:
  std::string source_of(const std::string& table, std::string_view snapshot) {
    const std::vector<std::string> names = words_of(table, '.');
    const std::string at = std::to_string(++position_);
    const auto source = [&](const std::string& place) {
      return debezium::source_of(connector_, place, snapshot);
    };
    std::string text;
    switch (connector_) {
      case Connector::mysql:
      case Connector::mariadb:
        text = source(R"("gtid":null,"file":"binlog.000001","row":0,"pos":)" + at);
        text = replaced(text, "\"inventory\"", "\"" + names.front() + "\"");
        break;
      case Connector::postgresql:
        text = source(R"("sequence":"[\")" + at + R"(\",\")" + at + R"(\"]","lsn":)" + at);
        break;
      case Connector::sqlserver:
        text = source(R"("event_serial_no":1,"change_lsn":"0:0:)" + at + R"(","commit_lsn":"0:0:)" +
                      at + "\"");
        text = replaced(text, "\"testDB\"", "\"" + names.front() + "\"");
        break;
      case Connector::oracle:
        text =
            source(R"("rs_id":"0x1.1.1","ssn":0,"scn":")" + at + R"(","commit_scn":")" + at + "\"");
        text = replaced(text, "\"DEBEZIUM\"", "\"" + names.front() + "\"");
        break;
    }
    text = replaced(text,
                    connector_ == Connector::oracle ? "\"CUSTOMERS\"" : "\"customers\"",
                    "\"" + names.back() + "\"");
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    return replaced(text, "1559033904863", std::to_string(now.count()));
  }

  RawClient client_;
  Connector connector_;
  std::uint64_t position_ = 0x10;
};

TEST(DebeziumExamples, are_spelled_as_debezium_has_it_and_agree_with_the_guard_s) {
  const std::vector<Example> all = examples();
  std::set<Connector> connectors;
  for (const Example& example : all) {
    SCOPED_TRACE(example.yaml);
    connectors.insert(example.connector());
    expect_agreement(example);
  }
  EXPECT_EQ(connectors.size(), kClasses.size());
  std::set<std::string> first;
  for (const auto& [key, value] : all.front().properties) {
    first.insert(key);
  }
  EXPECT_THAT(first, IsSupersetOf({"sink.redis.address", "source.offset.storage"}));
}

TEST(DebeziumExamples, make_a_guard_that_answers) {
  for (const Example& example : examples()) {
    SCOPED_TRACE(example.at("source.connector.class"));
    const RedisServer redis;
    YAML::Node config = YAML::Load(example.yaml);
    YAML::Node space = config["namespaces"]["products"];
    const auto heartbeat = example.source()["heartbeat_table"].as<std::string>();
    const auto table = space["source"]["table"].as<std::string>();
    config.remove("listen");
    config["upstream"]["address"] = redis.address();
    space["mode"] = "enforce";
    space["absent_reply"] = "bytes:absent";
    space["overlay"]["pass_at_start"] = false;
    const GuardProcess guard =
        GuardProcess::on_port(YAML::Dump(config) + "\nadmin: { operators: [default] }\n");
    RawClient client = guard.client();
    Written database(redis, example);
    database.write("r", table, 1, "first");
    database.write("r", table, 2, "true");
    database.write("r", table, 3, "last");
    EXPECT_TRUE(eventually([&] {
      database.write("u", heartbeat, 1, "false");
      return client.call({"GET", "product:9"}) == "$6\r\nabsent\r\n";
    })) << client.call({"GUARD.INFO", "products"});
    EXPECT_EQ(client.call({"GET", "product:2"}), "$-1\r\n");
    database.write("c", table, 9, "false");
    EXPECT_TRUE(eventually([&] { return client.call({"GET", "product:9"}) == "$-1\r\n"; }));
  }
}

TEST(DebeziumExamples, run_in_containers_that_there_are) {
  const YAML::Node compose = YAML::LoadFile(kSourceFolder + "docker-compose.debezium.yml");
  std::set<std::string> services;
  for (const auto& service : compose["services"]) {
    services.insert(service.first.as<std::string>());
    EXPECT_TRUE(service.second["image"] || service.second["build"]) << service.first;
    for (const auto& volume : service.second["volumes"]) {
      const std::string path = words_of(volume.as<std::string>(), ':').front();
      EXPECT_TRUE(compose["volumes"][path].IsDefined() ||
                  std::filesystem::is_directory(kSourceFolder + path))
          << path;
    }
  }
  EXPECT_THAT(services, testing::UnorderedElementsAre("mysql", "redis", "debezium", "guard"));
  EXPECT_EQ(compose["services"]["debezium"]["volumes"][0].as<std::string>(),
            "./demo/compose/debezium:/debezium/config:ro");

  const std::string folder = kSourceFolder + "demo/compose/";
  const Example demo{.properties = properties_in(std::istringstream(
                         read_whole_file(folder + "debezium/application.properties"))),
                     .yaml = read_whole_file(folder + "guard-debezium/cuckooguard.yaml")};
  expect_agreement(demo);
  const Properties documented = examples().front().properties;
  for (const auto& [key, value] : documented) {
    EXPECT_TRUE(demo.properties.contains(key)) << key;
  }
  EXPECT_EQ(demo.properties.size(), documented.size());
  const std::string sql = read_whole_file(folder + "mysql-debezium/schema.sql");
  EXPECT_THAT(sql, HasSubstr("IDENTIFIED BY '" + demo.at("source.database.password") + "'"));
  for (const char* const key : {"source.database.hostname", "sink.redis.address"}) {
    EXPECT_TRUE(services.contains(words_of(demo.at(key), ':').front())) << key;
  }
}

}  // namespace
}  // namespace cuckooguard::harness
