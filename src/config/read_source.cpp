#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/read_config.h"
#include "config/section_table.h"

namespace cuckooguard::config {
namespace {

using namespace std::chrono_literals;

enum class SourceType : std::uint8_t { sqlite, mysql, postgres, file, bloom, fleet, debezium };

constexpr std::size_t kPostgresNameMax = 63;  // NAMEDATALEN - 1

constexpr std::array kSourceTypes = {Choice<SourceType>{"sqlite", SourceType::sqlite},
                                     Choice<SourceType>{"mysql", SourceType::mysql},
                                     Choice<SourceType>{"postgres", SourceType::postgres},
                                     Choice<SourceType>{"file", SourceType::file},
                                     Choice<SourceType>{"bloom", SourceType::bloom},
                                     Choice<SourceType>{"fleet", SourceType::fleet},
                                     Choice<SourceType>{"debezium", SourceType::debezium}};
constexpr auto kFileFormats = choices_of<FileFormat>({"lines", "csv"});
constexpr auto kFollows = choices_of<Follow>({"rescan", "triggers"});
constexpr auto kPublish = choices_of<Publish>({"off", "redis"});
constexpr auto kConnectors =
    choices_of<StreamConnector>({"mysql", "mariadb", "postgresql", "sqlserver", "oracle"});
constexpr auto kStreamPlaces = choices_of<StreamPlace>({"redis", "kafka"});
constexpr auto kSasl = choices_of<Sasl>({"off", "plain", "scram-sha-256", "scram-sha-512"});
constexpr auto kStreamFreshness = choices_of<StreamFreshness>({"none", "trust_lag"});
constexpr auto kTls = choices_of<Tls>({"off", "required", "verified"});

constexpr auto kBloomStrategies = choices_of<foreign::Strategy>(foreign::kStrategyNames);
constexpr auto kBloomFunnels = choices_of<foreign::Funnel>(foreign::kFunnelNames);
constexpr std::uint64_t kBloomBitsMax = std::uint64_t{1} << 32U;  // of a bitmap in Redis
constexpr int kDbMax = std::numeric_limits<int>::max();

// Also for the names of databases that somebody may look for here.
Parsed<SourceType> parse_source_type(std::string_view text) {
  if (text == "mariadb") {
    return std::unexpected("is unknown, did you mean \"mysql\"? It works for MariaDB, too");
  }
  if (text == "postgresql" || text == "pgsql" || text == "pg") {
    return std::unexpected("is unknown, did you mean \"postgres\"?");
  }
  return parse_choice(text, kSourceTypes);
}

// host, host:port or unix:/path.
Parsed<Address> parse_postgres_address(std::string_view text) {
  const bool is_host = !text.empty() && text.find_first_of(":@") == std::string_view::npos;
  return parse_address(is_host ? fmt::format("{}:{}", text, kPostgresPort) : std::string(text));
}

Parsed<Address> parse_broker(std::string_view text) {
  auto address = parse_address(text);
  if (address && address->is_unix()) {
    return std::unexpected("must be host:port: Kafka's brokers have no Unix socket");
  }
  return address;
}

Parsed<ReplicationSlot> parse_slot(std::string_view text) {
  using enum ReplicationSlot::Kind;
  if (text == "auto" || text == "temporary") {
    return ReplicationSlot{.kind = text == "auto" ? automatic : temporary, .name = {}};
  }
  const bool is_name =
      !text.empty() && text.size() <= kPostgresNameMax &&
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
  if (!is_name) {
    return std::unexpected(
        "must be auto, temporary, or a name of 1 to 63 lower-case letters, digits and '_'");
  }
  return ReplicationSlot{.kind = named, .name = std::string(text)};
}

template <typename Settings>
void check_ca_file(const Section& section, const Settings& read) {
  if (!read.ca_file.empty() && read.tls != Tls::verified) {
    section.report(section.place_of("ca_file"), "ca_file requires tls: verified");
  }
}

// The first keys are those of every type, which read_source() reads.
template <typename Struct, typename... Rows>
constexpr auto section_of(std::string_view path, const Rows&... rows) {
  return section<Struct>(path,
                         ReadApart{"type"},
                         ReadApart{"max_lag"},
                         ReadApart{"strict_every"},
                         ReadApart{"strict_hold"},
                         rows...);
}

constexpr auto kSqlite =
    section_of<SqliteSource>("sources.* of type sqlite",
                             value("path", &SqliteSource::path, parse_text).required(),
                             choice("follow", &SqliteSource::follow, kFollows),
                             value("install_triggers", &SqliteSource::install_triggers, parse_bool),
                             ReadApart{"poll_every"})
        .checked_by([](const Section& section, SqliteSource& sqlite) {
          if (sqlite.install_triggers && sqlite.follow != Follow::triggers) {
            section.report(section.place_of("install_triggers"),
                           "install_triggers requires follow: triggers");
          }
        });

constexpr auto kMysql =
    section_of<MysqlSource>(
        "sources.* of type mysql",
        list("addresses", &MysqlSource::addresses, parse_address).required(),
        value("user", &MysqlSource::user, parse_text).required(),
        secret("password", &MysqlSource::password),
        text("password_file", &MysqlSource::password_file),
        value("database", &MysqlSource::database, parse_text).required(),
        ReadApart{"publish"},
        choice("tls", &MysqlSource::tls, kTls),
        text("ca_file", &MysqlSource::ca_file),
        value("server_id",
              &MysqlSource::server_id,
              or_auto(bounded<std::uint32_t>(
                  parse_count, 1, 0xFFFFFFFF, "must be auto, or from 1 to 4294967295"))))
        .checked_by([](const Section& section, MysqlSource& mysql) {
          check_password(section, mysql);
          check_ca_file(section, mysql);
        });

constexpr auto kPostgres =
    section_of<PostgresSource>(
        "sources.* of type postgres",
        list("addresses", &PostgresSource::addresses, parse_postgres_address).required(),
        value("user", &PostgresSource::user, parse_text).required(),
        secret("password", &PostgresSource::password),
        text("password_file", &PostgresSource::password_file),
        value("database", &PostgresSource::database, parse_text).required(),
        value("schema", &PostgresSource::schema, parse_text),
        value("publication", &PostgresSource::publication, parse_text),
        value("slot", &PostgresSource::slot, parse_slot),
        ReadApart{"publish"},
        choice("tls", &PostgresSource::tls, kTls),
        text("ca_file", &PostgresSource::ca_file))
        .checked_by([](const Section& section, PostgresSource& postgres) {
          check_password(section, postgres);
          check_ca_file(section, postgres);
        });

constexpr auto kFile =
    section_of<FileSource>("sources.* of type file",
                           value("path", &FileSource::path, parse_text).required(),
                           choice("format", &FileSource::format, kFileFormats));

void read_format(const Section& section,
                 std::string_view key,
                 bool /*is_required*/,
                 const foreign::Format*& out) {
  const foreign::Formats formats = section.built().formats;
  section.read(
      key,
      out,
      [&](std::string_view text) -> Parsed<const foreign::Format*> {
        if (const foreign::Format* const found = foreign::find_format(formats, text)) {
          return found;
        }
        std::vector<std::string_view> names;
        std::ranges::transform(formats, std::back_inserter(names), &foreign::Format::name);
        return unknown_choice(text, names);
      },
      [](const foreign::Format* format) {
        return format == nullptr ? std::nullopt : std::optional(std::string(format->name));
      });
}

void check_bloom(const Section& section, BloomSource& bloom) {
  if (bloom.format == nullptr) {
    return;  // reported
  }
  const foreign::Format& format = *bloom.format;
  const bool is_file = format.kept == foreign::Format::Kept::in_file;
  const BloomSource defaults;
  struct Setting {
    std::string_view key;
    bool is_given;
    bool is_needed;
    bool is_of_use;
  };
  for (const Setting& each : std::to_array<Setting>({
           {"path", !bloom.path.empty(), is_file, is_file},
           {"key", !bloom.key.empty(), !is_file, !is_file},
           {"db", bloom.db != defaults.db, false, !is_file},
           {"bits", bloom.bits != defaults.bits, format.bits, format.bits},
           {"hashes", bloom.hashes != defaults.hashes, format.hashes, format.hashes},
           {"strategy", bloom.strategy != defaults.strategy, false, format.strategy},
           {"funnel", bloom.funnel != defaults.funnel, false, format.funnel},
       })) {
    if (each.is_needed && !each.is_given) {
      section.report(section.place_of(section.find(each.key) == nullptr ? "format" : each.key),
                     fmt::format("format: {} also needs {}", format.name, each.key));
    } else if (each.is_given && !each.is_of_use) {
      section.report(section.place_of(each.key),
                     fmt::format("{} does not apply to format: {}", each.key, format.name));
    }
  }
}

constexpr auto kBloom =
    section_of<BloomSource>(
        "sources.* of type bloom",
        row("format", &BloomSource::format, read_format).required(),
        text("path", &BloomSource::path),
        text("key", &BloomSource::key),
        value("db",
              &BloomSource::db,
              bounded<int>(parse_count, 0, kDbMax, "is not a valid database number")),
        value("bits",
              &BloomSource::bits,
              bounded<std::uint64_t>(
                  parse_count,
                  0,
                  kBloomBitsMax,
                  "must be at most 4294967296, the bits of the largest Redis bitmap")),
        value("hashes",
              &BloomSource::hashes,
              bounded<std::uint32_t>(parse_count, 0, foreign::kHashesMax, "must be at most 1075")),
        choice("strategy", &BloomSource::strategy, kBloomStrategies),
        choice("funnel", &BloomSource::funnel, kBloomFunnels),
        ReadApart{"reload"})
        .checked_by(check_bloom);

constexpr auto kFollowedFleet =
    section_of<FleetSource>("sources.* of type fleet",
                            value("name", &FleetSource::name, parse_text).required(),
                            list("builder", &FleetSource::builder, parse_address),
                            text("builder_token_file", &FleetSource::builder_token_file))
        .checked_by([](const Section& section, FleetSource& followed) {
          if (!followed.builder_token_file.empty() && followed.builder.empty()) {
            section.report(section.place_of("builder_token_file"),
                           "builder_token_file requires builder");
          }
        });

void check_debezium(const Section& section, DebeziumSource& debezium) {
  const bool is_kafka = debezium.from == StreamPlace::kafka;
  if (const auto refused = section.built().refusal("kafka"); refused && is_kafka) {
    section.report(section.place_of("from"), "from: " + *refused);
  }
  const DebeziumSource defaults;
  for (const auto& [key, is_given, is_of_use] :
       std::to_array<std::tuple<std::string_view, bool, bool>>({
           {"db", debezium.db != defaults.db, !is_kafka},
           {"brokers", !debezium.brokers.empty(), is_kafka},
           {"tls", debezium.tls != defaults.tls, is_kafka},
           {"sasl", debezium.sasl != defaults.sasl, is_kafka},
           {"whole_topics", debezium.whole_topics, is_kafka},
           {"signals", !debezium.signals.empty(), is_kafka},
       })) {
    if (is_given && !is_of_use) {
      section.report(
          section.place_of(key),
          fmt::format("{} does not apply to from: {}", key, is_kafka ? "kafka" : "redis"));
    }
  }
  if (is_kafka && debezium.brokers.empty()) {
    section.report(section.place_of("from"), "from: kafka also needs brokers");
  }
  for (const auto& [key, value] : std::to_array<std::pair<std::string_view, std::string_view>>(
           {{"user", debezium.user},
            {"password", debezium.password},
            {"password_file", debezium.password_file}})) {
    if (!value.empty() && debezium.sasl == Sasl::off) {
      section.report(section.place_of(key), fmt::format("{} requires sasl", key));
    }
  }
  if (debezium.sasl != Sasl::off && debezium.user.empty()) {
    section.report(section.place_of("sasl"), "sasl requires user");
  }
  if (!debezium.signals.empty() && debezium.notifications.empty()) {
    section.report(section.place_of("signals"),
                   "signals requires notifications: nothing else says that a snapshot has ended");
  }
  check_password(section, debezium);
  check_ca_file(section, debezium);
}

constexpr auto kDebezium =
    section_of<DebeziumSource>(
        "sources.* of type debezium",
        choice("from", &DebeziumSource::from, kStreamPlaces),
        choice("connector", &DebeziumSource::connector, kConnectors).required(),
        value("topic_prefix", &DebeziumSource::topic_prefix, parse_text).required(),
        text("stream", &DebeziumSource::stream),
        text("heartbeat_table", &DebeziumSource::heartbeat_table),
        text("notifications", &DebeziumSource::notifications),
        text("signals", &DebeziumSource::signals),
        value("db",
              &DebeziumSource::db,
              bounded<int>(parse_count, 0, kDbMax, "is not a valid database number")),
        list("brokers", &DebeziumSource::brokers, parse_broker),
        choice("tls", &DebeziumSource::tls, kTls),
        text("ca_file", &DebeziumSource::ca_file),
        choice("sasl", &DebeziumSource::sasl, kSasl),
        text("user", &DebeziumSource::user),
        secret("password", &DebeziumSource::password),
        text("password_file", &DebeziumSource::password_file),
        value("whole_topics", &DebeziumSource::whole_topics, parse_bool),
        choice("freshness", &DebeziumSource::freshness, kStreamFreshness),
        value("binary_texts", &DebeziumSource::binary_texts, parse_bool))
        .checked_by(check_debezium);

constexpr std::array kOfEachType = {kSqlite.keys(),
                                    kMysql.keys(),
                                    kPostgres.keys(),
                                    kFile.keys(),
                                    kBloom.keys(),
                                    kFollowedFleet.keys(),
                                    kDebezium.keys()};

// The keys of every type, for as long as the type is not known.
const KeyList& any_source() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (const KeyList& type : kOfEachType) {
      std::ranges::copy_if(type.keys, std::back_inserter(names), [&names](std::string_view name) {
        return std::ranges::count(names, name) == 0;
      });
    }
    return names;
  }();
  static const KeyList kKeys{"sources.*", kNames};
  return kKeys;
}

