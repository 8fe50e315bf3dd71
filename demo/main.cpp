// `./dev demo`: what an attack with random ids does to the users of an application, and to its
// database, without and with the guard.
//
// A real redis-server, or with --cluster six of them, a database server (PostgreSQL; with --mariadb
// a MariaDB, with --sqlite none), the guard's own binary and a cache-aside application, all in
// temporary directories and on sockets of their own; nothing is left behind. Or servers that are
// there already, as those of docker-compose.yml.
//
//   without the guard   calm ─▶ attack
//   with it             calm ─▶ attack ─▶ attack, in which the guard is killed and started again
//
// And what its users do themselves, without and with the guard's `breakdown`:
//
//   a hot key expires, which 200 clients read; Redis is emptied, of which 500 read 10,000 keys
//
// Exit codes: 0 as report.h's is_good() says; 1 anything else; 130 Ctrl-C.

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cache.h"
#include "framework.h"
#include "harness/admin_client.h"
#include "harness/configuration.h"
#include "harness/guard_process.h"
#include "harness/interrupt.h"
#include "harness/mariadb_server.h"
#include "harness/postgres_server.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"
#include "load.h"
#include "mysql_shop.h"
#include "options.h"
#include "own_cluster.h"
#include "pictures.h"
#include "postgres_shop.h"
#include "progress_line.h"
#include "report.h"
#include "sqlite_shop.h"

namespace cuckooguard::demo {
namespace {

using harness::Interrupt;

constexpr int kExitFailed = 1;
constexpr int kExitInterrupted = 130;

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
    return cluster ? cluster->endpoint() : Endpoint{.unix_path = server->unix_path()};
  }
  std::string upstream() const {
    return cluster ? fmt::format("{{ cluster: [ '{}' ] }}", cluster->address())
                   : "'unix:" + server->unix_path().string() + "'";
  }
  std::string name() const { return cluster ? "a Redis Cluster of six nodes" : "redis-server"; }
  std::vector<Change> changes() { return cluster ? cluster->changes() : std::vector<Change>(); }

  std::optional<harness::RedisServer> server{};
  std::optional<OwnCluster> cluster{};
};

struct OwnDatabase {
  OwnDatabase(const Options& options, const harness::TemporaryDirectory& directory) {
    if (options.sqlite) {
      shop = std::make_unique<SqliteShop>(directory / "shop.db");
    } else if (options.mariadb) {
      mariadb.emplace(std::vector<std::string>{"--innodb-buffer-pool-size=256M"},
                      directory.folder("mariadb"));
      create_guard_user(*mariadb);
      shop = std::make_unique<MysqlShop>(
          mariadb->login(), harness::mysql_source(harness::unix_address(*mariadb), kMaxLag));
    } else {
      // It runs as a user of its own, who must get to its folder.
      std::filesystem::permissions(directory.path(),
                                   std::filesystem::perms::others_exec,
                                   std::filesystem::perm_options::add);
      postgres.emplace(harness::PostgresOptions{.settings = {"shared_buffers=256MB"}},
                       directory.folder("postgres"));
      create_guard_role(*postgres);
      shop = std::make_unique<PostgresShop>(
          postgres->login(), harness::postgres_source(harness::unix_address(*postgres), kMaxLag));
    }
  }

  std::optional<harness::MariaDbServer> mariadb{};
  std::optional<harness::PostgresServer> postgres{};
  std::unique_ptr<ShopDatabase> shop{};
};

