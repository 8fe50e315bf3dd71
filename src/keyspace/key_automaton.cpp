#include "keyspace/key_automaton.h"

#include "text/ascii.h"

namespace cuckooguard::keyspace {
namespace {

using State = KeyAutomaton::State;

std::string_view largest_integer(ValueType type, bool negative) {
  if (type == ValueType::uint64) {
    return "18446744073709551615";
  }
  return negative ? "9223372036854775808" : "9223372036854775807";
}

// Adds one byte to the integer read so far; false if no canonical integer goes on like this.
bool take_digit(ValueType type, State& state, char byte) {
  if (byte == '-') {
    const bool first = state.digits == 0 && !state.negative;
    state.negative = true;
    return first && type == ValueType::int64;
  }
  if (byte < '0' || byte > '9') {
    return false;
  }
  const std::string_view limit = largest_integer(type, state.negative);
  if (state.digits == 0 && byte == '0') {
    state.digits = static_cast<std::uint8_t>(limit.size());  // nothing may follow a zero
    state.compared = -1;
    return !state.negative;
  }
  if (state.digits == limit.size()) {
    return false;
  }
  if (state.compared == 0 && byte != limit[state.digits]) {
    state.compared = byte < limit[state.digits] ? -1 : 1;
  }
  ++state.digits;
  return true;
}

std::vector<std::uint16_t> failure_function(std::string_view literal) {
  std::vector<std::uint16_t> failure(literal.size() + 1, 0);
  std::size_t matched = 0;
  for (std::size_t i = 1; i < literal.size(); ++i) {
    while (matched > 0 && literal[matched] != literal[i]) {
      matched = failure[matched];
    }
    matched += literal[matched] == literal[i] ? 1 : 0;
    failure[i + 1] = static_cast<std::uint16_t>(matched);
  }
  return failure;
}

}  // namespace

KeyAutomaton::KeyAutomaton(const KeyTemplate& key_template, Keys keys) : keys_(keys) {
  parts_.push_back({key_template.literal_prefix(), {}, nullptr});
  for (const Placeholder& placeholder : key_template.placeholders()) {
    parts_.push_back(
        {placeholder.literal_after, failure_function(placeholder.literal_after), &placeholder});
  }
}

KeyAutomaton::State KeyAutomaton::within_prefix(std::size_t bytes) const {
  return bytes == parts_[0].literal.size() ? beginning_of(1)
                                           : State{.matched = static_cast<std::uint16_t>(bytes)};
}

bool KeyAutomaton::is_text_of_row(const Placeholder& placeholder) const {
  return are_of_rows() && !placeholder.wildcard && !placeholder.is_integer() &&
         !is_printed(placeholder.type);
}

// A row's text may be empty: the literal may begin at once.
KeyAutomaton::State KeyAutomaton::beginning_of(std::size_t part) const {
  return {.part = static_cast<std::uint16_t>(part),
          .started = is_text_of_row(*parts_[part].placeholder)};
}

bool KeyAutomaton::take_value_byte(const Placeholder& placeholder, State& state, char byte) const {
  if (is_text_of_row(placeholder)) {
    return byte != ':' || keys_ == Keys::of_rows;
  }
  if (byte == ':' && !placeholder.rest) {
    return false;
  }
  if (!placeholder.is_integer() || keys_ == Keys::claimed_if_canonical) {
    return true;
  }
  if (!are_of_rows()) {
    return take_digit(placeholder.type, state, byte);
  }
  const bool begins = state.digits == 0 && !state.negative;
  state.negative = state.negative || byte == '-';
  state.digits = byte == '-' ? state.digits : 1;
  return byte == '-' ? begins : text::is_digit(byte);
}

bool KeyAutomaton::is_whole_value(const Placeholder& placeholder, const State& state) const {
  if (!placeholder.is_integer() || keys_ == Keys::claimed_if_canonical) {
    return state.started;
  }
  const std::size_t limit_digits = largest_integer(placeholder.type, state.negative).size();
  return state.digits > 0 && (are_of_rows() || state.digits < limit_digits || state.compared <= 0);
}

KeyAutomaton::Next KeyAutomaton::step(const State& state, char byte) const {
  const Part& part = parts_[state.part];
  if (part.placeholder == nullptr) {
    const bool goes_on = part.literal[state.matched] == byte;
    return goes_on ? Next{{within_prefix(state.matched + 1U)}, 1} : Next{};
  }
  const std::optional<State> same_part = stay_in_part(state, byte);
  if (!same_part) {
    return {};
  }
  const bool literal_found =
      !is_last(state) && same_part->started && same_part->matched == part.literal.size();
  if (!literal_found) {
    return {{*same_part}, 1};
  }
  const State next_part = beginning_of(state.part + 1U);
  if (!part.placeholder->wildcard && !is_whole_value(*part.placeholder, *same_part)) {
    return are_of_rows() ? Next{{*same_part}, 1} : Next{};
  }
  return part.placeholder->wildcard || are_of_rows() ? Next{{*same_part, next_part}, 2}
                                                     : Next{{next_part}, 1};
}

// Reads one byte of a value or of the literal behind it.
std::optional<KeyAutomaton::State> KeyAutomaton::stay_in_part(State state, char byte) const {
  const Part& part = parts_[state.part];
  if (!state.started) {
    state.started = true;
    return take_value_byte(*part.placeholder, state, byte) ? std::optional(state) : std::nullopt;
  }
  const std::size_t matched = next_matched(part, state.matched, byte);
  // Of the literal's bytes seen before and this one, all but the last `matched` belong to the
  // value.
  const std::size_t to_value = state.matched + 1U - matched;
  for (std::size_t i = 0; i < to_value; ++i) {
    const char value_byte = i < state.matched ? part.literal[i] : byte;
    if (!take_value_byte(*part.placeholder, state, value_byte)) {
      return std::nullopt;
    }
  }
  state.matched = static_cast<std::uint16_t>(matched);
  return state;
}

std::size_t KeyAutomaton::next_matched(const Part& part, std::size_t matched, char byte) const {
  const std::string_view literal = part.literal;
  while (matched > 0 && (matched == literal.size() || literal[matched] != byte)) {
    matched = part.failure[matched];
  }
  const bool goes_on = matched < literal.size() && literal[matched] == byte;
  return goes_on ? matched + 1 : 0;
}

bool KeyAutomaton::accepts(const State& state) const {
  const Part& part = parts_[state.part];
  return part.placeholder != nullptr && is_last(state) && state.matched == part.literal.size() &&
         is_whole_value(*part.placeholder, state);
}

}  // namespace cuckooguard::keyspace
