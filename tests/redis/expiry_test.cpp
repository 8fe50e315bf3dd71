#include "redis/expiry.h"

#include <initializer_list>

#include <gtest/gtest.h>

namespace cuckooguard::redis {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::optional<Expiry> of(std::initializer_list<std::string_view> arguments) {
  const Command& command = find_command(*arguments.begin());
  const auto found = expiry_of(command, std::span(arguments.begin(), arguments.size()));
  EXPECT_TRUE(!found || command.may_set_expiry);
  return found;
}
constexpr auto in(milliseconds time) {
  return Expiry{.at = time};
}
constexpr auto at(milliseconds time) {
  return Expiry{.at = time, .is_absolute = true};
}

TEST(Expiry, is_what_the_command_says_in_its_own_unit) {
  EXPECT_EQ(of({"SET", "k", "v", "EX", "60"}), in(seconds(60)));
  EXPECT_EQ(of({"set", "k", "v", "NX", "px", "1500"}), in(milliseconds(1500)));
  EXPECT_EQ(of({"SET", "k", "v", "EXAT", "1700000000"}), at(seconds(1'700'000'000)));
  EXPECT_EQ(of({"SET", "k", "v", "PXAT", "1700000000123", "GET"}), at(milliseconds(1700000000123)));
  EXPECT_EQ(of({"SETEX", "k", "60", "v"}), in(seconds(60)));
  EXPECT_EQ(of({"PSETEX", "k", "60", "v"}), in(milliseconds(60)));
  EXPECT_EQ(of({"EXPIRE", "k", "60"}), in(seconds(60)));
  EXPECT_EQ(of({"PEXPIRE", "k", "60", "NX"}), in(milliseconds(60)));
  EXPECT_EQ(of({"EXPIREAT", "k", "1700000000"}), at(seconds(1'700'000'000)));
  EXPECT_EQ(of({"PEXPIREAT", "k", "1700000000123"}), at(milliseconds(1700000000123)));
  EXPECT_EQ(of({"GETEX", "k", "EX", "60"}), in(seconds(60)));
}

TEST(Expiry, is_none_where_the_command_sets_none_or_is_refused) {
  for (const auto& command : std::initializer_list<std::initializer_list<std::string_view>>{
           {"SET", "k", "EX"},
           {"SET", "k", "v"},
           {"SET", "k", "v", "KEEPTTL"},
           {"SET", "k", "v", "NX", "EX"},
           {"SET", "k", "v", "EX", "0"},
           {"SET", "k", "v", "EX", "soon"},
           {"SET", "k", "v", "EX", "9223372036854775807"},
           {"SETEX", "k", "60"},
           {"EXPIRE", "k", "-1"},
           {"GETEX", "k"},
           {"GETEX", "k", "PERSIST"},
           {"PERSIST", "k"},
           {"HEXPIRE", "k", "60", "FIELDS", "1", "f"},
           {"MODULE.EX", "k", "EX", "60"}}) {
    EXPECT_EQ(of(command), std::nullopt) << *command.begin();
  }
}

}  // namespace
}  // namespace cuckooguard::redis
