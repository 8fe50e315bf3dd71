// `./dev demo`: what a penetration attack does to Redis and the database, without and with the
// guard.
//
// A real redis-server, or with --cluster six of them, a database (SQLite; with --mysql a MariaDB
// server, with --postgres a PostgreSQL), the guard's own binary and a cache-aside application, all
// in temporary directories and on free ports; nothing is left behind. Or servers that are there
// already, as those of docker-compose.yml. The same look-ups are sent twice, first straight at
// Redis, then through the guard. What Redis was asked is taken from Redis, what the database was
// asked from the application.
//
// Exit codes: 0 no existing key was hidden, at least 99 % of the attack was stopped, and no look-up
// came to nothing that would not without the guard; 1 anything else; 130 Ctrl-C.

#include <exception>
#include <filesystem>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cache.h"
#include "comparison.h"
#include "framework.h"
#include "harness/admin_client.h"
#include "harness/configuration.h"
#include "harness/guard_process.h"
#include "harness/interrupt.h"
#include "harness/mariadb_server.h"
#include "harness/postgres_server.h"
#include "harness/redis_server.h"
#include "live_load.h"
#include "mysql_users.h"
#include "options.h"
#include "own_cluster.h"
#include "pictures.h"
#include "postgres_users.h"
#include "progress_line.h"
#include "sqlite_users.h"

namespace cuckooguard::demo {
namespace {

using harness::Interrupt;

constexpr int kExitFailed = 1;
constexpr int kExitInterrupted = 130;
constexpr std::uint64_t kFrameworkLookups = 20'000;  // one after the other, by Python

// The Redis of the demo's own, or the cluster.
struct OwnRedis {
  OwnRedis(bool is_cluster, harness::TemporaryDirectory directory) {
    if (is_cluster) {
      cluster.emplace();
    } else {
      server.emplace(std::vector<std::string>(), std::string(), std::move(directory));
    }
  }

  Endpoint endpoint() const {
    return cluster ? cluster->endpoint() : Endpoint{.port = server->port()};
  }
  std::string upstream() const {
    return cluster ? fmt::format("{{ cluster: [ '{}' ] }}", cluster->address()) : server->address();
  }