std::string guard_configuration(const Options& options,
                                const OwnRedis& redis,
                                const ShopDatabase& database,
                                const harness::TemporaryDirectory& directory,
                                const std::string& of_namespaces) {
  const auto guarded = [&](const char* name, const std::string& key, const char* table) {
    return harness::Guarded{.name = name,
                            .keys = key,
                            .table = table,
                            .fresh_ids = "",
                            .absent_reply = fmt::format("bytes:{}", kAbsentReply),
                            .filter = "",
                            .consistency = "",
                            .more = of_namespaces}
        .yaml();
  };
  const bool has_page = options.keep || !options.pictures.empty();
  return harness::Configuration{
      .upstream = redis.upstream(),
      .source = database.guard_source(),
      .namespaces = guarded("users", "user:{id:uint64}", "users, columns: { id: id }") +
                    guarded("orders", database.order_key(), "orders, columns: { id: id }"),
      .more = fmt::format("storage: {{ directory: '{}' }}\n", directory.file("storage")) +
              (has_page ? std::string(harness::kAdmin) : ""),
      .workers = "auto"}
      .yaml();
}

void wait_until_ready(const std::function<harness::RawClient()>& connect) {
  if (!harness::eventually([&] {
        try {
          harness::RawClient client = connect();
          return std::ranges::all_of(std::array{"users", "orders"}, [&client](const char* ns) {
            return harness::info_field(client.call({"GUARD.INFO", ns}), "state") == "ready";
          });
        } catch (const harness::Interrupted&) {
          throw;
        } catch (const std::runtime_error&) {
          return false;
        }
      })) {
    throw std::runtime_error("the guard's filters are not in force after 60 s");
  }
}

std::int64_t milliseconds_since(Interrupt::Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Interrupt::Clock::now() - begin)
      .count();
}

// The servers of the demo's own: the guard as soon as it is started.
struct OwnServers {
  explicit OwnServers(const Options& all_options) : options(all_options) {
    if (options.keep) {
      directory.keep();
      progress.say("Everything is kept in " + directory.path().string());
    }
    own_database.emplace(options, directory);
    progress.say(fmt::format(
        "Creating {} users and {} orders in {}", options.mix.users, kOrders, database().name()));
    database().create(options.mix.users, [&](std::uint64_t rows) {
      progress.show(fmt::format("  {} % of the users", 100 * rows / options.mix.users));
      Interrupt::require_until(Interrupt::Clock::now());
    });
    redis.emplace(options.cluster, directory.folder("redis"));
    progress.say(fmt::format(
        "Started {}. The application caches rows there, and the fact that a row does not "
        "exist; it has {} threads, and {} connections to the database, of which each "
        "answers a query in {} ms.",
        redis->name(),
        options.mix.clients,
        ConnectionPool::kConnections,
        options.mix.query_time.count()));
  }

  ShopDatabase& database() const { return *own_database->shop; }
  std::string yaml(const std::string& of_namespaces = "") const {
    return guard_configuration(options, *redis, database(), directory, of_namespaces);
  }
  // Returns when its filters are in force.
  void start_guard(const std::string& yaml) {
    if (guard) {
      guard->restart(yaml);
    } else if (redis->cluster) {
      guard.emplace(harness::GuardProcess::on_node_ports(
          yaml, redis->cluster->size(), options.guard, directory.folder("guard")));
    } else {
      guard.emplace(
          harness::GuardProcess::on_unix_socket(yaml, options.guard, directory.folder("guard")));
    }
    wait_for_guard();
  }
  void wait_for_guard() const {
    wait_until_ready([this] { return guard->client(); });
  }
  Endpoint guard_endpoint() const {
    return redis->cluster ? Endpoint{.port = guard->port(), .is_of_cluster = true}
                          : Endpoint{.unix_path = guard->unix_path()};
  }

  const Options& options;
  ProgressLine progress{};
  harness::TemporaryDirectory directory{};
  std::optional<OwnDatabase> own_database{};
  std::optional<OwnRedis> redis{};
  std::optional<harness::GuardProcess> guard{};
};

bool conclude(const std::vector<PhaseReport>& reports, ProgressLine& progress) {
  if (!is_good(reports)) {
    progress.say(
        "That is not good enough: no existing row may be hidden, 99 % of the attack must be "
        "stopped, at most half as many queries may run at once, and at most 1 % more of the users' "
        "requests may fail with the guard than without it.");
  }
  progress.say(machine_line(reports));
  return is_good(reports);
}

