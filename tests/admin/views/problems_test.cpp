#include <array>
#include <optional>
#include <stdexcept>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filled/served/filled_shop.h"
#include "guard/contradictions.h"
#include "guard/guarded_shop.h"
#include "guard/told_nodes.h"
#include "guard/told_sources.h"
#include "views/status.h"

namespace cuckooguard::views {
namespace {

using filter::State;
using guard::GuardedShop;
using guard::Overlay;
using guard::seconds;
using redis::ControlReport;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace json = boost::json;

// What the page shows beside each.
const auto kIsComplete = AllOf(Field("what", &Problem::what, Not(IsEmpty())),
                               Field("why", &Problem::why, Not(IsEmpty())),
                               Field("hint", &Problem::hint, Not(IsEmpty())));

struct ToldReloads final : guard::Reloads {
  std::optional<guard::ReloadOutcome> outcome(std::chrono::steady_clock::time_point /*since*/,
                                              std::string_view /*who*/) override {
    return told;
  }
  guard::ReloadOutcome last() const override { return told; }

  guard::ReloadOutcome told;
};

class ProblemsTest : public testing::Test {
 protected:
  ProblemsTest() {
    for (filter::LiveFilter* const live : shop_.filters) {
      live->set_state(State::ready);
    }
    process_state_.redis = guard::NodeState::up;
    shop_.process.reloads = &reloads_;
  }

  Model model() {
    return {.guarded = shop_.guard->parts(),
            .process = shop_.process,
            .redis = shop_.guard->facts(),
            .process_state = process_state_,
            .now = shop_.now};
  }
  std::vector<Problem> found() { return problems(model(), use_); }
  std::vector<std::string> what() {
    std::vector<std::string> all;
    for (const Problem& problem : found()) {
      all.push_back(problem.what);
    }
    return all;
  }
  json::object status() { return json::parse(status_json(model())).as_object(); }

