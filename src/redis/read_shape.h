// Argument lists of one read that Redis cannot refuse, in a notation close to the one of its
// manual:
//
//   LPOS   key any (COUNT natural) [RANK rank] [MAXLEN natural]
//
//   COUNT      this word, in any case; ASC/DESC: one of them
//   natural    one argument of this kind (redis/read_argument.h); `key`: any bytes
//   any...     one argument of this kind or more
//   [...]      an option: there once, or not at all; "[...]...": any number of times
//   (...)      an option that must be there
//   numkeys    an integer above 0, and later `keys`: so many arguments; `weights`: so many numbers;
//              of a hash these are called `numfields` and `fields`
//   streams    keys, and as many ids
//
// Words come first, then options, in any order. An option may end with options of its own.
//
// Must: Redis runs whatever fits without an error as long as its keys are missing. A command that
//   does not fit may be valid all the same (an option given twice): it is forwarded.
//
// Threads: immutable. Errors: a mistake in the notation does not compile.
// Limits: kSteps and kTextBytes for one shape; recursion as deep as brackets are nested.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "redis/read_argument.h"

namespace cuckooguard::redis {

class ReadShape {
 public:
  // `more`: options that follow.
  consteval explicit ReadShape(std::string_view notation, std::string_view more = {}) {
    compile(notation);
    compile(more);
    if (depth_ != 0) {
      throw "a bracket is not closed";
    }
  }

  // `arguments`: the whole command, its name first.
  bool fits(std::span<const std::string_view> arguments) const noexcept;

 private:
  friend class ShapeMatch;

  static constexpr std::size_t kSteps = 32;
  static constexpr std::size_t kTextBytes = 80;
  static constexpr std::size_t kDepthMax = 3;

  enum class StepKind : std::uint8_t {
    word,
    argument,
    numkeys,
    keys,
    weights,
    streams,
    optional,
    required,
    close
  };

  struct Step {
    StepKind kind = StepKind::close;
    ArgumentKind argument = ArgumentKind::any;
    bool repeats = false;
    std::uint8_t begin = 0;  // word: in text_
    std::uint8_t size = 0;
    std::uint8_t behind = 0;  // optional, required: the step behind its bracket
  };

  struct Name {
    std::string_view name;
    StepKind kind = StepKind::argument;
    ArgumentKind argument = ArgumentKind::any;
  };

  consteval void compile(std::string_view notation);
  consteval void open(StepKind kind);
  consteval void close(bool repeats);
  consteval void add_word(std::string_view word);

  std::array<Step, kSteps> steps_{};
  std::uint8_t step_count_ = 0;
  std::array<char, kTextBytes> text_{};  // of words, in lower case
  std::uint8_t text_bytes_ = 0;
  std::array<std::uint8_t, kDepthMax> open_{};
  std::uint8_t depth_ = 0;
};

}  // namespace cuckooguard::redis

#include "redis/read_shape_notation.h"
