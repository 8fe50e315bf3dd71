#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filter/filter_file.h"
#include "filter/hashes.h"
#include "filter/key_hash.h"
#include "filter_tool/commands.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint64_t kMorning = 1'700'000'000;  // 2023-11-14T22:13:20Z

// A file of the users 1 and 2, with the secret beside it.
class FilterFileCommands : public testing::Test {
 protected:
  FilterFileCommands() {
    const auto secret = filter::read_or_create_secret(secret_path_);
    filter::CuckooFilter filter(
        {.layout = filter::Layout::w16, .buckets = 32, .deletes = filter::DeleteMode::exact},
        *secret);
    filter.insert(filter.hash("1"));
    filter.insert(filter.hash("2"));
    const filter::FilterFileLabel label{
        .source_position = "gtid 0-1-7\n", .definition_hash = 0xABC, .created = kMorning};
    EXPECT_TRUE(write_filter_file(path_, filter, label));
  }

  auto query(std::string key_template, std::vector<std::string> keys) const {
    return query_filter({.path = path_,
                         .secret_path = secret_path_,
                         .key_template = std::move(key_template),
                         .keys = std::move(keys)});
  }

  harness::TemporaryDirectory folder_;
  std::string path_ = folder_.file("users.filter");
  std::string secret_path_ = folder_.file("secret");
};

TEST_F(FilterFileCommands, inspect_says_what_the_header_says) {
  const auto text = inspect_filter({.path = path_});
  ASSERT_TRUE(text) << text.error();
  for (const char* const line : {"layout: W16 (4 x 16 bits)\n",
                                 "deletes: exact\n",
                                 "buckets: 32\n",
                                 "items: 2\n",
                                 "load: 0.0156\n",
                                 "full: no\n",
                                 "created: 2023-11-14T22:13:20Z\n",
                                 "definition: 0000000000000abc\n",
                                 "position: \"gtid 0-1-7\\x0a\"\n"}) {
    EXPECT_THAT(*text, HasSubstr(line));
  }
}

TEST_F(FilterFileCommands, query_tells_absent_keys_from_others) {
  const auto text = query("user:{id:uint64}", {"user:1", "user:3", "user:02", "order:1", "user:2"});
  ASSERT_TRUE(text) << text.error();
  EXPECT_EQ(*text,
            "may exist user:1\n"
            "absent    user:3\n"
            "unguarded user:02\n"
            "unguarded order:1\n"
            "may exist user:2\n");
}

TEST_F(FilterFileCommands, what_cannot_be_read_is_an_error_in_words) {
  EXPECT_THAT(inspect_filter({.path = secret_path_}).error(), HasSubstr(secret_path_));
  EXPECT_THAT(inspect_filter({.path = folder_.file("none")}).error(), HasSubstr("none"));
  EXPECT_THAT(query("user:{", {"user:1"}).error(), HasSubstr("--template user:{"));
  EXPECT_THAT(query_filter({.path = path_,
                            .secret_path = folder_.file("none"),
                            .key_template = "user:{id}",
                            .keys = {"user:1"}})
                  .error(),
              HasSubstr("none"));
  const std::string other = folder_.file("other");
  ASSERT_TRUE(filter::read_or_create_secret(other));
  secret_path_ = other;
  EXPECT_THAT(query("user:{id}", {"user:1"}).error(), HasSubstr("secret"));
}

// Bitmaps of which each item has all bits, or none: what is read of each format, tests/foreign
// says.
TEST_F(FilterFileCommands, filters_of_other_libraries_are_asked_for_items) {
  const std::string full = folder_.file("full");
  const std::string empty = folder_.file("empty");
  std::ofstream(full) << "\xff\xff";
  std::ofstream(empty).write("\0\0", 2);
  for (const char* const format : {"go-zero", "redisson", "guava-bitmap"}) {
    const ForeignFile foreign{.format = format, .bits = 16, .hashes = 3};
    EXPECT_EQ(query_filter({.path = full, .keys = {"a", "b"}, .foreign = foreign}),
              "may exist a\nmay exist b\n")
        << format;
    EXPECT_EQ(query_filter({.path = empty, .keys = {"a"}, .foreign = foreign}), "absent    a\n")
        << format;
    EXPECT_THAT(inspect_filter({.path = full, .foreign = foreign}).value(),
                AllOf(HasSubstr("bits_or_slots: 16\n"), HasSubstr("fill: 1.0000\n")));
  }
  const std::string guava = folder_.file("guava");
  std::ofstream(guava).write("\1\1\0\0\0\1\xff\xff\xff\xff\xff\xff\xff\xff", 14);
  EXPECT_EQ(
      query_filter(
          {.path = guava, .keys = {"7", "x"}, .foreign = {.format = "guava", .funnel = "long"}}),
      "may exist 7\nmay exist x\n")
      << "x is no number, and may be there by another spelling";
}

TEST_F(FilterFileCommands, what_a_filter_of_another_library_lacks_is_said) {
  EXPECT_EQ(query_filter({.path = path_, .keys = {"a"}}).error(),
            "specify --secret and --template, or --format for a filter of another library");
  EXPECT_EQ(query_filter({.path = path_, .keys = {"a"}, .foreign = {.format = "go-zero"}}).error(),
            "--format go-zero needs --bits, which the bitmap does not record");
  EXPECT_EQ(
      query_filter({.path = path_, .keys = {"a"}, .foreign = {.format = "redisson", .bits = 8}})
          .error(),
      "--format redisson needs --bits and --hashes, which the bitmap does not record");
  EXPECT_THAT(
      inspect_filter({.path = folder_.file("none"), .foreign = {.format = "guava"}}).error(),
      HasSubstr("none: No such file"));
  EXPECT_THAT(inspect_filter({.path = secret_path_, .foreign = {.format = "guava"}}).error(),
              HasSubstr(secret_path_ + ": "));
}

}  // namespace
}  // namespace cuckooguard::cli
