// The page / in a real browser: Chromium without a screen, driven by integration/clients/page.mjs,
// between a guard that is used meanwhile, a real Redis and a real database.
//
// What it looks like is kept below the build folder (CUCKOOGUARD_SCREENSHOTS).

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/skip.h"
#include "harness/admin_client.h"
#include "harness/chromium.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace json = boost::json;

// Numbers that are there and are another when asked again.
constexpr std::string_view kMoves =
    "(window.rates = window.rates || new "
    "Set()).add(document.getElementById('tile-rate').textContent) && "
    "[...window.rates].filter((text) => Number.parseFloat(text) > 0).length >= 3";
// In words, and as pixels that are not clear.
constexpr std::string_view kChartNames =
    "[...document.querySelectorAll('.plot')].map((one) => one.getAttribute('aria-label')).join()";
constexpr std::string_view kChartsDrawn =
    "[...document.querySelectorAll('.plot')].filter((plot) => "
    "[...plot.querySelectorAll('canvas')].some((canvas) => canvas.getContext('2d')"
    ".getImageData(0, 0, canvas.width, canvas.height).data.some((byte) => byte > 0))).length";
// What a chart tells whom the mouse is of no use.
constexpr std::string_view kOneStepBack =
    "(() => { const plot = document.querySelector('#chart-rate .plot'); plot.focus(); "
    "plot.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft'})); "
    "return document.querySelector('#chart-rate output').textContent; })()";

std::string text_of(std::string_view id) {
  return fmt::format("document.getElementById('{}').textContent", id);
}

struct Screen {
  std::string name;
  int width;
  int height;
  bool dark;

  friend void PrintTo(const Screen& screen, std::ostream* out) { *out << screen.name; }
};

// Look-ups of all kinds, until it ends.
class Load {
 public:
  explicit Load(const Shop& shop)
      : thread_([client = shop.client()](const std::stop_token& stop) mutable {
          for (std::uint64_t i = 0; !stop.stop_requested(); ++i) {
            client.call({"GET", user(1 + i % kUsers)});
            client.call({"GET", absent_user(i)});
            client.call({"GET", absent_user(i + 1)});
            client.call({"GET", "session:1"});
          }
        }) {}

 private:
  std::jthread thread_;
};

class PageTest : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_IF_MISSING(Chromium::missing());
    browser_.emplace();
  }

  static std::string address(Shop& shop) {
    return fmt::format("http://127.0.0.1:{}/", admin_port(shop.guard()));
  }
  static json::object order_for(Shop& shop, const Screen& screen) {
    std::filesystem::create_directories(CUCKOOGUARD_SCREENSHOTS);
    return {{"url", address(shop)},
            {"width", screen.width},
            {"height", screen.height},
            {"dark", screen.dark},
            {"screenshot", CUCKOOGUARD_SCREENSHOTS "/" + screen.name + ".png"}};
  }

  std::optional<Chromium> browser_;
};

class PageOnScreens : public PageTest, public testing::WithParamInterface<Screen> {};

TEST_P(PageOnScreens, shows_moving_numbers_to_everybody_and_asks_nobody_else) {
  Shop shop({.more = std::string(kAdmin)});
  shop.wait_until_it_answers();
  const Load load(shop);
  const std::string url = address(shop);
  json::object order = order_for(shop, GetParam());
  order["until"] = fmt::format(
      "({}) && {}.startsWith('Attack in progress: users: ')", kMoves, text_of("sentence"));
  order["read"] = {{"sentence", text_of("sentence")},
                   {"mark", "document.getElementById('verdict').className"},
                   {"stopped", text_of("stopped-sentence")},
                   {"namespaces", text_of("namespaces")},
                   {"sources", text_of("sources")},
                   {"events", text_of("events")},
                   {"charts", kChartNames},
                   {"drawn", kChartsDrawn},
                   {"one_step_back", kOneStepBack},
                   {"background", "getComputedStyle(document.body).backgroundColor"}};
  const Chromium::Report seen = browser_->open(order);
  EXPECT_THAT(seen.errors, testing::IsEmpty());
  EXPECT_THAT(seen.violations, testing::IsEmpty());
  EXPECT_EQ(seen.overflow, 0) << "one would have to scroll sideways";
  for (const std::string& asked : seen.urls) {
    EXPECT_TRUE(asked.starts_with(url) || asked.starts_with("data:")) << asked;
  }
  EXPECT_THAT(seen.read.at("sentence"), HasSubstr("reads per second of keys without a row"));
  EXPECT_THAT(seen.read.at("mark"), HasSubstr("is-warning")) << "it is stopped";
  EXPECT_THAT(seen.read.at("stopped"), HasSubstr("of guarded look-ups stopped in the last minute"));
  EXPECT_THAT(seen.read.at("charts"),
              AllOf(HasSubstr("Look-ups per second, a chart of the last 5 minutes. Now: Stopped "),
                    HasSubstr("Latency of passed reads, "),
                    HasSubstr("Share stopped, "),
                    HasSubstr("Source lag, ")));
  EXPECT_EQ(seen.read.at("drawn"), "4");
  EXPECT_THAT(seen.read.at("one_step_back"),
              AllOf(HasSubstr("s ago:Stopped "), HasSubstr("Passed ")));
  EXPECT_EQ(seen.read.at("background"), GetParam().dark ? "rgb(15, 20, 26)" : "rgb(244, 246, 248)");
  EXPECT_THAT(seen.read.at("namespaces"), AllOf(HasSubstr("users"), HasSubstr("1,000")));
  EXPECT_THAT(seen.read.at("namespaces"), HasSubstr("no read matches")) << "of tags";
  EXPECT_THAT(seen.read.at("namespaces"), HasSubstr("pattern: ascending, 100 % of them from"));
  EXPECT_THAT(seen.read.at("sources"), AllOf(HasSubstr("shop"), HasSubstr("following")));
  EXPECT_THAT(seen.read.at("events"), HasSubstr("listening"));
}

