// Values of any size pass through without being held, and who does not read holds up nobody but
// himself.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/same_bytes.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

constexpr std::size_t kMiB = std::size_t{1024} * 1024;
constexpr std::size_t kFewMiB = 8 * kMiB;  // what the guard may grow by

std::size_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word) {
    if (word == "MemAvailable:") {
      std::size_t kibibytes = 0;
      file >> kibibytes;
      return kibibytes * 1024;
    }
  }
  return 0;
}

// Redis's limit, unless Redis's copies of it would not fit or a sanitizer makes it take minutes.
std::size_t large_value_bytes() {
  constexpr std::size_t kNeeded = 3 * 1024 * kMiB;
  const bool small = under_sanitizer() || available_memory() < kNeeded;
  const std::size_t size = small ? 64 * kMiB : 512 * kMiB;
  std::printf("value of %zu MiB%s\n",
              size / kMiB,
              small ? " (not 512: sanitizer, or less than 3 GiB of memory available)" : "");
  return size;
}

// Byte `at` of the value: no two neighbouring runs of 4 KiB are the same, nor two neighbouring MiB.
char byte_at(std::size_t at) {
  return static_cast<char>('a' + (at / 4096) % 25);
}

// The value's bytes [from, from + piece.size()).
void fill(std::string& piece, std::size_t from) {
  constexpr std::size_t kRun = 4096;
  for (std::size_t i = 0; i < piece.size(); i += kRun) {
    std::fill_n(piece.begin() + static_cast<std::ptrdiff_t>(i),
                std::min(kRun, piece.size() - i),
                byte_at(from + i));
  }
}

class LargeValues : public testing::Test {
 protected:
  LargeValues() { shop_.wait_until_it_answers(); }

  void expect_no_growth_since(std::size_t before) {
    if (under_sanitizer()) {
      return;  // freed memory is kept aside there
    }
    const std::size_t after = shop_.guard().resident_bytes_max();
    std::printf("guard: %zu KiB before, at most %zu KiB\n", before / 1024, after / 1024);
    EXPECT_LT(after, before + kFewMiB);
  }

  Shop shop_;
};

TEST_F(LargeValues, pass_in_both_directions_without_being_held) {
  const std::size_t size = large_value_bytes();
  const std::size_t before = shop_.guard().resident_bytes_max();
  RawClient client = shop_.client();
  client.send("*3\r\n$3\r\nSET\r\n$5\r\nlarge\r\n$" + std::to_string(size) + "\r\n");
  std::string piece(kMiB, '\0');
  for (std::size_t sent = 0; sent < size; sent += piece.size()) {
    fill(piece, sent);
    client.send(piece);
  }
  client.send("\r\n" + command({"GET", absent_user()}));
  EXPECT_EQ(client.read_replies(2), std::string(kOk) + absent_reply());
  EXPECT_EQ(shop_.redis().call({"STRLEN", "large"}), ":" + std::to_string(size) + "\r\n");

  client.send(command({"GET", "large"}) + command({"GET", absent_user()}));
  const std::string header = "$" + std::to_string(size) + "\r\n";
  EXPECT_EQ(client.read_exactly(header.size()), header);
  std::string expected(kMiB, '\0');
  for (std::size_t got = 0; got < size; got += expected.size()) {
    fill(expected, got);
    ASSERT_TRUE(same_bytes(client.read_exactly(expected.size()), expected)) << "at byte " << got;
  }
  EXPECT_EQ(client.read_exactly(2), "\r\n");
  EXPECT_EQ(client.read_reply(), absent_reply());
  expect_no_growth_since(before);
}

