// reads_bench [--postgres] [--reads N]
//
// A row is committed and then read through the guard at once, N times in each of five ways: how
// often the guard says wrongly that it is absent, and for how long.
//   plain      nothing helps: no fresh_ids, and the row was not written through the guard
//   wait       GUARD.WAIT for the transaction first
//   set        the row's SET through the guard first
//   add        GUARD.ADD first
//   fresh_ids  auto, on an AUTO_INCREMENT id
// A wrong reply is as old as its question is after the commit's return; none may be as old as
// max_lag. Exits with 1 if one is, or if any but a plain reply is wrong. The last line is for
// machines.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench_shop.h"
#include "harness/run_main.h"
#include "statistics.h"

namespace cuckooguard::bench {
namespace {

using harness::RawClient;
using harness::SteadyClock;

constexpr std::uint64_t kNobody = std::uint64_t{1} << 62;

enum class Way : std::uint8_t { plain, wait, set, add, fresh_ids };
constexpr std::array<std::string_view, 5> kWays{"plain", "wait", "set", "add", "fresh_ids"};

struct Reads {
  std::uint64_t wrong = 0;  // rows whose first read was answered absent
  double oldest_wrong_ms = 0;
  std::vector<double> lags;  // of those, in milliseconds until they were not; sorted
};

void expect(std::string_view what, const std::string& reply, std::string_view good) {
  if (reply != good) {
    throw std::runtime_error(std::string(what) + " is answered " + reply);
  }
}

void prepare(Way way, const std::string& id, BenchShop& shop, RawClient& client) {
  const std::string key = "user:" + id;
  switch (way) {
    case Way::plain:
    case Way::fresh_ids:
      return;
    case Way::wait:
      expect("GUARD.WAIT", client.call({"GUARD.WAIT", "shop", shop.position(), "60000"}), ":1\r\n");
      return;
    case Way::set:
      expect("SET", client.call({"SET", key, "a"}), "+OK\r\n");
      return;
    case Way::add:
      expect("GUARD.ADD", client.call({"GUARD.ADD", key}), ":1\r\n");
      return;
  }
}

// Asks for a row until it is there.
void read_row(std::uint64_t id,
              SteadyClock::time_point committed,
              RawClient& client,
              Reads& reads) {
  const harness::Deadline deadline;
  double asked = milliseconds_since(committed);
  bool was_wrong = false;
  while (is_absent(client, id)) {
    was_wrong = true;
    reads.oldest_wrong_ms = std::max(reads.oldest_wrong_ms, asked);
    if (deadline.has_passed()) {
      throw std::runtime_error("a row does not become visible");
    }
    asked = milliseconds_since(committed);
  }
  if (was_wrong) {
    ++reads.wrong;
    reads.lags.push_back(milliseconds_since(committed));
  }
}

Reads measure(BenchShop& shop, Way way, std::uint64_t count) {
  const std::string table = "visit_" + std::string(kWays.at(static_cast<std::size_t>(way)));
  shop.run("CREATE TABLE " + table + " (id SERIAL PRIMARY KEY, name VARCHAR(40))");
  // A key that passes by mistake would not show what is asked here.
  const auto guard = shop.guard(
      {.table = table,
       .filter = "{ false_positive_rate: 0.0001%, capacity: " + std::to_string(2 * count) + " }",
       .fresh_ids = way == Way::fresh_ids ? "auto" : "0"});
  wait_until_absent(guard, kNobody);
  auto client = guard.client();
  Reads reads;
  for (std::uint64_t id = 1; id <= count; ++id) {
    shop.run("INSERT INTO " + table + " (name) VALUES ('visitor')");
    const auto committed = SteadyClock::now();
    prepare(way, std::to_string(id), shop, client);
    read_row(id, committed, client, reads);
  }
  if (shop.value("SELECT MAX(id) FROM " + table) != std::to_string(count)) {
    throw std::runtime_error("the database has given other ids");
  }
  std::ranges::sort(reads.lags);
  std::printf(
      "%-9s %llu of %llu wrong; until right p50 %.3f ms, p99 %.3f ms, max %.3f ms; oldest "
      "wrong reply %.3f ms\n",
      std::string(kWays.at(static_cast<std::size_t>(way))).c_str(),
      static_cast<unsigned long long>(reads.wrong),
      static_cast<unsigned long long>(count),
      percentile(reads.lags, 0.5),
      percentile(reads.lags, 0.99),
      percentile(reads.lags, 1),
      reads.oldest_wrong_ms);
  std::fflush(stdout);
  return reads;
}

int run(Database database, std::uint64_t count) {
  const auto shop = make_shop(database, false);
  bool is_good = true;
  std::string line =
      "bench-reads: database=" + std::string(shop->name()) + " reads=" + std::to_string(count);
  for (std::size_t i = 0; i < kWays.size(); ++i) {
    const auto way = static_cast<Way>(i);
    const Reads reads = measure(*shop, way, count);
    is_good = is_good && reads.oldest_wrong_ms < static_cast<double>(kMaxLag.count()) &&
              (way == Way::plain || reads.wrong == 0);
    line += " wrong_" + std::string(kWays.at(i)) + "=" + std::to_string(reads.wrong);
    if (way == Way::plain) {
      line += " lag_p50_ms=" + std::to_string(percentile(reads.lags, 0.5)) +
              " lag_p99_ms=" + std::to_string(percentile(reads.lags, 0.99)) +
              " oldest_wrong_ms=" + std::to_string(reads.oldest_wrong_ms) +
              " max_lag_ms=" + std::to_string(kMaxLag.count());
    }
  }
  std::printf("%s\n", line.c_str());
  return is_good ? 0 : 1;
}

}  // namespace
}  // namespace cuckooguard::bench

int main(int argc, char** argv) {
  return cuckooguard::harness::run_main("reads_bench", [&] {
    const std::vector<std::string_view> arguments(argv + 1, argv + argc);
    auto database = cuckooguard::bench::Database::mariadb;
    std::uint64_t reads = 10'000;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i] == "--postgres") {
        database = cuckooguard::bench::Database::postgres;
      } else if (arguments[i] == "--reads" && i + 1 < arguments.size()) {
        reads = std::strtoull(arguments[++i].data(), nullptr, 10);
      } else {
        reads = 0;
      }
    }
    if (reads == 0) {
      std::fputs("usage: reads_bench [--postgres] [--reads N]\n", stderr);
      return 64;
    }
    return cuckooguard::bench::run(database, reads);
  });
}
