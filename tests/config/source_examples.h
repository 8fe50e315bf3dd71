// Sources of each type, for tests that have something of all types: a new one has its examples
// here, and nowhere else.
#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "config/config.h"
#include "formats/formats.h"

namespace cuckooguard::config::testing {

using SourceOfType = decltype(Source::kind);

struct SourceExample {
  // In `sources`, with other settings than the defaults, and values that are not easy to print.
  std::string_view yaml;
  // The program's defaults, with what must be given as `other` has it.
  SourceOfType (*defaults)(const SourceOfType& other);
};

// In the order of SourceOfType's types.
inline const std::array<SourceExample, std::variant_size_v<SourceOfType>> kSourceExamples{
    SourceExample{
        .yaml = "  shop: { type: sqlite, path: 'a \"b\" \\ $${c} #d\té.db', follow: triggers, "
                "poll_every: 7ms, strict_every: 3ms, strict_hold: 5ms }\n",
        .defaults = [](const SourceOfType& other) -> SourceOfType {
          return SqliteSource{.path = std::get<SqliteSource>(other).path};
        }},
    SourceExample{.yaml = "  main: { type: mysql, addresses: ['db:1', 'unix:/x y'], user: null_, "
                          "database: 'null', tls: verified, ca_file: /ca.pem, server_id: 7, "
                          "max_lag: 2500ms, publish: redis }\n",
                  .defaults = [](const SourceOfType& other) -> SourceOfType {
                    const auto& mysql = std::get<MysqlSource>(other);
                    return MysqlSource{.addresses = mysql.addresses,
                                       .user = mysql.user,
                                       .database = mysql.database};
                  }},
    SourceExample{
        .yaml = "  pg: { type: postgres, addresses: [db, '[::1]:1'], user: u, database: d, "
                "schema: 'A b', publication: p, slot: my_slot, tls: required, password_file: /p, "
                "max_lag: 50ms }\n",
        .defaults = [](const SourceOfType& other) -> SourceOfType {
          const auto& postgres = std::get<PostgresSource>(other);
          return PostgresSource{.addresses = postgres.addresses,
                                .user = postgres.user,
                                .database = postgres.database};
        }},
    SourceExample{.yaml = "  list: { type: file, path: '-x', format: csv }\n",
                  .defaults = [](const SourceOfType& other) -> SourceOfType {
                    return FileSource{.path = std::get<FileSource>(other).path};
                  }},
    SourceExample{
        .yaml = "  seen: { type: bloom, format: guava-bitmap, key: 'a b', db: 3, bits: 1M, "
                "hashes: 7, strategy: murmur128_mitz_64, funnel: long, reload: 20ms }\n"
                "  java: { type: bloom, format: redisson, key: 'a: b' }\n",
        .defaults = [](const SourceOfType& other) -> SourceOfType {
          const auto& bloom = std::get<BloomSource>(other);
          return BloomSource{.format = &foreign::kGoZero, .key = bloom.key, .bits = bloom.bits};
        }},
    SourceExample{.yaml = "  sidecar: { type: fleet, name: 'a b', max_lag: 3s, builder: [b:1, "
                          "'[::1]:2'], builder_token_file: /t }\n",
                  .defaults = [](const SourceOfType& other) -> SourceOfType {
                    const auto& followed = std::get<FleetSource>(other);
                    return FleetSource{.name = followed.name, .fleet = followed.fleet};
                  }},
    SourceExample{
        .yaml =
            "  cdc: { type: debezium, connector: oracle, topic_prefix: 'a b', stream: "
            "'x: y', heartbeat_table: b, db: 2, freshness: trust_lag, binary_texts: "
            "true, notifications: "
            "n, max_lag: 2s }\n"
            "  topics: { type: debezium, from: kafka, connector: mysql, topic_prefix: c, "
            "brokers: ['k:9092', '[::1]:9092'], tls: verified, ca_file: /ca.pem, sasl: "
            "scram-sha-512, user: 'a b', password_file: /p, whole_topics: true, notifications: n, "
            "signals: 's: t' }\n",
        .defaults = [](const SourceOfType& other) -> SourceOfType {
          const auto& debezium = std::get<DebeziumSource>(other);
          return DebeziumSource{.connector = debezium.connector,
                                .topic_prefix = debezium.topic_prefix};
        }},
};

}  // namespace cuckooguard::config::testing
