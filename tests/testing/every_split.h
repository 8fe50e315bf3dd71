// Runs a parser over one input in one piece, cut in two at every byte, and byte by byte; the result
// may not differ.
//
//     const auto result = expect_same_at_every_split("*1\r\n...", [](Pieces pieces) { return
//     feed(pieces); });
//
// `parse` takes fresh state and the pieces, and returns something comparable and printable that
// holds all that matters: results and consumed bytes. The result of the one piece is returned, for
// the test to look at.
#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::testing {

using Pieces = std::span<const std::string_view>;

// Where to cut an input of this size in two: everywhere if it is small, else at both ends and at
// seeded places.
inline std::vector<std::size_t> cuts_of(std::size_t size) {
  constexpr std::size_t kEverywhereMax = 2000;
  constexpr std::size_t kAtEachEnd = 20;
  constexpr std::size_t kBetween = 20;
  std::vector<std::size_t> cuts;
  for (std::size_t cut = 0; cut < size; ++cut) {
    if (size <= kEverywhereMax || cut < kAtEachEnd || cut >= size - kAtEachEnd) {
      cuts.push_back(cut);
    }
  }
  if (size > kEverywhereMax) {
    std::minstd_rand random(static_cast<unsigned>(size));
    for (std::size_t i = 0; i < kBetween; ++i) {
      cuts.push_back(random() % size);
    }
  }
  return cuts;
}

template <typename Parse>
auto expect_same_at_every_split(std::string_view input, const Parse& parse) {
  const std::string_view whole[] = {input};
  auto expected = parse(Pieces(whole));
  for (const std::size_t cut : cuts_of(input.size())) {
    const std::string_view halves[] = {input.substr(0, cut), input.substr(cut)};
    const auto result = parse(Pieces(halves));
    EXPECT_EQ(result, expected) << "cut at byte " << cut << " of " << input.size();
    if (!(result == expected)) {
      return expected;  // one difference tells enough
    }
  }
  std::vector<std::string_view> bytes;
  bytes.reserve(input.size());
  for (std::size_t i = 0; i < input.size(); ++i) {
    bytes.push_back(input.substr(i, 1));
  }
  EXPECT_EQ(parse(Pieces(bytes)), expected) << "byte by byte, " << input.size() << " bytes";
  return expected;
}

}  // namespace cuckooguard::testing
