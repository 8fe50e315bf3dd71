#include "harness/side_by_side.h"

#include <atomic>
#include <cstdio>
#include <regex>
#include <utility>

#include "harness/redis_command.h"
#include "harness/same_bytes.h"

namespace cuckooguard::harness {
namespace {

void expect_same(const std::string& guarded,
                 const std::string& straight,
                 std::string_view request,
                 const Where& where) {
  const testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), "");
  EXPECT_TRUE(same_bytes(without_connection_id(guarded), without_connection_id(straight)))
      << "  request   " << shown(request);
}

// None that a test of its own may have written.
std::string another_absent_user() {
  constexpr std::uint64_t kNeverNamed = 500'000;
  static std::atomic<std::uint64_t> next{kNeverNamed};
  return absent_user(next++);
}

}  // namespace

std::string without_connection_id(const std::string& replies) {
  static const std::regex kId("\\$2\r\nid\r\n:[0-9]+\r\n");
  return replies.contains("id\r\n:") ? std::regex_replace(replies, kId, "$2\r\nid\r\n:N\r\n")
                                     : replies;
}

std::string get_absent() {
  return command({"GET", absent_user()});
}

std::string SideBySide::Connection::same(std::string_view request,
                                         std::size_t replies,
                                         const Where& where) {
  std::string expected = straight_.exchange(request, replies);
  expect_same(guarded_.exchange(request, replies), expected, request, where);
  return expected;
}

std::string SideBySide::Connection::same(std::initializer_list<std::string_view> arguments,
                                         const Where& where) {
  return same(command(arguments), 1, where);
}

std::string SideBySide::Connection::same_through(std::string_view request,
                                                 std::string_view ending,
                                                 const Where& where) {
  straight_.send(request);
  guarded_.send(request);
  std::string expected = straight_.read_through(ending);
  expect_same(guarded_.read_through(ending), expected, request, where);
  return expected;
}

std::string SideBySide::Connection::same_until_closed(std::string_view request,
                                                      const Where& where) {
  straight_.try_send(request);
  std::string expected = straight_.read_until_closed();
  guarded_.try_send(request);
  expect_same(guarded_.read_until_closed(), expected, request, where);
  return expected;
}

void SideBySide::Connection::expect_answered(const Where& where) {
  const testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), "");
  const std::string reply = guarded_.call({"GET", another_absent_user()});
  EXPECT_EQ(shown(reply), shown(absent_reply())) << "to be answered by the guard";
  *answered_ += reply == absent_reply() ? 1 : 0;
}

void SideBySide::Connection::close() {
  guarded_.close();
  straight_.close();
}

SideBySide::SideBySide(const ShopSettings& settings)
    : shop_(settings), straight_(settings.redis_arguments, settings.password) {
  shop_.wait_until_it_answers();
  tell_both({"SET", user(1), "one"});
}

void SideBySide::TearDown() {
  std::printf("answered by the guard: %zu\n", answered_);
  EXPECT_GT(answered_, 0U) << "a plain relay would pass this test";
}

SideBySide::Connection SideBySide::connect() {
  return {shop_.client(), straight_.client(), answered_};
}

void SideBySide::tell_both(std::initializer_list<std::string_view> arguments) {
  tell_both(std::span(arguments.begin(), arguments.size()));
}

void SideBySide::tell_both(std::span<const std::string_view> arguments) {
  const std::string request = command(arguments);
  shop_.redis().client().exchange(request, 1);
  straight_.client().exchange(request, 1);
}

void SideBySide::same_both_ways(const std::function<std::string(Side&)>& scenario,
                                const Where& where) {
  Side unguarded{.connect = [this] { return straight_.client(); }, .redis = straight_};
  const std::string expected = scenario(unguarded);
  Side guarded{.connect = [this] { return shop_.client(); }, .redis = shop_.redis()};
  expect_same(scenario(guarded), expected, "(a scenario)", where);
}

void SideBySide::wait_until_both(const std::function<bool(const RedisServer&)>& condition,
                                 const Where& where) {
  const testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), "");
  EXPECT_TRUE(eventually([&] { return condition(straight_) && condition(shop_.redis()); }));
}

void SideBySide::wait_until_blocked(std::size_t clients, const Where& where) {
  wait_until_both(
      [&](const RedisServer& redis) {
        return redis.info("clients", "blocked_clients") == std::to_string(clients);
      },
      where);
}

}  // namespace cuckooguard::harness
