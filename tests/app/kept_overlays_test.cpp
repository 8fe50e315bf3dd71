#include "app/kept_overlays.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "io/clock.h"

namespace cuckooguard::app {
namespace {

class KeptOverlaysTest : public testing::Test {
 protected:
  KeptOverlaysTest()
      : path_(std::filesystem::temp_directory_path() /
              ("overlays-" + std::to_string(std::random_device{}()))) {}
  void TearDown() override { std::filesystem::remove(path_); }

  static std::shared_ptr<guard::Overlay> overlay() {
    return std::make_shared<guard::Overlay>(
        guard::Overlay::Limits{.max_keys = 1000, .ttl = std::chrono::seconds(60)});
  }
  std::unique_ptr<KeptOverlays> kept(std::vector<KeptOverlays::Named> overlays) {
    auto made = std::make_unique<KeptOverlays>(
        KeptOverlays::Settings{.path = path_,
                               .every = std::chrono::hours(1),
                               .secret = secret_,
                               .on_trouble = [this](const std::string& what) { trouble_ = what; }});
    made->follow(std::move(overlays));
    return made;
  }
  bool restores(std::uint64_t hash) {
    const auto users = overlay();
    kept({{.ns = "users", .overlay = users}})->restore();
    return users->holds(hash, io::now_since_boot());
  }

  std::string path_;
  filter::HashSecret secret_ = filter::random_secret();
  std::string trouble_;
};

constexpr std::uint64_t kHash = 0x123456789abcdef0;

TEST_F(KeptOverlaysTest, each_namespace_finds_its_own_again) {
  const auto users = overlay();
  const auto items = overlay();
  users->add(kHash, io::now_since_boot());
  kept({{.ns = "users", .overlay = users}, {.ns = "items", .overlay = items}})->keep();
  const auto users_after = overlay();
  const auto items_after = overlay();
  kept({{.ns = "items", .overlay = items_after}, {.ns = "users", .overlay = users_after}})
      ->restore();
  EXPECT_TRUE(users_after->holds(kHash, io::now_since_boot()));
  EXPECT_FALSE(items_after->holds(kHash, io::now_since_boot()));
  EXPECT_EQ(trouble_, "");
}

TEST_F(KeptOverlaysTest, they_are_written_once_more_at_the_end) {
  const auto users = overlay();
  auto running = kept({{.ns = "users", .overlay = users}});
  running->start();
  users->add(kHash, io::now_since_boot());
  running.reset();
  EXPECT_TRUE(restores(kHash));
}

TEST_F(KeptOverlaysTest, without_a_file_there_is_nothing_and_no_trouble) {
  EXPECT_FALSE(restores(kHash));
  EXPECT_EQ(trouble_, "");
}

TEST_F(KeptOverlaysTest, a_file_that_was_changed_anywhere_is_told_and_not_used) {
  const auto users = overlay();
  users->add(kHash, io::now_since_boot());
  kept({{.ns = "users", .overlay = users}})->keep();
  std::ifstream file(path_, std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(file), {}};
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    std::ofstream(path_, std::ios::binary) << bad;
    trouble_.clear();
    EXPECT_FALSE(restores(kHash)) << at;
    EXPECT_NE(trouble_, "") << at;
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    std::ofstream(path_, std::ios::binary) << good.substr(0, size);
    EXPECT_FALSE(restores(kHash)) << size;
  }
}

TEST_F(KeptOverlaysTest, one_of_another_secret_is_not_used) {
  const auto users = overlay();
  users->add(kHash, io::now_since_boot());
  kept({{.ns = "users", .overlay = users}})->keep();
  secret_ = filter::random_secret();
  EXPECT_FALSE(restores(kHash));
}

}  // namespace
}  // namespace cuckooguard::app
