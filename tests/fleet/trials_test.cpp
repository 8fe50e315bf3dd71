#include <string>

#include <gtest/gtest.h>

#include "builder/asks.h"
#include "fleet/keys.h"

namespace cuckooguard::fleet {
namespace {

using std::chrono::seconds;

constexpr TableId kTable = 7;
constexpr std::chrono::seconds kCanary{60};

// A table that was published, and is defined otherwise since.
class TrialsTest : public testing::Test {
 protected:
  TrialsTest() {
    publisher_.set_trials(true);
    publisher_.mark("", "");
    publisher_.begin(1, 1, "tag");
    define(1);
    define(2);
    publisher_.next(true);
  }

  void define(std::uint64_t definition) {
    publisher_.anew(kTable, definition);
    publisher_.set_facts(kTable, {.is_ready = true});
    publisher_.mark("", "");
    publisher_.next(true);
    publisher_.appended();
    publisher_.cut(kTable, {});
    publisher_.next(true);
    publisher_.appended();
  }
  // Of the one follower there is: so many keys compared by now, so many rows hidden.
  bool judge(std::uint64_t compared, std::uint64_t hidden = 0) {
    resp::Value hash;
    hash.list.push_back({.text = "pod-1"});
    hash.list.push_back(
        {.text = bytes_of(
             Ask{.nonce = std::string(kNonceBytes, 'n'), .compared = compared, .hidden = hidden})});
    asks_ = {};
    asks_.see(hash, now_);
    return trials_.judge(publisher_, asks_, now_);
  }
  bool is_on_trial() {
    publisher_.next(true);
    publisher_.appended();
    return publisher_.published().tables.at(kTable).is_on_trial;
  }

  KeyFiles files_;
  SigningKey key_ = files_.signing();
  Publisher publisher_{key_, {}};
  Asks asks_;
  source::TimePoint now_{seconds(1000)};
  Trials trials_{kCanary};
};

TEST_F(TrialsTest, end_after_their_time_and_enough_keys) {
  judge(50);
  ASSERT_TRUE(is_on_trial());
  now_ += kCanary;
  judge(50 + Trials::kComparedMin - 1);
  EXPECT_TRUE(is_on_trial()) << "too few keys";
  judge(50 + Trials::kComparedMin);
  EXPECT_FALSE(is_on_trial());
}

TEST_F(TrialsTest, last_for_their_time) {
  judge(0);
  now_ += kCanary - seconds(1);
  judge(10 * Trials::kComparedMin);
  EXPECT_TRUE(is_on_trial());
}

TEST_F(TrialsTest, do_not_end_while_rows_are_hidden_which_is_told_once) {
  judge(0);
  now_ += kCanary;
  EXPECT_TRUE(judge(10 * Trials::kComparedMin, 1));
  EXPECT_FALSE(judge(20 * Trials::kComparedMin, 1));
  EXPECT_TRUE(is_on_trial());
}

}  // namespace
}  // namespace cuckooguard::fleet