// The type decides which keys there are, so it is looked at before the rest is read.
const KeyList& keys_of(const Entry& source) {
  for (std::size_t i = 0; i < kSourceTypes.size(); ++i) {
    const bool is_it = std::ranges::any_of(source.value.entries, [&](const Entry& entry) {
      return entry.key == "type" && entry.value.text == kSourceTypes[i].first;
    });
    if (is_it) {
      return kOfEachType[i];
    }
  }
  return any_source();
}

void read_looks(const Section& section,
                std::string_view key,
                milliseconds max_lag,
                milliseconds most,
                milliseconds& out) {
  const milliseconds automatic = std::min(max_lag / kPollsPerMaxLag, most);
  out = automatic;
  section.read(key, out, [&](std::string_view text) -> Parsed<milliseconds> {
    if (text == "auto") {
      return automatic;
    }
    auto parsed = parse_duration(text);
    if (parsed && (*parsed < 1ms || *parsed > max_lag / 2)) {
      return std::unexpected(
          "must be auto, or from 1ms to half of max_lag: with fewer than two checks per max_lag "
          "the guard could answer nothing");
    }
    return parsed;
  });
}

// Of every type: how old proofs may be, and how strict reads come by newer ones.
void read_proofs(const Section& section, Source& source) {
  section.read("max_lag",
               source.max_lag,
               bounded<milliseconds>(parse_duration, 10ms, 1h, "must be from 10ms to 1h"));
  section.read(
      "strict_every",
      source.strict_every,
      or_auto(bounded<milliseconds>(parse_duration, 1ms, 1s, "must be auto, or from 1ms to 1s")),
      [](const auto& every) { return every ? text_of(*every) : "auto"; });
  source.strict_hold = std::min(source.strict_hold, source.max_lag);
  section.read(
      "strict_hold",
      source.strict_hold,
      bounded<milliseconds>(parse_duration, 1ms, source.max_lag, "must be from 1ms to max_lag"));
}

}  // namespace

