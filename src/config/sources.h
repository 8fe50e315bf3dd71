// Where rows come from, as the operator says it: `sources` in the configuration, and the tables
// that a namespace takes from one.
//
// Threads: plain values.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "foreign/format.h"
#include "keyspace/row_condition.h"

namespace cuckooguard::config {

using std::chrono::milliseconds;

// Where something listens, or is reached.
struct Address {  // host:port or unix:/path
  std::string host;
  std::uint16_t port = 0;
  std::string unix_path;
  std::string tls_name{};  // for whom its certificate must be; empty: the host

  bool is_unix() const { return !unix_path.empty(); }
  const std::string& certified_name() const { return tls_name.empty() ? host : tls_name; }
  std::string text()
      const;  // as it is written in the file: 127.0.0.1:6379, [::1]:6379, unix:/run/redis.sock
  bool operator==(const Address&) const = default;
};

// Ports in a row, one for each node of a Redis Cluster, or for a master and each of its replicas.
struct NodePorts {
  std::string host;
  std::uint16_t first = 0;
  std::uint16_t last = 0;

  std::size_t count() const { return std::size_t{last} - first + 1; }
  std::string text() const;  // 127.0.0.1:7000-7063
  bool operator==(const NodePorts&) const = default;
};

inline constexpr milliseconds kDefaultMaxLag{1000};
inline constexpr int kPollsPerMaxLag = 4;

// How a SQLite source comes by what has changed: it reads all rows again, or what triggers have
// written down.
enum class Follow : std::uint8_t { rescan, triggers };

// With triggers a look is a look at the news: it comes as often as a new row should be known.
inline constexpr milliseconds kTriggersPollMost{10};

struct SqliteSource {
  std::string path;
  Follow follow = Follow::rescan;
  bool install_triggers = false;
  // auto: a quarter of the source's max_lag; with triggers kTriggersPollMost at most.
  milliseconds poll_every = kDefaultMaxLag / kPollsPerMaxLag;

  bool operator==(const SqliteSource&) const = default;
};

enum class Tls : std::uint8_t {
  off,
  required,  // encrypted, whoever the server is
  verified,  // and the server's certificate is good for its host
};

struct MysqlSource {
  std::vector<Address> addresses;  // tried in this order
  std::string user;
  std::string password;
  std::string password_file;  // read again at every connect
  std::string database;
  Tls tls = Tls::off;
  std::string ca_file;                     // empty: the system's
  std::optional<std::uint32_t> server_id;  // nullopt: random

  bool operator==(const MysqlSource&) const = default;
};

inline constexpr std::uint16_t kPostgresPort = 5432;

// The replication slot by which a server keeps its log for a follower.
struct ReplicationSlot {
  // auto: a slot that is kept between runs if there is `storage`, otherwise one that ends with the
  // session.
  enum class Kind : std::uint8_t { automatic, temporary, named };
  Kind kind = Kind::automatic;
  std::string name;  // if kind is named

  bool operator==(const ReplicationSlot&) const = default;
};

struct PostgresSource {
  std::vector<Address> addresses;  // the first that takes writes
  std::string user;
  std::string password;
  std::string password_file;  // read again at every connect
  std::string database;
  std::string schema = "public";
  std::string publication = "cuckooguard";
  ReplicationSlot slot;
  Tls tls = Tls::off;
  std::string ca_file;  // empty: the system's

  bool operator==(const PostgresSource&) const = default;
};

enum class FileFormat : std::uint8_t { lines, csv };

struct FileSource {
  std::string path;
  FileFormat format = FileFormat::lines;

  bool operator==(const FileSource&) const = default;
};

// A filter that another library has made, in Redis or in a file.
struct BloomSource {
  const foreign::Format* format = nullptr;  // null: not stated, which is refused
  std::string path;                         // of a file; empty: it is Redis's
  std::string key;
  int db = 0;
  std::uint64_t bits = 0;    // 0: the filter tells
  std::uint32_t hashes = 0;  // likewise
  foreign::Strategy strategy = foreign::Strategy::murmur128_mitz_32;
  foreign::Funnel funnel = foreign::Funnel::utf8;
  // auto: a quarter of the source's max_lag.
  milliseconds reload = kDefaultMaxLag / kPollsPerMaxLag;

  foreign::Parameters stated() const {
    return {.bits = bits, .hashes = hashes, .strategy = strategy, .funnel = funnel};
  }
  bool operator==(const BloomSource&) const = default;
};

// Where a fleet's snapshots are: in Redis, or in a file of the builder's, at its admin server.
enum class Snapshots : std::uint8_t { redis, http };

// Guards of which one reads the database and the others follow it, through Redis.
struct Fleet {
  std::string prefix = "cuckooguard:fleet";  // what Redis's keys for it begin with
  std::string signing_key_file;              // of who reads a database
  std::vector<std::string> public_key_files;
  Snapshots snapshots = Snapshots::redis;
  // For so long some followers only compare a table's rows when it was changed; 0: none does.
  milliseconds canary{0};

