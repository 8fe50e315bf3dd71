#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/temporary_directory.h"
#include "http/access.h"

namespace cuckooguard::http {
namespace {

using testing::HasSubstr;
using Verdict = BearerToken::Verdict;

class BearerTokenTest : public testing::Test {
 protected:
  void write(std::string_view text) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << text;
  }

  harness::TemporaryDirectory folder_;
  std::string path_ = folder_.file("token");
  BearerToken token_{path_};
};

TEST_F(BearerTokenTest, without_a_file_everybody_is_allowed) {
  EXPECT_EQ(BearerToken("").judge(""), Verdict::allowed);
  EXPECT_EQ(BearerToken("").judge("Bearer anything"), Verdict::allowed);
}

TEST_F(BearerTokenTest, only_the_word_in_the_file_is_allowed) {
  write("s3cret\n");
  EXPECT_EQ(token_.judge("Bearer s3cret"), Verdict::allowed);
  EXPECT_EQ(token_.judge("bearer  s3cret "), Verdict::allowed);
  EXPECT_EQ(token_.judge(""), Verdict::missing);
  EXPECT_EQ(token_.judge("Basic s3cret"), Verdict::missing);
  EXPECT_EQ(token_.judge("s3cret"), Verdict::missing);
  for (const char* const wrong : {"Bearer ",
                                  "Bearer s3cre",
                                  "Bearer s3cret1",
                                  "Bearer s3creT",
                                  "Bearer s3crets3cret",
                                  "Bearer t3cret"}) {
    EXPECT_EQ(token_.judge(wrong), Verdict::wrong) << wrong;
  }
}

TEST_F(BearerTokenTest, a_changed_file_counts_at_once) {
  write("one");
  EXPECT_EQ(token_.judge("Bearer one"), Verdict::allowed);
  write("two");
  EXPECT_EQ(token_.judge("Bearer one"), Verdict::wrong);
  EXPECT_EQ(token_.judge("Bearer two"), Verdict::allowed);
}

TEST_F(BearerTokenTest, nobody_is_allowed_without_a_word_in_the_file) {
  EXPECT_EQ(token_.judge("Bearer word"), Verdict::unreadable);
  EXPECT_THAT(token_.read().error(), HasSubstr("No such file"));
  write(" \r\n");
  EXPECT_EQ(token_.judge("Bearer "), Verdict::unreadable);
  EXPECT_EQ(token_.read().error(), "it is empty");
  write(std::string(BearerToken::kTokenBytesMax + 1, 'x'));
  EXPECT_THAT(token_.read().error(), HasSubstr("larger than 4096"));
  write(std::string(BearerToken::kTokenBytesMax, 'x'));
  EXPECT_TRUE(token_.read());
  EXPECT_THAT(BearerToken("/").read().error(), HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace cuckooguard::http
