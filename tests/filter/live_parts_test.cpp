#include "filter/live_parts.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "filter/hashes.h"

namespace cuckooguard::filter {
namespace {

using std::chrono::seconds;
using testing::fixed_secret;

const HashSecret kSecret = fixed_secret(1);
constexpr TimePoint kNow{seconds(100)};

std::unique_ptr<CuckooFilter> filter_with(const std::vector<std::string>& identities,
                                          const HashSecret& secret = kSecret) {
  auto filter =
      std::make_unique<CuckooFilter>(sizing_for(Layout::w20, 1000, DeleteMode::trusted), secret);
  for (const std::string& identity : identities) {
    filter->insert(filter->hash(identity));
  }
  return filter;
}

class LivePartsTest : public ::testing::Test {
 protected:
  LiveFilter& add(const std::string& name, const std::vector<std::string>& identities) {
    LiveFilter& live = *parts_.add(name);
    live.publish(filter_with(identities));
    live.set_fresh_until(kNow + seconds(1));
    return live;
  }
  Finding find(std::string_view identity, std::optional<std::uint64_t> number = std::nullopt) {
    const EpochScope inside(epochs_.reader(0));
    return parts_.find({parts_.hash(identity), number, identity}, kNow);
  }
  bool is_fresh() {
    const EpochScope inside(epochs_.reader(0));
    return parts_.is_fresh(kNow);
  }

  Epochs epochs_{2};
  LiveParts parts_{epochs_, kSecret};
};

TEST_F(LivePartsTest, a_key_is_absent_only_if_no_part_has_it) {
  add("a", {"1"});
  add("b", {"2"});
  parts_.set_complete(true);
  EXPECT_EQ(find("1"), Finding::may_exist);
  EXPECT_EQ(find("2"), Finding::may_exist);
  EXPECT_EQ(find("3"), Finding::absent);
  EXPECT_TRUE(is_fresh());
}

// Has what it was made with; tells when it goes.
class Listed final : public foreign::Filter {
 public:
  // Shared with the test, since the filters may outlive it.
  Listed(std::string only, std::shared_ptr<int> left)
      : only_(std::move(only)), left_(std::move(left)) {
    ++*left_;
  }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;
  ~Listed() override { --*left_; }
  bool may_contain(std::string_view item) const noexcept override { return item == only_; }
  foreign::Facts facts() const noexcept override { return {}; }