  bool operator==(const Fleet&) const = default;
};

inline constexpr std::size_t kFleetKeysMax = 2;

// What another guard publishes of its source.
struct FleetSource {
  std::string name;  // of that source
  // The admin servers of guards that publish it; empty: rows are not asked for, and snapshots are
  // Redis's alone.
  std::vector<Address> builder;
  std::string builder_token_file;  // read again for every request
  Fleet fleet;

  bool operator==(const FleetSource&) const = default;
};

// Of which Debezium's messages are understood.
enum class StreamConnector : std::uint8_t { mysql, mariadb, postgresql, sqlserver, oracle };
enum class StreamPlace : std::uint8_t { redis, kafka };
enum class StreamFreshness : std::uint8_t { none, trust_lag };
enum class Sasl : std::uint8_t { off, plain, scram_sha_256, scram_sha_512 };

// Tables whose changes Debezium writes into streams of Redis, or topics of Kafka.
struct DebeziumSource {
  StreamPlace from = StreamPlace::redis;
  StreamConnector connector = StreamConnector::mysql;
  std::string topic_prefix;     // a table's stream is called by it and by the table
  std::string stream;           // the one stream of all tables; empty: each has its own
  std::string heartbeat_table;  // that Debezium writes now and then; empty: none
  int db = 0;                   // of Redis
  // Of Kafka.
  std::vector<Address> brokers;  // some of them, which know the others
  Tls tls = Tls::off;
  std::string ca_file;  // empty: the system's
  Sasl sasl = Sasl::off;
  std::string user;
  std::string password;
  std::string password_file;  // read again when a broker cannot be reached
  // Every row is in the topics: a snapshot was, and all that was taken out of them are older
  // messages of the same key.
  bool whole_topics = false;
  StreamFreshness freshness = StreamFreshness::none;
  bool binary_texts = false;  // the database takes texts for equal only if their bytes are
  std::string notifications;  // the stream or topic of Debezium's notifications; empty: none
  std::string signals;        // the topic from which Debezium takes signals; empty: none are sent

  bool operator==(const DebeziumSource&) const = default;
};

enum class Publish : std::uint8_t { off, redis };

inline constexpr milliseconds kFleetStrictHold{100};  // proofs come by Redis and a builder

struct Source {
  std::string name;
  std::variant<SqliteSource,
               MysqlSource,
               PostgresSource,
               FileSource,
               BloomSource,
               FleetSource,
               DebeziumSource>
      kind;
  milliseconds max_lag = kDefaultMaxLag;
  // Questions for strict reads come no more often than this; nullopt: as often as 2 % of a core
  // allow for this kind of source.
  std::optional<milliseconds> strict_every;
  // So long a strict read waits for its proof; then it passes. At most max_lag. kFleetStrictHold of
  // a fleet, unless it is set.
  milliseconds strict_hold{20};
  Publish publish = Publish::off;  // to other guards
  Fleet fleet;                     // if it is published

  bool operator==(const Source&) const = default;
};

// The byte order of UUIDs in 16 bytes (source/uuid_bytes.h).
enum class UuidOrder : std::uint8_t { plain, swapped };
inline constexpr std::array<std::string_view, 2> kUuidOrderNames{"plain", "swapped"};

// What a Debezium message's value can be; of a decimal in bytes its scale is needed, too.
inline constexpr std::array<std::string_view, 12> kColumnTypes{"integer",
                                                               "string",
                                                               "uuid",
                                                               "enum",
                                                               "bytes",
                                                               "base64-url-safe",
                                                               "hex",
                                                               "decimal text",
                                                               "variable decimal",
                                                               "date",
                                                               "iso date",
                                                               "boolean"};

struct SourceTable {
  std::string from;  // Source::name
  // Names and patterns (table_pattern.h); empty where there are none.
  std::vector<std::string> tables;
  std::map<std::string, std::string> columns;  // every identity placeholder -> its column
  keyspace::RowCondition where;                // the rows that count; empty: all of them
  UuidOrder uuids = UuidOrder::plain;
  // Column -> what its values are in messages without a schema (kColumnTypes, or `decimal(2)`).
  std::map<std::string, std::string> types{};

  // One and the same for good: neither a list nor a pattern.
  bool is_one_table() const;
  const std::string& column_of(const std::string& placeholder) const;  // or the placeholder
  bool operator==(const SourceTable&) const = default;
};

}  // namespace cuckooguard::config
