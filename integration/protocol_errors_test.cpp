// Bad RESP gets Redis's own words, and then Redis's own close; what is no command at all gets no
// reply.

#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

struct Case {
  std::string name;
  std::string bytes;
};

std::string long_line(std::size_t bytes) {
  return std::string(bytes, 'a');
}

// Each ends with the byte that Redis finds wrong: nothing is left unread when it closes, so its
// last words arrive.
std::vector<Case> bad_requests() {
  constexpr std::size_t kLineMax = std::size_t{64} * 1024;
  return {
      {"a negative bulk length", "*2\r\n$3\r\nGET\r\n$-10\r\n"},
      {"a bulk length above 512 MB", "*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$2000000000\r\n"},
      {"a bulk length that is none", "*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$blabla\r\n"},
      {"a bulk length with a leading zero", "*2\r\n$03\r\n"},
      {"a bulk length with a sign", "*2\r\n$+3\r\n"},
      {"a bulk length with a space", "*2\r\n$ 3\r\n"},
      {"an empty bulk length", "*2\r\n$\r\n"},
      {"a multibulk length above what there is", "*3000000000\r\n"},
      {"a multibulk length that is none", "*blabla\r\n"},
      {"a multibulk length of many digits", "*99999999999999999999999\r\n"},
      {"an empty multibulk length", "*\r\n"},
      {"a wrong first byte of an argument", "*3\r\n$3\r\nSET\r\n$1\r\nx\r\nfooz\r\n"},
      {"a simple string as an argument", "*1\r\n+PING\r\n"},
      {"unbalanced double quotes", "set \"test-key test-value\r\n"},
      {"unbalanced single quotes", "get 'user:1\r\n"},
      {"a multibulk line without an end", "*" + long_line(kLineMax)},
      {"a bulk line without an end", "*1\r\n$" + long_line(kLineMax)},
      {"an inline line without an end", long_line(kLineMax + 1)},
      {"a good command before it", "PING\r\n*1\r\n$-1\r\n"},
      {"an absent key before it", command({"GET", absent_user()}) + "*-2\r\n*1\r\n!4\r\n"},
  };
}

// What a connection says to these bytes, until it is closed.
std::string last_words(RawClient client,
                       std::string_view bytes,
                       std::span<const std::size_t> cuts) {
  client.send_cut(bytes, cuts);
  return client.read_until_closed();
}

std::vector<std::size_t> some_cuts(std::size_t size, std::uint32_t seed) {
  constexpr std::size_t kCuts = 12;
  std::minstd_rand random(seed);
  std::vector<std::size_t> cuts;
  cuts.reserve(kCuts);
  for (std::size_t i = 0; i < kCuts; ++i) {
    cuts.push_back(random() % size);
  }
  std::ranges::sort(cuts);
  return cuts;
}

std::vector<std::size_t> every_cut(std::size_t size) {
  constexpr std::size_t kCutsMax = 500;
  std::vector<std::size_t> cuts;
  for (std::size_t i = 1; i < std::min(size, kCutsMax); ++i) {
    cuts.push_back(i);
  }
  return cuts;
}

class ProtocolErrors : public testing::Test {
 protected:
  ProtocolErrors() { shop_.wait_until_it_answers(); }

  static ShopSettings settings() {
    return {.absent_reply = "nil"};  // so that Redis says the same, byte by byte
  }

  Shop shop_{settings()};
};

TEST_F(ProtocolErrors, get_redis_own_text_and_close) {
  for (const Case& bad : bad_requests()) {
    SCOPED_TRACE(bad.name);
    const std::string expected = last_words(shop_.redis().client(), bad.bytes, {});
    EXPECT_TRUE(expected.contains("-ERR Protocol error: ")) << shown(expected);
    EXPECT_EQ(shown(last_words(shop_.client(), bad.bytes, {})), shown(expected));
    EXPECT_EQ(shown(last_words(shop_.client(), bad.bytes, every_cut(bad.bytes.size()))),
              shown(expected));
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
      EXPECT_EQ(shown(last_words(shop_.client(), bad.bytes, some_cuts(bad.bytes.size(), seed))),
                shown(expected));
    }
  }
}

// Valkey 9 takes it for more of the argument, and goes on.
TEST_F(ProtocolErrors, text_behind_a_closing_quote_is_redis_own_to_refuse_or_to_take) {
  const std::vector<std::string> lines{"set \"\"\"test-key\"\"\" test-value\r\n",
                                       "get \"user:\"" + absent_user().substr(5) + "\r\n",
                                       "exists 'user'\":1\"\r\n"};
  for (const std::string& line : lines) {
    RawClient straight = shop_.redis().client();
    straight.send(line);
    const std::string expected = straight.read_reply();
    const bool refuses = expected.starts_with("-ERR Protocol error: ");
    const std::string next = refuses ? "" : straight.call({"GET", "test-key"});
    for (const auto& cuts : {std::vector<std::size_t>{}, every_cut(line.size())}) {
      RawClient client = shop_.client();
      client.send_cut(line, cuts);
      EXPECT_EQ(client.read_reply(), expected) << line;
      EXPECT_EQ(refuses ? client.read_until_closed() : client.call({"GET", "test-key"}), next);
    }
  }
}

