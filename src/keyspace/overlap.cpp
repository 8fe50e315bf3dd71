#include "keyspace/overlap.h"

#include <algorithm>
#include <bitset>
#include <set>
#include <utility>
#include <vector>

#include "keyspace/key_automaton.h"

namespace cuckooguard::keyspace {
namespace {

struct Step {  // how the walk came to a pair of states
  KeyAutomaton::State left;
  KeyAutomaton::State right;
  std::size_t from = 0;
  char byte = '\0';
};

// One byte for each way in which the two templates can tell bytes apart: those of their literals, those that types
// know, and one that stands for all others.
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

std::string key_up_to(const std::vector<Step>& steps, std::size_t at) {
  std::string key;
  for (; at != 0; at = steps[at].from) {
    key += steps[at].byte;
  }
  std::ranges::reverse(key);
  return key;
}

bool one_begins_with_the_other(std::string_view left, std::string_view right) {
  return left.starts_with(right) || right.starts_with(left);
}

}  // namespace

std::optional<std::string> overlap(const KeyTemplate& left,
                                   const KeyTemplate& right,
                                   std::size_t states_max) {
  if (!one_begins_with_the_other(left.literal_prefix(), right.literal_prefix())) {
    return std::nullopt;
  }
  const KeyAutomaton left_keys(left);
  const KeyAutomaton right_keys(right);
  const std::vector<char> bytes = alphabet(left, right);
  const std::string_view common = left.literal_prefix().size() < right.literal_prefix().size()
                                      ? left.literal_prefix()
                                      : right.literal_prefix();
  std::vector<Step> steps = {
      {left_keys.within_prefix(common.size()), right_keys.within_prefix(common.size())}};
  std::set<std::pair<KeyAutomaton::State, KeyAutomaton::State>> seen;
  for (std::size_t at = 0; at < steps.size(); ++at) {
    const Step here = steps[at];
    if (left_keys.accepts(here.left) && right_keys.accepts(here.right)) {
      return std::string(common) + key_up_to(steps, at);
    }
    if (steps.size() > states_max) {
      return std::string();
    }
    for (const char byte : bytes) {
      const KeyAutomaton::Next next_left = left_keys.step(here.left, byte);
      const KeyAutomaton::Next next_right =
          next_left.count > 0 ? right_keys.step(here.right, byte) : KeyAutomaton::Next{};
      for (const KeyAutomaton::State& left_state : next_left.all()) {
        for (const KeyAutomaton::State& right_state : next_right.all()) {
          if (seen.emplace(left_state, right_state).second) {
            steps.push_back({left_state, right_state, at, byte});
          }
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace cuckooguard::keyspace