 private:
  std::string only_;
  std::shared_ptr<int> left_;
};

TEST_F(LivePartsTest, a_filter_of_another_library_is_asked_by_identity_while_it_is_fresh) {
  const auto left = std::make_shared<int>(0);
  LiveFilter& live = *parts_.add("a");
  parts_.set_complete(true);
  live.set_fresh_until(kNow + seconds(1));
  EXPECT_EQ(find("1"), Finding::not_fresh);
  EXPECT_FALSE(is_fresh());
  live.publish_foreign(std::make_shared<const Listed>("1", left));
  EXPECT_EQ(find("1"), Finding::may_exist);
  EXPECT_EQ(find("2"), Finding::absent);
  EXPECT_TRUE(is_fresh());
  live.set_fresh_until(kNow);
  EXPECT_EQ(find("2"), Finding::not_fresh);
  live.publish_foreign(nullptr);
  EXPECT_EQ(*left, 0);
}

TEST_F(LivePartsTest, a_filter_of_another_library_lives_as_long_as_a_reader_may_have_it) {
  const auto left = std::make_shared<int>(0);
  LiveFilter& live = *parts_.add("a");
  live.publish_foreign(std::make_shared<const Listed>("1", left));
  {
    const EpochScope inside(epochs_.reader(0));
    live.publish_foreign(std::make_shared<const Listed>("2", left));
    EXPECT_FALSE(live.reclaim());
    EXPECT_EQ(*left, 2);
  }
  EXPECT_TRUE(live.reclaim());
  EXPECT_EQ(*left, 1);
}

TEST_F(LivePartsTest, without_a_part_and_until_the_set_is_complete_everything_passes) {
  parts_.set_complete(true);
  EXPECT_EQ(find("3"), Finding::not_fresh);
  EXPECT_FALSE(is_fresh());
  EXPECT_EQ(parts_.fresh_until(), TimePoint::min());
  parts_.set_complete(false);
  add("a", {"1"});
  EXPECT_EQ(find("3"), Finding::not_fresh);
  EXPECT_FALSE(is_fresh());
  EXPECT_EQ(parts_.fresh_until(), TimePoint::min());
  EXPECT_EQ(parts_.state(), State::loading);
  parts_.set_complete(true);
  EXPECT_EQ(find("3"), Finding::absent);
  EXPECT_TRUE(is_fresh());
  parts_.set_complete(false);
  EXPECT_EQ(find("3"), Finding::not_fresh);
}

TEST_F(LivePartsTest, a_part_that_joins_makes_everything_pass_until_it_is_proven) {
  add("a", {"1"});
  parts_.set_complete(true);
  EXPECT_EQ(find("3"), Finding::absent);
  LiveFilter& joining = *parts_.add("b");
  EXPECT_EQ(find("3"), Finding::not_fresh);
  joining.publish(filter_with({"2"}));
  EXPECT_EQ(find("3"), Finding::not_fresh);
  EXPECT_FALSE(is_fresh());
  joining.set_fresh_until(kNow + seconds(1));
  EXPECT_EQ(find("3"), Finding::absent);
  EXPECT_EQ(find("2"), Finding::may_exist);
}

TEST_F(LivePartsTest, any_part_that_is_not_fresh_or_has_no_filter_makes_everything_pass) {
  LiveFilter& first = add("a", {"1"});
  LiveFilter& second = add("b", {"2"});
  parts_.set_complete(true);
  for (LiveFilter* const live : {&first, &second}) {
    live->set_fresh_until(kNow);
    EXPECT_EQ(find("3"), Finding::not_fresh);
    EXPECT_FALSE(is_fresh());
    EXPECT_EQ(parts_.fresh_until(), kNow);
    live->set_fresh_until(kNow + seconds(1));
    live->publish(nullptr);
    EXPECT_EQ(find("3"), Finding::not_fresh);
    EXPECT_FALSE(is_fresh());
    live->publish(filter_with({}));
    EXPECT_EQ(find("3"), Finding::absent);
  }
}

TEST_F(LivePartsTest, an_id_just_above_the_largest_of_any_part_passes) {
  add("a", {}).set_growth(100, 10);
  add("b", {}).set_growth(500, 10);
  parts_.set_complete(true);
  EXPECT_EQ(find("101", 101), Finding::fresh_id);
  EXPECT_EQ(find("510", 510), Finding::fresh_id);
  EXPECT_EQ(find("111", 111), Finding::absent);
  EXPECT_EQ(find("101"), Finding::absent) << "no number, no growth";
}

TEST_F(LivePartsTest, a_part_that_is_removed_is_asked_no_more_and_freed_when_readers_have_left) {
  add("a", {"1"});
  add("b", {"2"});
  parts_.set_complete(true);
  epochs_.reader(1).enter();
  parts_.remove("b");
  EXPECT_EQ(find("2"), Finding::absent);
  EXPECT_EQ(find("1"), Finding::may_exist);
  EXPECT_FALSE(parts_.reclaim()) << "a reader may hold it";
  epochs_.reader(1).leave();
  EXPECT_TRUE(parts_.reclaim());
  parts_.remove("never there");
  EXPECT_EQ(parts_.size(), 1U);
}

TEST_F(LivePartsTest, a_part_that_comes_again_has_to_be_loaded_again) {
  add("a", {"1"});
  add("b", {"2"});
  parts_.set_complete(true);
  parts_.remove("b");
  EXPECT_EQ(find("3"), Finding::absent);
  EXPECT_EQ(parts_.add("b")->current(), nullptr);
  EXPECT_EQ(find("3"), Finding::not_fresh);
}

TEST_F(LivePartsTest, adding_a_part_twice_gives_the_same_one) {
  LiveFilter& live = add("a", {"1"});
  EXPECT_EQ(parts_.add("a"), &live);
  EXPECT_EQ(parts_.size(), 1U);
}

TEST_F(LivePartsTest, beyond_the_limit_everything_passes) {
  for (std::size_t i = 0; i < LiveParts::kPartsMax; ++i) {
    add("t" + std::to_string(i), {});
  }
  parts_.set_complete(true);
  EXPECT_EQ(find("3"), Finding::absent);
  EXPECT_EQ(parts_.add("one more"), nullptr);
  EXPECT_EQ(find("3"), Finding::not_fresh);
  EXPECT_EQ(parts_.size(), LiveParts::kPartsMax);
}

TEST_F(LivePartsTest, a_filter_with_another_secret_is_never_shown) {
  LiveFilter& live = *parts_.add("a");
  EXPECT_THROW(live.publish(filter_with({"1"}, fixed_secret(2))), std::invalid_argument);
  EXPECT_EQ(live.current(), nullptr);
}

TEST_F(LivePartsTest, without_tables_the_namespace_has_the_state_that_it_was_given) {
  EXPECT_EQ(parts_.state(), State::loading);
  EXPECT_EQ(parts_.why(), "");
  parts_.set_state_without_tables(State::refused, "no table matches");
  EXPECT_EQ(parts_.state(), State::refused);
  EXPECT_EQ(parts_.why(), "no table matches");
  add("a", {}).set_state(State::ready);
  EXPECT_EQ(parts_.state(), State::refused) << "which tables there are is not known";
  parts_.set_complete(true);
  EXPECT_EQ(parts_.state(), State::ready);
}

TEST_F(LivePartsTest, the_gravest_state_of_a_part_is_that_of_the_namespace) {
  LiveFilter& first = add("a", {});
  LiveFilter& second = add("b", {});
  parts_.set_complete(true);
  first.set_state(State::ready);
  std::vector<State> seen;
  for (const State state : {State::ready,
                            State::lagging,
                            State::loading,
                            State::full,
                            State::unsynced,
                            State::down,
                            State::refused}) {
    second.set_state(state);
    seen.push_back(parts_.state());
    first.set_state(state == State::unsynced ? State::ready : state);
  }
  EXPECT_EQ(seen,
            (std::vector{State::ready,
                         State::lagging,
                         State::loading,
                         State::full,
                         State::unsynced,
                         State::down,
                         State::refused}));
  first.set_state(State::lagging, "slow");
  second.set_state(State::down, "no server");
  EXPECT_EQ(parts_.why(), "b: no server") << "and so are its words";
  std::vector<std::string> names;
  const EpochScope inside(epochs_.reader(0));
  parts_.for_each([&names](std::string_view name, const LiveFilter&) { names.emplace_back(name); });
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace cuckooguard::filter
