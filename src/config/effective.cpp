#include "config/effective.h"

#include <algorithm>
#include <array>
#include <locale>

#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/replace.hpp>
#include <fmt/format.h>

namespace cuckooguard::config {
namespace {

constexpr std::size_t kOriginColumn = 48;
constexpr std::string_view kDefault = "default";

// What YAML takes for the text itself, in a block, in brackets, and for nothing else.
bool is_plain(std::string_view text) {
  static constexpr std::array<std::string_view, 3> kNulls{"null", "Null", "NULL"};
  const auto is_alphanumeric = boost::algorithm::is_alnum(std::locale::classic());
  return !text.empty() && (is_alphanumeric(text[0]) || text[0] == '/') && text.back() != ':' &&
         std::ranges::all_of(text, is_alphanumeric || boost::algorithm::is_any_of("_./:%+-")) &&
         std::ranges::count(kNulls, text) == 0;
}

std::string quoted(std::string_view text) {
  std::string all = "\"";
  for (const char byte : boost::replace_all_copy(std::string(text), "${", "$${")) {  // no variable
    if (byte == '"' || byte == '\\') {
      all += '\\';
      all += byte;
    } else if (static_cast<unsigned char>(byte) < ' ' || byte == '\x7f') {
      all += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    } else {
      all += byte;
    }
  }
  return all + '"';
}

void print(const Setting& setting, std::size_t depth, std::string& out) {
  if (setting.key.empty()) {
    const std::size_t start = out.size();
    for (const Setting& inside : setting.inside) {
      print(inside, depth + 1, out);
    }
    out[start + 2 * depth] = '-';
    return;
  }
  std::string line(2 * depth, ' ');
  if (setting.kind == Setting::Kind::comment) {
    line += '#';
  }
  line += setting.key + ':';
  if (setting.kind == Setting::Kind::mapping && !setting.inside.empty()) {
    out += line + '\n';
    for (const Setting& inside : setting.inside) {
      print(inside, depth + 1, out);
    }
    return;
  }
  if (setting.kind == Setting::Kind::mapping) {
    line += " {}";
  } else if (!setting.value.empty()) {
    line += ' ' + setting.value;
  }
  const std::string_view origin = setting.origin.empty() ? kDefault : setting.origin;
  out += fmt::format("{:<{}}  # {}\n", line, kOriginColumn, origin);
}

}  // namespace

Setting& Setting::add_item() {
  return inside.emplace_back();
}

Setting& Setting::add_mapping(std::string_view name) {
  return inside.emplace_back(Setting{.key = std::string(name)});
}

void Setting::add(std::string_view name,
                  const std::optional<std::string>& text,
                  std::string_view from) {
  inside.push_back({.key = std::string(name),
                    .kind = text ? Kind::value : Kind::comment,
                    .value = text ? yaml_scalar(*text) : "",
                    .origin = text ? std::string(from) : "not set"});
}

void Setting::add_list(std::string_view name,
                       std::span<const std::string> texts,
                       std::string_view from) {
  std::string list = "[";
  for (const std::string& text : texts) {
    list += (list.size() > 1 ? ", " : "") + quoted(std::string_view(text));
  }
  inside.push_back({.key = std::string(name),
                    .kind = Kind::value,
                    .value = list + "]",
                    .origin = std::string(from)});
}

void Setting::add_secret(std::string_view name, std::string_view from) {
  inside.push_back({.key = std::string(name),
                    .kind = Kind::comment,
                    .value = "\"***\"",
                    .origin = fmt::format("{}; a secret, not shown", from)});
}

void Setting::add_variable(std::string_view name,
                           std::string_view variable,
                           std::string_view from) {
  inside.push_back({.key = std::string(name),
                    .kind = Kind::value,
                    .value = fmt::format("\"{}\"", variable),
                    .origin = std::string(from)});
}

std::string yaml_scalar(std::string_view text) {
  return is_plain(text) ? std::string(text) : quoted(text);
}

std::string print_settings(const Setting& whole) {
  std::string out;
  for (const Setting& setting : whole.inside) {
    print(setting, 0, out);
  }
  return out;
}

}  // namespace cuckooguard::config
