#include "config/password_file.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "harness/temporary_directory.h"

namespace cuckooguard::config {
namespace {

class PasswordFile : public testing::Test {
 protected:
  std::string password_in(const std::string& text) {
    std::ofstream(path_) << text;
    return password_of(path_, "otherwise");
  }

  const harness::TemporaryDirectory directory_;
  const std::string path_ = directory_.file("password");
};

TEST_F(PasswordFile, is_its_first_line_with_all_its_spaces) {
  EXPECT_EQ(password_in(" a word \nand more\n"), " a word ");
  EXPECT_EQ(password_in("without an end"), "without an end");
}

TEST_F(PasswordFile, has_lines_that_end_as_windows_ends_them) {
  EXPECT_EQ(password_in("word\r\nand more\r\n"), "word");
  EXPECT_EQ(password_in("a \r word\r\n"), "a \r word") << "one in the middle is the password's";
  EXPECT_EQ(password_in("word \r\n"), "word ");
}

TEST_F(PasswordFile, that_is_named_counts_even_if_it_says_nothing) {
  EXPECT_EQ(password_in(""), "");
  EXPECT_EQ(password_in("\nsecond"), "");
  std::filesystem::remove(path_);
  EXPECT_EQ(password_of(path_, "otherwise"), "");
}

TEST_F(PasswordFile, that_is_not_named_leaves_the_word) {
  EXPECT_EQ(password_of("", "otherwise"), "otherwise");
}

}  // namespace
}  // namespace cuckooguard::config
