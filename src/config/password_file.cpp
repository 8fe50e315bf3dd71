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
  if (first.ends_with('\r')) {  // of an editor that ends lines so
    first.pop_back();
  }
  return first;
}

std::string why_no_password(const std::string& file) {
  return file.empty() || !password_of(file, "").empty() ? "" : file + " is empty or unreadable";
}

}  // namespace cuckooguard::config
