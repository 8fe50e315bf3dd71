// A filter of another library, as `cuckooguard filter` is told of it: how it is read, of a file or
// of what Redis has, and made.
//
// Threads: the main thread's; files are only read. Errors: a sentence. Limits: kFileBytesMax.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foreign/filter.h"
#include "foreign/guava.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
class Option;
}  // namespace CLI

namespace cuckooguard::cli {

struct ForeignFile {
  static constexpr std::uint64_t kFileBytesMax = std::uint64_t{16} << 30U;

  std::string format;  // empty: it is one of the guard's own
  std::uint64_t bits = 0;
  std::uint32_t hashes = 0;
  std::string strategy = "murmur128_mitz_32";
  std::string funnel = "utf8";

  bool is_given() const { return !format.empty(); }
  CLI::Option* add(CLI::App& command);               // `--format` itself
  std::optional<std::string> missing_flags() const;  // in words
  // Of this file.
  foreign::FilterOrWhyNot read(const std::string& path) const;
  // Without a look at missing_flags().
  foreign::FilterOrWhyNot read_bytes(std::string bytes) const;

  // An empty one; what it is made of, and what must not be said of it, is the format's.
  struct Wanted {
    std::uint64_t capacity = 0;  // items; 0: not said
    double rate = 0;             // of false positives; 0: not said
  };
  foreign::FilterOrWhyNot make(const Wanted& wanted) const;

  bool is_bitmap() const;  // of Redis
  // What add() has refused, and why.
  std::string refused_item(std::string_view item) const;
};

// What an application, and every later command, must be told of a filter: one `name: value` per
// line, and how full it is.
std::string told(const foreign::Facts& facts);

// What the filter says of itself, one `name: value` per line.
std::expected<std::string, std::string> inspect_foreign(const ForeignFile& file,
                                                        const std::string& path);
// One line per item: `absent` or `may exist`, and the item.
std::expected<std::string, std::string> query_foreign(const ForeignFile& file,
                                                      const std::string& path,
                                                      const std::vector<std::string>& items);

}  // namespace cuckooguard::cli
