#include <chrono>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "filter/filter_file.h"
#include "filter/hashes.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::filter {
namespace {

using testing::fixed_secret;
using testing::nth_hash;

const HashSecret kSecret = fixed_secret(1);
const FilterFileLabel kLabel{"gtid:0-1-42", 77, 1'700'000'000, ""};

TEST(FilterFileWrite, what_was_written_is_read_back_for_every_layout_and_delete_mode) {
  const harness::TemporaryDirectory folder;
  for (const Layout layout : kLayouts) {
    for (const auto mode : {DeleteMode::trusted, DeleteMode::deferred, DeleteMode::exact}) {
      CuckooFilter filter(sizing_for(layout, 300'000, mode), kSecret);  // more than one block
      filter.insert(testing::hashes(5, 250'000));
      filter.erase(nth_hash(5, 3));
      ASSERT_TRUE(write_filter_file(folder.file("f"), filter, kLabel).has_value());
      const auto file = read_filter_file(folder.file("f"), kSecret, 77);
      ASSERT_TRUE(file.has_value()) << file.error().what;
      EXPECT_EQ(file->label.source_position, "gtid:0-1-42");
      EXPECT_EQ(file->label.created, 1'700'000'000);
      EXPECT_EQ(file->filter->stats().items, filter.stats().items);
      EXPECT_EQ(file->filter->stats().fingerprints, filter.stats().fingerprints);
      EXPECT_EQ(file->filter->digest(), filter.digest());
      EXPECT_EQ(file->filter->stats().bytes, filter.stats().bytes);
      EXPECT_EQ(file->filter->sizing().capacity(), filter.sizing().capacity());
      for (std::uint64_t i = 0; i < 400'000; i += 7) {
        ASSERT_EQ(file->filter->may_contain(nth_hash(5, i)), filter.may_contain(nth_hash(5, i)));
      }
    }
  }
}

// Also one that ends in a block of its own.
TEST(FilterFileWrite, an_attachment_is_read_back_behind_whatever_the_filter_has) {
  const harness::TemporaryDirectory folder;
  for (const auto mode : {DeleteMode::trusted, DeleteMode::exact}) {
    CuckooFilter filter(sizing_for(Layout::w12, 1000, mode), kSecret);
    for (int row = 0; row < 400; ++row) {
      filter.insert(nth_hash(1, 0));
    }
    for (const std::size_t bytes : {std::size_t{7}, std::size_t{3} << 20U}) {
      FilterFileLabel label = kLabel;
      label.attachment = std::string(bytes, 'x') + "end";
      ASSERT_TRUE(write_filter_file(folder.file("f"), filter, label).has_value());
      const auto file = read_filter_file(folder.file("f"), kSecret);
      ASSERT_TRUE(file.has_value()) << file.error().what;
      EXPECT_EQ(file->label.attachment, label.attachment);
      EXPECT_EQ(file->filter->stats().items, filter.stats().items);
      EXPECT_TRUE(file->filter->may_contain(nth_hash(1, 0)));
    }
  }
}

TEST(FilterFileWrite, counts_survive_so_that_erases_stay_right) {
  const harness::TemporaryDirectory folder;
  CuckooFilter filter(sizing_for(Layout::w12, 1000, DeleteMode::exact), kSecret);
  for (int row = 0; row < 400; ++row) {
    filter.insert(nth_hash(1, 0));  // a count too large for a byte
  }
  filter.insert(nth_hash(1, 1));
  ASSERT_TRUE(write_filter_file(folder.file("f"), filter, kLabel).has_value());
  const auto file = read_filter_file(folder.file("f"), kSecret);
  ASSERT_TRUE(file.has_value()) << file.error().what;
  for (int row = 0; row < 400; ++row) {
    ASSERT_TRUE(file->filter->may_contain(nth_hash(1, 0))) << row;
    EXPECT_EQ(file->filter->erase(nth_hash(1, 0)), EraseOutcome::erased);
  }
  EXPECT_FALSE(file->filter->may_contain(nth_hash(1, 0)));
  EXPECT_EQ(file->filter->erase(nth_hash(1, 5)), EraseOutcome::not_found);
}

TEST(FilterFileWrite, a_stash_and_a_full_filter_survive) {
  const harness::TemporaryDirectory folder;
  CuckooFilter filter({.layout = Layout::w20, .buckets = 2}, kSecret);
  for (std::uint64_t i = 0; i < 40; ++i) {
    filter.insert(nth_hash(1, i));
  }
  ASSERT_GT(filter.stats().stashed, 0);
  ASSERT_TRUE(write_filter_file(folder.file("f"), filter, kLabel).has_value());
  auto file = read_filter_file(folder.file("f"), kSecret);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->filter->stats().stashed, filter.stats().stashed);
  for (std::uint64_t i = 0; i < 40; ++i) {
    EXPECT_TRUE(file->filter->may_contain(nth_hash(1, i)));
  }
  filter.fail_open();
  ASSERT_TRUE(write_filter_file(folder.file("f"), filter, kLabel).has_value());
  file = read_filter_file(folder.file("f"), kSecret);
  EXPECT_TRUE(file->filter->stats().full);
  EXPECT_TRUE(inspect_filter_file(folder.file("f"))->full);
}

TEST(FilterFileWrite, leaves_nothing_beside_the_file_and_keeps_it_from_others) {
  const harness::TemporaryDirectory folder;
  const CuckooFilter filter({.buckets = 2}, kSecret);
  ASSERT_TRUE(write_filter_file(folder.file("f"), filter, kLabel).has_value());
  ASSERT_TRUE(write_filter_file(folder.file("f"), filter, kLabel).has_value());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  struct stat status{};
  ASSERT_EQ(::stat(folder.file("f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600);
}

TEST(FilterFileWrite, says_why_it_cannot_write) {
  const harness::TemporaryDirectory folder;
  const CuckooFilter filter({.buckets = 2}, kSecret);
  const auto nowhere = write_filter_file(folder.file("no/such/f"), filter, kLabel);
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_EQ(nowhere.error().fault, FilterFileFault::unwritable);
  EXPECT_NE(nowhere.error().what.find("No such file"), std::string::npos) << nowhere.error().what;
  FilterFileLabel too_long = kLabel;
  too_long.source_position.assign(kSourcePositionMax + 1, 'x');
  EXPECT_FALSE(write_filter_file(folder.file("f"), filter, too_long).has_value());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace cuckooguard::filter
