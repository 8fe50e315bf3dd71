#include <expected>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "mysql/log_follower.h"

namespace cuckooguard::source::mysql {
namespace {

using Answer = std::expected<void, Error>;

Answer refused(unsigned code) {
  return std::unexpected(Error{.code = code, .what = "no"});
}

// The server's answers by table; one that is not here may be opened.
class ListingMissedThem : public testing::Test {
 protected:
  std::expected<bool, Error> are_gone() const {
    return are_all_gone({"shop.item", "shop.user"}, [this](const std::string& table) {
      const auto answer = answers_.find(table);
      return answer == answers_.end() ? Answer() : refused(answer->second);
    });
  }
  std::map<std::string, unsigned> answers_;
};

constexpr unsigned kNoSuchTable = 1146;
constexpr unsigned kNoSuchDatabase = 1049;
constexpr unsigned kSelectDenied = 1142;

TEST_F(ListingMissedThem, a_table_that_can_be_opened_is_there) {
  EXPECT_EQ(are_gone(), false);
  answers_ = {{"shop.item", kNoSuchTable}};
  EXPECT_EQ(are_gone(), false);
}

TEST_F(ListingMissedThem, gone_is_what_the_server_does_not_know) {
  answers_ = {{"shop.item", kNoSuchTable}, {"shop.user", kNoSuchDatabase}};
  EXPECT_EQ(are_gone(), true);
}

TEST_F(ListingMissedThem, any_other_refusal_tells_nothing) {
  answers_ = {{"shop.item", kNoSuchTable}, {"shop.user", kSelectDenied}};
  ASSERT_FALSE(are_gone().has_value());
  EXPECT_EQ(are_gone().error().code, kSelectDenied);
}

TEST_F(ListingMissedThem, nothing_missed_is_nothing_to_ask_about) {
  EXPECT_EQ(are_all_gone({}, [](const std::string&) { return refused(kSelectDenied); }), true);
}

}  // namespace
}  // namespace cuckooguard::source::mysql
