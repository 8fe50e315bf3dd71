#include "views/status.h"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filled/served/filled_shop.h"
#include "guard/guarded_shop.h"
#include "guard/told_nodes.h"
#include "guard/told_sources.h"

namespace cuckooguard::views {
namespace {

using guard::GuardedShop;
using guard::seconds;

namespace json = boost::json;

class StatusTest : public testing::Test {
 protected:
  StatusTest() {
    shop_.process.version = "1.2.3";
    shop_.process.started_at = shop_.now - seconds(90);
    shop_.process.sources = &sources_;
    shop_.process.guards = {shop_.guard.get(), &other_};
    for (int ns = 0; ns < 4; ++ns) {
      shop_.process.origins.push_back({.source = "shop", .max_lag = seconds(1)});
    }
    process_state_.redis = guard::NodeState::up;
    process_state_.clients.emplace_back([] { return std::size_t{3}; });
    process_state_.clients.emplace_back([] { return std::size_t{5}; });
  }

  json::object status(std::uint64_t events_after = 0) {
    return json::parse(status_json({.guarded = shop_.guard->parts(),
                                    .process = shop_.process,
                                    .redis = shop_.guard->facts(),
                                    .process_state = process_state_,
                                    .now = shop_.now,
                                    .probe = &probe_},
                                   events_after))
        .as_object();
  }

