// RESP as text, written by hand for the fakes: they must not agree with the product because they
// use its code.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cuckooguard::simulation {

inline std::string bulk(std::string_view bytes) {
  std::string text = "$" + std::to_string(bytes.size());
  text.append("\r\n").append(bytes).append("\r\n");
  return text;
}

inline std::string integer(long long value) {
  return ":" + std::to_string(value) + "\r\n";
}

inline std::string simple(std::string_view line) {
  return "+" + std::string(line) + "\r\n";
}

inline std::string error(std::string_view line) {
  return "-" + std::string(line) + "\r\n";
}

inline std::string header(char type, std::size_t count) {
  return type + std::to_string(count) + "\r\n";
}

inline std::string nil(int version) {
  return version == 3 ? "_\r\n" : "$-1\r\n";
}

inline std::string command(std::span<const std::string> words) {
  std::string text = header('*', words.size());
  for (const std::string& word : words) {
    text += bulk(word);
  }
  return text;
}

inline std::string command(std::initializer_list<std::string> words) {
  return command(std::span(words.begin(), words.size()));
}

// Its beginning, for people.
inline std::string printable(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes.substr(0, 120)) {
    if (byte == '\r' || byte == '\n') {
      text += byte == '\r' ? "\\r" : "\\n";
    } else {
      text += byte >= ' ' && byte <= '~' ? byte : '?';
    }
  }
  return text;
}

}  // namespace cuckooguard::simulation
