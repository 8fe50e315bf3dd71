#include "resp/request_scanner.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "resp/scan_transcript.h"
#include "testing/every_split.h"

namespace cuckooguard::resp {
namespace {

using std::string_literals::operator""s;
using ::testing::ElementsAre;

// Checks the input at every cut and returns what it is made of.
ScanTranscript scan(std::string_view input, bool authenticated = true) {
  ScanTranscript transcript = testing::expect_same_at_every_split(
      input, [&](testing::Pieces pieces) { return scan_pieces(pieces, authenticated); });
  EXPECT_EQ(transcript.broken_promise, "") << input.substr(0, 100);
  std::size_t bytes = transcript.unconsumed;
  for (const ScannedCommand& command : transcript.commands) {
    bytes += command.bytes.size();
  }
  EXPECT_EQ(bytes, input.size()) << "every byte is consumed once";
  return transcript;
}

std::string error_of(std::string_view input, bool authenticated = true) {
  const ScanTranscript transcript = scan(input, authenticated);
  EXPECT_NE(transcript.unconsumed, 0) << "an error consumes nothing";
  return transcript.error;
}

// The arguments of the only command of the input.
std::vector<std::optional<std::string>> arguments_of(std::string_view input) {
  const ScanTranscript transcript = scan(input);
  EXPECT_EQ(transcript.error, "");
  EXPECT_EQ(transcript.unconsumed, 0);
  EXPECT_EQ(transcript.commands.size(), 1);
  if (transcript.commands.size() != 1) {
    return {};
  }
  EXPECT_EQ(transcript.commands[0].outcome, ScanOutcome::command);
  EXPECT_EQ(transcript.commands[0].bytes, input);
  return transcript.commands[0].arguments;
}

constexpr std::string_view kPing = "*1\r\n$4\r\nPING\r\n";

TEST(RequestScanner, an_array_is_one_command) {
  EXPECT_THAT(arguments_of(kPing), ElementsAre("PING"));
  EXPECT_THAT(arguments_of("*2\r\n$3\r\nGET\r\n$5\r\nkey:1\r\n"), ElementsAre("GET", "key:1"));
  EXPECT_THAT(arguments_of("*3\r\n$3\r\nSET\r\n$0\r\n\r\n$12\r\nabcdefghijkl\r\n"),
              ElementsAre("SET", "", "abcdefghijkl"));
}

TEST(RequestScanner, an_argument_may_hold_any_byte) {
  EXPECT_THAT(arguments_of("*2\r\n$4\r\nECHO\r\n$9\r\n\0\r\n$3\r\n*\xff\r\n"s),
              ElementsAre("ECHO", "\0\r\n$3\r\n*\xff"s));
}

TEST(RequestScanner, an_empty_name_is_a_command) {
  EXPECT_THAT(arguments_of("*1\r\n$0\r\n\r\n"), ElementsAre(""));
  EXPECT_THAT(arguments_of("\"\"\r\n"), ElementsAre(""));
}

TEST(RequestScanner, a_pipeline_is_taken_apart) {
  const std::string echo = "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n";
  const ScanTranscript transcript =
      scan(echo + "GET a\r\n" + std::string(kPing) + echo + "*2\r\n$3");
  ASSERT_EQ(transcript.commands.size(), 4);
  EXPECT_EQ(transcript.commands[0].bytes, echo);
  EXPECT_EQ(transcript.commands[1].bytes, "GET a\r\n");
  EXPECT_THAT(transcript.commands[1].arguments, ElementsAre("GET", "a"));
  EXPECT_EQ(transcript.commands[2].bytes, kPing);
  EXPECT_THAT(transcript.commands[3].arguments, ElementsAre("ECHO", "hi"));
  EXPECT_EQ(transcript.unconsumed, 6);
  EXPECT_EQ(transcript.error, "");
}

TEST(RequestScanner, a_line_is_an_inline_command) {
  EXPECT_THAT(arguments_of("GET key\r\n"), ElementsAre("GET", "key"));
  EXPECT_THAT(arguments_of("GET key\n"), ElementsAre("GET", "key"));
  EXPECT_THAT(arguments_of("$3\r\n"), ElementsAre("$3"));
  EXPECT_THAT(arguments_of("ECHO a\r\r\n"), ElementsAre("ECHO", "a"));
  EXPECT_THAT(arguments_of("SET \"a key\" 'a \"value\"' \"\\x41\\n\"\r\n"),
              ElementsAre("SET", "a key", "a \"value\"", "A\n"));
}

TEST(RequestScanner, a_long_inline_command_is_whole) {
  const std::string value(kLineBytesMax - 7, 'v');
  const auto arguments = arguments_of("ECHO '" + value + "'\n");  // its LF is at the last place
  ASSERT_EQ(arguments.size(), 2);
  EXPECT_EQ(arguments[1], value);
}

TEST(RequestScanner, what_means_nothing_is_consumed_without_a_command) {
  for (const std::string_view nothing :
       {"\r\n", "\n", "   \r\n", "*0\r\n", "*-1\r\n", "*-10\r\n", "*-9223372036854775808\r\n"}) {
    const ScanTranscript transcript = scan(std::string(nothing) + std::string(kPing));
    ASSERT_EQ(transcript.commands.size(), 2) << nothing;
    EXPECT_EQ(transcript.commands[0].outcome, ScanOutcome::nothing);
    EXPECT_EQ(transcript.commands[0].bytes, nothing);
    EXPECT_EQ(transcript.commands[1].outcome, ScanOutcome::command);
    EXPECT_EQ(transcript.error, "");
  }
}

TEST(RequestScanner, like_redis_it_does_not_look_at_all_line_ends) {
  EXPECT_THAT(arguments_of("*1\rX$4\rXPINGxx"), ElementsAre("PING"));
  EXPECT_THAT(arguments_of("*2\r\n$4\r\nECHOxx$3\r\nabcyy"), ElementsAre("ECHO", "abc"));
}

// All texts below were asked of Redis 7.0.15, sent at once and byte by byte.

TEST(RequestScanner, refuses_array_lines_with_the_words_of_redis) {
  for (const std::string_view line : {"*3000000000\r\n",
                                      "*2147483648\r\n",
                                      "*-9223372036854775809\r\n",
                                      "*02\r\n",
                                      "*+2\r\n",
                                      "*-\r\n",
                                      "*-0\r\n",
                                      "*-05\r\n",
                                      "*\r\n",
                                      "* 2\r\n",
                                      "*abc\r\n",
                                      "*1\n$4\r\nPING\r\n",
                                      "*00000000000000000001\r\n"}) {
    EXPECT_EQ(error_of(line), "ERR Protocol error: invalid multibulk length") << line;
  }
  EXPECT_EQ(scan("*2147483647\r\n").error, "");
  EXPECT_EQ(error_of("*" + std::string(kLineBytesMax, '1')),
            "ERR Protocol error: too big mbulk count string");
  EXPECT_EQ(scan("*" + std::string(kLineBytesMax - 1, '1')).error, "");
}

TEST(RequestScanner, refuses_argument_lines_with_the_words_of_redis) {
  for (const std::string_view line : {"$-1\r\n",
                                      "$-10\r\n",
                                      "$2000000000\r\n",
                                      "$536870913\r\n",
                                      "$blabla\r\n",
                                      "$\r\n",
                                      "$00\r\n",
                                      "$ 1\r\n"}) {
    EXPECT_EQ(error_of("*3\r\n$3\r\nSET\r\n$1\r\nx\r\n" + std::string(line)),
              "ERR Protocol error: invalid bulk length")
        << line;
  }
  EXPECT_EQ(error_of("*1\r\n$" + std::string(kLineBytesMax, '1')),
            "ERR Protocol error: too big bulk count string");
  EXPECT_EQ(error_of("*1\r\n" + std::string(kLineBytesMax + 1, 'x')),
            "ERR Protocol error: too big bulk count string");
  EXPECT_EQ(scan("*1\r\n" + std::string(kLineBytesMax, 'x')).error, "");
}

TEST(RequestScanner, names_the_byte_that_should_have_been_a_dollar) {
  EXPECT_EQ(error_of("*1\r\nfoo\r\n"), "ERR Protocol error: expected '$', got 'f'");
  EXPECT_EQ(error_of("*1\r\nfoo\rx"), "ERR Protocol error: expected '$', got 'f'");
  EXPECT_EQ(error_of("*2\r\n$4\r\nECHO\r\n:1\r\nx\r\n"),
            "ERR Protocol error: expected '$', got ':'");
  EXPECT_EQ(error_of("*1\r\n\r\n"), "ERR Protocol error: expected '$', got ' '");
  EXPECT_EQ(error_of("*1\r\n\n\r\n"), "ERR Protocol error: expected '$', got ' '");
  EXPECT_EQ(error_of("*1\r\n\xff\r\n"), "ERR Protocol error: expected '$', got '\xff'");
  EXPECT_EQ(error_of("*1\r\n\ta\r\n"), "ERR Protocol error: expected '$', got '\t'");
  EXPECT_EQ(error_of("*1\r\n'a\r\n"), "ERR Protocol error: expected '$', got '''");
  EXPECT_EQ(scan("*1\r\nfoo\r").error, "") << "not before the line is there";
}

TEST(RequestScanner, refuses_inline_commands_with_the_words_of_redis) {
  EXPECT_EQ(error_of("ECHO \"abc\r\n"), "ERR Protocol error: unbalanced quotes in request");
  EXPECT_EQ(error_of("ECHO 'abc\r\n"), "ERR Protocol error: unbalanced quotes in request");
  EXPECT_EQ(error_of("ECHO \"a\"b\r\n"), "ERR Protocol error: unbalanced quotes in request");
  EXPECT_EQ(error_of(std::string(kLineBytesMax + 1, 'a')),
            "ERR Protocol error: too big inline request");
  EXPECT_EQ(scan(std::string(kLineBytesMax, 'a')).error, "");
}

TEST(RequestScanner, endless_garbage_ends_in_an_error) {
  for (const char first : {'\0', '*', '$'}) {
    const std::string garbage = std::string(1, first) + std::string(kLineBytesMax, '\0') + "\r\n";
    EXPECT_NE(error_of(garbage), "") << "first byte " << static_cast<int>(first);
  }
  EXPECT_EQ(error_of("*1\r\n\0\r\n"s + std::string(kLineBytesMax, '\n')),
            "ERR Protocol error: too big bulk count string");
  EXPECT_EQ(scan("ECHO a\0b\r\n"s).error, "") << "Redis waits: a NUL hides the line's end";
  EXPECT_EQ(scan("ECHO a\0b\r\n"s).commands.size(), 0);
}

TEST(RequestScanner, commands_before_an_error_count) {
  const ScanTranscript transcript =
      scan(std::string(kPing) + "\r\n*1\r\nfoo\r\n" + std::string(kPing));
  EXPECT_EQ(transcript.commands.size(), 2);
  EXPECT_EQ(transcript.error, "ERR Protocol error: expected '$', got 'f'");
  EXPECT_EQ(transcript.unconsumed, 9 + kPing.size());
}

TEST(RequestScanner, who_is_not_authenticated_gets_ten_arguments_of_16_KiB) {
  const auto array = [](int arguments) { return "*" + std::to_string(arguments) + "\r\n"; };
  EXPECT_EQ(scan(array(10), false).error, "");
  EXPECT_EQ(error_of(array(11), false), "ERR Protocol error: unauthenticated multibulk length");
  EXPECT_EQ(scan("*1\r\n$16384\r\n", false).error, "");
  EXPECT_EQ(error_of("*1\r\n$16385\r\n", false), "ERR Protocol error: unauthenticated bulk length");
  EXPECT_EQ(error_of("*3000000000\r\n", false), "ERR Protocol error: invalid multibulk length");
  EXPECT_EQ(error_of("*1\r\n$2000000000\r\n", false), "ERR Protocol error: invalid bulk length");
  std::string eleven = array(11);
  for (int i = 0; i < 11; ++i) {
    eleven += "$1\r\na\r\n";
  }
  EXPECT_EQ(error_of(eleven, false), "ERR Protocol error: unauthenticated multibulk length");
  EXPECT_EQ(error_of("*1\r\n$16385\r\n" + std::string(16385, 'a') + "\r\n", false),
            "ERR Protocol error: unauthenticated bulk length");
  EXPECT_EQ(scan("PING a a a a a a a a a a a a a a\r\n", false).error, "");
  EXPECT_EQ(scan(array(11) + "$16385\r\n", true).error, "");
}

TEST(RequestScanner, the_limits_go_when_the_client_authenticates) {
  RequestScanner scanner(false);
  Arguments arguments;
  EXPECT_EQ(scanner.next("*11\r\n", arguments).outcome, ScanOutcome::protocol_error);
  scanner.set_authenticated(true);
  EXPECT_EQ(scanner.next("*11\r\n", arguments).outcome, ScanOutcome::incomplete);
}

TEST(RequestScanner, views_point_into_the_input) {
  const std::string input = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";
  RequestScanner scanner;
  Arguments arguments;
  ASSERT_EQ(scanner.next(input, arguments).outcome, ScanOutcome::command);
  EXPECT_EQ(arguments[0].data(), input.data() + 8);
  EXPECT_EQ(arguments[1].data(), input.data() + 17);
}

TEST(RequestScanner, one_set_of_arguments_serves_many_clients) {
  const std::string input = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";
  RequestScanner first;
  RequestScanner second;
  Arguments arguments;
  EXPECT_EQ(first.next(input.substr(0, 15), arguments).outcome, ScanOutcome::incomplete);
  EXPECT_EQ(second.next(kPing, arguments).outcome, ScanOutcome::command);
  const Scan scan = first.next(input, arguments);
  EXPECT_EQ(scan.outcome, ScanOutcome::command);
  EXPECT_THAT(arguments.views(), ElementsAre("GET", "k"));
}

// Each call may read the line and argument it waits for, and not what came before them: else the
// work is quadratic in the bytes, and one slow client could keep a worker busy. To show it, what
// came before is spoilt in all calls but the last.
void expect_not_read_again(const std::string& command, std::size_t still_read) {
  RequestScanner scanner;
  Arguments arguments;
  std::string input;
  for (std::size_t arrived = 1; arrived < command.size(); ++arrived) {
    input.push_back(command[arrived - 1]);
    if (arrived > still_read) {
      input[arrived - still_read - 1] = '\n';
    }
    ASSERT_EQ(scanner.next(input, arguments).outcome, ScanOutcome::incomplete) << arrived;
  }
  const Scan scan = scanner.next(command, arguments);
  EXPECT_EQ(scan.outcome, ScanOutcome::command);
  EXPECT_EQ(scan.consumed, command.size());
}

TEST(RequestScanner, bytes_that_arrive_one_by_one_are_scanned_once) {
  std::string array = "*3001\r\n$4\r\nMSET\r\n";
  for (int i = 0; i < 3000; ++i) {
    array += "$4\r\n" + std::to_string(1000 + i) + "\r\n";
  }
  expect_not_read_again(array, 12);
  expect_not_read_again("ECHO " + std::string(20000, 'a') + "\r\n", 1);
  RequestScanner scanner;
  Arguments arguments;
  EXPECT_EQ(scanner.next(array.substr(0, 60), arguments).outcome, ScanOutcome::incomplete);
  EXPECT_EQ(scanner.next(array, arguments).outcome, ScanOutcome::command);
  EXPECT_EQ(arguments.size(), 3001) << "and all are there in the end";
}

}  // namespace
}  // namespace cuckooguard::resp
