// load_bench [--postgres] [--text] [--rows N] [--rounds N] [--commits N] [--checkpoint-keys N]
//
// What it costs to come by the filter, beside a real MariaDB, or PostgreSQL, in the same run. The
// last line is for machines:
//   load_over_client     from the guard's start to its first absent answer, over the time the
//                        database's own client takes to read the same column (psql: by COPY); taken
//                        by turns, the median of the rounds' ratios
//   memory_over_mib      the guard's largest resident size, without the filter, without what a
//                        guard of nothing has
//   follow_rows_per_s    one transaction of rows / 3 inserts, met by a guard that goes on from a
//                        checkpoint: its time to the first absent answer, less that of one for
//                        which nothing has changed
//   follow_over_client   that time, over the time pg_recvlogical takes for the same transaction, by
//                        turns, the median of the ratios; PostgreSQL alone
//   lag_p50_ms, p99, max  from a single row's commit to the first reply that does not say absent,
//                         asked without pause
//   restart_ms           from the start of a guard with a checkpoint of --checkpoint-keys to its
//                        first absent answer. The file is of that capacity and nearly empty: it has
//                        the same size, is read and verified the same.
// With --text ids are VARCHAR(36), as UUIDs look, instead of BIGINT, and loads alone are measured.
// Everything is warm: the database's pages, and the checkpoint in the page cache. Nothing is synced
// to a disk.

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "bench_shop.h"
#include "harness/run_main.h"
#include "statistics.h"

namespace cuckooguard::bench {
namespace {

using harness::GuardProcess;
using harness::SteadyClock;

struct Options {
  Database database = Database::mariadb;
  Ids ids = Ids::numbers;
  std::uint64_t rows = 10'000'000;
  std::uint64_t rounds = 5;
  std::uint64_t commits = 10'000;
  std::uint64_t checkpoint_keys = 100'000'000;
};

// Ids that no row has, whatever the table is filled with.
constexpr std::uint64_t kNobody = std::uint64_t{1} << 62;
// The first absent answer waits for a proof, which is asked for four times as often: else the
// measurements would be as coarse as a quarter of a second.
constexpr harness::milliseconds kShortLag{100};
constexpr double kMiB = 1024.0 * 1024.0;

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--postgres") {
      options.database = Database::postgres;
      continue;
    }
    if (argument == "--text") {
      options.ids = Ids::text;
      continue;
    }
    std::uint64_t* const number = argument == "--rows"              ? &options.rows
                                  : argument == "--rounds"          ? &options.rounds
                                  : argument == "--commits"         ? &options.commits
                                  : argument == "--checkpoint-keys" ? &options.checkpoint_keys
                                                                    : nullptr;
    if (number == nullptr || ++i == argc) {
      return false;
    }
    *number = std::strtoull(argv[i], nullptr, 10);
    if (*number == 0) {
      return false;
    }
  }
  return true;
}

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

std::string seconds_text(double seconds) {
  return std::to_string(seconds).substr(0, 5) + " s";
}

// Of the whole machine: other work changes what is measured.
std::string load_average() {
  const std::string all = harness::read_whole_file("/proc/loadavg");
  return all.substr(0, all.find(' '));
}

struct Start {
  double seconds = 0;  // to the first absent answer
  // Of the guard's threads, during that time: other work on the machine changes it less.
  double cpu_seconds = 0;
};

