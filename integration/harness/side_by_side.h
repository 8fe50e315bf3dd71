// One client, twice: through the guard to its Redis, and straight to another Redis that has been
// told the same.
//
// Both must say the same bytes. What the guard answers itself is __ABSENT__, which Redis never
// says: so comparing shows that nothing is answered where Redis's word is due, and
// expect_answered() that guarding goes on behind it. Answers are counted and printed; a test of
// this fixture in which the guard has answered nothing fails, since a plain relay would pass it.
//
// Lifetimes: connections and sides do not outlive the fixture. Errors: as RawClient's.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <source_location>
#include <span>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "harness/shop.h"

namespace cuckooguard::harness {

// HELLO tells the number of its connection, which is no other's: without it.
std::string without_connection_id(const std::string& replies);

// For the failure's message.
using Where = std::source_location;

class SideBySide : public testing::Test {
 public:
  // A way to a Redis.
  struct Side {
    std::function<RawClient()> connect;
    RedisServer& redis;
  };

  // The same client on both sides.
  class Connection {
   public:
    Connection(RawClient guarded, RawClient straight, std::size_t& answered)
        : guarded_(std::move(guarded)), straight_(std::move(straight)), answered_(&answered) {}

    // Sent both ways, the same comes back. Returns what Redis says without a guard.
    std::string same(std::string_view request,
                     std::size_t replies,
                     const Where& where = Where::current());
    std::string same(std::initializer_list<std::string_view> arguments,
                     const Where& where = Where::current());
    // The same, where replies cannot be counted.
    std::string same_through(std::string_view request,
                             std::string_view ending,
                             const Where& where = Where::current());
    std::string same_until_closed(std::string_view request, const Where& where = Where::current());

    // A key that cannot exist is answered by the guard.
    void expect_answered(const Where& where = Where::current());

    void close();
    RawClient& guarded() { return guarded_; }
    RawClient& straight() { return straight_; }

   private:
    RawClient guarded_;
    RawClient straight_;
    std::size_t* answered_;
  };

 protected:
  explicit SideBySide(const ShopSettings& settings = {});
  void TearDown() override;

  Connection connect();

  // To both Redis servers, not through the guard: what others do.
  void tell_both(std::initializer_list<std::string_view> arguments);
  void tell_both(std::span<const std::string_view> arguments);
  // The scenario returns what its clients have seen.
  void same_both_ways(const std::function<std::string(Side&)>& scenario,
                      const Where& where = Where::current());
  // Waits until it holds for both Redis servers.
  void wait_until_both(const std::function<bool(const RedisServer&)>& condition,
                       const Where& where = Where::current());
  void wait_until_blocked(std::size_t clients, const Where& where = Where::current());

  Shop& shop() { return shop_; }
  RedisServer& straight() { return straight_; }

 private:
  Shop shop_;
  RedisServer straight_;
  std::size_t answered_ = 0;
};

// GET of a key that cannot exist, the same one each time.
std::string get_absent();

}  // namespace cuckooguard::harness
