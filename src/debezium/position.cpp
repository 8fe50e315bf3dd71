#include "debezium/position.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "text/ascii.h"
#include "text/number.h"
#include "text/words.h"

namespace cuckooguard::debezium {
namespace {

using Parts = std::array<std::uint64_t, 4>;

constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kLow = 0xffff'ffff;

constexpr std::array<std::pair<Connector, std::string_view>, 5> kConnectors = {{
    {Connector::mysql, "mysql"},
    {Connector::mariadb, "mariadb"},
    {Connector::postgresql, "postgresql"},
    {Connector::sqlserver, "sqlserver"},
    {Connector::oracle, "oracle"},
}};

bool read(std::string_view text, std::uint64_t& number) {
  const auto found = number_in(text);
  number = found.value_or(0);
  return found.has_value();
}

// `hexadecimal digits, separator`, each part of so many bits at most; nothing is left.
bool read_parts(std::string_view text,
                char separator,
                std::array<unsigned, 3> bits,
                std::array<std::uint64_t, 3>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto part = text::number_of<std::uint64_t>(text::take_word(text, separator), 16);
    if (!part || *part >> bits[i] != 0) {
      return false;
    }
    parts[i] = *part;
  }
  return text.empty();
}

// `mysql-bin.000003`
bool read_file(std::string_view file, std::string_view& log, std::uint64_t& number) {
  const std::size_t dot = file.rfind('.');
  if (dot == std::string_view::npos || dot == 0) {
    return false;
  }
  log = file.substr(0, dot);
  return read(file.substr(dot + 1), number);
}

// `00000027:00000758:0005`: virtual log file, block, slot.
bool read_lsn(std::string_view text, std::uint64_t& high, std::uint64_t& low) {
  std::array<std::uint64_t, 3> parts{};
  if (!read_parts(text, ':', {32, 32, 16}, parts)) {
    return false;
  }
  high = parts[0] << 32 | parts[1];
  low = parts[2];
  return true;
}

// `0x00002a.00001b42.0010`, perhaps with blanks around it: log, block, offset.
bool read_rs_id(std::string_view text, std::uint64_t& high, std::uint64_t& low) {
  text = text::trimmed(text, " ");
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
  }
  std::array<std::uint64_t, 3> parts{};
  if (!read_parts(text, '.', {32, 32, 16}, parts)) {
    return false;
  }
  high = parts[0] << 32 | parts[1];
  low = parts[2];
  return true;
}

// `["24023119","24023128"]`; the first may be null, when there was no commit yet.
bool read_sequence(std::string_view text, Parts& place) {
  constexpr std::string_view kBlanks = " \t\r\n";
  text = text::trimmed(text, kBlanks);
  if (!text.starts_with('[') || !text.ends_with(']')) {
    return false;
  }
  text = text.substr(1, text.size() - 2);
  for (std::size_t i = 0; i < 2; ++i) {
    std::string_view word = text::trimmed(text::take_word(text, ','), kBlanks);
    if (word == "null" && i == 0) {
      place[i] = 0;
      continue;
    }
    if (word.size() >= 2 && word.front() == '"' && word.back() == '"') {
      word = word.substr(1, word.size() - 2);
    }
    if (!read(word, place[i])) {
      return false;
    }
  }
  return text.empty();
}

// Each gives the name of the field that is not as it should be; empty: none.
std::string_view read_binlog(const SourceFields& fields, Parts& place, std::string_view& log) {
  if (!read_file(fields.file, log, place[0])) {
    return "file";
  }
  if (!read(fields.pos, place[1])) {
    return "pos";
  }
  return fields.row.empty() || read(fields.row, place[2]) ? "" : "row";
}

std::string_view read_postgresql(const SourceFields& fields, Parts& place) {
  return read_sequence(fields.sequence, place) ? "" : "sequence";
}