TEST_F(ProtocolErrors, endless_garbage_ends_in_close) {
  const std::size_t before = shop_.guard().resident_bytes_max();
  for (const std::string_view begin : {"", "*3\r\n$3\r\nSET\r\n$", "*", "\x80\x81"}) {
    RawClient client = shop_.client();
    constexpr std::size_t kPiece = std::size_t{64} * 1024;
    constexpr std::size_t kEnough = std::size_t{256} * 1024 * 1024;
    const std::string garbage(kPiece, 'x');
    bool open = client.try_send(begin);
    std::size_t sent = 0;
    while (open && sent < kEnough) {
      open = client.try_send(garbage);
      sent += garbage.size();
    }
    EXPECT_FALSE(open) << shown(begin) << ": still open after " << sent << " bytes";
  }
  if (!under_sanitizer()) {  // freed memory is kept aside there
    EXPECT_LT(shop_.guard().resident_bytes_max(), before + std::size_t{8} * 1024 * 1024);
  }
}

// What Redis takes for a value is for Redis to bound; the guard holds none of it.
TEST(EndlessValue, ends_in_redis_own_close_and_takes_no_memory) {
  Shop shop({.redis_arguments = {"--client-query-buffer-limit", "1mb"}});
  shop.wait_until_it_answers();
  const std::size_t before = shop.guard().resident_bytes_max();
  const std::string begin = "*2147483647\r\n$3\r\nSET\r\n";
  const std::string value = "$400000000\r\n" + std::string(1000, 'x');
  RawClient client = shop.client();
  bool open = client.try_send(begin + value);
  constexpr std::size_t kPiece = std::size_t{64} * 1024;
  constexpr std::size_t kEnough = std::size_t{256} * 1024 * 1024;
  const std::string more(kPiece, 'x');
  for (std::size_t sent = 0; open && sent < kEnough; sent += kPiece) {
    open = client.try_send(more);
  }
  EXPECT_FALSE(open);
  if (!under_sanitizer()) {
    EXPECT_LT(shop.guard().resident_bytes_max(), before + std::size_t{8} * 1024 * 1024);
  }
}

TEST_F(ProtocolErrors, empty_lines_and_empty_commands_get_no_reply) {
  const std::string request = "\r\n\r\n*0\r\n*-10\r\nPING\r\n\n*-1\r\n" +
                              command({"GET", absent_user()}) + "\r\n" + "*-2147483649\r\n" +
                              command({"ECHO", "end"});
  const std::string expected = std::string(kPong) + std::string(kNil) + bulk("end");
  EXPECT_EQ(shop_.redis().client().exchange(request, 3), expected);
  RawClient client = shop_.client();
  EXPECT_EQ(client.exchange(request, 3), expected);
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    client.send_cut(request, some_cuts(request.size(), seed));
    EXPECT_EQ(client.read_replies(3), expected) << "seed " << seed;
  }
}

TEST(ProtocolErrorsBehindAPassword, are_those_of_redis) {
  Shop locked({.redis_arguments = {"--requirepass", "word"}, .password = "word"});
  const std::string eleven = command({"MGET", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"});
  RawClient straight = RawClient::to_port(locked.redis().port());
  const std::string expected = last_words(std::move(straight), eleven, {});
  EXPECT_EQ(expected, "-ERR Protocol error: unauthenticated multibulk length\r\n");
  EXPECT_EQ(last_words(locked.client(), eleven, {}), expected);
  RawClient client = locked.client();
  EXPECT_EQ(client.call({"AUTH", "word"}), kOk);
  client.send(eleven);
  EXPECT_TRUE(client.read_reply().starts_with("*10\r\n"));
}

TEST_F(ProtocolErrors, of_one_client_do_not_disturb_another) {
  RawClient neighbour = shop_.client();
  neighbour.send("*2\r\n$3\r\nGET\r\n$14\r\nuser:");  // in the middle of a command
  EXPECT_FALSE(last_words(shop_.client(), "*1\r\n$-1\r\n", {}).empty());
  neighbour.send("123456789\r\n");
  EXPECT_EQ(neighbour.read_reply(), kNil);
  EXPECT_EQ(neighbour.call({"PING"}), kPong);
}

}  // namespace
}  // namespace cuckooguard::harness
