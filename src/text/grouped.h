// Numbers for people's eyes: 1,000,000.
#pragma once

#include <cstdint>
#include <string>

namespace cuckooguard::text {

inline std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t end = digits.size(); end > 3; end -= 3) {
    digits.insert(end - 3, 1, ',');
  }
  return digits;
}

}  // namespace cuckooguard::text