std::string_view read_sqlserver(const SourceFields& fields, Parts& place) {
  if (!read_lsn(fields.commit_lsn, place[0], place[1])) {
    return "commit_lsn";
  }
  if (fields.change_lsn.empty() && fields.is_snapshot) {
    return "";
  }
  if (!read_lsn(fields.change_lsn, place[2], place[3])) {
    return "change_lsn";
  }
  std::uint64_t serial = 0;
  if (!fields.event_serial_no.empty() && (!read(fields.event_serial_no, serial) || serial > kLow)) {
    return "event_serial_no";
  }
  place[3] = place[3] << 32 | serial;
  return "";
}

std::string_view read_oracle(const SourceFields& fields, Parts& place) {
  if (fields.is_snapshot && fields.commit_scn.empty()) {
    place.fill(kEnd);
    return read(fields.scn, place[0]) ? "" : "scn";
  }
  if (!read(fields.commit_scn, place[0])) {
    return "commit_scn";
  }
  if (!read(fields.scn, place[1])) {
    return "scn";
  }
  std::uint64_t offset = 0;
  if (!read_rs_id(fields.rs_id, place[2], offset)) {
    return "rs_id";
  }
  std::uint64_t ssn = 0;
  if (!fields.ssn.empty() && (!read(fields.ssn, ssn) || ssn > kLow)) {
    return "ssn";
  }
  place[3] = offset << 32 | ssn;
  return "";
}

std::string escaped(std::string_view name) {
  std::string all;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte == 0x7f || c == '%') {
      all += fmt::format("%{:02x}", byte);
    } else {
      all += c;
    }
  }
  return all;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string all;
  while (!text.empty()) {
    if (text.front() != '%') {
      all += text.front();
      text.remove_prefix(1);
      continue;
    }
    const auto byte = text::number_of<std::uint8_t>(text.substr(1, 2), 16);
    if (text.size() < 3 || !byte) {
      return std::nullopt;
    }
    all += static_cast<char>(*byte);
    text.remove_prefix(3);
  }
  return all;
}

std::string lsn_text(std::uint64_t high, std::uint64_t low) {
  return fmt::format("{:08x}:{:08x}:{:04x}", high >> 32, high & kLow, low);
}

std::string pg_lsn_text(std::uint64_t lsn) {
  return fmt::format("{:X}/{:X}", lsn >> 32, lsn & kLow);
}

bool read_pg_lsn(std::string_view text, std::uint64_t& lsn) {
  const auto high = text::number_of<std::uint32_t>(text::take_word(text, '/'), 16);
  const auto low = text::number_of<std::uint32_t>(text, 16);
  lsn = std::uint64_t{high.value_or(0)} << 32 | low.value_or(0);
  return high && low;
}

