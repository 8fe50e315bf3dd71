#include "views/check.h"

#include <initializer_list>

#include <gtest/gtest.h>

#include "admin/views/two_value_shop.h"
#include "guard/guarded_shop.h"

namespace cuckooguard::views {
namespace {

using guard::GuardedShop;
using guard::seconds;
using guard::Verdict;

class CheckTest : public testing::Test {
 protected:
  Verdict ask(std::uint32_t ns, const std::string& value) {
    const Check::Answer answer = check_.ask(ns, std::span(&value, 1), shop_.now);
    EXPECT_EQ(answer.may_exist, answer.verdict != Verdict::absent);
    EXPECT_FALSE(answer.reason.empty());
    return answer.verdict;
  }

  GuardedShop shop_;
  Check check_{*shop_.guard};
};

TEST_F(CheckTest, only_what_the_filter_rules_out_cannot_exist) {
  EXPECT_EQ(ask(GuardedShop::kUsers, "1"), Verdict::may_exist);
  EXPECT_EQ(ask(GuardedShop::kUsers, "105"), Verdict::fresh_id);
  EXPECT_EQ(ask(GuardedShop::kUsers, "500"), Verdict::absent);
  EXPECT_EQ(ask(GuardedShop::kItems, "apple"), Verdict::may_exist);
  EXPECT_EQ(ask(GuardedShop::kItems, "brick"), Verdict::absent);
}

TEST_F(CheckTest, a_namespace_of_another_db_is_asked_there) {
  EXPECT_EQ(ask(GuardedShop::kCarts, "7"), Verdict::may_exist);
  EXPECT_EQ(ask(GuardedShop::kCarts, "8"), Verdict::absent);
}

TEST_F(CheckTest, no_integer_is_no_key_unless_the_namespace_is_strict) {
  for (const char* const value : {"007", "abc", "7a", "-1", " 7"}) {
    EXPECT_EQ(ask(GuardedShop::kUsers, value), Verdict::unguarded) << value;
    EXPECT_EQ(ask(GuardedShop::kOrders, value), Verdict::absent) << value;
  }
  shop_.filters[GuardedShop::kOrders]->set_fresh_until(shop_.now);
  EXPECT_EQ(ask(GuardedShop::kOrders, "abc"), Verdict::not_fresh);
}

TEST_F(CheckTest, whenever_the_guard_is_not_sure_a_row_may_exist) {
  shop_.guard->add("user:501", shop_.client, shop_.now, std::nullopt);
  EXPECT_EQ(ask(GuardedShop::kUsers, "501"), Verdict::overlaid);
  shop_.spaces[GuardedShop::kUsers].mode = config::Mode::observe;
  EXPECT_EQ(ask(GuardedShop::kUsers, "500"), Verdict::observed);
  shop_.spaces[GuardedShop::kUsers].mode = config::Mode::bypass;
  EXPECT_EQ(ask(GuardedShop::kUsers, "500"), Verdict::bypassed);
  shop_.spaces[GuardedShop::kUsers].mode = config::Mode::enforce;
  shop_.now += seconds(1);
  EXPECT_EQ(ask(GuardedShop::kUsers, "500"), Verdict::not_fresh) << "its proof has run out";
  shop_.filters[GuardedShop::kItems]->publish(nullptr);
  EXPECT_EQ(ask(GuardedShop::kItems, "brick"), Verdict::not_fresh);
}

TEST_F(CheckTest, says_what_guard_check_says_of_the_key) {
  for (int id = 0; id < 300; ++id) {
    const std::string value = std::to_string(id);
    const std::string key = "user:" + value;
    const std::array<std::string_view, 2> command{"GUARD.CHECK", key};
    const std::string_view reply =
        shop_.serve(command, {.now = shop_.now, .since = shop_.now, .has_room = true}).reply;
    ASSERT_EQ(ask(GuardedShop::kUsers, value) == Verdict::absent, reply == "*1\r\n:0\r\n") << id;
  }
}

TEST_F(CheckTest, is_not_counted_with_the_clients_reads_but_by_itself) {
  ask(GuardedShop::kUsers, "500");
  ask(GuardedShop::kUsers, "501");
  ask(GuardedShop::kUsers, "abc");
  const guard::NamespaceCounters& checked = shop_.spaces[GuardedShop::kUsers].counts->checked;
  EXPECT_EQ(shop_.count(GuardedShop::kUsers, Verdict::absent), 0U);
  EXPECT_EQ(checked.of(Verdict::absent).value(), 2U);
  EXPECT_EQ(checked.of(Verdict::unguarded).value(), 1U);
}

class CheckOfTwoValues : public testing::Test {
 protected:
  Verdict ask(std::uint32_t ns, const std::vector<std::string>& values) {
    return check_.ask(ns, values, shop_.now).verdict;
  }

  TwoValueShop shop_;
  Check check_{shop_.guard()};
};

TEST_F(CheckOfTwoValues, go_in_the_order_of_the_first_template) {
  EXPECT_EQ(check_.values_of(TwoValueShop::kOrders)[0], "tenant");
  EXPECT_EQ(check_.values_of(TwoValueShop::kOrders)[1], "order_id");
  EXPECT_EQ(ask(TwoValueShop::kOrders, {"acme", "1"}), Verdict::may_exist);
  EXPECT_EQ(ask(TwoValueShop::kOrders, {"acme", "x/y"}), Verdict::may_exist);
  EXPECT_EQ(ask(TwoValueShop::kOrders, {"1", "acme"}), Verdict::absent);
  EXPECT_EQ(ask(TwoValueShop::kOrders, {"umbrella", "2"}), Verdict::absent);
}

// A row is in the filter as what its key is read as.
TEST_F(CheckOfTwoValues, an_identity_is_judged_as_its_key_is_read) {
  EXPECT_EQ(ask(TwoValueShop::kPairs, {"a", "b"}), Verdict::may_exist);
  EXPECT_EQ(ask(TwoValueShop::kPairs, {"a", "c-d"}), Verdict::absent);
  EXPECT_EQ(ask(TwoValueShop::kPairs, {"a-c", "d"}), Verdict::absent) << "read as (a, c-d)";
  EXPECT_EQ(ask(TwoValueShop::kOrders, {"ac:me", "1"}), Verdict::unguarded);
}

TEST_F(CheckOfTwoValues, any_byte_may_be_in_a_value) {
  EXPECT_EQ(ask(TwoValueShop::kDocs, {"a/b:c"}), Verdict::may_exist);
  EXPECT_EQ(ask(TwoValueShop::kDocs, {std::string("\0\r\n\xff", 4)}), Verdict::may_exist);
  EXPECT_EQ(ask(TwoValueShop::kDocs, {std::string("\0\r\n\xfe", 4)}), Verdict::absent);
  EXPECT_EQ(ask(TwoValueShop::kDocs, {std::string(20'000, 'x')}), Verdict::unguarded);
}

TEST_F(CheckOfTwoValues, a_wildcard_is_no_value_and_text_is_folded_as_in_keys) {
  ASSERT_EQ(check_.values_of(TwoValueShop::kNames).size(), 1U);
  EXPECT_EQ(ask(TwoValueShop::kNames, {"ANN "}), Verdict::may_exist);
  EXPECT_EQ(ask(TwoValueShop::kNames, {"bob"}), Verdict::absent);
  EXPECT_EQ(ask(TwoValueShop::kNames, {"Än"}), Verdict::unguarded) << "the database may fold it";
}

}  // namespace
}  // namespace cuckooguard::views
