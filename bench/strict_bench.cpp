// strict_bench [--postgres] [--rounds N]
//
// What `consistency: strict` costs beside `max_lag`: two guards of one table, measured in turns, N
// rounds of each.
//   alone       absent keys, one at a time: milliseconds
//   pipelined   absent keys, kClients clients, kPipeline of them in each write: keys per second
//   crowd       the same of kCrowd clients: what each waits for a proof others use
//   hits        keys of rows, kClients clients, one at a time: keys per second
//   beside      keys of rows on a connection that has just sent an absent one: milliseconds
//   database    CPU of the database while one client asks for absent keys all the time: of a core
//   callgrind   instructions of the guard for a hit (without valgrind: left out)
// The last line is for machines.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench_shop.h"
#include "harness/redis_command.h"
#include "harness/run_main.h"
#include "statistics.h"

namespace cuckooguard::bench {
namespace {

using harness::GuardProcess;
using harness::RawClient;
using harness::SteadyClock;

constexpr std::uint64_t kRows = 10'000;
constexpr std::uint64_t kNobody = std::uint64_t{1} << 61U;
constexpr std::size_t kClients = 50;
constexpr std::size_t kCrowd = 800;
constexpr std::size_t kThreads = 2;  // of the clients
constexpr std::size_t kPipeline = 64;

std::string get(std::uint64_t id) {
  return harness::command({"GET", "user:" + std::to_string(id)});
}

// One of the two.
struct Side {
  GuardProcess guard;
  std::uint64_t next_absent;  // no key is asked for twice
  std::vector<double> alone{};
  std::vector<double> beside{};
  std::vector<double> pipelined{};
  std::vector<double> crowd{};
  std::vector<double> hits{};
  std::vector<double> database{};

  std::uint64_t absent() { return next_absent++; }
};

void ask_alone(Side& side) {
  constexpr int kReads = 200;
  RawClient client = side.guard.client();
  for (int i = 0; i < kReads; ++i) {
    const auto begin = SteadyClock::now();
    if (!is_absent(client, side.absent())) {
      continue;  // it has passed: there was no proof in time
    }
    side.alone.push_back(milliseconds_since(begin));
  }
}

// A hit right behind an absent key, as others send it on the connection that they share.
void ask_beside(Side& side) {
  constexpr int kReads = 200;
  RawClient client = side.guard.client();
  for (int i = 0; i < kReads; ++i) {
    client.send(get(side.absent()));
    client.send(get(1));
    const auto begin = SteadyClock::now();
    (void)client.read_replies(2);
    side.beside.push_back(milliseconds_since(begin));
  }
}

// Requests of so many clients by `request`, which each has `replies`: so many replies per second.
double per_second(const Side& side,
                  std::size_t clients_in_all,
                  const std::function<std::string()>& request,
                  std::size_t replies) {
  constexpr std::size_t kRequests = 10'000;  // of all
  const std::size_t of_a_thread = clients_in_all / kThreads;
  const std::size_t rounds = kRequests / clients_in_all;
  std::vector<std::vector<std::string>> requests(kThreads);
  for (auto& of_thread : requests) {
    for (std::size_t i = 0; i < of_a_thread * rounds; ++i) {
      of_thread.push_back(request());
    }
  }
  const auto begin = SteadyClock::now();
  {
    std::vector<std::jthread> threads;
    for (const auto& of_thread : requests) {
      threads.emplace_back([&side, &of_thread, of_a_thread, replies] {
        std::vector<RawClient> clients;
        for (std::size_t i = 0; i < of_a_thread; ++i) {
          clients.push_back(side.guard.client());
        }
        for (std::size_t i = 0; i < of_thread.size(); i += clients.size()) {
          for (std::size_t client = 0; client < clients.size(); ++client) {
            clients[client].send(of_thread[i + client]);
          }
          for (RawClient& client : clients) {
            (void)client.read_replies(replies);
          }
        }
      });
    }
  }
  constexpr double kMilliseconds = 1000;
  return kMilliseconds * static_cast<double>(kThreads * of_a_thread * rounds * replies) /
         milliseconds_since(begin);
}

void ask_many(Side& side) {
  const auto absent_keys = [&side] {
    std::string request;
    for (std::size_t i = 0; i < kPipeline; ++i) {
      request += get(side.absent());
    }
    return request;
  };
  side.pipelined.push_back(per_second(side, kClients, absent_keys, kPipeline));
  side.crowd.push_back(per_second(side, kCrowd, absent_keys, kPipeline));
  side.hits.push_back(per_second(side, kClients, [] { return get(1); }, 1));
}

// Of a core, while absent keys are asked for.
void watch_database(Side& side, const BenchShop& shop) {
  constexpr double kMilliseconds = 2000;
  RawClient client = side.guard.client();
  const double before = shop.cpu_seconds();
  const auto begin = SteadyClock::now();
  while (milliseconds_since(begin) < kMilliseconds) {
    (void)is_absent(client, side.absent());
  }
  side.database.push_back((shop.cpu_seconds() - before) / milliseconds_since(begin) * 1000);
}

// Instructions of a guard for so many hits, and for all that it does meanwhile; nothing: there is
// no valgrind.
std::optional<double> instructions(const BenchShop& shop,
                                   const std::string& consistency,
                                   std::size_t hits) {
  const auto out = shop.folder("callgrind_" + consistency + std::to_string(hits));
  const auto program = shop.folder("under_callgrind");
  std::ofstream(program) << "#!/bin/sh\nexec valgrind --tool=callgrind --callgrind-out-file=" << out
                         << " " << harness::guard_binary() << " \"$@\"\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  if (harness::run_program({"/usr/bin/env", "valgrind", "--version"}).exit_code != 0) {
    return std::nullopt;
  }
  {
    const GuardProcess guard =
        shop.guard({.table = "users", .consistency = consistency}, program.string());
    wait_until_absent(guard, kNobody);
    RawClient client = guard.client();
    std::string request;
    for (std::size_t i = 0; i < kPipeline; ++i) {
      request += get(1);
    }
    for (std::size_t i = 0; i < hits; i += kPipeline) {
      (void)client.exchange(request, kPipeline);
    }
  }
  std::ifstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("totals: ") || line.starts_with("summary: ")) {
      return std::stod(line.substr(line.find(' ')));
    }
  }
  throw std::runtime_error("callgrind has counted nothing");
}

