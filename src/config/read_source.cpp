#include "config/read_source.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "keyspace/printable.h"

namespace cuckooguard::config {
namespace {

using namespace std::chrono_literals;

enum class SourceType : std::uint8_t { sqlite, mysql, file };

constexpr std::array kSourceTypes = {Choice<SourceType>{"sqlite", SourceType::sqlite},
                                     Choice<SourceType>{"mysql", SourceType::mysql},
                                     Choice<SourceType>{"file", SourceType::file}};
constexpr std::array kFileFormats = {Choice<FileFormat>{"lines", FileFormat::lines},
                                     Choice<FileFormat>{"csv", FileFormat::csv}};
constexpr std::array kFollows = {Choice<Follow>{"rescan", Follow::rescan},
                                 Choice<Follow>{"triggers", Follow::triggers}};
constexpr std::array kTls = {Choice<Tls>{"off", Tls::off},
                             Choice<Tls>{"required", Tls::required},
                             Choice<Tls>{"verified", Tls::verified}};
constexpr std::uint32_t kServerIdMax = 0xFFFFFFFF;
constexpr milliseconds kMaxLagMin = 10ms;
constexpr milliseconds kMaxLagMax = 1h;

SqliteSource read_sqlite(const Reading& reading, const Section& section, milliseconds max_lag) {
  SqliteSource sqlite;
  section.require("path");
  section.read("path", sqlite.path, parse_text);
  section.read_choice("follow", sqlite.follow, kFollows);
  section.read("install_triggers", sqlite.install_triggers, parse_bool);
  if (sqlite.install_triggers && sqlite.follow != Follow::triggers) {
    reading.report.add(section.place_of("install_triggers"),
                       "install_triggers is of no use without follow: triggers");
  }
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
  return sqlite;
}

MysqlSource read_mysql(const Reading& reading, const Section& section) {
  MysqlSource mysql;
  for (const std::string_view key : {"addresses", "user", "database"}) {
    section.require(key);
  }
  for (const ListItem& item : section.read_list("addresses")) {
    if (auto address = parse_address(item.text)) {
      mysql.addresses.push_back(*std::move(address));
    } else {
      reading.report.add(
          item.at(0),
          fmt::format("addresses: {} {}", keyspace::printable(item.text), address.error()));
    }
  }
  section.read("user", mysql.user, parse_text);
  section.read_secret("password", mysql.password);
  section.read_text("password_file", mysql.password_file);
  if (!mysql.password.empty() && !mysql.password_file.empty()) {
    reading.report.add(section.place_of("password_file"),
                       "password_file and password are both here; one of them is enough");
  }
  section.read("database", mysql.database, parse_text);
  section.read_choice("tls", mysql.tls, kTls);
  section.read_text("ca_file", mysql.ca_file);
  if (!mysql.ca_file.empty() && mysql.tls != Tls::verified) {
    reading.report.add(section.place_of("ca_file"), "ca_file is of no use without tls: verified");
  }
  section.read("server_id",
               mysql.server_id,
               [](std::string_view text) -> Parsed<std::optional<std::uint32_t>> {
                 if (text == "auto") {
                   return std::nullopt;
                 }
                 return bounded<std::uint32_t>(
                     parse_count, 1, kServerIdMax, "must be auto, or from 1 to 4294967295")(text);
               });
  return mysql;
}

FileSource read_file(const Section& section) {
  FileSource file;
  section.require("path");
  section.read("path", file.path, parse_text);
  section.read_choice("format", file.format, kFileFormats);
  return file;
}

// The type decides which keys there are, so it is looked at before the rest is read.
const KeyList& keys_of(const Entry& source) {
  const auto has_type = [&](std::string_view type) {
    return std::ranges::any_of(source.value.entries, [&](const Entry& entry) {
      return entry.key == "type" && entry.value.text == type;
    });
  };
  if (has_type("sqlite")) {
    return schema::kSqlite;
  }
  if (has_type("mysql")) {
    return schema::kMysql;
  }
  return has_type("file") ? schema::kFile : schema::kAnySource;
}

}  // namespace

std::optional<Source> read_source(const Reading& reading, const Entry& entry) {
  const Section section(reading, entry, keys_of(entry));
  SourceType type{};
  section.require("type");
  if (!section.read_choice("type", type, kSourceTypes)) {
    return std::nullopt;
  }

  Source source{.name = entry.key, .kind = {}};
  section.read("max_lag",
               source.max_lag,
               bounded(parse_duration, kMaxLagMin, kMaxLagMax, "must be from 10ms to 1h"));
  if (type == SourceType::sqlite) {
    source.kind = read_sqlite(reading, section, source.max_lag);
  } else if (type == SourceType::mysql) {
    source.kind = read_mysql(reading, section);
  } else {
    source.kind = read_file(section);
  }
  return source;
}

}  // namespace cuckooguard::config
