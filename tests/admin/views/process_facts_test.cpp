#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guard/fact_table.h"
#include "guard/guarded_shop.h"
#include "views/metrics.h"
#include "views/model.h"
#include "views/status.h"

namespace cuckooguard::views {
namespace {

using guard::GuardedShop;
using testing::HasSubstr;
using testing::Not;

class ProcessFactsTest : public testing::Test {
 protected:
  std::string info(std::optional<std::uint32_t> ns = std::nullopt) {
    return guard::info_text(
        {.guard = *shop_.guard, .redis = shop_.guard->facts(), .now = shop_.now, .ns = ns});
  }
  Model model() {
    return {.guarded = shop_.guard->parts(),
            .process = shop_.process,
            .redis = shop_.guard->facts(),
            .process_state = process_state_,
            .now = shop_.now};
  }

  GuardedShop shop_;
  ProcessState process_state_;
};

TEST_F(ProcessFactsTest, a_row_of_a_provider_is_in_info_status_and_metrics) {
  shop_.shown.emplace_back([](guard::FactTable& table) {
    table.section({.title = "Toys", .json = "toys", .labels = {{"room", "attic"}}})
        .add({"toys_lost", "lost"}, 7)
        .metric("toys_lost_total", "Toys that were lost.");
  });
  EXPECT_THAT(info(), HasSubstr("\r\n# Toys\r\ntoys_lost:7\r\n"));
  const auto status = boost::json::parse(status_json(model()));
  EXPECT_EQ(status.at("toys"), boost::json::parse(R"({"lost":7})"));
  EXPECT_THAT(metrics_text(model()),
              HasSubstr("# HELP cuckooguard_toys_lost_total Toys that were lost.\n"
                        "# TYPE cuckooguard_toys_lost_total counter\n"
                        "cuckooguard_toys_lost_total{room=\"attic\"} 7\n"));
}

TEST_F(ProcessFactsTest, values_are_shown_as_each_reader_expects_them) {
  static constexpr std::array<std::string_view, 2> kNames{"new", "old"};
  shop_.shown.emplace_back([](guard::FactTable& table) {
    guard::FactSection& toy = table.section(
        {.title = "Toy", .name = "bear", .json = "toys", .labels = {{"toy", "bear"}}});
    toy.add("missing", {}).metric("missing", "Nothing.");
    toy.add("whole", true).metric("whole", "A flag.");
    toy.add("share", 0.25).metric("share", "A share.");
    toy.add("age", std::chrono::microseconds(1500)).metric("age_seconds", "An age.");
    toy.add("unborn", guard::FactAge()).metric("unborn_seconds", "No age.");
    toy.add("made.by", "a\r\nb").metric("made", "A text.", {"by", "them"});
    toy.add("state", "old").state("state", "A choice.", "state", kNames);
    toy.add("tags", std::vector<std::string>{"x", "y"}).metric("tags", "A list.");
  });
  EXPECT_THAT(info(),
              HasSubstr("# Toy bear\r\nwhole:1\r\nshare:0.25000000\r\nage:1\r\nunborn:-1\r\n"
                        "made.by:a  b\r\nstate:old\r\ntags:x, y\r\n"));
  EXPECT_EQ(boost::json::parse(status_json(model())).at("toys"),
            boost::json::parse(R"({"bear":{"missing":null,"whole":true,"share":0.25,"age":0.0015,)"
                               R"("unborn":null,"made":{"by":"a\r\nb"},"state":"old",)"
                               R"("tags":["x","y"]}})"));
  const std::string metrics = metrics_text(model());
  for (const char* const sample : {"cuckooguard_whole{toy=\"bear\"} 1\n",
                                   "cuckooguard_share{toy=\"bear\"} 0.25\n",
                                   "cuckooguard_age_seconds{toy=\"bear\"} 0.0015\n",
                                   "cuckooguard_made{toy=\"bear\",by=\"them\"} 1\n",
                                   "cuckooguard_state{toy=\"bear\",state=\"new\"} 0\n",
                                   "cuckooguard_state{toy=\"bear\",state=\"old\"} 1\n",
                                   "cuckooguard_tags{toy=\"bear\"} 2\n"}) {
    EXPECT_THAT(metrics, HasSubstr(sample));
  }
  EXPECT_THAT(metrics, Not(HasSubstr("cuckooguard_missing")));
  EXPECT_THAT(metrics, Not(HasSubstr("cuckooguard_unborn")));
}

}  // namespace
}  // namespace cuckooguard::views
