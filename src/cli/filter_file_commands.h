// `cuckooguard filter inspect|query`: what a filter file says, for an operator who asks "is this
// key in it?".
//
// Threads: the main thread's; files are only read. Errors: a sentence; only run() prints.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "cli/foreign_file.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}  // namespace CLI

namespace cuckooguard::cli {

CLI::App& add_filter(CLI::App& app);  // `filter`, of which the others are subcommands

// `cuckooguard filter inspect FILE [--format FORMAT]`
struct InspectFilter {
  std::string path;
  ForeignFile foreign{};

  CLI::App& add(CLI::App& filter);
  int run() const;
};

// `cuckooguard filter query FILE --secret FILE --template TEMPLATE KEY...`, or of another library's
// `cuckooguard filter query FILE --format FORMAT ITEM...`
struct QueryFilter {
  std::string path;
  std::string secret_path;
  std::string key_template;
  std::vector<std::string> keys;  // or items
  ForeignFile foreign{};

  CLI::App& add(CLI::App& filter);
  int run() const;
};

// One `name: value` per line. All checksums have been verified; the secret is not needed.
std::expected<std::string, std::string> inspect_filter(const InspectFilter& options);

// One line per key: what the file says of it (`absent`, `may exist`, or `unguarded`: no key of the
// template), and the key.
std::expected<std::string, std::string> query_filter(const QueryFilter& options);

}  // namespace cuckooguard::cli
