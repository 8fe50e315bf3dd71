// What a reload keeps, and what it may not forget; the rest of it is asked of a guard that runs
// (integration/reload_test.cpp).
#include "app/generation.h"

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "config/parse.h"
#include "guests/guests.h"
#include "harness/temporary_directory.h"
#include "io/clock.h"
#include "log/written_log.h"

namespace cuckooguard::app {
namespace {

using filter::State;

std::string with(std::string text, std::string_view part, std::string_view instead) {
  return text.replace(text.find(part), part.size(), instead);
}

// What was said of which namespace.
class Told final : public source::Observer {
 public:
  void on_progress(const source::Progress&) override {}
  void on_trouble(std::string_view, std::string_view) override {}
  void on_state(std::string_view ns, State state, std::string_view) override {
    const std::lock_guard lock(mutex_);
    told_.emplace(ns, state);
    changed_.notify_all();
  }
  bool wait_for(const std::string& ns, State state) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(
        lock, std::chrono::seconds(60), [&] { return told_.contains({ns, state}); });
  }
  bool has(const std::string& ns, State state) {
    const std::lock_guard lock(mutex_);
    return told_.contains({ns, state});
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    told_.clear();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::pair<std::string, State>> told_;
};

class GenerationTest : public testing::Test {
 protected:
  using Made = std::unique_ptr<Generation>;

  GenerationTest() {
    sqlite3* database = nullptr;
    sqlite3_open(path_.c_str(), &database);
    sqlite3_exec(
        database,
        "CREATE TABLE user(id INTEGER PRIMARY KEY); CREATE TABLE tag(name TEXT PRIMARY KEY)",
        nullptr,
        nullptr,
        nullptr);
    sqlite3_close(database);
  }

  Made make(const std::string& yaml, const Generation* before = nullptr) {
    auto made = Generation::make(environment_, config::testing::config_of(yaml), before);
    if (!made) {
      throw std::runtime_error(made.error().front());
    }
    return *std::move(made);
  }
  // Whether a key passes that nobody has learned.
  static bool holds_all(const Generation& generation) {
    redis::Facts facts;
    return generation.guarded(0, facts).namespaces[0].overlay->holds(12345, io::now_since_boot());
  }
  // Of the overlay of users, after a reload.
  bool holds_all_after(const std::string& before, const std::string& after) {
    const Made first = make(before);
    const Made second = make(after, first.get());
    second->let_pass(first.get());
    return holds_all(*second);
  }

  const harness::TemporaryDirectory folder_;
  const std::filesystem::path path_ = folder_ / "shop.db";
  const std::string users_ = "sources: { shop: { type: sqlite, path: " + path_.string() +
                             ", max_lag: 200ms } }\n"
                             "namespaces:\n"
                             "  users: { keys: \"user:{id:uint64}\", source: { from: shop, table: "
                             "user }, mode: enforce, absent_reply: nil, overlay: { ttl: 60s } }\n";
  const std::string tags_ =
      "  tags: { keys: \"tag:{name}\", source: { from: shop, table: tag } }\n";

