// Why a source cannot be read, for people: each cause once, with the namespaces and tables that it
// is of. A database of a hundred shards is missing one grant, not a hundred.
//
// Threads: none of its own.
// Limits: of each cause kNamesMax namespaces and tables are named, and the others counted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "source/source.h"

namespace cuckooguard::app {

class Refusals {
 public:
  static constexpr std::size_t kNamesMax = 12;

  Refusals() = default;
  explicit Refusals(const std::vector<source::Refusal>& all);

  void add(const source::Refusal& refusal);
  bool is_empty() const { return causes_.empty(); }
  // What the source as a whole, or this namespace, cannot do is told already.
  bool explain(std::string_view ns) const;
  // "source shop, namespaces users, guests, tables user_1, user_2: table `user_1` has no primary
  // key"
  std::vector<std::string> sentences(std::string_view source) const;

 private:
  struct Cause {
    std::string gist;  // what is refused, whichever table it is of
    std::string what;  // of the first
    std::vector<std::string> namespaces;
    std::vector<std::string> tables;
  };

  std::vector<Cause> causes_;
};

}  // namespace cuckooguard::app