  std::optional<harness::RedisServer> server{};
  std::optional<OwnCluster> cluster{};
};

harness::GuardProcess start_guard(const Options& options,
                                  const OwnRedis& redis,
                                  const UsersDatabase& database,
                                  const harness::TemporaryDirectory& directory) {
  // The demo's own application knows of the guard, a little: see cache_aside.h.
  const harness::Configuration configuration{
      .upstream = redis.upstream(),
      .source = database.guard_source(),
      .namespaces = harness::Guarded{.table = "users, columns: { id: id }",
                                     .fresh_ids = "",
                                     .absent_reply = fmt::format("bytes:{}", kAbsentReply),
                                     .filter = ""}
                        .yaml(),
      .more = options.keep || !options.pictures.empty() ? std::string(harness::kAdmin) : "",
      .workers = "auto"};
  return redis.cluster ? harness::GuardProcess::on_node_ports(configuration.yaml(),
                                                              redis.cluster->size(),
                                                              options.guard,
                                                              directory.folder("guard"))
                       : harness::GuardProcess::on_port(
                             configuration.yaml(), options.guard, directory.folder("guard"));
}

int run_on_own_servers(const Options& options) {
  ProgressLine progress;
  harness::TemporaryDirectory directory;
  if (options.keep) {
    directory.keep();
    progress.say("Everything is kept in " + directory.path().string());
  }
  std::optional<harness::MariaDbServer> mariadb;
  std::optional<harness::PostgresServer> postgres;
  std::unique_ptr<UsersDatabase> database;
  if (options.mysql) {
    mariadb.emplace(std::vector<std::string>{"--innodb-buffer-pool-size=256M"},
                    directory.folder("mariadb"));
    create_guard_user(*mariadb);
    database = std::make_unique<MysqlUsers>(
        mariadb->login(), harness::mysql_source(harness::unix_address(*mariadb), kMaxLag));
  } else if (options.postgres) {
    // It runs as a user of its own, who must get to its folder.
    std::filesystem::permissions(
        directory.path(), std::filesystem::perms::others_exec, std::filesystem::perm_options::add);
    postgres.emplace(harness::PostgresOptions{.settings = {"shared_buffers=256MB"}},
                     directory.folder("postgres"));
    create_guard_role(*postgres);
    database = std::make_unique<PostgresUsers>(
        postgres->login(),
        harness::postgres_source(harness::port_address(postgres->port()), kMaxLag));
  } else {
    database = std::make_unique<SqliteUsers>(directory / "shop.db");
  }
  progress.say(fmt::format("Creating {} of {} users", database->name(), options.mix.users));
  database->create(options.mix.users, [&](std::uint64_t rows) {
    progress.show(fmt::format("  {} % of the rows", 100 * rows / options.mix.users));
    Interrupt::require_until(Interrupt::Clock::now());
  });
  OwnRedis own_redis(options.cluster, directory.folder("redis"));
  const Endpoint redis = own_redis.endpoint();
  progress.say(fmt::format(
      "Started {} on port {}. The application looks up users: GET; on nil it asks the database; "
      "SET.{}",
      options.cluster ? "a Redis Cluster of six nodes, the first" : "redis-server",
      redis.port,
      options.cluster ? fmt::format(" Halfway, {} slots move to another node, and a master is "
                                    "killed.",
                                    kMovedSlots)
                      : ""));
  Comparison comparison(*database,
                        redis,
                        options.mix,
                        progress,
                        own_redis.cluster ? own_redis.cluster->changes() : std::vector<Change>());
  comparison.run_without_guard();
  if (options.without_only) {
    progress.say("\n" + table(comparison.verdict()));
    return 0;
  }
  const auto started = Interrupt::Clock::now();
  const auto guard_process = start_guard(options, own_redis, *database, directory);
  const Endpoint guard{.port = guard_process.port(), .is_of_cluster = options.cluster};
  comparison.wait_for_filter(guard);
  progress.say(fmt::format(
      "Started the guard on port {}; its filter was in force after {} ms",
      guard.port,
      std::chrono::duration_cast<std::chrono::milliseconds>(Interrupt::Clock::now() - started)
          .count()));
  comparison.run_with_guard(guard);
  const int exit_code = comparison.conclude() ? 0 : kExitFailed;
  if (options.keep) {
    progress.say(fmt::format("The guard's page, with some load, until Ctrl-C: http://127.0.0.1:{}/",
                             admin_port(guard_process)));
    run_live_load(*database, guard, options.mix.users);
  }
  if (!options.pictures.empty()) {
    progress.say("Taking pictures of the guard's page, when its charts are full, in five minutes");
    take_pictures({.page = fmt::format("http://127.0.0.1:{}/", admin_port(guard_process)),
                   .database = *database,
                   .guard = guard,
                   .users = options.mix.users},
                  options.pictures);
  }
  return exit_code;
}

void require_that_redis_may_be_emptied(const GivenServers& given) {
  if (!given.may_empty_redis && !open_cache(given.redis)->is_empty()) {
    throw std::runtime_error("the Redis at " + given.redis.text() +
                             " holds keys, and the demo begins with an empty one: give it a Redis "
                             "of its own, or --empty-redis");
  }
}

// `users`: how many of those that it asks for the database has.
int run_on_given_servers(const UsersDatabase& database,
                         std::uint64_t users,
                         const GivenServers& given,
                         const Options& options) {
  ProgressLine progress;
  if (users != options.mix.users) {
    throw std::runtime_error(fmt::format(
        "{} at {} has {} of the users 1 to {}: create them by demo/compose/{}/schema.sql",
        database.name(),
        given.database.text(),
        users,
        options.mix.users,
        given.database_kind));
  }
  require_that_redis_may_be_emptied(given);
  progress.say(
      fmt::format("Using {} of {} users at {}, Redis at {}, the guard at {}. The application looks "
                  "up users: GET; on nil it asks the database; SET.",
                  database.name(),
                  users,
                  given.database.text(),
                  given.redis.text(),
                  given.guard.text()));
  Comparison comparison(database, given.redis, options.mix, progress);
  comparison.run_without_guard();
  if (options.without_only) {
    progress.say("\n" + table(comparison.verdict()));
    return 0;
  }
  comparison.wait_for_filter(given.guard);
  comparison.run_with_guard(given.guard);
  return comparison.conclude() ? 0 : kExitFailed;
}

// As libpq's connection strings have it.
std::string quoted(const std::string& value) {
  std::string all = "'";
  for (const char each : value) {
    all += each == '\'' || each == '\\' ? "\\" : "";
    all += each;
  }
  return all + "'";
}

int run_on_given_servers(const GivenServers& given, const Options& options) {
  if (given.database_kind == "postgres") {
    const PostgresUsers database(fmt::format("host={} port={} user={} password={} dbname={}",
                                             quoted(given.database.host),
                                             given.database.port,
                                             quoted(given.database_user),
                                             quoted(given.database_password),
                                             quoted(given.database_name)));
    return run_on_given_servers(database, database.count_up_to(options.mix.users), given, options);
  }
  const MysqlUsers database({.host = given.database.host,
                             .port = given.database.port,
                             .user = given.database_user,
                             .password = given.database_password,
                             .database = given.database_name});
  return run_on_given_servers(database, database.count_up_to(options.mix.users), given, options);
}

CLI::Option* add_endpoint(CLI::App& app, const char* name, Endpoint& endpoint, const char* what) {
  return app
      .add_option_function<std::string>(
          name,
          [&endpoint](const std::string& text) {
            try {
              endpoint = Endpoint::parse(text);
            } catch (const std::invalid_argument& wrong) {
              throw CLI::ValidationError(wrong.what());
            }
          },
          what)
      ->type_name("HOST:PORT")
      ->group("Servers that are there already");
}

// All three addresses, or none. The first is what says so.
CLI::Option& add_given_servers(CLI::App& app, GivenServers& given) {
  CLI::Option& database =
      *add_endpoint(app, "--database-address", given.database, "A database with the table `users`");
  CLI::Option& redis = *add_endpoint(
      app, "--redis-address", given.redis, "A Redis of the demo's own: it empties all of it");
  CLI::Option& guard =
      *add_endpoint(app, "--guard-address", given.guard, "The guard in front of that Redis");
  database.needs(&redis)->needs(&guard)->excludes(app.get_option("--mysql"));
  database.excludes(app.get_option("--postgres"));
  redis.needs(&database);
  guard.needs(&database);
  const std::string group = database.get_group();
  app.add_option("--database-kind", given.database_kind, "mysql, which MariaDB is too, or postgres")
      ->capture_default_str()
      ->check(CLI::IsMember({"mysql", "postgres"}))
      ->needs(&database)
      ->group(group);
  app.add_option("--database", given.database_name, "Its name")
      ->capture_default_str()
      ->group(group);
  app.add_option("--database-user", given.database_user, "Who may read `users` and add to it")
      ->capture_default_str()
      ->group(group);
  app.add_option("--database-password", given.database_password, "That user's")
      ->envname("DATABASE_PASSWORD")
      ->group(group);
  app.add_flag("--empty-redis", given.may_empty_redis, "Even if it holds keys")
      ->needs(&redis)
      ->group(group);
  return database;
}

void add_framework(CLI::App& app, Options& options) {
  CLI::Option& framework =
      *app.add_flag("--framework",
                    options.framework,
                    "Instead: a shop on Django that nobody has changed, without guard, with "
                    "`nil`, and with Django's own reply");
  for (const char* const other : {"--mysql",
                                  "--postgres",
                                  "--cluster",
                                  "--clients",
                                  "--pictures",
                                  "--without-only",
                                  "--database-address"}) {
    framework.excludes(app.get_option(other));
  }
  app.add_option("--application", options.application, "Its attack.py")
      ->capture_default_str()
      ->check(CLI::ExistingFile)
      ->needs(&framework);
}

int run_with_options(int argc, char** argv) {
  Options options;
  GivenServers given;
  CLI::App app("Shows what Redis and the database see of an attack, without and with the guard");
  app.add_option("--guard", options.guard, "The cuckooguard binary")
      ->default_val(std::filesystem::read_symlink("/proc/self/exe").parent_path() / "cuckooguard");
  app.add_flag("--mysql", options.mysql, "With Debian's MariaDB instead of SQLite");
  app.add_flag("--postgres", options.postgres, "With Debian's PostgreSQL instead")
      ->excludes("--mysql");
  app.add_flag("--cluster",
               options.cluster,
               "With a Redis Cluster of six nodes, in which slots move and a master is killed; of "
               "servers that are there already: Redis's address, and the guard's, are those of a "
               "node");
  app.add_flag("--keep",
               options.keep,
               "Go on until Ctrl-C, with the guard's page to look at; then keep the database, the "
               "configuration and the logs");
  app.add_option("--pictures",
                 options.pictures,
                 "Takes pictures of the guard's page with Chromium, page.png and page-phone.png")
      ->type_name("FOLDER")
      ->check(CLI::ExistingDirectory)
      ->excludes("--keep");
  app.add_flag("--without-only", options.without_only, "Only the phase without the guard");
  app.add_option("--lookups", options.mix.lookups, "Look-ups per phase")->capture_default_str();
  app.add_option("--clients", options.mix.clients, "Threads of the application")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  app.add_option("--seed", options.mix.seed, "Of the look-ups")->capture_default_str();
  const CLI::Option& database_address = add_given_servers(app, given);
  add_framework(app, options);
  CLI11_PARSE(app, argc, argv);
  if (!database_address.empty()) {
    options.given = given;
    options.given->redis.is_of_cluster = options.cluster;
    options.given->guard.is_of_cluster = options.cluster;
  }
  if (options.framework && app.get_option("--lookups")->empty()) {
    options.mix.lookups = kFrameworkLookups;
  }
  const Interrupt interrupt;
  try {
    if (options.framework) {
      return run_framework(options) ? 0 : kExitFailed;
    }
    return options.given ? run_on_given_servers(*options.given, options)
                         : run_on_own_servers(options);
  } catch (const harness::Interrupted&) {
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