std::optional<Source> read_source(const Reading& reading, const Entry& entry) {
  const Section section(reading, entry, keys_of(entry));
  SourceType type{};
  section.require("type");
  const auto name_of = [](SourceType value) { return name_of_choice(value, kSourceTypes); };
  if (!section.read("type", type, parse_source_type, name_of)) {
    return std::nullopt;
  }
  if (const auto refused = section.built().refusal(name_of(type))) {
    section.report(section.place_of("type"), fmt::format("type: {}: {}", name_of(type), *refused));
    return std::nullopt;
  }
  Source source{.name = entry.key, .kind = {}};
  if (type == SourceType::fleet) {
    source.strict_hold = kFleetStrictHold;
  }
  read_proofs(section, source);
  if (type == SourceType::sqlite) {
    auto& sqlite = source.kind.emplace<SqliteSource>();
    kSqlite.read(section, sqlite);
    read_looks(section,
               "poll_every",
               source.max_lag,
               sqlite.follow == Follow::triggers ? kTriggersPollMost : source.max_lag,
               sqlite.poll_every);
  } else if (type == SourceType::fleet) {
    kFollowedFleet.read(section, source.kind.emplace<FleetSource>());
  } else if (type == SourceType::debezium) {
    kDebezium.read(section, source.kind.emplace<DebeziumSource>());
  } else if (type == SourceType::mysql) {
    kMysql.read(section, source.kind.emplace<MysqlSource>());
  } else if (type == SourceType::postgres) {
    kPostgres.read(section, source.kind.emplace<PostgresSource>());
  } else if (type == SourceType::file) {
    kFile.read(section, source.kind.emplace<FileSource>());
  } else {
    auto& bloom = source.kind.emplace<BloomSource>();
    kBloom.read(section, bloom);
    read_looks(section, "reload", source.max_lag, source.max_lag, bloom.reload);
  }
  if (type == SourceType::mysql || type == SourceType::postgres) {
    section.read_choice("publish", source.publish, kPublish);
    if (const auto refused = section.built().refusal("fleet");
        refused && source.publish == Publish::redis) {
      section.report(section.place_of("publish"), "publish: " + *refused);
    }
  }
  return source;
}

std::span<const KeyList> source_sections() {
  return kOfEachType;
}

}  // namespace cuckooguard::config
