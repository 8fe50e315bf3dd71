#include "redis/read_shape.h"

#include <algorithm>

#include "redis/word.h"
#include "text/number.h"

namespace cuckooguard::redis {

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
