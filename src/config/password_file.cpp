#include "config/password_file.h"

#include <fstream>

namespace cuckooguard::config {

std::string password_of(const std::string& file, const std::string& otherwise) {
  if (file.empty()) {
    return otherwise;
  }
  std::ifstream lines(file);
  std::string first;
  std::getline(lines, first);
  return first;
}

}  // namespace cuckooguard::config
