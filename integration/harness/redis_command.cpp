#include "harness/redis_command.h"

namespace cuckooguard::harness {

std::string command(std::span<const std::string_view> arguments) {
  std::string bytes = "*" + std::to_string(arguments.size()) + "\r\n";
  for (const std::string_view argument : arguments) {
    bytes += bulk(argument);
  }
  return bytes;
}

std::string command(std::initializer_list<std::string_view> arguments) {
  return command(std::span(arguments.begin(), arguments.size()));
}

std::string bulk(std::string_view text) {
  std::string bytes = "$" + std::to_string(text.size()) + "\r\n";
  bytes += text;
  bytes += "\r\n";
  return bytes;
}

std::string info_field(std::string_view info, std::string_view field) {
  const std::string wanted = "\n" + std::string(field) + ":";
  const std::size_t at = info.find(wanted);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = info.substr(at + wanted.size());
  return std::string(rest.substr(0, rest.find_first_of("\r\n")));
}

std::uint64_t calls_in(std::string_view info, std::string_view name) {
  constexpr std::string_view kFirst = "calls=";
  const std::string field = info_field(info, "cmdstat_" + std::string(name));
  return field.starts_with(kFirst) ? std::stoull(field.substr(kFirst.size())) : 0;
}

std::size_t count_in(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; ++at) {
    ++found;
  }
  return found;
}

std::string shown(std::string_view bytes) {
  constexpr std::size_t kShownMax = 400;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes.substr(0, kShownMax)) {
    const auto value = static_cast<unsigned char>(byte);
    if (byte == '\r' || byte == '\n') {
      text += byte == '\r' ? "\\r" : "\\n";
    } else if (value < ' ' || value > '~') {
      text += {'\\', 'x', kDigits[value / 16], kDigits[value % 16]};
    } else {
      text += byte;
    }
  }
  if (bytes.size() > kShownMax) {
    text += "... (" + std::to_string(bytes.size()) + " bytes)";
  }
  return text;
}

}  // namespace cuckooguard::harness
