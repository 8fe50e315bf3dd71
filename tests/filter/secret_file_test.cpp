#include <gtest/gtest.h>
#include <sys/stat.h>

#include "filter/key_hash.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::filter {
namespace {

TEST(SecretFile, is_created_once_for_its_owner_only) {
  const harness::TemporaryDirectory folder;
  const auto first = read_or_create_secret(folder.file("secret"));
  ASSERT_TRUE(first.has_value()) << first.error();
  struct stat status{};
  ASSERT_EQ(::stat(folder.file("secret").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600);
  EXPECT_EQ(read_or_create_secret(folder.file("secret")).value(), *first);
  EXPECT_EQ(read_secret(folder.file("secret")).value(), *first);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1)
      << "nothing is left beside it";
}

TEST(SecretFile, that_others_may_read_is_refused_with_the_way_out) {
  const harness::TemporaryDirectory folder;
  ASSERT_TRUE(read_or_create_secret(folder.file("secret")).has_value());
  ASSERT_EQ(::chmod(folder.file("secret").c_str(), 0640), 0);
  const auto refused = read_or_create_secret(folder.file("secret"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().find("chmod 600"), std::string::npos) << refused.error();
}

TEST(SecretFile, of_another_length_is_refused) {
  const harness::TemporaryDirectory folder;
  for (const std::size_t length : {0, 191, 193}) {
    harness::write_whole_file(folder.file("secret"), std::string(length, '\0'));
    ASSERT_EQ(::chmod(folder.file("secret").c_str(), 0600), 0);
    EXPECT_FALSE(read_or_create_secret(folder.file("secret")).has_value()) << length;
  }
}

TEST(SecretFile, that_cannot_be_made_says_why) {
  const harness::TemporaryDirectory folder;
  const auto refused = read_or_create_secret(folder.file("no/such/secret"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().find("No such file"), std::string::npos) << refused.error();
}

}  // namespace
}  // namespace cuckooguard::filter