INSTANTIATE_TEST_SUITE_P(All,
                         PageOnScreens,
                         testing::Values(Screen{"desktop_light", 1280, 800, false},
                                         Screen{"desktop_dark", 1280, 800, true},
                                         Screen{"phone_light", 360, 640, false},
                                         Screen{"phone_dark", 360, 640, true}),
                         [](const auto& each) { return each.param.name; });

TEST_F(PageTest, says_of_a_guard_that_is_well_that_it_is_ready) {
  Shop shop({.more = std::string(kAdmin)});
  shop.wait_until_it_answers();
  json::object order =
      order_for(shop, {.name = "ready", .width = 1280, .height = 800, .dark = false});
  order["until"] = text_of("sentence") + " === 'All 2 namespaces are ready.'";
  order["read"] = {{"mark", "document.getElementById('verdict').className"}};
  EXPECT_THAT(browser_->open(order).read.at("mark"), HasSubstr("is-good"));
}

TEST_F(PageTest, says_first_what_is_wrong) {
  Shop shop({.more = std::string(kAdmin)});
  shop.wait_until_it_answers();
  shop.redis().kill();
  json::object order =
      order_for(shop, {.name = "redis_down", .width = 1280, .height = 800, .dark = false});
  order["until"] = text_of("sentence") + ".startsWith('Redis is unreachable') && " +
                   text_of("events") + ".includes('upstream down')";
  order["read"] = {{"mark", "document.getElementById('verdict').className"},
                   {"sentence", text_of("sentence")}};
  const Chromium::Report seen = browser_->open(order);
  EXPECT_THAT(seen.read.at("mark"), HasSubstr("is-bad"));
  EXPECT_THAT(seen.read.at("sentence"), HasSubstr("Connection refused."));
  EXPECT_THAT(seen.read.at("sentence"), HasSubstr("Check that Redis is running and responding"));
  EXPECT_THAT(seen.errors, testing::IsEmpty());
  EXPECT_THAT(seen.violations, testing::IsEmpty());
}

TEST_F(PageTest, says_of_a_guard_that_may_not_ask_its_redis_that_it_does_nothing) {
  Shop shop({.more = std::string(kAdmin),
             .redis_arguments = {"--requirepass", "word"},
             .password = "word"});
  json::object order =
      order_for(shop, {.name = "not_allowed", .width = 1280, .height = 800, .dark = false});
  order["until"] = text_of("namespaces") + ".includes('ready') && " + text_of("events") +
                   ".includes('control not allowed')";
  order["read"] = {{"mark", "document.getElementById('verdict').className"},
                   {"sentence", text_of("sentence")},
                   {"redis", text_of("tile-redis-role")}};
  const Chromium::Report seen = browser_->open(order);
  EXPECT_THAT(seen.read.at("mark"), HasSubstr("is-bad"));
  EXPECT_EQ(seen.read.at("sentence"),
            "Redis denies the guard permissions that it needs: NOAUTH Authentication required.Set "
            "upstream.control (username, password_file); until then all keys pass.");
  EXPECT_EQ(seen.read.at("redis"), "role unknown, available");
  EXPECT_THAT(seen.errors, testing::IsEmpty());
}

TEST_F(PageTest, says_of_a_redis_in_cluster_mode_what_it_needs) {
  Shop shop({.more = std::string(kAdmin), .redis_arguments = {"--cluster-enabled", "yes"}});
  json::object order =
      order_for(shop, {.name = "cluster", .width = 1280, .height = 800, .dark = false});
  order["until"] = text_of("namespaces") + ".includes('ready') && " + text_of("events") +
                   ".includes('upstream refused')";
  order["read"] = {{"mark", "document.getElementById('verdict').className"},
                   {"sentence", text_of("sentence")}};
  const Chromium::Report seen = browser_->open(order);
  EXPECT_THAT(seen.read.at("mark"), HasSubstr("is-bad"));
  EXPECT_EQ(
      seen.read.at("sentence"),
      "The guard cannot work with this Redis: this Redis is a cluster node (cluster_enabled:1), "
      "but upstream.address is for a Redis without cluster mode.Set upstream.cluster and "
      "listen.nodes; until then the guard forwards every command and answers nothing itself.");
  EXPECT_THAT(seen.errors, testing::IsEmpty());
}