// The phases of the attack, one after the other, each with what Redis has seen of it.
class Course {
 public:
  Course(const ShopDatabase& database,
         const Endpoint& redis,
         const Options& options,
         ProgressLine& progress)
      : options_(options),
        progress_(progress),
        database_(database.name()),
        redis_at_(redis),
        load_(database, options.mix, progress),
        redis_(open_cache(redis)) {}

  Load& load() { return load_; }

  // Redis is emptied first.
  void run_half(const Endpoint& cache, const std::vector<Change>& changes) {
    redis_->start_over();
    junk_keys_ = 0;
    progress_.say(
        fmt::format("{} the guard: {} look-ups per second by users; then {} more by an "
                    "attacker with random ids",
                    cache == redis_at_ ? "Without" : "With",
                    options_.mix.lookups,
                    options_.mix.attack));
    run({.name = "calm", .cache = cache, .length = options_.length});
    run_attack("attack", cache, changes);
  }
  void run_restart(const Endpoint& cache, const Change& change) {
    progress_.say("With the guard: the attack goes on, and " + change.what);
    run_attack("restart", cache, {change});
  }
  const std::vector<PhaseReport>& reports() const { return reports_; }
  void show(const std::vector<std::string>& remarks) const {
    std::string said = "\n" + table(reports_) + "\n" + chart(reports_) + "\n";
    for (const std::string& each : remarks) {
      said += "  " + each + "\n";
    }
    progress_.say(said);
    if (!options_.pictures.empty()) {
      harness::write_whole_file(
          options_.pictures + "/demo.svg",
          picture(reports_,
                  fmt::format("An attack of {} look-ups per second; {}, {} cores",
                              options_.mix.attack,
                              database_,
                              std::thread::hardware_concurrency())));
    }
  }

 private:
  void run_attack(const char* name, const Endpoint& cache, const std::vector<Change>& changes) {
    run({.name = name,
         .cache = cache,
         .attack = options_.mix.attack,
         .length = options_.length * 3 / 2,
         .changes = changes});
  }
  void run(Phase phase) {
    const std::uint64_t gets_before = redis_->gets();
    for (Change& change : phase.changes) {
      change.run = [this, run = change.run] {
        redis_->gets();  // before a node is killed, which then has nothing to tell
        run();
      };
    }
    std::vector<Sample> samples = load_.run(phase);
    for (const Sample& each : samples) {
      junk_keys_ += each.queries_in_vain;  // placeholders outlive the half
    }
    reports_.push_back({.name = phase.name,
                        .is_guarded = phase.cache != redis_at_,
                        .is_disturbed = !phase.changes.empty() || options_.sqlite,
                        .samples = std::move(samples),
                        .redis_gets = redis_->gets() - gets_before,
                        .redis_keys = redis_->keys(),
                        .junk_keys = junk_keys_});
  }

  const Options& options_;
  ProgressLine& progress_;
  std::string database_;  // its name
  Endpoint redis_at_;
  Load load_;
  std::unique_ptr<Cache> redis_;  // for its counters
  std::vector<PhaseReport> reports_;
  std::uint64_t junk_keys_ = 0;  // of this half
};

void run_attacks(Course& course, OwnServers& servers) {
  course.run_half(servers.redis->endpoint(), servers.redis->changes());
  const auto started = Interrupt::Clock::now();
  servers.start_guard(servers.yaml());
  std::vector<std::string> remarks{
      fmt::format("The guard read {} rows, and enforced {} ms after it was started.",
                  servers.options.mix.users + kOrders,
                  milliseconds_since(started))};
  course.run_half(servers.guard_endpoint(), servers.redis->changes());
  const auto kill_and_start_again = [&] {
    const auto begin = Interrupt::Clock::now();
    servers.guard->kill();
    servers.guard->start_again(servers.yaml());
    const std::int64_t listens = milliseconds_since(begin);
    servers.wait_for_guard();
    remarks.push_back(fmt::format(
        "After it was killed (SIGKILL) it listened again in {} ms, and enforced in {} ms.",
        listens,
        milliseconds_since(begin)));
  };
  course.run_restart(servers.guard_endpoint(),
                     {"the guard is killed and started again", kill_and_start_again});
  course.show(remarks);
}

