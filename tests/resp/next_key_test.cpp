#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "resp/arguments.h"
#include "resp/request_scanner.h"

namespace cuckooguard::resp {
namespace {

constexpr std::string_view kGet = "*2\r\n$3\r\nGET\r\n$6\r\nuser:1\r\n";

std::string_view key_behind(std::string_view command, std::string_view behind) {
  // As a read gives them: one after the other in one buffer.
  static std::string input;
  input = std::string(command).append(behind);
  RequestScanner scanner;
  Arguments arguments;
  const Scan scan = scanner.next(input, arguments);
  EXPECT_EQ(scan.consumed, command.size());
  const std::string_view all(input);
  return next_key(all.substr(0, scan.consumed), arguments.views(), all.substr(scan.consumed));
}

TEST(NextKey, is_the_first_of_the_same_command_behind) {
  EXPECT_EQ(key_behind(kGet, "*2\r\n$3\r\nGET\r\n$7\r\nuser:22\r\n"), "user:22");
  EXPECT_EQ(key_behind(kGet, std::string(kGet).append(kGet)), "user:1");
  EXPECT_EQ(key_behind("*3\r\n$4\r\nHGET\r\n$1\r\na\r\n$1\r\nf\r\n",
                       "*3\r\n$4\r\nHGET\r\n$2\r\nbb\r\n$1\r\ng\r\n"),
            "bb");
}

TEST(NextKey, is_none_behind_another_command) {
  EXPECT_EQ(key_behind(kGet, "*2\r\n$3\r\nget\r\n$6\r\nuser:2\r\n"), "");
  EXPECT_EQ(key_behind(kGet, "*3\r\n$3\r\nGET\r\n$6\r\nuser:2\r\n$1\r\na\r\n"), "");
  EXPECT_EQ(key_behind("*1\r\n$4\r\nPING\r\n", "*1\r\n$4\r\nPING\r\n"), "");
  EXPECT_EQ(key_behind("GET user:1\r\n", "GET user:2\r\n"), "");
}

TEST(NextKey, is_none_of_what_has_not_come_or_is_too_long) {
  for (std::size_t bytes = 0; bytes + 2 < kGet.size(); ++bytes) {
    EXPECT_EQ(key_behind(kGet, kGet.substr(0, bytes)), "") << bytes;
  }
  EXPECT_EQ(key_behind(kGet, "*2\r\n$3\r\nGET\r\n$1000\r\n" + std::string(1000, 'a') + "\r\n"), "");
  EXPECT_EQ(key_behind(kGet, "*2\r\n$3\r\nGET\r\n$x\r\nuser:2\r\n"), "");
  EXPECT_EQ(key_behind(kGet, "*2\r\n$3\r\nGET\r\n$-1\r\n"), "");
}

}  // namespace
}  // namespace cuckooguard::resp