// The guard may have looked before the table is there, and looks again four times per max_lag.
TEST_F(PageTest, counts_isolated_rows_where_there_are_any) {
  Shop shop(
      {.max_lag = "1s",
       .more = "  friends: { keys: 'friend:{name|ci}', source: { from: shop, table: friend } }\n" +
               std::string(kAdmin)});
  shop.database().run(
      "CREATE TABLE friend (name TEXT PRIMARY KEY COLLATE NOCASE);"
      "INSERT INTO friend VALUES ('bob'), ('Zo\u00eb')");
  json::object order =
      order_for(shop, {.name = "isolated", .width = 1280, .height = 800, .dark = false});
  order["until"] = text_of("namespaces") + ".includes('1 isolated')";
  order["read"] = {{"namespaces", text_of("namespaces")}};
  const std::string seen = browser_->open(order).read.at("namespaces");
  EXPECT_EQ(seen.find("isolated"), seen.rfind("isolated")) << "of the others: " << seen;
}

// Their keys are whatever clients have chosen.
TEST_F(PageTest, shows_filters_that_applications_fill_as_text) {
  Shop shop({.more = std::string(kAdmin) +
                     "filters: { named: { seen: {} }, allow_reserve: 'bf:{name}' }\n"});
  shop.wait_until_it_answers();
  const std::string odd = "bf:<img src=x onerror=alert(1)>";
  ASSERT_EQ(shop.client().call({"BF.ADD", odd, "1"}), ":1\r\n");
  json::object order =
      order_for(shop, {.name = "filters", .width = 390, .height = 844, .dark = false});
  order["until"] = text_of("filters") + ".includes('bf:')";
  order["read"] = {{"rows", text_of("filters")}, {"sum", text_of("filters-sum")}};
  const Chromium::Report seen = browser_->open(order);
  EXPECT_THAT(seen.read.at("rows"), AllOf(HasSubstr("empty"), HasSubstr(odd)));
  EXPECT_THAT(seen.read.at("sum"), HasSubstr("1 of 1,000 filters; "));
  EXPECT_EQ(seen.overflow, 0);
  EXPECT_THAT(seen.errors, testing::IsEmpty());
  EXPECT_THAT(seen.violations, testing::IsEmpty());
}

TEST_F(PageTest, says_of_what_passes_for_a_while_why_and_for_how_long) {
  Shop shop({.overlay = "{ ttl: 90s }", .more = std::string(kAdmin)});
  json::object order =
      order_for(shop, {.name = "passing", .width = 390, .height = 844, .dark = false});
  order["until"] = text_of("namespaces") + ".match(/passing[0-9.]+.s more/) !== null";
  order["read"] = {{"mark", "document.getElementById('verdict').className"},
                   {"sentence", text_of("sentence")},
                   {"namespaces", text_of("namespaces")}};
  const Chromium::Report seen = browser_->open(order);
  EXPECT_THAT(seen.read.at("mark"), HasSubstr("is-warning"));
  EXPECT_THAT(seen.read.at("sentence"),
              AllOf(HasSubstr("users, tags pass everything: the guard has just started and does "
                              "not know which keys were written before."),
                    HasSubstr("This ends automatically after overlay.ttl (90s); "),
                    Not(HasSubstr("ready"))));
  EXPECT_THAT(seen.read.at("namespaces"), HasSubstr("comparisonsThe guard has just started"));
  EXPECT_THAT(seen.read.at("namespaces"), HasSubstr("before.This ends automatically"));
  EXPECT_EQ(seen.overflow, 0);
  EXPECT_THAT(seen.errors, testing::IsEmpty());
}

TEST_F(PageTest, asks_for_the_token_and_keeps_it_out_of_addresses) {
  const TemporaryDirectory folder;
  const auto file = folder / "token";
  write_whole_file(file, "a secret");
  Shop shop(
      {.more = "admin: { address: \"127.0.0.1:0\", token_file: \"" + file.string() + "\" }\n"});
  shop.wait_until_it_answers();
  json::object order =
      order_for(shop, {.name = "token", .width = 360, .height = 640, .dark = false});
  order["token"] = "a secret";
  order["until"] = text_of("sentence") + " !== ''";
  order["read"] = {{"form", "document.getElementById('login').hidden"},
                   {"kept", "sessionStorage.getItem('token')"}};
  const Chromium::Report seen = browser_->open(order);
  EXPECT_EQ(seen.read.at("form"), "true");
  EXPECT_EQ(seen.read.at("kept"), "a secret") << "for when the page is loaded again";
  for (const std::string& asked : seen.urls) {
    EXPECT_THAT(asked, Not(HasSubstr("secret")));
  }
  EXPECT_THAT(seen.errors, testing::ElementsAre(HasSubstr("401 (Unauthorized)")))
      << "the browser itself notes the question without a token";
}

}  // namespace
}  // namespace cuckooguard::harness