TEST_F(LargeValues, that_are_not_read_stay_in_redis_and_hold_up_nobody) {
  constexpr std::size_t kValue = kMiB;
  constexpr std::size_t kReads = 100;
  std::string value(kValue, '\0');
  fill(value, 0);
  shop_.redis().call({"SET", "page", value});
  const std::size_t before = shop_.guard().resident_bytes_max();
  RawClient slow = shop_.client();
  std::string request = command({"CLIENT", "SETNAME", "slow"});
  for (std::size_t i = 0; i < kReads; ++i) {
    request += command({"GET", "page"});
  }
  slow.send(request);
  // All but what fits the socket buffers waits in Redis's own output buffer, where Redis's own
  // limits see it.
  ASSERT_TRUE(eventually([this] {
    const std::string clients = shop_.redis().call({"CLIENT", "LIST"});
    const std::size_t line = clients.find("name=slow");
    const std::size_t memory = clients.find("omem=", line);
    return memory != std::string::npos &&
           std::stoull(clients.substr(memory + 5)) > kReads * kValue / 2;
  }));
  RawClient other = shop_.client();
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(other.exchange(command({"GET", absent_user()}) + command({"PING"}), 2),
              absent_reply() + std::string(kPong));
  }
  expect_no_growth_since(before);
  EXPECT_EQ(slow.read_reply(), kOk);
  for (std::size_t i = 0; i < kReads; ++i) {
    ASSERT_TRUE(same_bytes(slow.read_reply(), bulk(value))) << i;
  }
  EXPECT_EQ(slow.call({"GET", absent_user()}), absent_reply());
  expect_no_growth_since(before);
}

// As with Redis: who writes a long pipeline before he reads is not waited for.
TEST_F(LargeValues, pipelines_of_20_mb_may_be_written_before_any_reply_is_read) {
  const std::size_t bytes = under_sanitizer() ? 4 * kMiB : 20 * kMiB;
  shop_.redis().call({"SET", user(1), "the row"});
  const std::string absent = shop_.find_absent_users(1).front();
  const std::string both = command({"GET", user(1)}) + command({"GET", absent});
  std::string request;
  std::size_t pairs = 0;
  for (; request.size() < bytes; ++pairs) {
    request += both;
  }
  const std::uint64_t gets = shop_.redis().calls("get");
  const std::size_t before = shop_.guard().resident_bytes_max();
  RawClient client = shop_.client();
  client.send(request);  // throws if it is not taken
  for (std::size_t i = 0; i < pairs; ++i) {
    ASSERT_EQ(client.read_reply(), bulk("the row")) << i;
    // Above its limits the guard forwards, and Redis says nil.
    const std::string reply = client.read_reply();
    ASSERT_TRUE(reply == absent_reply() || reply == kNil) << i << ": " << shown(reply);
  }
  const std::uint64_t forwarded = shop_.redis().calls("get") - gets - pairs;
  std::printf("%zu absents, answered here: %zu\n", pairs, pairs - forwarded);
  EXPECT_EQ(client.call({"GET", absent}), absent_reply()) << "and answers again after it";
  client.close();
  expect_no_growth_since(before);
}

// Thousands of answers that are not read: they stop at the soft limit, and the rest is Redis's.
TEST_F(LargeValues, answers_that_are_not_read_are_bounded) {
  Shop shop({.absent_reply = "bytes:" + std::string(200, 'a'),
             .more = "limits: { client_output_soft: 64KiB }\n"});
  shop.wait_until_it_answers();
  constexpr std::size_t kReads = 50'000;
  std::string request;
  for (std::size_t i = 0; i < kReads; ++i) {
    request += command({"GET", absent_user(i)});
  }
  const std::size_t before = shop.guard().resident_bytes_max();
  RawClient client = shop.client();
  client.send(request);
  std::size_t answered = 0;
  for (std::size_t i = 0; i < kReads; ++i) {
    const std::string reply = client.read_reply();
    ASSERT_TRUE(reply == kNil || reply.size() == 208) << i << ": " << shown(reply);
    answered += reply == kNil ? 0 : 1;
  }
  std::printf("%zu absents, answered here: %zu\n", kReads, answered);
  EXPECT_GT(answered, 0U);
  if (!under_sanitizer()) {
    EXPECT_LT(shop.guard().resident_bytes_max(), before + kFewMiB);
  }
}

}  // namespace
}  // namespace cuckooguard::harness
