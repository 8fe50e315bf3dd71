// ReadShape's notation, compiled while the guard is.
//
// Errors: `throw` where a constant is needed does not compile.
#pragma once

#include "redis/read_shape.h"
#include "text/ascii.h"

namespace cuckooguard::redis {

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
