#include "harness/read_mutations.h"

#include <cstddef>
#include <sstream>
#include <string>
#include <utility>

namespace cuckooguard::harness {
namespace {

Words notorious_words() {
  std::istringstream stream(R"(
      0 1 -1 2 -2 00 01 +1 -0 1.5 .5 1e2 1e400 0x1 inf -inf +INF nan
      4294967295 8388608 4611686018427387904 9223372036854775807 9223372036854775808
      -9223372036854775808 18446744073709551616
      (1 ( ((1 [ [a - + $ > * # #1 1-1 1- (0-0 (1-0
      a K user:2 other km u64 i64
      COUNT LIMIT MATCH RANK MAXLEN REV BYSCORE BYLEX WITHSCORES WITHVALUES WEIGHTS AGGREGATE SUM
      STREAMS LEN IDX ASC DESC ALPHA BIT BYTE GET ANY WITHCOORD FROMMEMBER BYRADIUS SAMPLES STORE
      FIELDS NOVALUES PERSIST EX PXAT WITHSCORE ELE VALUES EPSILON FILTER RAW)");
  Words words{"", " 1", "1 "};
  for (std::string word; stream >> word;) {
    words.push_back(word);
  }
  return words;
}

}  // namespace

std::vector<Words> mutations_of(const Words& read) {
  static const Words kNotorious = notorious_words();
  std::vector<Words> mutations;
  for (std::size_t at = 1; at <= read.size(); ++at) {
    const auto here = static_cast<std::ptrdiff_t>(at);
    mutations.emplace_back(read.begin(), read.begin() + here);
    for (const std::string& word : kNotorious) {
      mutations.push_back(read);
      mutations.back().insert(mutations.back().begin() + here, word);
    }
    if (at == read.size()) {
      break;
    }
    for (const std::string& word : kNotorious) {
      mutations.push_back(read);
      mutations.back()[at] = word;
    }
    mutations.push_back(read);
    mutations.back().erase(mutations.back().begin() + here);
    mutations.push_back(read);
    mutations.back().push_back(read[at]);
    mutations.push_back(read);
    std::swap(mutations.back()[at], mutations.back().back());
  }
  return mutations;
}

}  // namespace cuckooguard::harness
