#include "keyspace/overlap.h"

#include <algorithm>
#include <bitset>
#include <set>
#include <utility>
#include <vector>

#include "keyspace/key_automaton.h"

namespace cuckooguard::keyspace {
namespace {

// One byte for each way in which the two templates can tell bytes apart: those of their literals,
// those that types know, and one that stands for all others.
std::vector<char> alphabet(const KeyTemplate& left, const KeyTemplate& right) {
  std::string bytes = "0123456789-:";
  for (const KeyTemplate* key_template : {&left, &right}) {
    bytes += key_template->literal_prefix();
    for (const Placeholder& placeholder : key_template->placeholders()) {
      bytes += placeholder.literal_after;
    }
  }
  std::bitset<256> known;
  for (const char c : bytes) {
    known.set(static_cast<unsigned char>(c));
  }
  std::vector<char> result;
  char other = '\0';
  for (int i = 255; i >= 0; --i) {
    const auto byte = static_cast<char>(static_cast<unsigned char>(i));
    if (known.test(static_cast<std::size_t>(i))) {
      result.push_back(byte);
    } else if (other == '\0' || (i >= 'a' && i <= 'z')) {  // a letter reads best in an example
      other = byte;
    }
  }
  if (!known.all()) {
    result.push_back(other);
  }
  return result;
}

bool one_begins_with_the_other(std::string_view left, std::string_view right) {
  return left.starts_with(right) || right.starts_with(left);
}

std::string_view shorter_of(std::string_view left, std::string_view right) {
  return left.size() < right.size() ? left : right;
}

// The pairs of states that some key leads both automata to, in the order of those keys' lengths.
class PairWalk {
 public:
  PairWalk(const KeyAutomaton& left, const KeyAutomaton& right, std::size_t prefix_bytes)
      : left_(left), right_(right) {
    add(left.within_prefix(prefix_bytes), right.within_prefix(prefix_bytes), 0, '\0');
  }

  std::size_t pairs() const { return pairs_.size(); }

  bool accepts(std::size_t at) const {
    return left_.accepts(pairs_[at].left) && right_.accepts(pairs_[at].right);
  }

  void go_on(std::size_t at, char byte) {
    const KeyAutomaton::Next left = left_.step(pairs_[at].left, byte);
    if (left.count == 0) {
      return;
    }
    const KeyAutomaton::Next right = right_.step(pairs_[at].right, byte);
    for (const KeyAutomaton::State& left_state : left.all()) {
      for (const KeyAutomaton::State& right_state : right.all()) {
        add(left_state, right_state, at, byte);
      }
    }
  }

  std::string key_to(std::size_t at) const {
    std::string key;
    for (; at != 0; at = pairs_[at].from) {
      key += pairs_[at].byte;
    }
    std::ranges::reverse(key);
    return key;
  }

 private:
  struct Pair {
    KeyAutomaton::State left;
    KeyAutomaton::State right;
    std::size_t from;  // the pair before it, and the byte that led here
    char byte;
  };

  void add(const KeyAutomaton::State& left,
           const KeyAutomaton::State& right,
           std::size_t from,
           char byte) {
    if (seen_.emplace(left, right).second) {
      pairs_.push_back({left, right, from, byte});
    }
  }

  const KeyAutomaton& left_;
  const KeyAutomaton& right_;
  std::vector<Pair> pairs_;
  std::set<std::pair<KeyAutomaton::State, KeyAutomaton::State>> seen_;
};

// A shortest key that both accept, empty if the limit was reached first.
std::optional<std::string> common_key(const KeyTemplate& left,
                                      const KeyAutomaton& left_keys,
                                      const KeyTemplate& right,
                                      const KeyAutomaton& right_keys,
                                      std::size_t states_max) {
  const std::vector<char> bytes = alphabet(left, right);
  const std::string_view common = shorter_of(left.literal_prefix(), right.literal_prefix());
  PairWalk walk(left_keys, right_keys, common.size());
  for (std::size_t at = 0; at < walk.pairs(); ++at) {
    if (walk.accepts(at)) {
      return std::string(common) + walk.key_to(at);
    }
    if (walk.pairs() > states_max) {
      return std::string();
    }
    for (const char byte : bytes) {
      walk.go_on(at, byte);
    }
  }
  return std::nullopt;
}

std::ptrdiff_t colons_of(const KeyTemplate& key_template) {
  std::ptrdiff_t colons = std::ranges::count(key_template.literal_prefix(), ':');
  for (const Placeholder& placeholder : key_template.placeholders()) {
    colons += std::ranges::count(placeholder.literal_after, ':');
  }
  return colons;
}

}  // namespace

std::optional<std::string> overlap(const KeyTemplate& left,
                                   const KeyTemplate& right,
                                   std::size_t states_max) {
  if (!one_begins_with_the_other(left.literal_prefix(), right.literal_prefix())) {
    return std::nullopt;
  }
  return common_key(left, KeyAutomaton(left), right, KeyAutomaton(right), states_max);
}

bool may_make_keys_of(const KeyTemplate& maker, const KeyTemplate& claimer, bool canonical_keys) {
  using Keys = KeyAutomaton::Keys;
  if (!one_begins_with_the_other(maker.literal_prefix(), claimer.literal_prefix())) {
    return false;
  }
  // Where a key has a known number of them, few walks are long: hundreds of templates may begin
  // with the same {tenant}.
  const bool has_rest = claimer.placeholders().back().rest;
  const std::ptrdiff_t spare = colons_of(claimer) - colons_of(maker);
  if (!has_rest && spare < 0) {
    return false;
  }
  const Keys made = has_rest || spare > 0 ? Keys::of_rows : Keys::of_rows_without_colons;
  return common_key(
             maker,
             KeyAutomaton(maker, made),
             claimer,
             KeyAutomaton(claimer,
                          canonical_keys ? Keys::claimed_if_canonical : Keys::of_applications),
             kMakerStatesMax)
      .has_value();
}

}  // namespace cuckooguard::keyspace
