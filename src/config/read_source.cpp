#include "config/read_source.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cuckooguard::config {
namespace {

using namespace std::chrono_literals;

enum class SourceType : std::uint8_t { sqlite, file };

constexpr std::array kSourceTypes = {Choice<SourceType>{"sqlite", SourceType::sqlite},
                                     Choice<SourceType>{"file", SourceType::file}};
constexpr std::array kFileFormats = {Choice<FileFormat>{"lines", FileFormat::lines},
                                     Choice<FileFormat>{"csv", FileFormat::csv}};
constexpr milliseconds kMaxLagMin = 10ms;
constexpr milliseconds kMaxLagMax = 1h;

SqliteSource read_sqlite(const Section& section, milliseconds max_lag) {
  SqliteSource sqlite;
  section.require("path");
  section.read("path", sqlite.path, parse_text);
  const milliseconds automatic = max_lag / kPollsPerMaxLag;
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
  return has_type("file") ? schema::kFile : schema::kAnySource;
}

}  // namespace

std::optional<Source> read_source(const Reading& reading, const Entry& entry) {
  const Section section(reading, entry, keys_of(entry));
  std::optional<SourceType> type;
  section.require("type");
  section.read(
      "type", type, [&](std::string_view text) { return parse_choice(text, kSourceTypes); });
  if (!type) {
    return std::nullopt;
  }

  Source source{.name = entry.key, .kind = {}};
  section.read("max_lag",
               source.max_lag,
               bounded(parse_duration, kMaxLagMin, kMaxLagMax, "must be from 10ms to 1h"));
  if (*type == SourceType::sqlite) {
    source.kind = read_sqlite(section, source.max_lag);
  } else {
    source.kind = read_file(section);
  }
  return source;
}

}  // namespace cuckooguard::config
