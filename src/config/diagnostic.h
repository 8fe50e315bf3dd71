// What is wrong in a configuration file, for the operator's eyes.
#pragma once

#include <compare>
#include <string>
#include <utility>
#include <vector>

namespace cuckooguard::config {

struct Place {     // in the file
  int line = 0;    // from 1; 0: the file as a whole
  int column = 0;  // from 1, in bytes

  auto operator<=>(const Place&) const = default;
};

struct Diagnostic {
  std::string file;
  int line = 0;
  int column = 0;
  std::string what;  // may have several lines

  std::string text() const;  // file:line:column: what
};

// Collects what is wrong while a file is read.
class Report {
 public:
  explicit Report(std::string file) : file_(std::move(file)) {}

  void add(Place place, std::string what);
  bool empty() const { return found_.empty(); }

  std::vector<Diagnostic> in_file_order() &&;

 private:
  std::string file_;
  std::vector<Diagnostic> found_;
};

}  // namespace cuckooguard::config
