#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "filter/filter_file.h"
#include "filter/filter_file_stream.h"
#include "filter/hashes.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::filter {
namespace {

using testing::fixed_secret;
using testing::nth_hash;

const HashSecret kSecret = fixed_secret(1);

std::string file_of(const CuckooFilter& filter) {
  const harness::TemporaryDirectory folder;
  EXPECT_TRUE(write_filter_file(folder.file("f"), filter, {}).has_value());
  std::ifstream file(folder.file("f"), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void change(CuckooFilter& filter, std::uint64_t& at) {
  for (int i = 0; i < 200; ++i, ++at) {
    filter.insert(nth_hash(7, at));
    filter.erase(nth_hash(5, at * 31 % 250'000));
    filter.insert(nth_hash(5, 1));
  }
}

TEST(FilterFileImage, is_the_file_as_it_was_when_it_was_begun) {
  for (const auto mode : {DeleteMode::trusted, DeleteMode::deferred, DeleteMode::exact}) {
    const auto filter =
        std::make_shared<CuckooFilter>(sizing_for(Layout::w12, 300'000, mode), kSecret);
    filter->insert(testing::hashes(5, 250'000));
    for (int i = 0; i < 300; ++i) {  // what a byte does not count
      filter->insert(nth_hash(5, 2));
    }
    const std::string file = file_of(*filter);
    FilterFileImage image(filter);
    EXPECT_EQ(image.bytes(), file.size());
    std::string read;
    std::uint64_t at = 0;
    while (image.step(read)) {
      change(*filter, at);
    }
    EXPECT_FALSE(image.is_lost());
    EXPECT_TRUE(read == file) << static_cast<int>(mode);
    EXPECT_NE(file_of(*filter), file);
  }
}

// Their memory is another one then.
TEST(FilterFileImage, has_the_counts_as_they_were_when_they_have_grown_since) {
  const auto filter =
      std::make_shared<CuckooFilter>(sizing_for(Layout::w8, 1000, DeleteMode::exact), kSecret);
  filter->insert(testing::hashes(5, 900));
  const std::string file = file_of(*filter);
  FilterFileImage image(filter);
  for (std::uint64_t i = 0; i < 4000; ++i) {
    filter->insert(nth_hash(6, i));
  }
  std::string read;
  while (image.step(read)) {
  }
  EXPECT_TRUE(read == file);
}

}  // namespace
}  // namespace cuckooguard::filter