// Rows that exist, and that nobody has cached any more.
std::vector<PhaseReport> run_breakdowns(OwnServers& servers) {
  constexpr std::chrono::milliseconds kHotQuery{50};  // as that of a report
  constexpr std::chrono::milliseconds kManyQuery{3};
  constexpr int kExpiresAfter = 1;  // seconds
  Mix hot = servers.options.mix;
  hot.lookups = 4'000;
  hot.new_rows = 0;
  hot.rows = 1;
  hot.query_time = kHotQuery;
  Mix many = hot;
  many.lookups = 4'500;
  many.rows = 10'000;
  many.clients = 500;
  many.query_time = kManyQuery;
  // No connection to the database is idle while a client that has loaded sets its key.
  servers.start_guard(
      servers.yaml(fmt::format(", breakdown: {{ hold: 500ms, max_concurrent_misses: {} }}",
                               2 * ConnectionPool::kConnections)));
  const std::unique_ptr<Cache> redis = open_cache(servers.redis->endpoint());
  std::vector<PhaseReport> reports;
  for (const Endpoint& cache : {servers.redis->endpoint(), servers.guard_endpoint()}) {
    const bool is_guarded = cache != servers.redis->endpoint();
    servers.progress.say(fmt::format(
        "{} the guard: a key expires that {} clients read {} times per second, and whose query "
        "takes {} ms; then Redis is emptied while {} clients read {} keys {} times per second",
        is_guarded ? "With" : "Without",
        hot.clients,
        hot.lookups,
        hot.query_time.count(),
        many.clients,
        many.rows,
        many.lookups));
    for (const Mix& mix : {hot, many}) {
      const bool is_hot = mix.rows == 1;
      Load load(servers.database(), mix, servers.progress);
      redis->start_over();
      for (std::uint64_t row = 1; row <= mix.rows; ++row) {
        const Item item{.is_order = false, .id = std::to_string(row)};
        redis->set(item.key(), item.content(), is_hot ? kExpiresAfter : Application::kTtlSeconds);
      }
      Phase phase{.name = is_hot ? "hot key" : "empty Redis",
                  .cache = cache,
                  .length = std::chrono::milliseconds(is_hot ? 2'500 : 5'000)};
      if (!is_hot) {
        phase.changes = {{"Redis is emptied", [&redis] { redis->start_over(); }}};
      }
      std::vector<Sample> samples = load.run(phase);
      reports.push_back({.name = phase.name,
                         .is_guarded = is_guarded,
                         .samples = std::move(samples),
                         .queries_at_once = load.most_queries_at_once()});
    }
  }
  servers.progress.say("\n" + load_table(reports));
  return reports;
}

int run_on_own_servers(const Options& options) {
  OwnServers servers(options);
  ProgressLine& progress = servers.progress;
  Course course(servers.database(), servers.redis->endpoint(), options, progress);
  if (!options.breakdown) {
    run_attacks(course, servers);
  }
  std::vector<PhaseReport> reports = course.reports();
  std::ranges::move(run_breakdowns(servers), std::back_inserter(reports));
  const int exit_code = conclude(reports, progress) ? 0 : kExitFailed;
  const Endpoint endpoint = servers.guard_endpoint();
  const auto page = [&servers] {
    return fmt::format("http://127.0.0.1:{}/", harness::admin_port(*servers.guard));
  };
  if (options.keep) {
    progress.say("The guard's page, with some load, until Ctrl-C: " + page());
    run_waves(course.load(), endpoint);
  }
  if (!options.pictures.empty()) {
    progress.say("Taking pictures of the guard's page, when its charts are full, in five minutes");
    take_pictures({.page = page(), .load = course.load(), .guard = endpoint}, options.pictures);
  }
  return exit_code;
}

