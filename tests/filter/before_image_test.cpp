#include "filter/before_image.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::filter {
namespace {

constexpr std::uint64_t kWords = 3 * BeforeImage::kBlockWords + 100;

std::vector<std::uint64_t> numbered() {
  std::vector<std::uint64_t> words(kWords);
  for (std::uint64_t i = 0; i < kWords; ++i) {
    words[i] = i;
  }
  return words;
}

// Also where more of a block is changed than is kept word by word.
TEST(BeforeImage, is_what_the_words_were_whatever_becomes_of_them) {
  for (const std::uint64_t range : {kWords, std::uint64_t{50}}) {
    std::mt19937_64 random(range);
    std::vector<std::uint64_t> words = numbered();
    BeforeImage image(words);
    std::vector<std::uint64_t> part;
    for (std::uint64_t from = 0; from < kWords; from += part.size()) {
      for (std::uint64_t i = 0; i < 2 * BeforeImage::kChangesMax; ++i) {
        const std::uint64_t index = random() % range;
        image.keep(index);
        words[index] = random();
      }
      part.resize(std::min(1 + random() % 5000, kWords - from));
      image.read(from, part);
      for (std::uint64_t i = 0; i < part.size(); ++i) {
        ASSERT_EQ(part[i], from + i);
      }
      image.forget(from + part.size());
    }
  }
}

TEST(BeforeImage, keeps_nothing_of_what_will_not_be_read_again) {
  std::vector<std::uint64_t> words = numbered();
  BeforeImage image(words);
  for (std::uint64_t i = 0; i < kWords; ++i) {
    image.keep(i);
    words[i] = 0;
  }
  EXPECT_EQ(image.blocks_kept(), 4U);
  image.forget(2 * BeforeImage::kBlockWords + 1);
  EXPECT_EQ(image.blocks_kept(), 2U);
  image.keep(1);
  EXPECT_EQ(image.blocks_kept(), 2U);
}

}  // namespace
}  // namespace cuckooguard::filter
