// Commands that differ in one argument: what the scanner would find, whatever is there.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "resp/arguments.h"
#include "resp/request_scanner.h"
#include "simulation/random.h"

namespace cuckooguard::resp {
namespace {

using simulation::Random;

constexpr std::uint64_t kRuns = 20'000;

std::string get(std::string_view key) {
  return "*2\r\n$3\r\nGET\r\n$" + std::to_string(key.size()) + "\r\n" + std::string(key) + "\r\n";
}

std::string some_bytes(Random& random) {
  static const std::vector<std::string> kOthers{"*1\r\n$4\r\nPING\r\n",
                                                "*2\r\n$3\r\nget\r\n$1\r\na\r\n",
                                                "*3\r\n$3\r\nGET\r\n$1\r\na\r\n$1\r\nb\r\n",
                                                "*2\r\n$3\r\nGET\r\n$-1\r\n",
                                                "*2\r\n$3\r\nGET\r\n$01\r\na\r\n",
                                                "*2\r\n$3\r\nGET\r\n:1\r\na\r\n",
                                                "*2\r\n$3\r\nGET\r\n$1\r\nab\r",
                                                "GET a\r\n",
                                                "\r\n",
                                                "$"};
  std::string bytes;
  for (std::uint64_t i = random.below(8); i > 0; --i) {
    bytes += random.one_in(6) ? random.pick(kOthers) : get(random.text(random.below(12)));
  }
  if (random.one_in(3)) {
    bytes.resize(random.below(bytes.size() + 1));
  }
  if (random.one_in(4) && !bytes.empty()) {
    bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
  }
  return bytes;
}

std::string encoded(const std::vector<std::string>& words) {
  std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) {
    bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  }
  return bytes;
}

// Most of them are alike, in whatever way.
std::string some_others(Random& random, std::vector<std::string> words) {
  std::string bytes;
  for (std::uint64_t i = random.below(8); i > 0; --i) {
    words[1] = random.text(random.below(12));
    if (words.size() > 2 && random.one_in(4)) {
      words.back() = random.text(random.below(12));
    }
    bytes += random.one_in(6) ? some_bytes(random) : encoded(words);
  }
  if (random.one_in(3)) {
    bytes.resize(random.below(bytes.size() + 1));
  }
  return bytes;
}

TEST(AlikeCommands, are_what_the_scanner_finds) {
  std::size_t found = 0;
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    Random random(seed);
    std::vector<std::string> words{random.one_in(2) ? "GET" : "HGET",
                                   random.text(random.below(10))};
    for (std::uint64_t i = random.below(3); i > 0; --i) {
      words.push_back(random.text(random.below(5)));
    }
    const AlikeBut but =
        words.size() == 3 && random.one_in(2) ? AlikeBut::key_and_value : AlikeBut::key;
    const std::string first = encoded(words);
    const std::string input = first + some_others(random, words);
    RequestScanner scanner;
    Arguments arguments;
    ASSERT_EQ(scanner.next(input, arguments).consumed, first.size());
    std::array<AlikeCommand, 4> alike;
    const std::size_t count = alike_commands(input, first.size(), arguments.views(), but, alike);
    ASSERT_GE(count, 1U);
    ASSERT_EQ(alike[0].end, first.size());
    ASSERT_EQ(alike[0].key, words[1]);
    for (std::size_t i = 1; i < count; ++i) {
      const Scan scan =
          scanner.next(std::string_view(input).substr(alike.at(i - 1).end), arguments);
      ASSERT_EQ(scan.outcome, ScanOutcome::command) << "seed " << seed;
      ASSERT_EQ(alike.at(i - 1).end + scan.consumed, alike.at(i).end) << "seed " << seed;
      words[1] = alike.at(i).key;
      if (but == AlikeBut::key_and_value) {
        words[2] = alike.at(i).value;
      }
      ASSERT_TRUE(std::ranges::equal(arguments.views(), words)) << "seed " << seed;
    }
    found += count - 1;
  }
  EXPECT_GT(found, kRuns);
}

TEST(AlikeCommands, are_found_up_to_the_first_other_one) {
  const std::string input = get("a") + get("bb") + get("") + "*1\r\n$4\r\nPING\r\n" + get("c");
  RequestScanner scanner;
  Arguments arguments;
  scanner.next(input, arguments);
  std::array<AlikeCommand, 8> alike;
  EXPECT_EQ(alike_commands(input, get("a").size(), arguments.views(), AlikeBut::key, alike), 3U);
  EXPECT_EQ(alike[1].key, "bb");
  EXPECT_EQ(alike[2].end, (get("a") + get("bb") + get("")).size());
}

TEST(AlikeCommands, are_no_inline_commands) {
  RequestScanner scanner;
  Arguments arguments;
  std::array<AlikeCommand, 8> alike;
  const std::string inlined = "GET a\r\nGET b\r\n";
  scanner.next(inlined, arguments);
  EXPECT_EQ(alike_commands(inlined, inlined.size() / 2, arguments.views(), AlikeBut::key, alike),
            1U);
}

}  // namespace
}  // namespace cuckooguard::resp
