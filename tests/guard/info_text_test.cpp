#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filled/served/filled_shop.h"
#include "guard/fact_table.h"
#include "guard/guarded_shop.h"
#include "guard/own_commands.h"
#include "guard/told_nodes.h"
#include "guard/told_sources.h"

namespace cuckooguard::guard {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class InfoTextTest : public testing::Test {
 protected:
  InfoTextTest() {
    shop_.process.version = "1.2.3";
    shop_.process.started_at = shop_.now - seconds(90);
    shop_.process.sources = &sources_;
    for (int ns = 0; ns < 4; ++ns) {
      shop_.process.origins.push_back(
          {.source = ns == 1 ? "files" : "shop", .max_lag = seconds(1)});
    }
  }

  std::string text(std::optional<std::uint32_t> ns = std::nullopt) {
    return info_text(
        {.guard = *shop_.guard, .redis = shop_.guard->facts(), .now = shop_.now, .ns = ns});
  }

  GuardedShop shop_;
  ToldSources sources_{
      {{.name = "shop",
        .status = {.type = "mysql",
                   .state = filter::SourceState::down,
                   .why = "it is\r\ngone",
                   .position = "0-1-75",
                   .proven_at = shop_.now - milliseconds(1500),
                   .losses = 3}},
       {.name = "files",
        .status = {
            .type = "file",
            .state = filter::SourceState::following,
            .more = {{.name = "pages", .value = std::uint64_t{7}},
                     {.name = "shelves", .value = std::vector<std::string>{"a", "b"}},
                     {.name = "read",
                      .value = std::optional(std::chrono::nanoseconds(milliseconds(250)))}}}}}};
};

TEST_F(InfoTextTest, has_a_section_for_the_guard_each_namespace_and_each_source) {
  const std::string all = text();
  EXPECT_THAT(all,
              StartsWith("# "
                         "Guard\r\nversion:1.2.3\r\nuptime_in_seconds:90\r\nworkers:"
                         "1\r\nnamespaces:4\r\nredis:available\r\n"));
  for (const char* const section : {"users", "items", "orders", "carts"}) {
    EXPECT_THAT(all,
                HasSubstr("\r\n\r\n# Namespace " + std::string(section) + "\r\nmode:enforce\r\n"));
  }
  EXPECT_THAT(all,
              HasSubstr("\r\n\r\n# Source shop\r\ntype:mysql\r\nstate:down\r\nwhy:it is  "
                        "gone\r\nhint:check that the database is running"));
  EXPECT_THAT(all, HasSubstr("\r\nposition:0-1-75\r\nproven_ms_ago:1500\r\nlosses:3\r\n"));
  EXPECT_THAT(
      all,
      HasSubstr("# Source files\r\ntype:file\r\nstate:following\r\nwhy:\r\nhint:\r\nposition:\r\n"
                "proven_ms_ago:-1\r\nlosses:0\r\npages:7\r\nshelves:a, b\r\nread:250\r\n"));
}

TEST_F(InfoTextTest, has_a_section_for_all_filters_that_applications_fill) {
  EXPECT_THAT(text(), Not(HasSubstr("# Filters")));
  FilledShop filled(shop_);
  filled.filters.apply({.kind = filled::Operation::Kind::add_if_new,
                        .filter = "seen",
                        .missing = filled::Operation::Missing::is_made,
                        .shape = {.capacity = 1000},
                        .hashes = {filled.filters.hash("a"), filled.filters.hash("b")}});
  EXPECT_THAT(text(),
              HasSubstr("\r\n\r\n# Filters\r\nfilters:1\r\nmax_filters:1000\r\nitems:2\r\nbytes:" +
                        std::to_string(filled.filters.totals().bytes) +
                        "\r\nmax_memory:1073741824\r\nunsure:0\r\ndurability:local\r\nready:1\r\n"
                        "changes_done:0\r\n"));
  EXPECT_THAT(text(), Not(HasSubstr("log_seq")));
  EXPECT_THAT(text(0), Not(HasSubstr("# Filters"))) << "of one namespace";
  filled.store.current = false;
  filled.store.told_log = {.state = filled::LogState::lost,
                           .why = "it is\r\ngone",
                           .generation = "ab12",
                           .seq = 70,
                           .snapshot_seq = 60,
                           .snapshot_at = shop_.now - milliseconds(1500),
                           .waiting = 3};
  EXPECT_THAT(text(), HasSubstr("\r\nready:0\r\n"));
  EXPECT_THAT(
      text(),
      HasSubstr("\r\nlog:lost\r\nlog_why:it is  gone\r\nlog_generation:ab12\r\nlog_seq:70\r\n"
                "log_waiting:3\r\nlog_skipped:0\r\nlog_rereads:0\r\nlog_snapshot_seq:60\r\n"
                "log_snapshot_ms_ago:1500\r\n"));
}

TEST_F(InfoTextTest, tells_whether_redis_lets_the_guard_ask_and_the_remedy) {
  EXPECT_THAT(text(), HasSubstr("\r\nredis_role:master\r\ncontrol:unknown\r\ncontrol_why:\r\n"));
  shop_.facts.report({.state = redis::ControlReport::State::not_allowed,
                      .why = "NOAUTH Authentication required.",
                      .hint = "set upstream.control"});
  shop_.facts.publish(shop_.facts.epoch(), {.is_master = std::nullopt});
  shop_.facts.lost();
  EXPECT_THAT(text(),
              HasSubstr("\r\nredis_role:unknown\r\ncontrol:not_allowed\r\ncontrol_why:NOAUTH "
                        "Authentication required.\r\ncontrol_hint:set upstream.control\r\n"));
}

TEST_F(InfoTextTest, tells_of_the_nodes_of_a_cluster) {
  EXPECT_THAT(text(), Not(HasSubstr("# Nodes")));
  ToldNodes nodes({.shown = {{.address = "10.0.0.1:6379",
                              .port = 7000,
                              .role = NodeRole::master,
                              .slots = 5461,
                              .state = NodeState::up,
                              .round_trip = std::chrono::microseconds(150)},
                             {.address = "[::1]:6379", .state = NodeState::down}},
                   .without_port = 1,
                   .told_at = shop_.now - milliseconds(700),
                   .why_silent = "no\r\none"});
  shop_.process.nodes = &nodes;
  EXPECT_THAT(text(),
              HasSubstr("\r\n\r\n# Nodes\r\nnodes_without_port:1\r\nnodes_told_ms_ago:700\r\n"
                        "nodes_silent_why:no  one\r\n"
                        "node0:port=7000,role=master,slots=5461,state=up,latency_us=150,"
                        "address=10.0.0.1:6379\r\n"
                        "node1:port=0,role=unknown,slots=0,state=down,latency_us=-1,"
                        "address=[::1]:6379\r\n"));
  EXPECT_THAT(text(GuardedShop::kItems), Not(HasSubstr("# Nodes")));
}

TEST_F(InfoTextTest, of_one_namespace_tells_of_it_and_its_source_alone) {
  const std::string items = text(GuardedShop::kItems);
  EXPECT_THAT(items, StartsWith("# Namespace items\r\n"));
  EXPECT_THAT(items, HasSubstr("# Source files\r\n"));
  EXPECT_THAT(items, Not(HasSubstr("# Guard")));
  EXPECT_THAT(items, Not(HasSubstr("users")));
  EXPECT_THAT(items, Not(HasSubstr("# Source shop")));
}

TEST_F(InfoTextTest, tells_what_the_filter_holds_and_how_old_its_proof_is) {
  shop_.filters[GuardedShop::kUsers]->set_state(filter::State::ready);
  shop_.filters[GuardedShop::kUsers]->set_fresh_until(shop_.now + milliseconds(700));
  const std::string users = text(GuardedShop::kUsers);
  EXPECT_THAT(
      users,
      HasSubstr(
          "\r\ndb:0\r\nstate:ready\r\nfresh:1\r\nwhy:\r\nhint:\r\npassing_seconds:0\r\nsource:"
          "shop\r\nproven_ms_ago:"
          "300\r\ntables:1\r\nitems:100\r\n"));
  EXPECT_THAT(users, HasSubstr("\r\nfull:0\r\n"));
  shop_.filters[GuardedShop::kUsers]->set_fresh_until(TimePoint::min());
  EXPECT_THAT(text(GuardedShop::kUsers),
              AllOf(HasSubstr("\r\nfresh:0\r\nwhy:the filter is not proven to be up to "
                              "date\r\nhint:this ends automatically with the next proof; "),
                    HasSubstr("\r\npassing_seconds:0\r\nsource:shop\r\nproven_ms_ago:-1\r\n")));
  shop_.overlays[GuardedShop::kUsers]->hold_all_until(shop_.now + seconds(40));
  EXPECT_THAT(text(GuardedShop::kUsers), HasSubstr("\r\npassing_seconds:41\r\n"));
  shop_.filters[GuardedShop::kUsers]->publish(nullptr);
  EXPECT_THAT(text(GuardedShop::kUsers),
              HasSubstr("\r\nitems:0\r\ncapacity:0\r\nload:0.00000000\r\n"));
}

TEST_F(InfoTextTest, takes_all_tables_of_a_namespace_together) {
  filter::LiveParts& parts = *shop_.parts[GuardedShop::kCarts];
  auto more = std::make_unique<filter::CuckooFilter>(
      filter::sizing_for(filter::Layout::w8, 1000, filter::DeleteMode::trusted), parts.secret());
  for (int id = 100; id < 600; ++id) {
    more->insert(more->hash(std::to_string(id)));
  }
  const std::uint64_t bytes =
      more->stats().bytes + shop_.filters[GuardedShop::kCarts]->current()->stats().bytes;
  parts.add("more")->publish(std::move(more));
  const std::string carts = text(GuardedShop::kCarts);
  EXPECT_THAT(carts, HasSubstr("\r\ntables:2\r\nitems:501\r\n"));
  EXPECT_THAT(carts, HasSubstr("\r\nfilter_bytes:" + std::to_string(bytes) + "\r\n"));
  EXPECT_THAT(carts, HasSubstr("\r\nfalse_positive_rate:0.0")) << "the larger of the two";
  EXPECT_THAT(carts, HasSubstr("\r\nfresh:0\r\n")) << "one of them is not";
}

TEST_F(InfoTextTest, counts_the_keys_of_all_workers) {
  Client client;
  Guard other(shop_.guard->parts());
  shop_.process.guards = {shop_.guard.get(), &other};
  shop_.decide({"GET", "user:500"});
  shop_.decide({"GET", "user:1"});
  const std::initializer_list<std::string_view> get{"GET", "user:501"};
  other.decide(other.ask(std::span(get.begin(), get.size()), client, shop_.now), 1000);
  const std::string all = text();
  EXPECT_THAT(all, HasSubstr("\r\nworkers:2\r\n"));
  EXPECT_THAT(all, HasSubstr("\r\nanswered_commands:2\r\n"));
  EXPECT_THAT(all, HasSubstr("\r\nkeys_that_may_exist:1\r\n"));
  EXPECT_THAT(all, HasSubstr("\r\nkeys_answered_absent:2\r\n"));
  EXPECT_THAT(all,
              HasSubstr("\r\nkeys_overlaid:0\r\nkeys_unproven:0\r\nkeys_tolerated:0\r\n"
                        "keys_observed_absent:0\r\n"));
}

TEST_F(InfoTextTest, tells_what_is_tolerated_and_whether_an_attack_is_on) {
  GuardedNamespace& users = shop_.spaces[GuardedShop::kUsers];
  EXPECT_THAT(text(GuardedShop::kUsers),
              AllOf(HasSubstr("\r\nconsistency:max_lag\r\ntolerate:0\r\ndb:0\r\n"),
                    HasSubstr("\r\nabsent_keys_per_second:0\r\nattack:0\r\nattack_seconds:0\r\n")));
  users.consistency = config::Consistency::strict;
  users.tolerance->set_rate(0.5);
  users.counts->attack.look(shop_.now - seconds(30), 0, 0);
  users.counts->attack.look(shop_.now, 3000, 0);
  EXPECT_THAT(
      text(GuardedShop::kUsers),
      AllOf(HasSubstr("\r\nconsistency:strict\r\ntolerate:30/min\r\n"),
            HasSubstr("\r\nabsent_keys_per_second:100\r\nattack:1\r\nattack_seconds:30\r\n")));
}

TEST_F(InfoTextTest, counts_as_absent_what_has_no_row_whatever_became_of_it) {
  NamespaceCounts counts(2);
  for (std::size_t i = 0; i < kVerdicts; ++i) {
    counts.by_worker[i % 2].of(static_cast<Verdict>(i)).add(std::uint64_t{1} << i);
  }
  EXPECT_EQ(counts.absent_keys(), 0b1'1111'0000'0000U)
      << "unproven, tolerated, observed, redis_first, absent";
}

TEST_F(InfoTextTest, says_what_is_the_matter_with_redis) {
  shop_.facts.publish(shop_.facts.epoch(), {.availability = redis::Availability::loading});
  EXPECT_THAT(text(), HasSubstr("\r\nredis:loading\r\n"));
  shop_.facts.lost({.why = "Connection refused"});
  EXPECT_THAT(text(),
              HasSubstr("\r\nredis:lost\r\nredis_why:Connection refused\r\nredis_hint:check "));
}

TEST_F(InfoTextTest, needs_to_know_nothing_of_the_process) {
  shop_.process = {};
  EXPECT_THAT(text(), AllOf(HasSubstr("# Guard\r\n"), HasSubstr("# Namespace carts\r\n")));
}

TEST_F(InfoTextTest, is_verbatim_text_in_resp3_and_a_bulk_string_in_resp2) {
  const auto ask = [&](std::initializer_list<std::string_view> arguments) {
    return std::string(shop_
                           .serve(std::span(arguments.begin(), arguments.size()),
                                  {.now = shop_.now, .since = shop_.now, .has_room = true})
                           .reply);
  };
  const std::string items = text(GuardedShop::kItems);
  EXPECT_EQ(ask({"GUARD.INFO", "items"}),
            "$" + std::to_string(items.size()) + "\r\n" + items + "\r\n");
  EXPECT_EQ(ask({"GUARD.INFO", "nothing"}), "-ERR no such namespace: 'nothing'\r\n");
  shop_.send({"HELLO", "3"}, '%');
  EXPECT_EQ(ask({"GUARD.INFO", "items"}),
            "=" + std::to_string(items.size() + 4) + "\r\ntxt:" + items + "\r\n");
}

}  // namespace
}  // namespace cuckooguard::guard