bool parse_place(Connector connector, std::string_view& text, Place& place) {
  Parts& parts = place.position.place;
  const auto word = [&text] { return text::take_word(text); };
  switch (connector) {
    case Connector::mysql:
    case Connector::mariadb: {
      std::string_view log;
      const std::string_view file = word();
      if (!read_file(file, log, parts[0]) || !read(word(), parts[1]) || !read(word(), parts[2])) {
        return false;
      }
      const auto name = unescaped(log);
      place.origin.log = name.value_or("");
      return name.has_value();
    }
    case Connector::postgresql:
      return read_pg_lsn(word(), parts[0]) && read_pg_lsn(word(), parts[1]);
    case Connector::sqlserver: {
      const auto name = unescaped(word());
      place.origin.log = name.value_or("");
      std::uint64_t serial = 0;
      if (!name || !read_lsn(word(), parts[0], parts[1]) || !read_lsn(word(), parts[2], parts[3]) ||
          !read(word(), serial) || serial > kLow) {
        return false;
      }
      parts[3] = parts[3] << 32 | serial;
      return true;
    }
    case Connector::oracle: {
      if (!read(word(), parts[0])) {
        return false;
      }
      if (text == "end") {
        parts[1] = parts[2] = parts[3] = kEnd;
        text = {};
        return true;
      }
      std::uint64_t offset = 0;
      std::uint64_t ssn = 0;
      if (!read(word(), parts[1]) || !read_rs_id(word(), parts[2], offset) || !read(word(), ssn) ||
          ssn > kLow) {
        return false;
      }
      parts[3] = offset << 32 | ssn;
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<std::uint64_t> number_in(std::string_view text) {
  constexpr std::size_t kDigitsSafe = 19;  // more may be above 2^64
  if (text.empty() || text.size() > kDigitsSafe) {
    return text::number_of<std::uint64_t>(text);
  }
  std::uint64_t number = 0;
  for (const char c : text) {
    if (!text::is_digit(c)) {
      return std::nullopt;
    }
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return number;
}

std::string_view name_of(Connector connector) {
  return std::ranges::find(kConnectors, connector, &decltype(kConnectors)::value_type::first)
      ->second;
}

std::optional<Connector> connector_named(std::string_view name) {
  const auto* const found =
      std::ranges::find(kConnectors, name, &decltype(kConnectors)::value_type::second);
  return found == kConnectors.end() ? std::nullopt : std::optional(found->first);
}

std::optional<std::string> why_incomparable(const Origin& one, const Origin& other) {
  const auto differ = [](std::string_view what, std::string_view a, std::string_view b) {
    return fmt::format("the {} is {} instead of {}", what, b, a);
  };
  if (one.connector != other.connector) {
    return differ("connector", name_of(one.connector), name_of(other.connector));
  }
  if (one.server != other.server) {
    return differ("connector's topic.prefix", one.server, other.server);
  }
  if (one.log != other.log) {
    return differ(is_binlog(one.connector) ? "binary log" : "database", one.log, other.log);
  }
  return std::nullopt;
}

std::string Place::text() const {
  const Parts& parts = position.place;
  const std::string begin =
      fmt::format("{} {} ", name_of(origin.connector), escaped(origin.server));
  switch (origin.connector) {
    case Connector::mysql:
    case Connector::mariadb:
      return fmt::format(
          "{}{}.{:06} {} {}", begin, escaped(origin.log), parts[0], parts[1], parts[2]);
    case Connector::postgresql:
      return begin + pg_lsn_text(parts[0]) + " " + pg_lsn_text(parts[1]);
    case Connector::sqlserver:
      return fmt::format("{}{} {} {} {}",
                         begin,
                         escaped(origin.log),
                         lsn_text(parts[0], parts[1]),
                         lsn_text(parts[2], parts[3] >> 32),
                         parts[3] & kLow);
    case Connector::oracle:
      break;
  }
  if (parts[3] == kEnd) {
    return fmt::format("{}{} end", begin, parts[0]);
  }
  return fmt::format("{}{} {} {:06x}.{:08x}.{:04x} {}",
                     begin,
                     parts[0],
                     parts[1],
                     parts[2] >> 32,
                     parts[2] & kLow,
                     parts[3] >> 32,
                     parts[3] & kLow);
}

std::optional<Place> Place::parse(std::string_view text) {
  const auto connector = connector_named(text::take_word(text));
  const auto server = unescaped(text::take_word(text));
  if (!connector || !server || server->empty() || text.ends_with(' ') ||
      text.size() > 4 * kNameBytesMax) {
    return std::nullopt;
  }
  Place place{.origin = {.connector = *connector, .server = *server},
              .position = {.connector = *connector}};
  return parse_place(*connector, text, place) && text.empty() ? std::optional(std::move(place))
                                                              : std::nullopt;
}

std::string_view read_position(Connector connector,
                               const SourceFields& fields,
                               Position& position,
                               std::string_view& log) {
  position = {.connector = connector};
  switch (connector) {
    case Connector::mysql:
    case Connector::mariadb:
      return read_binlog(fields, position.place, log);
    case Connector::postgresql:
      return read_postgresql(fields, position.place);
    case Connector::sqlserver:
      log = fields.database;
      return read_sqlserver(fields, position.place);
    case Connector::oracle:
      break;
  }
  return read_oracle(fields, position.place);
}

}  // namespace cuckooguard::debezium
