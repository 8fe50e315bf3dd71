// `./dev demo`: what a penetration attack does to Redis and the database, without and with the guard.
//
// A real redis-server, a SQLite database, the guard's own binary and a cache-aside application, all in one temporary
// directory and on free ports; nothing is left behind. The same look-ups are sent twice, first straight at Redis, then
// through the guard. What Redis was asked is taken from Redis, what the database was asked from the application.
//
// Exit codes: 0 no existing key was hidden and at least 99 % of the attack was stopped; 1 anything else; 130 Ctrl-C.

#include <exception>
#include <filesystem>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "burst.h"
#include "cache_aside.h"
#include "interrupt.h"
#include "phase.h"
#include "progress_line.h"
#include "report.h"
#include "servers.h"
#include "temp_directory.h"
#include "users_database.h"

namespace cuckooguard::demo {
namespace {

constexpr std::chrono::seconds kFilterPatience{60};
constexpr int kExitFailed = 1;
constexpr int kExitInterrupted = 130;

struct Options {
  std::string guard;
  bool keep = false;
  bool without_only = false;
  Mix mix;
};

void wait_for_filter(const Server& guard, const std::string& database, const Interrupt& interrupt) {
  CacheAside application(guard.port(), database);
  const bool is_in_force = interrupt.eventually(kFilterPatience, [&application] {
    return application.look_up(kProbeId) == Answer::declared_absent;
  });
  if (!is_in_force) {
    throw std::runtime_error("the guard's filter is not in force after 60 s");
  }
}

int run(const Options& options, const Interrupt& interrupt) {
  ProgressLine progress;
  const TempDirectory directory(options.keep);
  if (options.keep) {
    progress.say("Everything is kept in " + directory.path());
  }
  const std::string database = database_path(directory);
  progress.say(fmt::format("Creating a SQLite database of {} users", options.mix.users));
  create_users(database, options.mix.users, [&](std::uint64_t rows) {
    progress.show(fmt::format("  {} % of the rows", 100 * rows / options.mix.users));
    if (interrupt.requested()) {
      throw Interrupted();
    }
  });
  const Server redis = Server::redis(directory, interrupt);
  progress.say(
      fmt::format("Started redis-server on port {}. The application looks up users: GET; on nil it "
                  "asks the database; SET.",
                  redis.port()));
  progress.say(fmt::format(
      "Without the guard: {} clients, {} look-ups, {} % of them an attack with random absent ids",
      options.mix.clients,
      options.mix.lookups,
      100 - options.mix.existing_percent));
  Stage stage{.name = "without",
              .redis_port = redis.port(),
              .cache_port = redis.port(),
              .database_path = database};
  Verdict verdict;
  verdict.without = run_phase(stage, options.mix, interrupt, progress);
  if (options.without_only) {
    progress.say("\n" + table(verdict));
    return 0;
  }
  const auto started = Interrupt::Clock::now();
  const Server guard = Server::guard(options.guard, redis.port(), directory, interrupt);
  wait_for_filter(guard, database, interrupt);
  progress.say(fmt::format(
      "Started the guard on port {}; its filter was in force after {} ms",
      guard.port(),
      std::chrono::duration_cast<std::chrono::milliseconds>(Interrupt::Clock::now() - started)
          .count()));
  progress.say("With the guard: the same look-ups");
  stage.name = "with";
  stage.cache_port = guard.port();
  verdict.with = run_phase(stage, options.mix, interrupt, progress);
  progress.say("\n" + table(verdict) + "\n" + inserts_line(verdict));
  if (!verdict.is_good()) {
    progress.say(
        "That is not good enough: no existing key may be hidden, and 99 % of the attack must be "
        "stopped.");
  }
  progress.say(machine_line(verdict));
  return verdict.is_good() ? 0 : kExitFailed;
}

int run_with_options(int argc, char** argv) {
  Options options;
  CLI::App app("Shows what Redis and the database see of an attack, without and with the guard");
  app.add_option("--guard", options.guard, "The cuckooguard binary")
      ->default_val(std::filesystem::read_symlink("/proc/self/exe").parent_path() / "cuckooguard");
  app.add_flag("--keep", options.keep, "Keep the database, the configuration and the logs");
  app.add_flag("--without-only", options.without_only, "Only the phase without the guard");
  app.add_option("--lookups", options.mix.lookups, "Look-ups per phase")->capture_default_str();
  app.add_option("--clients", options.mix.clients, "Threads of the application")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  app.add_option("--seed", options.mix.seed, "Of the look-ups")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const Interrupt interrupt;
  try {
    return run(options, interrupt);
  } catch (const Interrupted&) {
    fmt::print(stderr, "\ninterrupted\n");
    return kExitInterrupted;
  }
}

}  // namespace
}  // namespace cuckooguard::demo

int main(int argc, char** argv) {
  try {
    return cuckooguard::demo::run_with_options(argc, argv);
  } catch (const std::exception& trouble) {  // whatever it is, it ends the demo
    fmt::print(stderr, "\nThe demo failed: {}\n", trouble.what());
    return cuckooguard::demo::kExitFailed;
  }
}