  GuardedShop shop_;
  filter::LiveFilter& users_ = *shop_.filters[GuardedShop::kUsers];
  ToldReloads reloads_;
  ProcessState process_state_;
  ProcessUse use_{.open_descriptors = 30, .descriptors_max = 1024};
};

TEST_F(ProblemsTest, of_a_guard_that_is_well_there_are_none) {
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(ProblemsTest, of_a_cluster_each_node_that_needs_somebody_is_told) {
  guard::ToldNodes nodes({.shown = {{.address = "a:1", .state = guard::NodeState::up},
                                    {.address = "b:1", .state = guard::NodeState::up}}});
  shop_.process.nodes = &nodes;
  shop_.facts.lost();  // that is one node's, of whom all others are as well
  EXPECT_THAT(found(), IsEmpty());
  const ControlReport refused{
      .state = ControlReport::State::not_allowed, .why = "NOPERM", .hint = "ACL SETUSER"};
  nodes.told.shown[0].control = refused;
  nodes.told.shown[1].control = refused;
  EXPECT_THAT(what(), ElementsAre("a:1, b:1: Redis denies the guard permissions that it needs"));
  nodes.told.shown[0].control = {};
  nodes.told.shown[1] = {.address = "b:1", .state = guard::NodeState::down};
  EXPECT_THAT(what(), ElementsAre("Unreachable Redis nodes: b:1"));
  EXPECT_EQ(found().front().grade, Grade::warning);
  nodes.told.without_port = 2;
  nodes.told.why_silent = "timed out";
  process_state_.redis = guard::NodeState::down;
  EXPECT_THAT(found(), Each(kIsComplete));
  EXPECT_THAT(what(),
              ElementsAre("No Redis node is reachable",
                          "No node reports the topology of Redis",
                          "2 nodes have no port on the guard"));
}

TEST_F(ProblemsTest, of_every_state_of_a_filter_but_ready_it_says_why_and_what_to_do) {
  for (State state = State::loading; state <= filter::kLastState;
       state = static_cast<State>(static_cast<int>(state) + 1)) {
    users_.set_state(state);
    EXPECT_EQ(what().empty(), state == State::ready) << filter::state_name(state);
    EXPECT_THAT(found(), Each(kIsComplete)) << filter::state_name(state);
    const json::object users = status().at("namespaces").at("users").as_object();
    EXPECT_EQ(users.at("why").as_string().empty(), state == State::ready);
    EXPECT_EQ(users.at("hint").as_string().empty(), state == State::ready);
  }
}

TEST_F(ProblemsTest, of_a_filter_that_is_not_proven_any_more_it_names_the_limit) {
  users_.set_fresh_until(shop_.now);
  shop_.spaces[GuardedShop::kUsers].max_lag = std::chrono::milliseconds(1500);
  ASSERT_THAT(what(), ElementsAre("users passes everything"));
  EXPECT_THAT(found().front(), kIsComplete);
  EXPECT_THAT(found().front().hint, testing::EndsWith("the allowed lag, max_lag (1500ms)"));
}

TEST_F(ProblemsTest, of_keys_that_pass_for_a_while_it_says_why_and_for_how_long) {
  for (const auto because : {Overlay::Hold::begun,
                             Overlay::Hold::bypassed,
                             Overlay::Hold::cleared,
                             Overlay::Hold::reloaded}) {
    shop_.overlays[GuardedShop::kUsers]->hold_all_until(shop_.now + seconds(40), because);
    ASSERT_THAT(what(), ElementsAre("users passes everything"));
    EXPECT_THAT(found().front(), kIsComplete);
    EXPECT_THAT(found().front().hint,
                HasSubstr(because == Overlay::Hold::cleared ? "max_lag (1s)" : "overlay.ttl (1m)"));
  }
}

TEST_F(ProblemsTest, what_namespaces_have_in_common_is_said_once) {
  shop_.overlays[GuardedShop::kUsers]->hold_all_until(shop_.now + seconds(40));
  shop_.overlays[GuardedShop::kCarts]->hold_all_until(shop_.now + seconds(40));
  shop_.filters[GuardedShop::kItems]->set_state(State::down, "no server");
  EXPECT_THAT(what(), ElementsAre("users, carts pass everything", "items passes everything"));
}

TEST_F(ProblemsTest, of_a_namespace_in_bypass_the_state_says_so_and_it_is_no_problem) {
  shop_.spaces[GuardedShop::kUsers].mode = config::Mode::bypass;
  users_.set_state(State::down, "no server");
  EXPECT_THAT(found(), IsEmpty());
  const json::object users = status().at("namespaces").at("users").as_object();
  EXPECT_EQ(users.at("why"), "its mode is bypass");
  EXPECT_THAT(std::string(users.at("hint").as_string()), HasSubstr("GUARD.MODE users observe"));
}

TEST_F(ProblemsTest, of_every_state_of_a_source_but_following_it_says_why_and_what_to_do) {
  for (std::size_t i = 0; i < filter::kSourceStateNames.size(); ++i) {
    const auto state = static_cast<filter::SourceState>(i);
    const guard::ToldSources sources{{{.name = "shop", .status = {.state = state}}}};
    shop_.process.sources = &sources;
    const json::object shop = status().at("sources").at("shop").as_object();
    const bool is_well = state == filter::SourceState::following;
    EXPECT_EQ(shop.at("why").as_string().empty(), is_well) << name_of(state);
    EXPECT_EQ(shop.at("hint").as_string().empty(), is_well) << name_of(state);
  }
  shop_.process.sources = nullptr;
}

TEST_F(ProblemsTest, of_a_redis_that_does_not_serve_it_says_why_and_what_to_do) {
  for (const auto availability : {redis::Availability::loading,
                                  redis::Availability::master_link_down,
                                  redis::Availability::busy}) {
    shop_.facts.publish(shop_.facts.epoch(), {.availability = availability});
    EXPECT_THAT(what(), ElementsAre("Redis is not serving")) << name_of(availability);
    EXPECT_THAT(found(), Each(kIsComplete));
  }
  shop_.facts.lost({.why = "no reply within 2 s", .is_up = true});
  EXPECT_THAT(what(), ElementsAre("Redis does not respond"));
  EXPECT_EQ(found().front().why, "no reply within 2 s");
  EXPECT_EQ(found().front().grade, Grade::warning);
  process_state_.redis = guard::NodeState::never;
  EXPECT_THAT(what(), ElementsAre("Redis has not been queried yet"));
  EXPECT_THAT(found(), Each(kIsComplete));
}

TEST_F(ProblemsTest, a_redis_that_is_down_is_told_first) {
  users_.set_state(State::down, "no server");
  process_state_.redis = guard::NodeState::down;
  EXPECT_THAT(what(), ElementsAre("Redis is unreachable", "users passes everything"));
  shop_.facts.lost({.why = "Connection refused"});
  EXPECT_THAT(what(), ElementsAre("Redis is unreachable", "users passes everything"));
  EXPECT_THAT(found(), Each(kIsComplete));
  EXPECT_EQ(found().front().grade, Grade::bad);
  EXPECT_EQ(found().front().why, "Connection refused");
}

TEST_F(ProblemsTest, of_a_redis_that_does_not_let_the_guard_ask_it_has_the_remedy_once) {
  for (const auto state : {ControlReport::State::unknown,
                           ControlReport::State::allowed,
                           ControlReport::State::limited,
                           ControlReport::State::not_allowed,
                           ControlReport::State::unsupported}) {
    const ControlReport report{.state = state, .why = "its words", .hint = "do this"};
    shop_.facts.report(report);
    EXPECT_EQ(what().empty(), report.why_keys_pass().empty()) << redis::name_of(state);
    EXPECT_THAT(found(), Each(kIsComplete));
  }
  shop_.facts.lost({.why = "WRONGPASS", .is_up = true});
  ASSERT_THAT(what(), ElementsAre("The guard cannot work with this Redis"));
  EXPECT_EQ(found().front().hint, "do this");
  EXPECT_EQ(found().front().grade, Grade::bad);
}

TEST_F(ProblemsTest, of_rows_that_were_hidden_it_says_how_many_and_what_to_do) {
  guard::Contradictions contradictions(shop_.spaces.size());
  shop_.process.contradictions = &contradictions;
  contradictions.found(GuardedShop::kUsers, guard::Cause::hidden_row);
  ASSERT_THAT(what(), ElementsAre("users: 1 existing row was treated as absent"));
  EXPECT_THAT(found().front(), kIsComplete);
  EXPECT_EQ(found().front().grade, Grade::bad);
  EXPECT_THAT(found().front().hint, HasSubstr("switch back to observe"));
  shop_.facts.publish(shop_.facts.epoch(), {.availability = redis::Availability::busy});
  EXPECT_THAT(what(), ElementsAre(HasSubstr("treated as absent"), "Redis is not serving"))
      << "the gravest first";
  shop_.process.contradictions = nullptr;
}

TEST_F(ProblemsTest,
       of_rows_that_lag_has_hidden_it_says_what_prevents_it_where_they_were_answered) {
  guard::GuardedNamespace& items = shop_.spaces[GuardedShop::kItems];
  filter::LiveFilter& live = *shop_.filters[GuardedShop::kItems];
  const std::uint64_t hash = items.filter->hash("plum");
  items.filter->note_absent(hash, shop_.now, "item:plum", filter::AbsentReads::Kind::lag);
  live.committed({&hash, 1}, {.by = shop_.now - std::chrono::milliseconds(3)});
  shop_.pass_readers();
  live.prove(shop_.now + std::chrono::nanoseconds(1), std::chrono::seconds(1));
  ASSERT_THAT(what(), ElementsAre("items: 1 row was answered as absent just after the commit"));
  EXPECT_THAT(found().front(), kIsComplete);
  EXPECT_EQ(found().front().grade, Grade::bad);
  EXPECT_THAT(found().front().hint, HasSubstr("its source does not support consistency: strict"));
  items.mode = config::Mode::observe;
  EXPECT_THAT(what(), IsEmpty());
}

TEST_F(ProblemsTest, an_attack_that_is_on_is_told_before_all_else_and_whether_it_is_stopped) {
  guard::AttackWatch& attack = shop_.spaces[GuardedShop::kUsers].counts->attack;
  attack.look(shop_.now - seconds(10), 0, 0);
  attack.look(shop_.now, 28'000, 0);
  ASSERT_THAT(what(), ElementsAre("Attack in progress: users"));
  EXPECT_THAT(found(), Each(kIsComplete));
  EXPECT_EQ(found().front().grade, Grade::warning);
  EXPECT_EQ(found().front().why,
            "peak of about 3,000 reads per second of keys without a row (user:{id:uint64})");
  EXPECT_THAT(found().front().hint, testing::StartsWith("the guard answers them"));
  process_state_.redis = guard::NodeState::down;
  EXPECT_THAT(what(), ElementsAre("Attack in progress: users", "Redis is unreachable"));
  process_state_.redis = guard::NodeState::up;
  shop_.spaces[GuardedShop::kUsers].mode = config::Mode::observe;
  EXPECT_EQ(found().front().grade, Grade::bad);
  EXPECT_THAT(found().front().hint, testing::StartsWith("they reach Redis"));
  shop_.spaces[GuardedShop::kUsers].mode = config::Mode::enforce;
  users_.set_state(State::down, "no server");
  EXPECT_THAT(what(), ElementsAre("Attack in progress: users", "users passes everything"));
  EXPECT_THAT(found().front().hint, testing::StartsWith("they reach Redis"));
}

TEST_F(ProblemsTest, of_a_log_of_filters_that_is_not_followed_it_says_why) {
  guard::FilledShop filled(shop_);
  EXPECT_THAT(found(), IsEmpty()) << "without a log";
  filled.store.told_log = {.state = filled::LogState::ready};
  EXPECT_THAT(found(), IsEmpty());
  filled.store.told_log = {.state = filled::LogState::loading, .why = "it has not been read yet"};
  EXPECT_THAT(what(), ElementsAre("The log of the application filters is being read"));
  EXPECT_EQ(found().front().grade, Grade::warning);
  EXPECT_THAT(found(), Each(kIsComplete));
  filled.store.told_log = {.state = filled::LogState::lost, .why = "NOPERM"};
  EXPECT_THAT(what(), ElementsAre("The log of the application filters is unreadable"));
  EXPECT_EQ(found().front().grade, Grade::bad);
  EXPECT_THAT(found(), Each(kIsComplete));
}

TEST_F(ProblemsTest, of_a_configuration_that_is_not_in_force_it_says_what_is_wrong_with_it) {
  reloads_.told.errors = {"guard.yaml:3:1: unknown key `sorces`", "guard.yaml:9:1: no keys"};
  ASSERT_EQ(found().size(), 1U);
  EXPECT_EQ(found().front().why, "guard.yaml:3:1: unknown key `sorces`, and 1 more error");
  EXPECT_THAT(found().front(), kIsComplete);
  reloads_.told = {.needs_restart = {"listen", "workers"}};
  ASSERT_EQ(found().size(), 1U);
  EXPECT_THAT(found().front().why, HasSubstr("listen, workers"));
  EXPECT_THAT(found().front(), kIsComplete);
}

TEST_F(ProblemsTest, of_a_process_that_ends_or_runs_out_of_descriptors_it_says_so) {
  process_state_.is_draining = true;
  EXPECT_THAT(what(), ElementsAre(HasSubstr("draining")));
  use_.open_descriptors = 950;
  EXPECT_THAT(what(), ElementsAre("File descriptors are running out", HasSubstr("draining")));
  EXPECT_THAT(found(), Each(kIsComplete));
  EXPECT_THAT(found().front().why, HasSubstr("1,024"));
}

}  // namespace
}  // namespace cuckooguard::views
