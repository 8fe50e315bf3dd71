// What is wrong in a configuration file, for the operator's eyes.
#pragma once

#include <compare>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace cuckooguard::config {

struct Place {     // in the file
  int line = 0;    // from 1; 0: the file as a whole
  int column = 0;  // from 1, in bytes
  int flag = 0;    // from 1: not in the file, but by this flag (Report::add_flag)

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

  // A flag of the command line, by the name that stands for the file's then; its number for
  // Place::flag.
  int add_flag(std::string name);
  void add(Place place, std::string what);
  template <typename First, typename... Others>
  void add(Place place,
           fmt::format_string<First, Others...> what,
           First&& first,
           Others&&... others) {
    add(place, fmt::format(what, std::forward<First>(first), std::forward<Others>(others)...));
  }
  // Nothing that keeps the file from being used.
  void warn(Place place, std::string what);
  bool empty() const { return found_.empty(); }

  // guard.yaml:12, or flag --listen
  std::string origin(Place place) const;

  std::vector<Diagnostic> in_file_order() &&;
  std::vector<Diagnostic> warnings() &&;  // likewise

 private:
  Diagnostic at(Place place, std::string what) const;

  std::string file_;
  std::vector<std::string> flags_;
  std::vector<Diagnostic> found_;
  std::vector<Diagnostic> warnings_;
};

}  // namespace cuckooguard::config
