#include "config/read_source.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "config/section_table.h"

namespace cuckooguard::config {
namespace {

using namespace std::chrono_literals;

enum class SourceType : std::uint8_t { sqlite, mysql, postgres, file };

constexpr std::size_t kPostgresNameMax = 63;  // NAMEDATALEN - 1

constexpr std::array kSourceTypes = {Choice<SourceType>{"sqlite", SourceType::sqlite},
                                     Choice<SourceType>{"mysql", SourceType::mysql},
                                     Choice<SourceType>{"postgres", SourceType::postgres},
                                     Choice<SourceType>{"file", SourceType::file}};
constexpr std::array kFileFormats = {Choice<FileFormat>{"lines", FileFormat::lines},
                                     Choice<FileFormat>{"csv", FileFormat::csv}};
constexpr std::array kFollows = {Choice<Follow>{"rescan", Follow::rescan},
                                 Choice<Follow>{"triggers", Follow::triggers}};
constexpr std::array kTls = {Choice<Tls>{"off", Tls::off},
                             Choice<Tls>{"required", Tls::required},
                             Choice<Tls>{"verified", Tls::verified}};

// Also for the names of databases that somebody may look for here.
Parsed<SourceType> parse_source_type(std::string_view text) {
  if (text == "mariadb") {
    return std::unexpected("is unknown, did you mean \"mysql\"? It is for MariaDB as well");
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
        "must be auto, temporary, or a name of 1 to 63 small letters, digits and '_'");
  }
  return ReplicationSlot{.kind = named, .name = std::string(text)};
}

template <typename Settings>
void check_ca_file(const Section& section, const Settings& read) {
  if (!read.ca_file.empty() && read.tls != Tls::verified) {
    section.report(section.place_of("ca_file"), "ca_file is of no use without tls: verified");
  }
}

constexpr auto kSqlite =
    section<SqliteSource>("sources.* of type sqlite",
                          ReadBy<SqliteSource>{"type"},
                          ReadBy<SqliteSource>{"max_lag"},
                          value("path", &SqliteSource::path, parse_text).required(),
                          choice("follow", &SqliteSource::follow, kFollows),
                          value("install_triggers", &SqliteSource::install_triggers, parse_bool),
                          ReadBy<SqliteSource>{"poll_every"})
        .checked_by([](const Section& section, SqliteSource& sqlite) {
          if (sqlite.install_triggers && sqlite.follow != Follow::triggers) {
            section.report(section.place_of("install_triggers"),
                           "install_triggers is of no use without follow: triggers");
          }
        });

constexpr auto kMysql =
    section<MysqlSource>(
        "sources.* of type mysql",
        ReadBy<MysqlSource>{"type"},
        ReadBy<MysqlSource>{"max_lag"},
        list("addresses", &MysqlSource::addresses, parse_address).required(),
        value("user", &MysqlSource::user, parse_text).required(),
        secret("password", &MysqlSource::password),
        text("password_file", &MysqlSource::password_file),
        value("database", &MysqlSource::database, parse_text).required(),
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
    section<PostgresSource>(
        "sources.* of type postgres",
        ReadBy<PostgresSource>{"type"},
        ReadBy<PostgresSource>{"max_lag"},
        list("addresses", &PostgresSource::addresses, parse_postgres_address).required(),
        value("user", &PostgresSource::user, parse_text).required(),
        secret("password", &PostgresSource::password),
        text("password_file", &PostgresSource::password_file),
        value("database", &PostgresSource::database, parse_text).required(),
        value("schema", &PostgresSource::schema, parse_text),
        value("publication", &PostgresSource::publication, parse_text),
        value("slot", &PostgresSource::slot, parse_slot),
        choice("tls", &PostgresSource::tls, kTls),
        text("ca_file", &PostgresSource::ca_file))
        .checked_by([](const Section& section, PostgresSource& postgres) {
          check_password(section, postgres);
          check_ca_file(section, postgres);
        });

constexpr auto kFile = section<FileSource>("sources.* of type file",
                                           ReadBy<FileSource>{"type"},
                                           ReadBy<FileSource>{"max_lag"},
                                           value("path", &FileSource::path, parse_text).required(),
                                           choice("format", &FileSource::format, kFileFormats));

constexpr std::array kOfEachType = {kSqlite.keys(), kMysql.keys(), kPostgres.keys(), kFile.keys()};

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

void read_poll_every(const Section& section, milliseconds max_lag, SqliteSource& sqlite) {
  const milliseconds automatic = std::min(
      max_lag / kPollsPerMaxLag, sqlite.follow == Follow::triggers ? kTriggersPollMost : max_lag);
  sqlite.poll_every = automatic;
  section.read("poll_every", sqlite.poll_every, [&](std::string_view text) -> Parsed<milliseconds> {
    if (text == "auto") {
      return automatic;
    }
    auto parsed = parse_duration(text);
    if (parsed && (*parsed < 1ms || *parsed > max_lag / 2)) {
      return std::unexpected(
          "must be from 1ms to half of max_lag, or auto: without two looks per max_lag "
          "nothing can be answered");
    }
    return parsed;
  });
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
  Source source{.name = entry.key, .kind = {}};
  section.read("max_lag",
               source.max_lag,
               bounded<milliseconds>(parse_duration, 10ms, 1h, "must be from 10ms to 1h"));
  if (type == SourceType::sqlite) {
    auto& sqlite = source.kind.emplace<SqliteSource>();
    kSqlite.read(section, sqlite);
    read_poll_every(section, source.max_lag, sqlite);
  } else if (type == SourceType::mysql) {
    kMysql.read(section, source.kind.emplace<MysqlSource>());
  } else if (type == SourceType::postgres) {
    kPostgres.read(section, source.kind.emplace<PostgresSource>());
  } else {
    kFile.read(section, source.kind.emplace<FileSource>());
  }
  return source;
}

std::span<const KeyList> source_sections() {
  return kOfEachType;
}

}  // namespace cuckooguard::config
