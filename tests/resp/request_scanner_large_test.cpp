// Commands above kWholeCommandBytesMax, which come in chunks.

#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "resp/reply_writer.h"
#include "resp/request_scanner.h"
#include "resp/scan_transcript.h"
#include "testing/every_split.h"

namespace cuckooguard::resp {
namespace {

using Sent = std::vector<std::string>;

std::string command_of(const Sent& arguments) {
  std::string command;
  append_command(command, std::vector<std::string_view>(arguments.begin(), arguments.end()));
  return command;
}

ScannedCommand expected_of(const Sent& arguments) {
  const std::string bytes = command_of(arguments);
  ScannedCommand expected{
      .outcome = bytes.size() > kWholeCommandBytesMax ? ScanOutcome::chunk : ScanOutcome::command,
      .bytes = bytes,
      .argument_total = arguments.size()};
  // Before the lines scanned tell that the command is large, all arguments are views.
  std::size_t scanned = command_of(arguments).find('$');
  std::size_t least = 6 * arguments.size();
  bool known_large = false;
  for (const std::string& argument : arguments) {
    std::string bulk;
    append_bulk(bulk, argument);
    scanned += bulk.size();
    least -= 6;
    known_large = known_large || scanned + least > kWholeCommandBytesMax;
    if (known_large && argument.size() > kWholeArgumentBytesMax) {
      expected.arguments.emplace_back();
    } else {
      expected.arguments.emplace_back(argument);
    }
  }
  return expected;
}

// Scans the commands as one pipeline, cut everywhere, and demands exactly them.
void expect_scanned(const std::vector<Sent>& commands) {
  std::string input;
  ScanTranscript expected;
  for (const Sent& command : commands) {
    input += command_of(command);
    expected.commands.push_back(expected_of(command));
  }
  const ScanTranscript scanned = testing::expect_same_at_every_split(
      input, [](testing::Pieces pieces) { return scan_pieces(pieces); });
  EXPECT_EQ(scanned, expected);
}

// A command of exactly `bytes`, of two arguments.
Sent echo_of(std::size_t bytes) {
  Sent command = {"ECHO", ""};
  command[1].resize(bytes - command_of({"ECHO", std::string(10000, 'x')}).size() + 10000, 'x');
  EXPECT_EQ(command_of(command).size(), bytes);
  return command;
}

Sent a_get() {
  return {"GET", "key"};
}

TEST(LargeCommand, up_to_64_KiB_a_command_is_whole) {
  expect_scanned({echo_of(kWholeCommandBytesMax), a_get()});
  const Sent many(6552, "abcd");  // 10 bytes each, and 7 for the array's line
  EXPECT_EQ(command_of(many).size(), kWholeCommandBytesMax - 9);
  expect_scanned({many, a_get()});
}

TEST(LargeCommand, one_byte_more_comes_in_chunks) {
  const Sent command = echo_of(kWholeCommandBytesMax + 1);
  ASSERT_EQ(expected_of(command).outcome, ScanOutcome::chunk);
  expect_scanned({command, a_get()});
}

TEST(LargeCommand, many_small_arguments_are_all_seen) {
  Sent mset = {"MSET"};
  for (int i = 0; i < 20001; ++i) {
    mset.push_back("key:" + std::to_string(i));
  }
  expect_scanned({a_get(), mset, a_get()});
}

TEST(LargeCommand, a_value_of_megabytes_passes_raw) {
  expect_scanned({{"SET", "key", std::string(3 * 1024 * 1024 + 17, 'v')}, a_get()});
}

TEST(LargeCommand, what_follows_a_large_value_is_seen) {
  const std::string value(200'000, 'v');
  expect_scanned({{"MSET", "a", value, "b", value, "c", "small", "d", ""}, a_get()});
  expect_scanned({{"SET", value, value, "EX", "60"}, a_get()});
  expect_scanned({{"SET", "k", value, "EX", "60"}, {"SET", "k", value}, a_get()});
}

TEST(LargeCommand, an_argument_of_up_to_16_KiB_is_a_view) {
  const std::string fill(70'000, 'f');
  for (const std::size_t bytes :
       {kWholeArgumentBytesMax - 1, kWholeArgumentBytesMax, kWholeArgumentBytesMax + 1}) {
    expect_scanned(
        {{"MSET", "k", fill, std::string(bytes, 'a'), "b", "c", std::string(bytes, 'd')}});
    expect_scanned({{"ECHO", std::string(bytes, 'a'), fill}});
  }
  expect_scanned({{"DEL", std::string(30'000, 'a'), fill, std::string(30'000, 'a')}});
  const std::string largest(kWholeArgumentBytesMax, 'a');
  expect_scanned({{"DEL", largest, largest, largest, largest, largest, largest, largest, largest}});
}

TEST(LargeCommand, a_name_is_in_the_first_chunk) {
  const std::string input = command_of({"MSET", "k", std::string(100'000, 'v')});
  for (std::size_t arrived = 1; arrived <= input.size(); ++arrived) {
    RequestScanner scanner;
    Arguments arguments;
    const Scan scan = scanner.next(std::string_view(input).substr(0, arrived), arguments);
    if (scan.outcome == ScanOutcome::incomplete) {
      continue;
    }
    ASSERT_EQ(scan.outcome, ScanOutcome::chunk);
    ASSERT_FALSE(arguments.empty());
    EXPECT_EQ(arguments[0], "MSET");
    EXPECT_EQ(scan.argument_total, 3);
  }
}

TEST(LargeCommand, a_name_too_long_for_any_command_passes_raw) {
  expect_scanned({{std::string(100'000, 'n'), "a"}, a_get()});
  Sent many(12'000, "a");
  many[0] = std::string(kWholeArgumentBytesMax + 1, 'n');
  expect_scanned({many, a_get()});
}

TEST(LargeCommand, is_known_from_its_first_lines_and_never_held) {
  // 300 MiB are announced; all that has come is given on at once.
  RequestScanner scanner;
  Arguments arguments;
  const std::string_view start = "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$314572800\r\nabc";
  Scan scan = scanner.next(start, arguments);
  EXPECT_EQ(scan.outcome, ScanOutcome::chunk);
  EXPECT_EQ(arguments.size(), 2);
  EXPECT_TRUE(scan.begins);
  const std::size_t first = scan.consumed;
  scan = scanner.next(start.substr(first), arguments);
  EXPECT_EQ(scan.outcome, ScanOutcome::chunk);
  EXPECT_EQ(first + scan.consumed, start.size());
  EXPECT_EQ(scan.first_argument, 2);
  EXPECT_FALSE(scan.begins);
  EXPECT_FALSE(scan.ends);
  EXPECT_TRUE(arguments.empty());
  EXPECT_FALSE(scanner.at_command_boundary());
}

TEST(LargeCommand, of_two_billion_arguments_is_taken_as_it_comes) {
  std::string input = "*2147483647\r\n$4\r\nMSET\r\n";
  for (int i = 0; i < 12'000; ++i) {
    input += "$1\r\na\r\n";
  }
  const ScanTranscript scanned = testing::expect_same_at_every_split(
      input, [](testing::Pieces pieces) { return scan_pieces(pieces); });
  EXPECT_EQ(scanned.broken_promise, "");
  EXPECT_EQ(scanned.unconsumed, 0);
  ASSERT_EQ(scanned.commands.size(), 1);
  EXPECT_EQ(scanned.commands[0].argument_total, 2147483647);
  EXPECT_EQ(scanned.commands[0].arguments.size(), 12'001);
  EXPECT_FALSE(scanned.commands[0].ended);
}

TEST(LargeCommand, a_chunk_of_small_arguments_has_64_KiB_at_most) {
  const std::string input = command_of(Sent(100'000, "abc"));
  RequestScanner scanner;
  Arguments arguments;
  std::string_view rest = input;
  while (!rest.empty()) {
    const Scan scan = scanner.next(rest, arguments);
    ASSERT_EQ(scan.outcome, ScanOutcome::chunk);
    ASSERT_LE(scan.consumed, kWholeCommandBytesMax) << "so that the room for views is bounded";
    rest.remove_prefix(scan.consumed);
  }
}

TEST(LargeCommand, an_error_in_it_comes_behind_the_chunks_before) {
  const std::string value(100'000, 'v');
  const std::string start = "*4\r\n$4\r\nMSET\r\n$1\r\nk\r\n$100000\r\n" + value + "\r\n";
  for (const auto& [bad, error] : std::vector<std::pair<std::string, std::string>>{
           {"foo\r\n", "ERR Protocol error: expected '$', got 'f'"},
           {"$-1\r\n", "ERR Protocol error: invalid bulk length"},
           {"$536870913\r\n", "ERR Protocol error: invalid bulk length"},
           {std::string(kLineBytesMax + 1, 'x'),
            "ERR Protocol error: too big bulk count string"}}) {
    const ScanTranscript scanned = testing::expect_same_at_every_split(
        start + bad, [](testing::Pieces pieces) { return scan_pieces(pieces); });
    EXPECT_EQ(scanned.error, error);
    EXPECT_EQ(scanned.broken_promise, "");
    EXPECT_EQ(scanned.unconsumed, bad.size());
    ASSERT_EQ(scanned.commands.size(), 1);
    EXPECT_EQ(scanned.commands[0].bytes, start);
    EXPECT_FALSE(scanned.commands[0].ended);
  }
}

TEST(LargeCommand, the_largest_argument_of_redis_is_taken) {
  RequestScanner scanner;
  Arguments arguments;
  const std::string_view start = "*2\r\n$4\r\nECHO\r\n$536870912\r\n";
  Scan scan = scanner.next(start, arguments);
  scan = scanner.next(start.substr(scan.consumed), arguments);
  EXPECT_EQ(scan.outcome, ScanOutcome::chunk);
  const std::string mebibyte(1024 * 1024, 'x');
  for (int i = 0; i < 512; ++i) {
    scan = scanner.next(mebibyte, arguments);
    ASSERT_EQ(scan.consumed, mebibyte.size());
    ASSERT_FALSE(scan.ends);
  }
  scan = scanner.next("\r\nPING\r\n", arguments);
  EXPECT_EQ(scan.consumed, 2);
  EXPECT_TRUE(scan.ends);
  EXPECT_TRUE(scanner.at_command_boundary());
}

// Random pipelines with sizes around the limits, in random pieces.
TEST(LargeCommand, random_pipelines_in_random_pieces_are_taken_apart) {
  for (unsigned seed = 1; seed <= 80; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t limit) { return random() % limit; };
    const std::size_t sizes[] = {0, 1, 9, 10, 100, 16'383, 16'384, 16'385, 32'768, 65'500, 65'536};
    std::string input;
    ScanTranscript expected;
    for (std::size_t commands = 1 + below(5); commands > 0; --commands) {
      Sent command = {"NAME"};
      const std::size_t arguments = below(10) == 0 ? below(20'000) : below(8);
      for (std::size_t i = 0; i < arguments; ++i) {
        const bool small = arguments > 8 || below(3) != 0;
        command.emplace_back(small ? below(12) : sizes[below(std::size(sizes))],
                             static_cast<char>('a' + i % 26));
      }
      input += command_of(command);
      expected.commands.push_back(expected_of(command));
    }
    std::vector<std::string_view> pieces;
    const std::size_t piece_max = below(2) == 0 ? 100'000 : 300;
    for (std::size_t at = 0; at < input.size(); at += pieces.back().size()) {
      pieces.push_back(std::string_view(input).substr(at, 1 + below(piece_max)));
    }
    ASSERT_EQ(scan_pieces(pieces), expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace cuckooguard::resp