// Of all of its threads.
double cpu_seconds(pid_t pid) {
  const std::string stat = harness::read_whole_file("/proc/" + std::to_string(pid) + "/stat");
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string ignored;
  for (int i = 3; i < 14; ++i) {
    fields >> ignored;
  }
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

Start time_of_start(BenchShop& shop, const Guarded& guarded) {
  const auto begin = SteadyClock::now();
  const GuardProcess guard = shop.guard(guarded);
  wait_until_absent(guard, kNobody);
  const Start start{.seconds = milliseconds_since(begin) / 1000,
                    .cpu_seconds = cpu_seconds(guard.pid())};
  shop.forget_log(guard);
  return start;
}

// What the guard says of the load alone: of `event=loaded namespace=users rows=1000 seconds=0.20
// ...`.
double seconds_of_load(const GuardProcess& guard) {
  constexpr std::string_view kSeconds = " seconds=";
  const std::string log = guard.log();
  const std::size_t line = log.find("event=loaded");
  const std::size_t at = line == std::string::npos ? line : log.find(kSeconds, line);
  if (at == std::string::npos) {
    throw std::runtime_error("no load in the log: " + log);
  }
  return std::strtod(log.c_str() + at + kSeconds.size(), nullptr);
}

struct Loads {
  double over_client = 0;
  double memory_mib = 0;
};

Loads measure_loads(const BenchShop& shop, std::uint64_t rounds) {
  Loads loads;
  const GuardProcess nothing = shop.guard_of_nothing();
  std::vector<double> ratios;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const double client = shop.client_seconds();
    const auto begin = SteadyClock::now();
    const GuardProcess guard = shop.guard({.table = "users", .max_lag = kShortLag});
    wait_until_absent(guard, kNobody);
    const double loaded = milliseconds_since(begin) / 1000;
    const double cpu = cpu_seconds(guard.pid());
    ratios.push_back(loaded / client);
    const double memory = (static_cast<double>(guard.resident_bytes_max()) -
                           static_cast<double>(info_number(guard, "filter_bytes")) -
                           static_cast<double>(nothing.resident_bytes())) /
                          kMiB;
    loads.memory_mib = std::max(loads.memory_mib, memory);
    say("load: client " + seconds_text(client) + ", guard " + seconds_text(loaded) +
        " (of which rows and filter " + seconds_text(seconds_of_load(guard)) + ", CPU " +
        seconds_text(cpu) + "), ratio " + std::to_string(ratios.back()) +
        ", memory over the filter " + std::to_string(memory) + " MiB, load average " +
        load_average());
  }
  loads.over_client = median(ratios);
  return loads;
}

struct Followed {
  double rows_per_second = 0;
  std::optional<double> over_client;
};

Followed measure_follow(BenchShop& shop, const Options& options) {
  const std::uint64_t batch = std::max<std::uint64_t>(options.rows / 3, 1);
  const Guarded guarded{
      .table = "users",
      .filter = "{ capacity: " + std::to_string(options.rows + batch * (options.rounds + 1)) + " }",
      .storage = shop.folder("followed").string(),
      .max_lag = kShortLag};
  time_of_start(shop, guarded);  // leaves a checkpoint
  std::vector<double> rates;
  std::vector<double> ratios;
  std::uint64_t last = options.rows;
  for (std::uint64_t round = 0; round < options.rounds; ++round) {
    const Start unchanged = time_of_start(shop, guarded);
    const auto client = shop.log_client_seconds([&] { shop.insert_users(last + 1, last + batch); });
    last += batch;
    const Start caught_up = time_of_start(shop, guarded);
    const double seconds = std::max(caught_up.seconds - unchanged.seconds, 0.001);
    rates.push_back(static_cast<double>(batch) / seconds);
    if (client) {
      ratios.push_back(seconds / *client);
    }
    say("follow: " + std::to_string(batch) + " rows, restart " + seconds_text(caught_up.seconds) +
        ", without them " + seconds_text(unchanged.seconds) + ", " +
        std::to_string(static_cast<std::uint64_t>(rates.back())) + " rows/s, CPU " +
        seconds_text(caught_up.cpu_seconds - unchanged.cpu_seconds) +
        (client ? ", client " + seconds_text(*client) + ", ratio " + std::to_string(ratios.back())
                : "") +
        ", load average " + load_average());
  }
  // A guard that had read the table instead would be no measurement.
  const GuardProcess guard = shop.guard(guarded);
  wait_until_absent(guard, kNobody);
  if (guard.log().contains("event=loaded") || info_number(guard, "items") != last) {
    throw std::runtime_error("the guard has not followed: " + guard.log());
  }
  return {.rows_per_second = median(rates),
          .over_client = ratios.empty() ? std::nullopt : std::optional(median(ratios))};
}

