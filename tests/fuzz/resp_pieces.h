// Cuts a fuzzer's input, and compares what a parser makes of it whole, in seeded pieces, and byte
// by byte if it is short.
#pragma once

#include <cstdint>
#include <iostream>
#include <random>
#include <span>
#include <string_view>
#include <vector>

namespace cuckooguard::resp {

inline std::vector<std::string_view> cut_into_pieces(std::string_view input,
                                                     std::uint8_t seed,
                                                     std::size_t piece_max) {
  std::minstd_rand random(seed);
  std::vector<std::string_view> pieces;
  for (std::size_t at = 0; at < input.size(); at += pieces.back().size()) {
    pieces.push_back(input.substr(at, 1 + random() % piece_max));
  }
  return pieces;
}

// Ends the program, as libFuzzer wants it, where a promise is broken or the pieces change the
// result.
template <typename Parse>
void demand_same_in_pieces(std::string_view input, std::uint8_t seed, const Parse& parse) {
  const std::string_view whole[] = {input};
  const auto expected = parse(std::span<const std::string_view>(whole));
  // Of a long input, long pieces, or there would be ten runs a second.
  const std::size_t scale = 1 + input.size() / 4096 * 100;
  for (const std::size_t piece_max : {scale, 10 * scale, 100 * scale}) {
    const auto in_pieces = parse(cut_into_pieces(input, seed, piece_max));
    if (!expected.broken_promise.empty() || !(in_pieces == expected)) {
      std::cerr << "whole: " << expected << "\npieces of up to " << piece_max << ": " << in_pieces
                << "\n";
      __builtin_trap();
    }
  }
}

}  // namespace cuckooguard::resp
