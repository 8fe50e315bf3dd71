#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "guard/client_state.h"
#include "redis/facts.h"

namespace cuckooguard::guard {
namespace {

// What a reader keeps by version never outlives the change that ended it. Run it under tsan.
TEST(ClientStateRace, what_is_published_counts_for_every_question_that_begins_after_it) {
  redis::Facts facts;
  std::atomic<int> phase{0};  // modulo 4: 1 allowed, 3 withdrawn, between them on the way
  std::atomic<bool> done{false};
  const auto ask = [&] {
    ClientState client;
    std::shared_ptr<const redis::Snapshot> snapshot = facts.snapshot();
    while (!done.load()) {
      const int before = phase.load();
      if (facts.version() != snapshot->version) {
        snapshot = facts.snapshot();
      }
      const bool answer = client.access(*snapshot, facts) != nullptr;
      if (before == phase.load() && before % 2 == 1) {
        EXPECT_EQ(answer, before % 4 == 1);
      }
    }
  };
  std::jthread first(ask);
  std::jthread second(ask);
  for (int turn = 0; turn < 10'000; ++turn) {
    facts.publish_users(facts.epoch(),
                        {.unrestricted = {"default"}, .default_needs_no_password = true});
    phase.fetch_add(1);
    phase.fetch_add(1);
    facts.withdraw_users();
    phase.fetch_add(1);
    phase.fetch_add(1);
  }
  done.store(true);
}

}  // namespace
}  // namespace cuckooguard::guard
