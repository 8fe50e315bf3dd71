#include "redis/read_shape.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

#include "redis/word.h"
#include "text/ascii.h"
#include "text/number.h"

namespace cuckooguard::redis {
namespace {

constexpr std::int64_t kPickMax = std::numeric_limits<std::int64_t>::max() / 2;

// The least that `proto-max-bulk-len` can be set to, in bits; and so many fields of 64 bits.
constexpr std::int64_t kBitOffsetEnd = std::int64_t{8} * 1024 * 1024;
constexpr std::int64_t kFieldOffsetEnd = kBitOffsetEnd / 64;

// More digits than a double holds, few enough that no number of them is too large or too small for
// one.
constexpr std::size_t kNumberDigitsMax = 40;
constexpr std::size_t kExponentDigitsMax = 2;

// A field of a hash expires before 2^46 ms: for another two hundred years this much may be added to
// the time it is.
constexpr std::int64_t kSecondsMax = 9'999'999'999;

constexpr double kLongitudeMax = 180;
constexpr double kLatitudeMax = 85;  // Redis: 85.05112878

std::optional<std::int64_t> integer(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  const bool is_canonical = !digits.empty() && text::is_digit(digits.front()) &&
                            (digits.front() != '0' || text.size() == 1);
  return is_canonical ? text::number_of<std::int64_t>(text) : std::nullopt;
}

bool is_integer_in(std::string_view text, std::int64_t least, std::int64_t most) {
  const auto value = integer(text);
  return value && *value >= least && *value <= most;
}

std::size_t count_digits(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, text::is_digit) - text.begin());
}

// "" or e, perhaps a sign, and a few digits.
bool is_exponent(std::string_view text) {
  if (text.empty()) {
    return true;
  }
  if (text.front() != 'e' && text.front() != 'E') {
    return false;
  }
  text.remove_prefix(1);
  text.remove_prefix(text.starts_with('+') || text.starts_with('-') ? 1 : 0);
  return !text.empty() && text.size() <= kExponentDigitsMax && count_digits(text) == text.size();
}

bool is_finite(std::string_view text) {
  text.remove_prefix(text.starts_with('+') || text.starts_with('-') ? 1 : 0);
  std::size_t digits = count_digits(text);
  text.remove_prefix(digits);
  if (digits > 0 && text.starts_with('.')) {
    text.remove_prefix(1);
    const std::size_t fraction = count_digits(text);
    digits += fraction;
    text.remove_prefix(fraction);
  }
  return digits > 0 && digits <= kNumberDigitsMax && is_exponent(text);
}

bool is_number(std::string_view text) {
  const std::string_view unsigned_text =
      text.substr(text.starts_with('+') || text.starts_with('-') ? 1 : 0);
  return is_word(unsigned_text, "inf") || is_finite(text);
}

bool is_coordinate(std::string_view text, double most) {
  if (!is_finite(text)) {
    return false;
  }
  text.remove_prefix(text.starts_with('+') ? 1 : 0);
  const auto value = text::take_number<double>(text);
  return value && *value >= -most && *value <= most;
}

bool is_lex(std::string_view text) {
  return text == "-" || text == "+" || text.starts_with('[') || text.starts_with('(');
}

bool is_natural(std::string_view text) {
  return is_integer_in(text, 0, std::numeric_limits<std::int64_t>::max());
}

bool is_stream_id(std::string_view text) {
  const std::size_t dash = text.find('-');
  return is_natural(text.substr(0, dash)) &&
         (dash == std::string_view::npos || is_natural(text.substr(dash + 1)));
}

// "(" excludes the id itself, so that the first of all ids cannot be an end, nor the last a start.
bool is_stream_end(std::string_view text) {
  if (text == "-" || text == "+" || is_stream_id(text)) {
    return true;
  }
  return text.starts_with('(') && is_stream_id(text.substr(1)) && text[1] != '0';
}

bool is_bit_type(std::string_view text) {
  if (text.empty() || (text.front() != 'i' && text.front() != 'u')) {
    return false;
  }
  return is_integer_in(text.substr(1), 1, text.front() == 'i' ? 64 : 63);
}

bool is_bit_offset(std::string_view text) {
  return is_integer_in(text, 0, kBitOffsetEnd - 1);
}

bool is_field_offset(std::string_view text) {
  return text.starts_with('#') ? is_integer_in(text.substr(1), 0, kFieldOffsetEnd - 1)
                               : is_bit_offset(text);
}

}  // namespace

