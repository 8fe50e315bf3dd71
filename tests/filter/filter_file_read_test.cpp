#include <cstring>

#include <gtest/gtest.h>

#include "filter/filter_file.h"
#include "filter/filter_file_format.h"
#include "filter/hashes.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::filter {
namespace {

using testing::fixed_secret;
using testing::nth_hash;

const HashSecret kSecret = fixed_secret(1);

std::string small_file(DeleteMode mode) {
  const harness::TemporaryDirectory folder;
  CuckooFilter filter({.layout = Layout::w12, .buckets = 32, .deletes = mode}, kSecret);
  filter.insert(testing::hashes(1, 60));
  const FilterFileLabel label{"position", 5, 6};
  EXPECT_TRUE(write_filter_file(folder.file("f"), filter, label).has_value());
  return harness::read_whole_file(folder.file("f"));
}

auto parse(const std::string& bytes, const HashSecret& secret = kSecret) {
  return parse_filter_file(std::as_bytes(std::span(bytes)), secret);
}

void seal_header(std::string& bytes) {
  const auto covered = std::as_bytes(std::span(bytes)).first(offsetof(FileHeader, header_checksum));
  const std::uint64_t checksum = file_checksum(covered);
  std::memcpy(bytes.data() + covered.size(), &checksum, sizeof(checksum));
}

template <class Number>
std::string with_number(std::string bytes, std::size_t offset, Number number) {
  std::memcpy(bytes.data() + offset, &number, sizeof(number));
  seal_header(bytes);
  return bytes;
}

TEST(FilterFileRead, every_single_byte_corruption_is_detected) {
  for (const DeleteMode mode : {DeleteMode::trusted, DeleteMode::exact}) {
    std::string bytes = small_file(mode);
    ASSERT_TRUE(parse(bytes).has_value());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const char original = bytes[i];
      for (const int flip : {0x01, 0x80, 0xFF}) {
        bytes[i] = static_cast<char>(original ^ flip);
        ASSERT_FALSE(parse(bytes).has_value()) << "position " << i;
      }
      bytes[i] = original;
    }
  }
}

TEST(FilterFileRead, every_truncation_and_a_byte_too_many_are_detected) {
  std::string bytes = small_file(DeleteMode::exact);
  bytes.push_back(0);
  EXPECT_EQ(parse(bytes).error().fault, FilterFileFault::truncated);
  bytes.pop_back();
  while (!bytes.empty()) {
    bytes.pop_back();
    ASSERT_FALSE(parse(bytes).has_value()) << bytes.size();
  }
}

TEST(FilterFileRead, another_version_byte_order_or_beginning_is_named) {
  const std::string bytes = small_file(DeleteMode::trusted);
  const auto newer = parse(with_number(bytes, offsetof(FileHeader, version), kFileVersion + 1));
  EXPECT_EQ(newer.error().fault, FilterFileFault::wrong_version);
  const auto swapped = parse(
      with_number(bytes, offsetof(FileHeader, byte_order), __builtin_bswap32(kFileByteOrder)));
  EXPECT_EQ(swapped.error().fault, FilterFileFault::wrong_version);
  const auto other = parse(with_number(bytes, 0, 'X'));
  EXPECT_EQ(other.error().fault, FilterFileFault::not_a_filter);
}

TEST(FilterFileRead, numbers_that_make_no_sense_are_refused_under_a_right_checksum) {
  const std::string bytes = small_file(DeleteMode::trusted);
  const auto refused = [&bytes](std::size_t offset, auto number) {
    return !parse(with_number(bytes, offset, number)).has_value();
  };
  EXPECT_TRUE(refused(offsetof(FileHeader, layout), std::uint32_t{6}));
  EXPECT_TRUE(refused(offsetof(FileHeader, deletes), std::uint32_t{3}));
  EXPECT_TRUE(refused(offsetof(FileHeader, deletes), std::uint32_t{2})) << "exact needs counts";
  EXPECT_TRUE(refused(offsetof(FileHeader, hash_kind), std::uint32_t{9}));
  EXPECT_TRUE(refused(offsetof(FileHeader, block_bytes), std::uint32_t{0}));
  for (const std::uint64_t buckets : {0ULL, 31ULL, 34ULL, ~0ULL, 1ULL << 61}) {
    EXPECT_TRUE(refused(offsetof(FileHeader, buckets), buckets)) << buckets;
  }
  EXPECT_TRUE(refused(offsetof(FileHeader, sizing_load), 0.0));
  EXPECT_TRUE(refused(offsetof(FileHeader, count_slots), std::uint64_t{64}));
  EXPECT_TRUE(refused(offsetof(FileHeader, large_counts), ~std::uint64_t{0}));
  EXPECT_TRUE(refused(offsetof(FileHeader, position_bytes), std::uint64_t{kSourcePositionMax + 1}));
}

TEST(FilterFileRead, another_secret_is_refused) {
  const auto file = parse(small_file(DeleteMode::trusted), fixed_secret(2));
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().fault, FilterFileFault::wrong_secret);
}

TEST(FilterFileRead, errors_name_the_file) {
  const harness::TemporaryDirectory folder;
  const auto missing = read_filter_file(folder.file("f"), kSecret);
  EXPECT_EQ(missing.error().fault, FilterFileFault::unreadable);
  EXPECT_NE(missing.error().what.find(folder.file("f")), std::string::npos);

  harness::write_whole_file(folder.file("f"), small_file(DeleteMode::trusted));
  const auto other = read_filter_file(folder.file("f"), kSecret, 6);
  EXPECT_EQ(other.error().fault, FilterFileFault::wrong_definition);
  EXPECT_NE(other.error().what.find(folder.file("f")), std::string::npos);
  EXPECT_TRUE(read_filter_file(folder.file("f"), kSecret, 5).has_value());

  harness::write_whole_file(folder.file("f"), "");
  EXPECT_EQ(inspect_filter_file(folder.file("f")).error().fault, FilterFileFault::not_a_filter);
}

TEST(FilterFileRead, inspect_needs_no_secret) {
  const harness::TemporaryDirectory folder;
  harness::write_whole_file(folder.file("f"), small_file(DeleteMode::exact));
  const auto facts = inspect_filter_file(folder.file("f"));
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->items, 60);
  EXPECT_EQ(facts->sizing.buckets, 32);
  EXPECT_EQ(facts->sizing.deletes, DeleteMode::exact);
  EXPECT_EQ(facts->secret_id, kSecret.id());
  EXPECT_EQ(facts->label.source_position, "position");
}

}  // namespace
}  // namespace cuckooguard::filter