  GuardedShop shop_;
  guard::Guard other_{shop_.guard->parts()};
  guard::ToldSources sources_{
      {{.name = "shop",
        .status = {.type = "mysql",
                   .state = filter::SourceState::down,
                   .why = "it is \"gone\" \xff",
                   .position = "0-1-75",
                   .proven_at = shop_.now - std::chrono::milliseconds(1500),
                   .losses = 3}},
       {.name = "ids",
        .status = {.type = "file", .state = filter::SourceState::loading, .why = "g\xc3\xa4hnt"}}}};
  ProcessState process_state_;
  FilterProbe probe_{1};
};

struct ToldEvents final : EventList {
  std::vector<Event> after(std::uint64_t number) const override {
    return {{.number = number + 1,
             .time = std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::seconds(1500)),
             .level = "warning",
             .text = "event=odd text=\"\xff\""}};
  }
};

TEST_F(StatusTest, tells_of_the_process_its_workers_and_redis) {
  const json::object all = status();
  EXPECT_EQ(all.at("version"), "1.2.3");
  EXPECT_EQ(all.at("uptime_seconds"), 90);
  EXPECT_EQ(all.at("workers"), json::parse(R"([{"clients":3},{"clients":5}])"));
  EXPECT_EQ(all.at("redis"), json::parse(R"({"up":true,"role":"master","state":"available",
                            "control":{"state":"unknown","why":"","hint":"","why_keys_pass":""}})"));
  shop_.facts.publish(shop_.facts.epoch(), {.availability = redis::Availability::loading});
  EXPECT_EQ(status().at("redis").at("state"), "loading");
  process_state_.redis = guard::NodeState::down;
  shop_.facts.lost();
  EXPECT_EQ(status().at("redis").at("up"), false);
  EXPECT_EQ(status().at("redis").at("state"), "lost");
  process_state_.redis = guard::NodeState::up;
  shop_.facts.publish(shop_.facts.epoch(), {.is_master = std::nullopt});
  shop_.facts.report({.state = redis::ControlReport::State::limited, .why = "no", .hint = "do"});
  EXPECT_EQ(status().at("redis"), json::parse(R"({"up":true,"role":null,"state":"available",
                            "control":{"state":"limited","why":"no","hint":"do","why_keys_pass":""}})"));
  process_state_.redis = guard::NodeState::never;
  EXPECT_TRUE(status().at("redis").at("up").is_null());
}

TEST_F(StatusTest, tells_of_each_node_of_a_cluster) {
  EXPECT_TRUE(status().at("nodes").is_null());
  guard::ToldNodes nodes({.shown = {{.address = "10.0.0.1:6379",
                                     .port = 7000,
                                     .role = guard::NodeRole::failing,
                                     .slots = 5461,
                                     .state = guard::NodeState::up,
                                     .round_trip = std::chrono::milliseconds(500)},
                                    {.address = "10.0.0.3:6379"}},
                          .without_port = 1,
                          .told_at = shop_.now - seconds(2),
                          .why_silent = "\xff"});
  shop_.process.nodes = &nodes;
  EXPECT_EQ(status().at("redis"),
            json::parse(R"({"up":true,"role":null,"state":null,"control":null})"));
  const json::object told = status().at("nodes").as_object();
  const std::string control =
      R"("control":{"state":"unknown","why":"","hint":"","why_keys_pass":""}})";
  EXPECT_EQ(told.at("all"),
            json::parse(R"([{"address":"10.0.0.1:6379","port":7000,"role":"failing",)"
                        R"("slots":5461,"state":"up","latency":0.5,)" +
                        control +
                        R"(,{"address":"10.0.0.3:6379","port":null,"role":"unknown",)"
                        R"("slots":0,"state":"never","latency":null,)" +
                        control + "]"));
  EXPECT_EQ(told.at("without_port"), 1);
  EXPECT_EQ(told.at("told_seconds_ago"), 2.0);
  EXPECT_EQ(told.at("silent"), "\"\\xff\"");
}

TEST_F(StatusTest, tells_what_each_namespace_holds_and_what_all_workers_have_counted) {
  shop_.filters[GuardedShop::kUsers]->set_state(filter::State::ready);
  shop_.filters[GuardedShop::kUsers]->set_fresh_until(shop_.now + std::chrono::milliseconds(750));
  shop_.decide({"GET", "user:500"});
  guard::Client client;
  const std::initializer_list<std::string_view> get{"GET", "user:501"};
  other_.decide(other_.ask(std::span(get.begin(), get.size()), client, shop_.now), 1000);
  const json::object users = status().at("namespaces").at("users").as_object();
  EXPECT_EQ(users.at("mode"), "enforce");
  EXPECT_EQ(users.at("state"), "ready");
  EXPECT_EQ(users.at("fresh"), true);
  EXPECT_EQ(users.at("why"), "");
  EXPECT_TRUE(users.at("passing_seconds").is_null());
  EXPECT_EQ(users.at("source"), "shop");
  EXPECT_EQ(users.at("proven_seconds_ago"), 0.25);
  EXPECT_EQ(users.at("rows"), 100);
  EXPECT_GE(users.at("capacity").to_number<int>(), 1000);
  EXPECT_GT(users.at("load").as_double(), 0.0);
  EXPECT_LT(users.at("expected_false_positive_rate").as_double(), 0.001);
  EXPECT_EQ(users.at("keys").at("absent"), 2);
  EXPECT_EQ(users.at("keys").at("may_exist"), 0);
  EXPECT_EQ(users.at("unmatched"), false);
  shop_.decide({"GET", "items:1"});
  const json::object items = status().at("namespaces").at("items").as_object();
  EXPECT_EQ(items.at("unmatched"), true);
  EXPECT_EQ(items.at("advice"),
            "all keys pass: the filter is loading; no read matched this template; 1 unguarded read "
            "begins with `items:`; try `cuckooguard explain KEY`");
}

TEST_F(StatusTest, tells_what_is_tolerated_and_of_an_attack_that_is_on) {
  guard::GuardedNamespace& space = shop_.spaces[GuardedShop::kUsers];
  space.tolerance->set_rate(10);
  space.consistency = config::Consistency::strict;
  json::object users = status().at("namespaces").at("users").as_object();
  EXPECT_EQ(users.at("consistency"), "strict");
  EXPECT_EQ(users.at("tolerate_per_second"), 10.0);
  EXPECT_EQ(users.at("absent_keys_per_second"), 0.0);
  EXPECT_TRUE(users.at("attack").is_null());
  EXPECT_EQ(users.at("keys").at("tolerated"), 0);
  space.counts->attack.look(shop_.now - seconds(20), 7, 10);
  space.counts->attack.look(shop_.now - seconds(10), 2007, 10);
  space.counts->attack.look(shop_.now, 3007, 10);
  users = status().at("namespaces").at("users").as_object();
  EXPECT_EQ(users.at("absent_keys_per_second"), 100.0);
  EXPECT_EQ(users.at("attack"),
            json::parse(R"({"seconds":20.0,"peak_per_second":200.0,"keys":3000})"));
}

TEST_F(StatusTest, tells_why_all_keys_of_a_namespace_pass_and_how_long) {
  const auto users = [&] { return status().at("namespaces").at("users").as_object(); };
  shop_.filters[GuardedShop::kUsers]->set_state(filter::State::refused, "access denied \xff");
  EXPECT_EQ(users().at("why"), "\"access denied \\xff\"");
  shop_.filters[GuardedShop::kUsers]->set_state(filter::State::ready);
  shop_.overlays[GuardedShop::kUsers]->hold_all_until(shop_.now + seconds(40));
  EXPECT_EQ(users().at("why"),
            "the guard has just started and does not know which keys were written before");
  EXPECT_GE(users().at("passing_seconds").as_double(), 40.0);
}

TEST_F(StatusTest, adds_up_what_the_charts_are_made_of) {
  shop_.decide({"GET", "user:500"});
  shop_.decide({"GET", "user:1"});
  shop_.decide({"GET", "other"});
  shop_.spaces[GuardedShop::kItems].mode = config::Mode::observe;
  shop_.decide({"GET", "item:none"});
  shop_.guard->note_reply_time(std::chrono::microseconds(10));
  other_.note_reply_time(std::chrono::seconds(100));
  const json::object all = status();
  const json::object& totals = all.at("totals").as_object();
  EXPECT_EQ(totals.at("absent"), 1);
  EXPECT_EQ(totals.at("passed"), 2) << "what is observed is forwarded";
  EXPECT_EQ(totals.at("unguarded"), 1);
  EXPECT_EQ(totals.at("lag"), json::parse("[1.5, null]"));
  const json::array& times = totals.at("reply_times").as_array();
  EXPECT_EQ(times.front(), 1);
  EXPECT_EQ(times.back(), 1);
  EXPECT_EQ(times.size(), all.at("reply_time_bounds").as_array().size() + 1);
}

TEST_F(StatusTest, tells_how_far_a_load_is_and_how_many_absent_keys_pass) {
  const auto users = [&] { return status().at("namespaces").at("users").as_object(); };
  EXPECT_TRUE(users().at("loading").is_null());
  EXPECT_TRUE(users().at("measured_false_positive_rate").is_null());
  process_state_.loads.put("users",
                           {.rows = 41,
                            .rows_expected = 100,
                            .rows_per_second = 20,
                            .fraction = 0.5,
                            .remaining = seconds(3)},
                           shop_.now);
  probe_.look(shop_.guard->parts().namespaces, shop_.now);
  EXPECT_EQ(users().at("loading"), json::parse(R"({"rows": 41, "rows_expected": 100,
            "rows_per_second": 20.0, "fraction": 0.5, "remaining_seconds": 3.0})"));
  EXPECT_LT(users().at("measured_false_positive_rate").as_double(), 0.002);
}

TEST_F(StatusTest, tells_of_events_that_one_does_not_know_yet) {
  EXPECT_EQ(status().at("events"), json::array());
  const ToldEvents events;
  process_state_.events = &events;
  const json::object event = status(41).at("events").at(0).as_object();
  EXPECT_EQ(event.at("number"), 42);
  EXPECT_EQ(event.at("time"), 1500.0);
  EXPECT_EQ(event.at("level"), "warning");
  EXPECT_EQ(event.at("text"), "\"event=odd text=\\\"\\xff\\\"\"");
}

TEST_F(StatusTest, tells_of_filters_that_applications_fill_and_of_their_log) {
  EXPECT_TRUE(status().at("filters").is_null());
  guard::FilledShop filled(shop_);
  const std::string odd = "bf:\"\xff<b>";
  filled.filters.apply({.kind = filled::Operation::Kind::add_if_new,
                        .filter = odd,
                        .missing = filled::Operation::Missing::is_made,
                        .shape = {.capacity = 500, .false_positive_rate = 0.25},
                        .hashes = {filled.filters.hash("a"), filled.filters.hash("b")}});
  filled.filters.apply(
      {.kind = filled::Operation::Kind::expire, .filter = odd, .until = filled.wall_time + 1500});
  json::object all = status().at("filters").as_object();
  EXPECT_EQ(all.at("count"), 1);
  EXPECT_EQ(all.at("items"), 2);
  EXPECT_EQ(all.at("max_filters"), 1000);
  EXPECT_EQ(all.at("durability"), "local");
  EXPECT_EQ(all.at("ready"), true);
  EXPECT_EQ(all.at("changes"), json::parse(R"({"done":0,"refused":0,"no_room":0,"not_logged":0})"));
  EXPECT_TRUE(all.at("log").is_null());
  const json::array& shown = all.at("shown").as_array();
  ASSERT_EQ(shown.size(), 3U);
  EXPECT_EQ(shown.at(0),
            json::parse(R"({"key":"seen","name":"seen","kind":"bloom","ready":true,"items":0,)"
                        R"("capacity":1000,"layers":0,"bytes":0,"false_positive_rate":0.001,)"
                        R"("expires_seconds":null})"));
  const json::object& one = shown.at(2).as_object();
  EXPECT_EQ(one.at("key"), "\"bf:\\\"\\xff<b>\"");
  EXPECT_TRUE(one.at("name").is_null());
  EXPECT_EQ(one.at("items"), 2);
  EXPECT_EQ(one.at("layers"), 1);
  EXPECT_EQ(one.at("bytes"), all.at("bytes"));
  EXPECT_EQ(one.at("false_positive_rate"), 0.25);
  EXPECT_EQ(one.at("expires_seconds"), 1.5);
  filled.store.current = false;
  filled.store.told_log = {.state = filled::LogState::lost,
                           .why = "\xff",
                           .generation = "ab12",
                           .seq = 70,
                           .skipped = 1,
                           .rereads = 2,
                           .snapshot_seq = 60,
                           .waiting = 3};
  all = status().at("filters").as_object();
  EXPECT_EQ(all.at("ready"), false);
  EXPECT_EQ(all.at("shown").at(0).at("ready"), false);
  EXPECT_EQ(all.at("log"),
            json::parse(R"({"state":"lost","why":"\"\\xff\"","generation":"ab12","seq":70,)"
                        R"("snapshot_seq":60,"snapshot_seconds_ago":null,"waiting":3,)"
                        R"("skipped":1,"rereads":2})"));
  filled.store.told_log->snapshot_at = shop_.now - seconds(2);
  EXPECT_EQ(status().at("filters").at("log").at("snapshot_seconds_ago"), 2.0);
}