std::optional<double> instructions_of_a_hit(const BenchShop& shop, const std::string& consistency) {
  constexpr std::size_t kFew = 20 * kPipeline;
  constexpr std::size_t kMany = 400 * kPipeline;
  const auto few = instructions(shop, consistency, kFew);
  const auto many = instructions(shop, consistency, kMany);
  return few && many ? std::optional((*many - *few) / static_cast<double>(kMany - kFew))
                     : std::nullopt;
}

double sorted_percentile(std::vector<double> values, double part) {
  std::ranges::sort(values);
  return percentile(values, part);
}

// A line for people, and what is added to that for machines.
void tell(const char* name, const char* unit, double strict, double max_lag, std::string& line) {
  std::printf("%-14s %12.3f %12.3f %s\n", name, strict, max_lag, unit);
  std::fflush(stdout);
  line += std::string(" ") + name + "=" + std::to_string(strict) + "/" + std::to_string(max_lag);
}

int run(Database database, int rounds) {
  const auto shop = make_shop(database, false);
  shop->create_users(kRows, Ids::numbers);
  if (database == Database::mariadb) {  // a log that has just begun is asked more (docs/design.md)
    shop->run("SET gtid_seq_no = 1000000000");
    shop->run("INSERT INTO users VALUES (0, '')");
  }
  const auto side = [&](const char* consistency, std::uint64_t absent) {
    return Side{.guard = shop->guard({.table = "users", .consistency = consistency}),
                .next_absent = absent};
  };
  std::array<Side, 2> sides{side("strict", kNobody), side("max_lag", kNobody * 2)};
  for (Side& each : sides) {
    wait_until_absent(each.guard, each.absent());
  }
  for (int round = 0; round < rounds; ++round) {
    for (const auto& measure : std::initializer_list<std::function<void(Side&)>>{
             ask_alone, ask_beside, ask_many, [&](Side& each) { watch_database(each, *shop); }}) {
      for (Side& each : sides) {
        measure(each);
      }
    }
  }
  const auto& [strict, max_lag] = sides;
  std::string line = "bench-strict: database=" + std::string(shop->name());
  std::printf("%-14s %12s %12s\n", "", "strict", "max_lag");
  for (const auto& [part, name, beside] :
       {std::tuple{0.5, "alone_p50", "beside_p50"}, std::tuple{0.99, "alone_p99", "beside_p99"}}) {
    tell(name,
         "ms",
         sorted_percentile(strict.alone, part),
         sorted_percentile(max_lag.alone, part),
         line);
    tell(beside,
         "ms",
         sorted_percentile(strict.beside, part),
         sorted_percentile(max_lag.beside, part),
         line);
  }
  tell("pipelined", "keys/s", median(strict.pipelined), median(max_lag.pipelined), line);
  tell("crowd", "keys/s", median(strict.crowd), median(max_lag.crowd), line);
  tell("hits", "keys/s", median(strict.hits), median(max_lag.hits), line);
  tell("database", "of a core", median(strict.database), median(max_lag.database), line);
  const auto of_strict = instructions_of_a_hit(*shop, "strict");
  const auto of_max_lag = instructions_of_a_hit(*shop, "max_lag");
  if (of_strict && of_max_lag) {
    tell("callgrind", "instructions", *of_strict, *of_max_lag, line);
  }
  std::printf("%s\n", line.c_str());
  return 0;
}

}  // namespace
}  // namespace cuckooguard::bench

int main(int argc, char** argv) {
  return cuckooguard::harness::run_main("strict_bench", [&] {
    const std::vector<std::string_view> arguments(argv + 1, argv + argc);
    auto database = cuckooguard::bench::Database::mariadb;
    int rounds = 5;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i] == "--postgres") {
        database = cuckooguard::bench::Database::postgres;
      } else if (arguments[i] == "--rounds" && i + 1 < arguments.size()) {
        rounds = std::atoi(arguments[++i].data());
      } else {
        rounds = 0;
      }
    }
    if (rounds <= 0) {
      std::fputs("usage: strict_bench [--postgres] [--rounds N]\n", stderr);
      return 64;
    }
    return cuckooguard::bench::run(database, rounds);
  });
}
