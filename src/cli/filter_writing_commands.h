// `cuckooguard filter create|add`: filters of other libraries, in files, without those libraries.
//
// Threads: the main thread's. Errors: a sentence, and the file is as it was; only run() prints.
// Limits: an item of standard input is a line, held as a whole.
#pragma once

#include <expected>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/foreign_file.h"

namespace cuckooguard::cli {

// `cuckooguard filter create FILE --format FORMAT`, and what the format is made of
struct CreateFilter {
  std::string path;
  ForeignFile foreign{};
  ForeignFile::Wanted wanted{};

  CLI::App& add(CLI::App& filter);
  int run() const;
};

// `cuckooguard filter add FILE --format FORMAT [ITEM...]`
struct AddToFilter {
  std::string path;
  std::vector<std::string> items;  // none, or "-": the lines of standard input
  ForeignFile foreign{};

  CLI::App& add(CLI::App& filter);
  int run() const;
};

// What the application must be told of it.
std::expected<std::string, std::string> create_filter(const CreateFilter& options);

// How many, and how full the filter is now. A line is an item as it stands there, an empty one too.
std::expected<std::string, std::string> add_to_filter(const AddToFilter& options,
                                                      std::istream& lines);

}  // namespace cuckooguard::cli