TEST_F(StatusTest, shows_no_more_filters_than_it_says) {
  guard::FilledShop filled(shop_);
  for (std::size_t i = 0; i < guard::kFiltersShown + 5; ++i) {
    filled.filters.apply(
        {.kind = filled::Operation::Kind::create, .filter = "bf:" + std::to_string(i)});
  }
  const json::object all = status().at("filters").as_object();
  EXPECT_EQ(all.at("count"), guard::kFiltersShown + 5);
  EXPECT_EQ(all.at("shown").as_array().size(), guard::kFiltersShown);
}

TEST_F(StatusTest, tells_of_sources_in_words_that_are_json_whatever_they_are) {
  const json::object sources = status().at("sources").as_object();
  const json::object& shop = sources.at("shop").as_object();
  EXPECT_EQ(shop.at("type"), "mysql");
  EXPECT_EQ(shop.at("state"), "down");
  EXPECT_EQ(shop.at("position"), "0-1-75");
  EXPECT_EQ(shop.at("proven_seconds_ago"), 1.5);
  EXPECT_EQ(shop.at("losses"), 3);
  EXPECT_THAT(std::string(shop.at("why").as_string()), testing::HasSubstr("\\xff"));
  EXPECT_EQ(sources.at("ids").at("why"), "g\xc3\xa4hnt");
  EXPECT_TRUE(sources.at("ids").at("position").is_null());
  EXPECT_TRUE(sources.at("ids").at("proven_seconds_ago").is_null());
}

}  // namespace
}  // namespace cuckooguard::views
