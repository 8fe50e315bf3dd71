// Nobody can make the guard pass by writing much: not an honest bulk load, nor who adds keys.

#include <cstdio>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "harness/guard_process.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

// A benchmark may ask for more.
std::uint64_t bulk_keys() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment
  const char* const given = std::getenv("CUCKOOGUARD_BULK_KEYS");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 200'000;
}

constexpr std::uint64_t kPipeline = 1000;
constexpr std::uint64_t kFirstLoaded = 10'000'000;

class OverlayShare : public testing::Test {
 protected:
  OverlayShare() { shop_.wait_until_it_answers(); }

  // Reads of absent keys that nobody has written: how many of `reads` were answered.
  std::uint64_t answered(RawClient& client, std::uint64_t reads) {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < reads; ++i) {
      count += client.call({"GET", absent_user(next_++)}) == absent_reply() ? 1 : 0;
    }
    return count;
  }

  Shop shop_{{.overlay = "{ pass_at_start: false, max_keys: 20k }"}};
  std::uint64_t next_ = 0;
};

TEST_F(OverlayShare, an_honest_bulk_load_hides_nothing_and_lets_others_be_answered) {
  RawClient loader = shop_.client();
  RawClient other = shop_.client();
  const std::size_t before = shop_.guard().resident_bytes();
  std::uint64_t reads = 0;
  std::uint64_t answers = 0;
  const std::uint64_t keys = bulk_keys();
  for (std::uint64_t first = 0; first < keys; first += kPipeline) {
    std::string request;
    for (std::uint64_t i = first; i < first + kPipeline; ++i) {
      request += command({"SET", user(kFirstLoaded + i), "x"});
    }
    loader.exchange(request, kPipeline);
    const std::uint64_t last = kFirstLoaded + first + kPipeline - 1;
    ASSERT_EQ(loader.call({"GET", user(last)}), bulk("x"));
    ASSERT_EQ(other.call({"GET", user(last)}), bulk("x")) << "what was written last";
    ASSERT_EQ(other.call({"GET", user(1 + first / kPipeline % kUsers)}), kNil) << "a row";
    reads += 10;
    answers += answered(other, 10);
  }
  std::printf(
      "overlay_share: keys=%llu answered=%llu of=%llu lost=%s resident=%+lld KiB\n",
      static_cast<unsigned long long>(keys),
      static_cast<unsigned long long>(answers),
      static_cast<unsigned long long>(reads),
      info_field(shop_.guard(), "users", "keys_lost").c_str(),
      (static_cast<long long>(shop_.guard().resident_bytes()) - static_cast<long long>(before)) /
          1024);
  EXPECT_GE(answers * 100, reads * 99);
  if (!under_sanitizer()) {
    EXPECT_LT(shop_.guard().resident_bytes(), before + std::size_t{8} * 1024 * 1024);
  }
  EXPECT_NE(info_field(shop_.guard(), "users", "keys_lost"), "0");
}

TEST_F(OverlayShare, who_adds_many_keys_loses_its_own) {
  RawClient client = shop_.client();
  RawClient other = shop_.client();
  ASSERT_EQ(other.call({"GUARD.ADD", absent_user(5'000'000)}), ":1\r\n");
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    if (i % kPipeline == 0) {
      next_ = i;
    }
    client.send(command({"GUARD.ADD", user(kFirstLoaded + i), "TTL", "60"}));
    if (i % kPipeline == kPipeline - 1) {
      client.read_replies(kPipeline);
    }
  }
  EXPECT_EQ(other.call({"GET", user(kFirstLoaded + 49'999)}), kNil);
  EXPECT_EQ(other.call({"GET", user(kFirstLoaded)}), absent_reply()) << "its own oldest";
  EXPECT_EQ(other.call({"GET", absent_user(5'000'000)}), kNil) << "another client's";
  EXPECT_GE(answered(other, 1000), 990U);
}

}  // namespace
}  // namespace cuckooguard::harness