  log::WrittenLog log_;
  filter::Epochs epochs_{3};
  Told told_;
  Supervisor supervisor_;
  LoadReport report_{log_.log};
  LoadStatus status_{told_, supervisor_};
  const Guests guests_ = guests::program().guests;
  Generation::Environment environment_{.guests = guests_,
                                       .log = log_.log,
                                       .epochs = epochs_,
                                       .report = report_,
                                       .status = status_,
                                       .storage = nullptr,
                                       .workers = 1};
};

// In bypass nothing is learned.
TEST_F(GenerationTest, lets_all_pass_for_a_ttl_when_it_ends_a_bypass) {
  const std::string bypass = with(users_, "mode: enforce", "mode: bypass");
  EXPECT_TRUE(holds_all_after(bypass, users_));
  EXPECT_TRUE(holds_all_after(bypass, with(users_, "mode: enforce", "mode: observe")));
  EXPECT_FALSE(holds_all_after(users_, users_));
  EXPECT_FALSE(holds_all_after(users_, bypass));
  EXPECT_FALSE(holds_all_after(with(users_, "mode: enforce", "mode: observe"), users_));
}

// What was written through a worker that has not moved yet is in the overlay of before.
TEST_F(GenerationTest, lets_all_pass_for_a_ttl_when_an_overlay_is_another_one) {
  EXPECT_TRUE(holds_all_after(users_, with(users_, "ttl: 60s", "ttl: 60s, max_keys: 5k")));
  EXPECT_FALSE(holds_all_after(users_, with(users_, "ttl: 60s", "ttl: 70s")));
}

TEST_F(GenerationTest, keeps_a_filter_by_another_policy_which_is_then_in_force) {
  redis::Facts facts;
  const Made first = make(users_);
  const Made second = make(with(with(users_, "mode:", "tolerate: 5/s, consistency: strict, mode:"),
                                "max_lag: 200ms",
                                "max_lag: 200ms, strict_hold: 7ms"),
                           first.get());
  const guard::GuardedNamespace before = first->guarded(0, facts).namespaces[0];
  const guard::GuardedNamespace after = second->guarded(0, facts).namespaces[0];
  EXPECT_TRUE(second->has_kept_filter_of("users"));
  EXPECT_EQ(after.filter, before.filter);
  EXPECT_EQ(after.counts, before.counts) << "an attack that is on goes on";
  EXPECT_EQ(before.consistency, config::Consistency::automatic);
  EXPECT_EQ(after.consistency, config::Consistency::strict);
  EXPECT_EQ(before.strict_hold, std::chrono::milliseconds(20));
  EXPECT_EQ(after.strict_hold, std::chrono::milliseconds(7));
  EXPECT_EQ(after.tolerance, before.tolerance) << "what was used up is used up";
  EXPECT_DOUBLE_EQ(after.tolerance->rate(), 5);
}

// Who waits for a load waits on over a reload that changes nothing for it.
TEST_F(GenerationTest, keeps_who_waits_for_a_load_as_long_as_that_is_set_as_it_was) {
  if (guests_.make_loads == nullptr) {
    GTEST_SKIP() << "breakdown is left out";
  }
  redis::Facts facts;
  const std::string held = with(users_, "mode:", "breakdown: { hold: 100ms }, mode:");
  const auto loads_of = [&](const Made& made) {
    return made->guarded(0, facts).namespaces[0].loads;
  };
  const Made first = make(held);
  const Made same = make(with(held, "ttl: 60s", "ttl: 70s") + tags_, first.get());
  EXPECT_NE(loads_of(first), nullptr);
  EXPECT_EQ(loads_of(same), loads_of(first));
  const Made other = make(with(held, "100ms", "200ms"), same.get());
  EXPECT_NE(loads_of(other), nullptr);
  EXPECT_NE(loads_of(other), loads_of(first));
  EXPECT_EQ(loads_of(make(users_, other.get())), nullptr);
}

TEST_F(GenerationTest, complains_where_it_has_nothing_to_guard) {
  const Made first = make(users_);
  EXPECT_TRUE(first->process().complaints.empty());
  const Made second = make("listen: 127.0.0.1:6380", first.get());
  ASSERT_EQ(second->process().complaints.size(), 1U);
  EXPECT_EQ(second->process().complaints.front()()->what,
            "The guard guards nothing: everything is forwarded");
  EXPECT_TRUE(make(users_, second.get())->process().complaints.empty());
}

TEST_F(GenerationTest, says_no_more_of_a_namespace_that_is_not_there_any_more) {
  Made first = make(users_ + tags_);
  first->start_sources();
  ASSERT_TRUE(told_.wait_for("tags", State::ready));
  ASSERT_TRUE(told_.wait_for("users", State::ready));
  const Made second = make(users_, first.get());
  second->take_over(*first);
  ASSERT_TRUE(second->has_kept_filter_of("users"));
  first.reset();
  told_.forget();
  std::filesystem::rename(path_, folder_ / "away");
  ASSERT_TRUE(told_.wait_for("users", State::down));
  std::filesystem::rename(folder_ / "away", path_);
  ASSERT_TRUE(told_.wait_for("users", State::ready)) << "and all has been said of the loss";
  EXPECT_FALSE(told_.has("tags", State::down));
  EXPECT_FALSE(told_.has("tags", State::ready));
}

}  // namespace
}  // namespace cuckooguard::app
