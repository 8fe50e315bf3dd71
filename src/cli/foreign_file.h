// A file with the filter of another library, as `cuckooguard filter` is told of it.
//
// Threads: the main thread's; the file is only read. Errors: a sentence. Limits: kFileBytesMax.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "foreign/filter.h"
#include "foreign/guava.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
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
  void add(CLI::App& command);
  // Of this file.
  foreign::FilterOrWhyNot read(const std::string& path) const;
};

// What the filter says of itself, one `name: value` per line.
std::expected<std::string, std::string> inspect_foreign(const ForeignFile& file,
                                                        const std::string& path);
// One line per item: `absent` or `may exist`, and the item.
std::expected<std::string, std::string> query_foreign(const ForeignFile& file,
                                                      const std::string& path,
                                                      const std::vector<std::string>& items);

}  // namespace cuckooguard::cli
