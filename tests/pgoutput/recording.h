// What a real server sent inside COPY BOTH (record.py made it).
#pragma once

#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cuckooguard::pgoutput {

inline std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

// The messages of recorded/NAME.hex.
inline std::vector<std::string> recorded_messages(const std::string& name) {
  std::ifstream input(std::string(RECORDED_DIRECTORY) + "/" + name + ".hex");
  std::vector<std::string> messages;
  for (std::string line; std::getline(input, line);) {
    messages.push_back(from_hex(line));
  }
  if (messages.empty()) {
    throw std::runtime_error("no recording " + name);
  }
  return messages;
}

}  // namespace cuckooguard::pgoutput