// Sorted.
std::vector<double> measure_lags(BenchShop& shop, std::uint64_t commits) {
  shop.run("CREATE TABLE visit (id BIGINT PRIMARY KEY, name VARCHAR(40))");
  const GuardProcess guard = shop.guard({.table = "visit",
                                         .filter = "{ false_positive_rate: 0.0001%, capacity: " +
                                                   std::to_string(2 * commits) + " }"});
  wait_until_absent(guard, kNobody);
  auto client = guard.client();
  std::vector<double> lags;
  for (std::uint64_t id = 1; id <= commits; ++id) {
    shop.run("INSERT INTO visit VALUES (" + std::to_string(id) + ", 'visitor')");
    const auto committed = SteadyClock::now();
    const harness::Deadline deadline;
    while (is_absent(client, id)) {
      if (deadline.has_passed()) {
        throw std::runtime_error("a row does not become visible: " + guard.log());
      }
    }
    lags.push_back(milliseconds_since(committed));
  }
  std::ranges::sort(lags);
  say("lag: " + std::to_string(commits) + " commits, p50 " + std::to_string(percentile(lags, 0.5)) +
      " ms, p90 " + std::to_string(percentile(lags, 0.9)) + " ms, p99 " +
      std::to_string(percentile(lags, 0.99)) + " ms, max " + std::to_string(lags.back()) + " ms");
  return lags;
}

double measure_restart(BenchShop& shop, const Options& options) {
  shop.run("CREATE TABLE few (id BIGINT PRIMARY KEY); INSERT INTO few SELECT seq FROM " +
           shop.numbers(1, 1000));
  const Guarded guarded{.table = "few",
                        .filter = "{ capacity: " + std::to_string(options.checkpoint_keys) + " }",
                        .storage = shop.folder("restarted").string(),
                        .max_lag = kShortLag};
  time_of_start(shop, guarded);  // leaves a checkpoint
  std::vector<double> times;
  times.reserve(options.rounds);
  for (std::uint64_t round = 0; round < options.rounds; ++round) {
    times.push_back(time_of_start(shop, guarded).seconds * 1000);
  }
  const auto file = shop.folder("restarted") / "shop.users.few.filter";
  say("restart: a checkpoint of " +
      std::to_string(static_cast<double>(std::filesystem::file_size(file)) / kMiB) + " MiB, " +
      seconds_text(median(times) / 1000));
  return median(times);
}

int run(const Options& options) {
  const auto made = make_shop(options.database, true);
  BenchShop& shop = *made;
  const auto begin = SteadyClock::now();
  shop.create_users(options.rows, options.ids);
  say("rows: " + std::to_string(options.rows) + ", inserted in " +
      seconds_text(milliseconds_since(begin) / 1000) + ", load average " + load_average());
  const Loads loads = measure_loads(shop, options.rounds);
  if (options.ids == Ids::text) {
    std::printf(
        "bench-load: database=%s ids=text rows=%llu load_over_client=%.2f memory_over_mib=%.1f\n",
        std::string(shop.name()).c_str(),
        static_cast<unsigned long long>(options.rows),
        loads.over_client,
        loads.memory_mib);
    return 0;
  }
  const Followed follow = measure_follow(shop, options);
  const std::vector<double> lags = measure_lags(shop, options.commits);
  const double restart = measure_restart(shop, options);
  std::printf(
      "bench-load: database=%s rows=%llu load_over_client=%.2f memory_over_mib=%.1f "
      "follow_rows_per_s=%.0f%s lag_p50_ms=%.3f lag_p99_ms=%.3f lag_max_ms=%.3f restart_ms=%.0f\n",
      std::string(shop.name()).c_str(),
      static_cast<unsigned long long>(options.rows),
      loads.over_client,
      loads.memory_mib,
      follow.rows_per_second,
      follow.over_client ? (" follow_over_client=" + std::to_string(*follow.over_client)).c_str()
                         : "",
      percentile(lags, 0.5),
      percentile(lags, 0.99),
      lags.back(),
      restart);
  return 0;
}

}  // namespace
}  // namespace cuckooguard::bench

int main(int argc, char** argv) {
  return cuckooguard::harness::run_main("load_bench", [&] {
    cuckooguard::bench::Options options;
    if (!cuckooguard::bench::parse(argc, argv, options)) {
      std::fputs(
          "usage: load_bench [--postgres] [--text] [--rows N] [--rounds N] [--commits N] "
          "[--checkpoint-keys N]\n",
          stderr);
      return 64;
    }
    return cuckooguard::bench::run(options);
  });
}
