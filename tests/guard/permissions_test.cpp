#include "guard/permissions.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "guard/client_state.h"

namespace cuckooguard::guard {
namespace {

TEST(Permissions, know_nobody_before_anything_was_published) {
  const Permissions permissions;
  EXPECT_NE(permissions.version(), 0);
  EXPECT_FALSE(permissions.is_unrestricted("default"));
  EXPECT_FALSE(permissions.is_initial_user_unrestricted());
}

TEST(Permissions, know_those_who_were_published_last) {
  Permissions permissions;
  permissions.publish({.unrestricted = {"alice"}});
  EXPECT_TRUE(permissions.is_unrestricted("alice"));
  EXPECT_FALSE(permissions.is_unrestricted("Alice"));
  EXPECT_FALSE(permissions.is_unrestricted(""));
  permissions.publish({.unrestricted = {"bob"}});
  EXPECT_FALSE(permissions.is_unrestricted("alice"));
  EXPECT_TRUE(permissions.is_unrestricted("bob"));
}

TEST(Permissions, the_initial_user_must_be_unrestricted_and_need_no_password) {
  Permissions permissions;
  permissions.publish({.unrestricted = {"default"}, .default_needs_no_password = false});
  EXPECT_FALSE(permissions.is_initial_user_unrestricted());
  permissions.publish({.unrestricted = {"alice"}, .default_needs_no_password = true});
  EXPECT_FALSE(permissions.is_initial_user_unrestricted());
  permissions.publish({.unrestricted = {"default"}, .default_needs_no_password = true});
  EXPECT_TRUE(permissions.is_initial_user_unrestricted());
}

TEST(Permissions, know_nobody_once_withdrawn) {
  Permissions permissions;
  permissions.publish({.unrestricted = {"default"}, .default_needs_no_password = true});
  permissions.withdraw();
  EXPECT_FALSE(permissions.is_unrestricted("default"));
  EXPECT_FALSE(permissions.is_initial_user_unrestricted());
}

TEST(Permissions, every_publish_has_a_new_version) {
  Permissions permissions;
  const std::uint64_t before = permissions.version();
  permissions.publish({});
  EXPECT_NE(permissions.version(), before);
}

// What a reader keeps by version never outlives the publish that ended it. Run it under tsan.
TEST(Permissions, what_is_published_counts_for_every_question_that_begins_after_it) {
  Permissions permissions;
  std::atomic<int> phase{0};  // modulo 4: 1 allowed, 3 withdrawn, between them on the way
  std::atomic<bool> done{false};
  std::jthread reader([&] {
    ClientState client;
    while (!done.load()) {
      const int before = phase.load();
      const bool answer = client.is_unrestricted(permissions);
      if (before == phase.load() && before % 2 == 1) {
        EXPECT_EQ(answer, before % 4 == 1);
      }
    }
  });
  for (int turn = 0; turn < 20'000; ++turn) {
    permissions.publish({.unrestricted = {"default"}, .default_needs_no_password = true});
    phase.fetch_add(1);
    phase.fetch_add(1);
    permissions.withdraw();
    phase.fetch_add(1);
    phase.fetch_add(1);
  }
  done.store(true);
}

}  // namespace
}  // namespace cuckooguard::guard