bool has_kind(std::string_view argument, ArgumentKind kind) noexcept {
  switch (kind) {
    case ArgumentKind::any:
      return true;
    case ArgumentKind::integer:
      return integer(argument).has_value();
    case ArgumentKind::natural:
      return is_natural(argument);
    case ArgumentKind::positive:
      return is_natural(argument) && argument != "0";
    case ArgumentKind::rank:
      return is_integer_in(argument, -kPickMax, kPickMax) && argument != "0";
    case ArgumentKind::pick:
      return is_integer_in(argument, -kPickMax, kPickMax);
    case ArgumentKind::number:
      return is_number(argument);
    case ArgumentKind::score:
      return is_number(argument.substr(argument.starts_with('(') ? 1 : 0));
    case ArgumentKind::lex:
      return is_lex(argument);
    case ArgumentKind::stream_end:
      return is_stream_end(argument);
    case ArgumentKind::stream_id:
      return is_stream_id(argument);
    case ArgumentKind::bit_type:
      return is_bit_type(argument);
    case ArgumentKind::bit_offset:
      return is_bit_offset(argument);
    case ArgumentKind::field_offset:
      return is_field_offset(argument);
    case ArgumentKind::longitude:
      return is_coordinate(argument, kLongitudeMax);
    case ArgumentKind::latitude:
      return is_coordinate(argument, kLatitudeMax);
    case ArgumentKind::distance:
      return !argument.starts_with('-') && is_finite(argument);
    case ArgumentKind::unit:
      return is_any_of(argument, "m km ft mi");
    case ArgumentKind::seconds:
      return is_integer_in(argument, 1, kSecondsMax);
    case ArgumentKind::milliseconds:
      return is_integer_in(argument, 1, kSecondsMax * 1000);
  }
  return false;
}

// --- shapes ---

// One attempt to read a command's arguments as a shape.
class ShapeMatch {
 public:
  using Step = ReadShape::Step;
  using StepKind = ReadShape::StepKind;

  ShapeMatch(const ReadShape& shape, std::span<const std::string_view> arguments)
      : shape_(shape), arguments_(arguments) {}

  bool is_whole() { return reads_from(0) && at_ == arguments_.size(); }

 private:
  static constexpr unsigned kOptionsMax = 32;
  static_assert(ReadShape::kSteps <= kOptionsMax, "one bit for each option");

  bool is_word_at(std::size_t step) const { return kind(step) < StepKind::optional; }
  bool is_option_at(std::size_t step) const {
    return kind(step) == StepKind::optional || kind(step) == StepKind::required;
  }
  StepKind kind(std::size_t step) const {
    return step < shape_.step_count_ ? shape_.steps_[step].kind : StepKind::close;
  }

  // Words, then options, up to the bracket's end.
  bool reads_from(std::size_t step) {
    for (; is_word_at(step); ++step) {
      if (!reads_word(shape_.steps_[step])) {
        return false;
      }
    }
    return reads_options(step);
  }

  bool reads_options(std::size_t first) {
    std::uint32_t had = 0;
    while (at_ < arguments_.size() && reads_one_option(first, had)) {
    }
    unsigned option = 0;
    for (std::size_t step = first; is_option_at(step); step = shape_.steps_[step].behind) {
      if (kind(step) == StepKind::required && (had >> option & 1U) == 0) {
        return false;
      }
      ++option;
    }
    return true;
  }

  bool reads_one_option(std::size_t first, std::uint32_t& had) {
    const std::size_t before = at_;
    unsigned option = 0;
    for (std::size_t step = first; is_option_at(step); step = shape_.steps_[step].behind) {
      const bool may_be_there = (had >> option & 1U) == 0 || shape_.steps_[step].repeats;
      if (may_be_there && reads_from(step + 1)) {
        had |= 1U << option;
        return true;
      }
      at_ = before;
      ++option;
    }
    return false;
  }

  bool reads_word(const Step& step) {
    if (at_ >= arguments_.size()) {
      return false;
    }
    switch (step.kind) {
      case StepKind::word:
        return is_any_of(arguments_[at_++], {shape_.text_.data() + step.begin, step.size}, '/');
      case StepKind::numkeys:
        return reads_numkeys();
      case StepKind::keys:
        return reads_many(numkeys_, ArgumentKind::any);
      case StepKind::weights:
        return reads_many(numkeys_, ArgumentKind::number);
      case StepKind::streams:
        return reads_streams();
      default:
        return reads_many(step.repeats ? arguments_.size() - at_ : 1, step.argument);
    }
  }

  bool reads_many(std::size_t count, ArgumentKind kind) {
    if (count > arguments_.size() - at_) {
      return false;
    }
    const auto these = arguments_.subspan(at_, count);
    at_ += count;
    return std::ranges::all_of(
        these, [kind](std::string_view argument) { return has_kind(argument, kind); });
  }

  bool reads_numkeys() {
    const std::string_view text = arguments_[at_++];
    const auto number = text::number_of<decltype(numkeys_)>(text);
    numkeys_ = number.value_or(0);
    return number && has_kind(text, ArgumentKind::positive);
  }

  // All that is left: keys, then their ids; "$": what comes from now on.
  bool reads_streams() {
    const auto left = arguments_.subspan(at_);
    at_ = arguments_.size();
    return left.size() % 2 == 0 &&
           std::ranges::all_of(left.subspan(left.size() / 2), [](std::string_view id) {
             return id == "$" || has_kind(id, ArgumentKind::stream_id);
           });
  }

  const ReadShape& shape_;
  std::span<const std::string_view> arguments_;
  std::size_t at_ = 1;
  std::size_t numkeys_ = 0;
};

bool ReadShape::fits(std::span<const std::string_view> arguments) const noexcept {
  return ShapeMatch(*this, arguments).is_whole();
}

}  // namespace cuckooguard::redis
