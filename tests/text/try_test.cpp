#include "text/try.h"

#include <expected>
#include <memory>
#include <string>
#include <variant>

#include <gtest/gtest.h>

namespace cuckooguard::text {
namespace {

using Answer = std::expected<std::unique_ptr<int>, std::string>;

Answer number(int number) {
  return number < 0 ? Answer(std::unexpected("negative")) : Answer(std::make_unique<int>(number));
}

std::expected<void, std::string> check(int one) {
  TRY(number(one));
  return {};
}

// Its error is another type's, made of theirs.
std::expected<int, std::variant<int, std::string>> sum(int one, int other) {
  TRY(check(one));
  const auto first = TRY(number(one));
  int all = 0;
  all = *TRY(number(other));
  return *first + all;
}

TEST(Try, has_the_value_also_one_that_can_only_be_moved) {
  EXPECT_EQ(sum(1, 2).value(), 3);
}

TEST(Try, returns_the_first_error) {
  EXPECT_EQ(std::get<std::string>(sum(-1, 2).error()), "negative");
  EXPECT_EQ(std::get<std::string>(sum(1, -2).error()), "negative");
}

TEST(Try, leaves_a_named_result_as_it_is) {
  const std::expected<std::string, int> result("kept");
  const auto copied = [&]() -> std::expected<std::string, int> { return TRY(result) + "!"; };
  EXPECT_EQ(copied().value(), "kept!");
  EXPECT_EQ(result.value(), "kept");
}

}  // namespace
}  // namespace cuckooguard::text
