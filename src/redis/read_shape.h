// Argument lists of one read that Redis cannot refuse, in a notation close to the one of its
// manual:
//
//   LPOS   key any (COUNT natural) [RANK rank] [MAXLEN natural]
//
//   COUNT      this word, in any case; ASC/DESC: one of them
//   natural    one argument of this kind (ArgumentKind); `key`: any bytes
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

#include "text/ascii.h"

namespace cuckooguard::redis {

// The kinds of a read's argument that Redis surely accepts.
//
// Must: whatever has_kind() accepts, every server of redis/command_table.h accepts in that place,
//   under any configuration. Redis accepts more than this ("1e300" as a score, for example): such a
//   read is forwarded, and Redis decides.
//
// Threads: pure function.
// Source: Redis 7.0.15 (object.c, util.c string2ll and string2d, t_zset.c, t_stream.c, bitops.c,
// geo.c), asked by hand; integration/missing_keys_are_redis_bytes_test.cpp asks it anew.
enum class ArgumentKind : std::uint8_t {
  any,
  integer,       // of 64 bits, written as Redis itself would write it
  natural,       // an integer >= 0
  positive,      // an integer > 0
  rank,          // LPOS: an integer but 0
  pick,          // how many random members: an integer whose double is one, too
  number,        // a double; infinite, too
  score,         // a number, or "(" and a number
  lex,           // "-", "+", "[..." or "(..."
  stream_end,    // "-", "+", a stream id, or "(" and a stream id
  stream_id,     // milliseconds, or milliseconds-sequence
  bit_type,      // i1 to i64, u1 to u63
  bit_offset,    //
  field_offset,  // BITFIELD: a bit's offset, or "#" and the number of a field
  longitude,     //
  latitude,      //
  distance,      // a number >= 0, not infinite
  unit,          // m, km, ft, mi in any case
  seconds,  // HGETEX: an expiry, from now on or of all times, that no server takes for too far away
  milliseconds,  //
};

bool has_kind(std::string_view argument, ArgumentKind kind) noexcept;

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

// --- the notation, compiled while the guard is ---

consteval void ReadShape::open(StepKind kind) {
  open_.at(depth_++) = step_count_;
  steps_.at(step_count_++) = {.kind = kind};
}

consteval void ReadShape::close(bool repeats) {
  steps_.at(step_count_++) = {.kind = StepKind::close};
  Step& opening = steps_.at(open_.at(--depth_));
  opening.behind = step_count_;
  opening.repeats = repeats;
}

consteval void ReadShape::add_word(std::string_view word) {
  using enum ArgumentKind;
  constexpr Name kNames[] = {
      {"key"},
      {"any"},
      {.name = "integer", .argument = integer},
      {.name = "natural", .argument = natural},
      {.name = "positive", .argument = positive},
      {.name = "rank", .argument = rank},
      {.name = "pick", .argument = pick},
      {.name = "number", .argument = number},
      {.name = "score", .argument = score},
      {.name = "lex", .argument = lex},
      {.name = "stream_end", .argument = stream_end},
      {.name = "bit_type", .argument = bit_type},
      {.name = "bit_offset", .argument = bit_offset},
      {.name = "field_offset", .argument = field_offset},
      {.name = "longitude", .argument = longitude},
      {.name = "latitude", .argument = latitude},
      {.name = "distance", .argument = distance},
      {.name = "unit", .argument = unit},
      {.name = "seconds", .argument = seconds},
      {.name = "milliseconds", .argument = milliseconds},
      {.name = "numkeys", .kind = StepKind::numkeys},
      {.name = "numfields", .kind = StepKind::numkeys},
      {.name = "keys", .kind = StepKind::keys},
      {.name = "fields", .kind = StepKind::keys},
      {.name = "weights", .kind = StepKind::weights},
      {.name = "streams", .kind = StepKind::streams},
  };
  if (text::is_lower(word.front())) {
    const bool repeats = word.ends_with("...");
    word.remove_suffix(repeats ? 3 : 0);
    for (const Name& name : kNames) {
      if (name.name == word) {
        steps_.at(step_count_++) = {
            .kind = name.kind, .argument = name.argument, .repeats = repeats};
        return;
      }
    }
    throw "no such kind of argument";
  }
  steps_.at(step_count_++) = {
      .kind = StepKind::word, .begin = text_bytes_, .size = static_cast<std::uint8_t>(word.size())};
  for (const char c : word) {
    text_.at(text_bytes_++) = text::to_lower(c);
  }
}

consteval void ReadShape::compile(std::string_view notation) {
  bool had_option = depth_ == 0 && step_count_ > 0;
  while (!notation.empty()) {
    const char first = notation.front();
    if (first == ' ') {
      notation.remove_prefix(1);
    } else if (first == '[' || first == '(') {
      open(first == '[' ? StepKind::optional : StepKind::required);
      notation.remove_prefix(1);
      had_option = false;
    } else if (first == ']' || first == ')') {
      notation.remove_prefix(1);
      const bool repeats = notation.starts_with("...");
      notation.remove_prefix(repeats ? 3 : 0);
      close(repeats);
      had_option = true;
    } else {
      if (had_option) {
        throw "a word behind an option";
      }
      const std::string_view word = notation.substr(0, notation.find_first_of(" [()]"));
      add_word(word);
      notation.remove_prefix(word.size());
    }
  }
}

}  // namespace cuckooguard::redis
