#include "log/event_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "text/ascii.h"
#include "text/hex.h"
#include "text/utf8.h"

namespace cuckooguard::log {
namespace {

constexpr std::string_view kCut = "...";

using text::is_printable;

bool needs_quotes(std::string_view text) {
  return text.empty() || !std::ranges::all_of(text, [](char byte) {
           return is_printable(byte) && byte != ' ' && byte != '"' && byte != '\\' && byte != '=';
         });
}

// What JSON and our text write alike behind a backslash; 0: nothing.
char short_escape(char byte) {
  switch (byte) {
    case '"':
    case '\\':
      return byte;
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    default:
      return 0;
  }
}

void append_text(std::string& out, std::string_view text) {
  if (!needs_quotes(text)) {
    out += text;
    return;
  }
  out += '"';
  for (const char byte : text) {
    if (const char escape = short_escape(byte)) {
      out += '\\';
      out += escape;
    } else if (is_printable(byte)) {
      out += byte;
    } else {
      out += "\\x";
      text::append_hex(out, static_cast<unsigned char>(byte));
    }
  }
  out += '"';
}

void append_json(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t bytes = text::utf8_character_bytes(text);
    const char first = text[0];
    if (const char escape = short_escape(first)) {
      out += '\\';
      out += escape;
    } else if (bytes == 0) {
      out += "\\ufffd";
    } else if (bytes == 1 && !is_printable(first)) {
      out += "\\u00";
      text::append_hex(out, static_cast<unsigned char>(first));
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  out += '"';
}

// 2026-11-22T06:05:08.123Z
std::string utc_of(std::chrono::system_clock::time_point at) {
  const auto time = std::chrono::floor<std::chrono::milliseconds>(at);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                     (time - seconds).count());
}

// Appends a value; text by `append`.
template <typename Append>
void append_value(std::string& out, const Field::Value& value, Append append) {
  if (const auto* const text = std::get_if<std::string_view>(&value)) {
    if (text->size() > kFieldBytesMax) {
      append(out, std::string(text->substr(0, kFieldBytesMax)).append(kCut));
    } else {
      append(out, *text);
    }
  } else if (const auto* const number = std::get_if<double>(&value)) {
    out += std::isfinite(*number) ? fmt::format("{:.2f}", *number) : "0";
  } else if (const auto* const integer = std::get_if<std::int64_t>(&value)) {
    out += fmt::to_string(*integer);
  } else {
    out += fmt::to_string(std::get<std::uint64_t>(value));
  }
}

}  // namespace

std::string_view level_name(config::LogLevel level) {
  return config::kLogLevelNames.at(static_cast<std::size_t>(level));
}

std::string text_of(const Event& event) {
  std::string out = "event=";
  out += event.name;
  for (const Field& field : event.fields) {
    out += ' ';
    out += field.name();
    out += '=';
    append_value(out, field.value(), append_text);
  }
  return out;
}

std::string json_of(const Event& event) {
  std::string out = fmt::format(R"({{"time":"{}","level":"{}","event":"{}")",
                                utc_of(event.time),
                                level_name(event.level),
                                event.name);
  for (const Field& field : event.fields) {
    out += ',';
    append_json(out, field.name());
    out += ':';
    append_value(out, field.value(), append_json);
  }
  out += '}';
  return out;
}

std::string line_of(const Event& event, config::LogFormat format) {
  return format == config::LogFormat::json
             ? json_of(event)
             : fmt::format("{} {} {}", utc_of(event.time), level_name(event.level), text_of(event));
}

}  // namespace cuckooguard::log
