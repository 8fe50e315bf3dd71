// What a client has sent and nobody has taken: kept between two reads, and of what Redis has got a
// part of only the rest.
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "proxy/session.h"

namespace cuckooguard::proxy {
namespace {

TEST(Input, what_is_kept_comes_before_what_is_read) {
  Input input;
  EXPECT_TRUE(input.is_between_commands());
  input.keep("*1\r\n$4");
  std::array<char, 16> buffer{};
  ASSERT_EQ(input.copy_to(buffer), 6U);
  EXPECT_EQ(std::string_view(buffer.data(), 6), "*1\r\n$4");
  EXPECT_EQ(input.size(), 6U) << "until something else is kept";
  EXPECT_FALSE(input.is_between_commands());
  input.keep({});
  EXPECT_EQ(input.copy_to(buffer), 0U);
  EXPECT_TRUE(input.is_between_commands());
}

TEST(Input, what_comes_behind_a_held_command_is_kept_behind_it) {
  Input input;
  input.keep("GUARD.WAIT\r\n");
  input.append("PING\r\n");
  std::string taken = input.take();
  EXPECT_EQ(taken, "GUARD.WAIT\r\nPING\r\n");
  EXPECT_EQ(input.size(), 0U);
  input.give_back(std::move(taken));
  EXPECT_EQ(input.size(), 18U);
}

TEST(Input, what_redis_has_got_is_not_sent_again_at_any_cut) {
  const std::string command = "*1\r\n$4\r\nPING\r\n";
  for (std::size_t cut = 1; cut <= command.size(); ++cut) {
    for (std::size_t piece = 1; piece <= command.size(); ++piece) {
      Input input;
      EXPECT_EQ(input.unsent(command), command);
      input.set_ahead(cut);
      EXPECT_TRUE(input.is_ahead());
      std::string sent;
      for (std::size_t at = 0; at < command.size(); at += piece) {
        sent += input.unsent(std::string_view(command).substr(at, piece));
      }
      EXPECT_EQ(sent, command.substr(cut)) << cut << " in pieces of " << piece;
      EXPECT_FALSE(input.is_ahead());
    }
  }
}

}  // namespace
}  // namespace cuckooguard::proxy
