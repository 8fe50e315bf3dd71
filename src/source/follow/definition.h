// What a checkpoint's filter is of, in bytes that are hashed: if any of it has changed since, the
// file is of no use (filter/filter_file.h).
//
// Threads: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "filter/cuckoo_filter.h"
#include "source/source.h"

namespace cuckooguard::source {

class Definition {
 public:
  // Each text with its length, so that no two lists of texts are the same bytes.
  Definition& operator<<(std::string_view text);
  Definition& operator<<(std::uint64_t number) { return *this << std::to_string(number); }

  void add_templates(const Target& target);
  // Which rows are in the filter, and how.
  void add_filter(const Target& target, std::string_view condition, filter::DeleteMode deletes);

  std::uint64_t hash() const;

 private:
  std::string bytes_;
};

}  // namespace cuckooguard::source
