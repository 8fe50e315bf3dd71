#include "builder/asks.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuckooguard::fleet {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class AsksTest : public testing::Test {
 protected:
  Asks::News see(const std::vector<std::pair<std::string, std::string>>& fields) {
    resp::Value hash;
    for (const auto& [name, bytes] : fields) {
      hash.list.push_back({.text = name});
      hash.list.push_back({.text = bytes});
    }
    return asks_.see(hash, now_);
  }
  static std::string ask(char nonce, std::string why = {}, milliseconds lag = milliseconds(1)) {
    return bytes_of(Ask{.nonce = std::string(kNonceBytes, nonce),
                        .seq = 5,
                        .lacks = 3,
                        .lag = lag,
                        .why = std::move(why),
                        .compared = 2,
                        .hidden = 1});
  }

  source::TimePoint now_{seconds(1000)};
  Asks asks_;
};

TEST_F(AsksTest, a_question_is_new_once_and_its_follower_is_gone_when_it_asks_no_other_one) {
  EXPECT_THAT(see({{"a", ask('1')}}).questions, SizeIs(1));
  EXPECT_THAT(see({{"a", ask('1')}}).questions, IsEmpty());
  now_ += Asks::kStays;
  EXPECT_THAT(see({{"a", ask('1')}}).gone, IsEmpty());
  now_ += seconds(1);
  EXPECT_THAT(see({{"a", ask('1')}}).gone, ElementsAre("a"));
  EXPECT_EQ(asks_.size(), 0U);
  EXPECT_THAT(see({{"a", ask('2')}}).questions, SizeIs(1));
}

TEST_F(AsksTest, readers_wait_for_an_answer_once) {
  const std::string waiting =
      bytes_of(Ask{.nonce = std::string(kNonceBytes, 'w'), .is_waiting = true});
  EXPECT_EQ(see({{"a", waiting}, {"b", ask('1')}}).waiting, 1U);
  EXPECT_EQ(see({{"a", waiting}, {"b", ask('2')}}).waiting, 0U) << "it is answered";
}

TEST_F(AsksTest, what_is_no_ask_is_gone) {
  const auto news = see({{"a", "x"}, {std::string(Asks::kNameMax + 1, 'b'), ask('1')}});
  EXPECT_THAT(news.questions, IsEmpty());
  EXPECT_THAT(news.gone, SizeIs(2));
}

TEST_F(AsksTest, those_whose_keys_pass_come_by_their_lag) {
  see({{"a", ask('1', "users: down", milliseconds(10))},
       {"b", ask('2', "users: loading", milliseconds(500))},
       {"c", ask('3')}});
  EXPECT_THAT(asks_.behind(7),
              ElementsAre("b: 2 entries behind, proven 500 ms ago, users: loading",
                          "a: 2 entries behind, proven 10 ms ago, users: down"));
  EXPECT_EQ(asks_.compared(), 6U);
  EXPECT_EQ(asks_.hidden(), 3U);
}

TEST_F(AsksTest, a_hundredth_of_them_tries_and_one_at_least) {
  EXPECT_EQ(asks_.trial_below(), 0U);
  for (const std::size_t count : {1U, 2U, 100U, 101U, 1000U}) {
    std::vector<std::pair<std::string, std::string>> fields;
    for (std::size_t i = 0; i < count; ++i) {
      fields.emplace_back("follower-" + std::to_string(i), ask('1'));
    }
    see(fields);
    std::size_t trying = 0;
    for (const auto& [name, bytes] : fields) {
      trying += trial_number(name) < asks_.trial_below() ? 1 : 0;
    }
    EXPECT_EQ(trying, (count + 99) / 100) << count;
  }
}

}  // namespace
}  // namespace cuckooguard::fleet