void require_that_redis_may_be_emptied(const GivenServers& given) {
  if (!given.may_empty_redis && open_cache(given.redis)->keys() > 0) {
    throw std::runtime_error("the Redis at " + given.redis.text() +
                             " holds keys, and the demo begins with an empty one: give it a Redis "
                             "of its own, or --empty-redis");
  }
}

int run_on_given_servers(const ShopDatabase& database,
                         const GivenServers& given,
                         const Options& options) {
  ProgressLine progress;
  if (database.largest_user() < options.mix.users) {
    throw std::runtime_error(
        fmt::format("{} at {} lacks the users 1 to {}: create them by demo/compose/{}/schema.sql",
                    database.name(),
                    given.database.text(),
                    options.mix.users,
                    given.database_kind));
  }
  require_that_redis_may_be_emptied(given);
  progress.say(fmt::format("Using {} at {}, Redis at {}, the guard at {}",
                           database.name(),
                           given.database.text(),
                           given.redis.text(),
                           given.guard.text()));
  Course course(database, given.redis, options, progress);
  course.run_half(given.redis, {});
  wait_until_ready(
      [&given] { return harness::RawClient::to_host(given.guard.host, given.guard.port); });
  course.run_half(given.guard, {});
  course.show({});
  return conclude(course.reports(), progress) ? 0 : kExitFailed;
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
    const PostgresShop database(fmt::format("host={} port={} user={} password={} dbname={}",
                                            quoted(given.database.host),
                                            given.database.port,
                                            quoted(given.database_user),
                                            quoted(given.database_password),
                                            quoted(given.database_name)));
    return run_on_given_servers(database, given, options);
  }
  const MysqlShop database({.host = given.database.host,
                            .port = given.database.port,
                            .user = given.database_user,
                            .password = given.database_password,
                            .database = given.database_name});
  return run_on_given_servers(database, given, options);
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
  database.needs(&redis)->needs(&guard)->excludes(app.get_option("--mariadb"));
  database.excludes(app.get_option("--sqlite"));
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
  for (const char* const other :
       {"--mariadb", "--sqlite", "--cluster", "--pictures", "--database-address"}) {
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
  app.add_flag("--mariadb", options.mariadb, "With Debian's MariaDB instead of its PostgreSQL");
  app.add_flag("--sqlite", options.sqlite, "With SQLite instead: where there is no database server")
      ->excludes("--mariadb");
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
                 "Draws the run as demo.svg, and takes pictures of the guard's page with Chromium, "
                 "page.png and page-phone.png")
      ->type_name("FOLDER")
      ->check(CLI::ExistingDirectory)
      ->excludes("--keep");
  app.add_option("--attack", options.mix.attack, "Look-ups of the attack per second")
      ->capture_default_str()
      ->check(CLI::Range(1.0, 1e5));
  app.add_option("--users", options.mix.lookups, "Look-ups of users per second")
      ->capture_default_str()
      ->check(CLI::Range(1.0, 1e4));
  app.add_option("--seed", options.mix.seed, "Of the look-ups")->capture_default_str();
  const CLI::Option& database_address = add_given_servers(app, given);
  add_framework(app, options);
  CLI::Option& breakdown = *app.add_flag(
      "--breakdown", options.breakdown, "No attack: a hot key expires, and Redis is emptied");
  for (const char* const other : {"--framework", "--keep", "--pictures", "--database-address"}) {
    breakdown.excludes(app.get_option(other));
  }
  CLI11_PARSE(app, argc, argv);
  if (!database_address.empty()) {
    options.given = given;
    options.given->redis.is_of_cluster = options.cluster;
    options.given->guard.is_of_cluster = options.cluster;
  }
  if (const auto missing = harness::PostgresServer::missing();
      missing && !options.mariadb && !options.sqlite && !options.given && !options.framework) {
    fmt::print("SQLite instead of PostgreSQL, since {}\n", *missing);
    options.sqlite = true;
  }
  if (options.sqlite) {  // which the guard reads again whenever a row has been added
    options.mix.users /= 10;
    options.mix.new_rows = 0.5;
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
