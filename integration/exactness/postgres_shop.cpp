#include "exactness/postgres_shop.h"

#include <array>
#include <memory>
#include <stdexcept>

#include "harness/configuration.h"
#include "harness/deadline.h"
#include "postgres/log_follower.h"
#include "postgres/server.h"

namespace cuckooguard::harness {
namespace {

constexpr unsigned kIds = 300;
constexpr unsigned kPartitionIds = 100;

std::string partition(unsigned number) {
  return "event_" + std::to_string(number);
}

std::string bounds(unsigned number) {
  return "FROM (" + std::to_string(number * kPartitionIds) + ") TO (" +
         std::to_string((number + 1) * kPartitionIds) + ")";
}

// What one application does, a statement or a transaction at a time.
class Statements {
 public:
  explicit Statements(std::uint32_t seed) : random_(seed) {}

  unsigned pick(unsigned choices) { return static_cast<unsigned>(random_() % choices); }

  std::string statement() {
    switch (pick(5)) {
      case 0:
        return item();
      case 1:
        return order();
      case 2:
        return event();
      default:
        return user();
    }
  }
  std::string transaction() {
    std::string sql = "BEGIN";
    const unsigned statements = 1 + pick(5);
    for (unsigned i = 0; i < statements; ++i) {
      sql += "; " + statement();
      if (pick(4) == 0) {
        sql += "; SAVEPOINT a; " + statement() + "; ROLLBACK TO a";
      }
    }
    return sql + (pick(4) == 0 ? "; ROLLBACK" : "; COMMIT");
  }

 private:
  std::string id() { return std::to_string(pick(kIds)); }
  std::string name() {
    static constexpr std::array<const char*, 4> kWords{
        "ann", "zo\xc3\xab", "\xe6\x9d\x8e", "o\\t\\o"};
    return "'" + std::string(kWords.at(pick(4))) + id() + "'";
  }
  std::string shop() { return std::to_string(static_cast<int>(pick(9)) - 4); }
  std::string code() {
    static constexpr std::array<const char*, 5> kCodes{"a", "a ", "\t", "::", "\xc3\xa9"};
    return "'" + std::string(kCodes.at(pick(5))) + std::to_string(10 + pick(40)) + "'";
  }

  std::string user() {
    switch (pick(9)) {
      case 0:
      case 1:
        return "INSERT INTO shop.user (id, name, note) VALUES (" + id() + ", " + name() +
               ", 'x'), (" + id() + ", " + name() + ", NULL) ON CONFLICT DO NOTHING";
      case 2:
        return "DELETE FROM shop.user WHERE id = " + id();
      case 3:
        return "UPDATE shop.user u SET id = " + id() +
               " + 1000 * (SELECT count(*) FROM shop.user "
               "WHERE id = u.id + 1) WHERE id = " +
               id();
      case 4:
        return "INSERT INTO shop.user (id, name) VALUES (" + id() + ", " + name() +
               ") ON CONFLICT (id) DO UPDATE SET name = excluded.name || '+', note = 'again'";
      case 5:
        return "UPDATE shop.user SET note = repeat(md5(random()::text), 300) WHERE id < " + id();
      case 6:
        return "UPDATE shop.user SET name = " + name() + " WHERE id = " + id();
      case 7:
        return "UPDATE shop.user SET note = note WHERE id < " + id();
      default:
        return "DELETE FROM shop.user WHERE id BETWEEN " + std::to_string(pick(kIds)) + " AND " +
               id();
    }
  }
  std::string item() {
    const std::string key = "shop = " + shop() + " AND code = " + code();
    switch (pick(4)) {
      case 0:
        return "DELETE FROM shop.item WHERE " + key;
      case 1:
        return "UPDATE shop.item SET shop = " + shop() + ", code = " + code() + " WHERE " + key;
      case 2:
        return "UPDATE shop.item SET price = price + 1 WHERE shop = " + shop();
      default:
        return "INSERT INTO shop.item VALUES (" + shop() + ", " + code() + ", 1.5), (" + shop() +
               ", " + code() + ", NULL) ON CONFLICT (shop, code) DO NOTHING";
    }
  }
  std::string order() {
    switch (pick(4)) {
      case 0:
        return "DELETE FROM shop.orders WHERE user_id = " + id();
      case 1:
        return "UPDATE shop.orders SET user_id = " + (pick(3) == 0 ? "NULL" : id()) +
               " WHERE id = " + id();
      case 2:
        return "INSERT INTO shop.orders SELECT id, " + id() + " FROM shop.user WHERE id < " + id() +
               " ON CONFLICT DO NOTHING";
      default:
        return "INSERT INTO shop.orders VALUES (" + id() +
               ", NULL) ON CONFLICT (id) DO UPDATE SET "
               "user_id = " +
               id();
    }
  }
  std::string event() {
    const std::string any = std::to_string(pick(4 * kPartitionIds));
    switch (pick(4)) {
      case 0:
        return "DELETE FROM shop.event WHERE id = " + any;
      case 1:  // into another partition
        return "UPDATE shop.event SET id = " + std::to_string(pick(4 * kPartitionIds)) +
               " WHERE id = " + any;
      case 2:
        return "DELETE FROM shop.event WHERE id > " + any + " AND id < " + any + " + 20";
      default:
        return "INSERT INTO shop.event SELECT i, 'x' FROM generate_series(" + any + ", " + any +
               " + 5) i ON CONFLICT DO NOTHING";
    }
  }

  std::mt19937 random_;
};

struct How {
  const source::StorageDirectory* storage;
  source::postgres::OpenView open_view;
  std::chrono::milliseconds max_lag;
};

std::unique_ptr<source::postgres::LogFollower> make_follower(const PostgresServer& server,
                                                             GuardedFilters& guarded,
                                                             source::Observer& observer,
                                                             const How& how) {
  const source::Clock clock = [] { return std::chrono::steady_clock::now(); };
  const std::vector<source::Target> targets = guarded.targets();
  source::Feeds feeds(targets, observer, clock, how.max_lag, guarded.publication());
  return std::make_unique<source::postgres::LogFollower>(
      source::postgres::LogFollowerSettings{
          .name = "shop",
          .login = {.addresses = {{.port = server.port(), .unix_path = server.socket_directory()}},
                    .user = "guard",
                    .password = "word",
                    .database = PostgresServer::kDatabase},
          .place = {.schema = "shop", .publication = "cuckooguard"},
          .slot = how.storage == nullptr
                      ? ""
                      : source::postgres::slot_name("shop", how.storage->own_secret()),
          .max_lag = how.max_lag,
          .open_view = how.open_view,
          .storage = {.directory = how.storage, .checkpoint_every = std::chrono::milliseconds(300)},
          .observer = &observer},
      std::move(feeds),
      clock);
}

}  // namespace

void create_postgres_shop(PostgresServer& server) {
  PostgresSession session = server.session();
  session.run("CREATE SCHEMA shop");
  session.run(
      "CREATE TABLE shop.user (id bigint PRIMARY KEY, name varchar(40) NOT NULL UNIQUE, note text);"
      "ALTER TABLE shop.user ADD CONSTRAINT id_and_name UNIQUE (id, name);"
      "ALTER TABLE shop.user REPLICA IDENTITY USING INDEX id_and_name");
  session.run(
      "CREATE TABLE shop.item (shop int NOT NULL, code text NOT NULL, price numeric(8,2), "
      "PRIMARY KEY (shop, code))");
  session.run(
      "CREATE TABLE shop.orders (id int PRIMARY KEY, user_id bigint);"
      "ALTER TABLE shop.orders REPLICA IDENTITY FULL");
  session.run("CREATE TABLE shop.event (id bigint PRIMARY KEY, what text) PARTITION BY RANGE (id)");
  for (unsigned i = 0; i < 4; ++i) {
    session.run("CREATE TABLE shop." + partition(i) + " PARTITION OF shop.event FOR VALUES " +
                bounds(i));
  }
  const std::string first = std::to_string(kPostgresStableFrom);
  session.run("INSERT INTO shop.user SELECT i, 'stable' || i, 'x' FROM generate_series(" + first +
              ", " + first + " + " + std::to_string(kPostgresStableRows - 1) + ") i");
  create_guard_role(server);
  session.run(
      "DROP PUBLICATION cuckooguard; CREATE PUBLICATION cuckooguard FOR TABLE shop.user, "
      "shop.item, shop.orders, shop.event "
      "WITH (publish_via_partition_root = true)");
  session.run(
      "GRANT USAGE ON SCHEMA shop TO guard; GRANT SELECT ON ALL TABLES IN SCHEMA shop TO "
      "guard; ALTER DEFAULT PRIVILEGES IN SCHEMA shop GRANT SELECT ON TABLES TO guard");
}

std::string postgres_namespaces_yaml() {
  const auto line = [](const std::string& name, const std::string& key, const std::string& table) {
    return Guarded{.name = name, .keys = key, .table = table}.yaml();
  };
  return line("users", "user:{id:int64}", "user") + line("names", "name:{name}", "user") +
         line("items", "item:{shop:int64}:{code:rest}", "item") +
         line("orders", "orders:{user_id:int64}", "orders") +
         line("events", "event:{id:int64}", "event");
}

std::vector<GuardedTable> postgres_tables() {
  return {
      {.ns = "users", .prefix = "user", .table = "shop.user", .columns = "id", .is_unique = true},
      {.ns = "names", .prefix = "name", .table = "shop.user", .columns = "name", .is_unique = true},
      {.ns = "items",
       .prefix = "item",
       .table = "shop.item",
       .columns = "shop, code",
       .is_unique = true},
      {.ns = "orders",
       .prefix = "orders",
       .table = "shop.orders",
       .columns = "user_id",
       .is_unique = false},
      {.ns = "events",
       .prefix = "event",
       .table = "shop.event",
       .columns = "id",
       .is_unique = true}};
}

// --- writers ---

PostgresWriters::PostgresWriters(const PostgresServer& server, std::uint32_t seed, unsigned count)
    : server_(server) {
  for (unsigned i = 0; i < count; ++i) {
    threads_.emplace_back([this, seed, i](const std::stop_token& stop) { run(seed + i, stop); });
  }
}

PostgresWriters::~PostgresWriters() {
  for (std::jthread& thread : threads_) {
    thread.request_stop();
  }
  threads_.clear();
}

void PostgresWriters::run(std::uint32_t seed, const std::stop_token& stop) {
  Statements statements(seed);
  std::optional<PostgresSession> session;
  while (true) {
    wait_for_turn(stop);
    if (stop.stop_requested()) {
      return;
    }
    if (!session) {
      session = open_session(statements.pick(2) == 0);
    }
    if (!session) {
      ::poll(nullptr, 0, 5);  // the server is being restarted
    } else if (statements.pick(12) == 0) {
      const std::string name = "'p" + std::to_string(++prepared_) + "'";
      const bool commits = statements.pick(3) != 0;
      if (attempt(session, "BEGIN; " + statements.statement() + "; PREPARE TRANSACTION " + name)) {
        attempt(session, (commits ? "COMMIT PREPARED " : "ROLLBACK PREPARED ") + name);
      }
    } else {
      attempt(session, statements.pick(4) == 0 ? statements.transaction() : statements.statement());
    }
  }
}

std::optional<PostgresSession> PostgresWriters::open_session(bool commits_asynchronously) const {
  try {
    PostgresSession session = server_.session();
    session.run("SET lock_timeout = '1s'");
    if (commits_asynchronously) {
      session.try_run("SET synchronous_commit = off");
    }
    return session;
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
}

bool PostgresWriters::attempt(std::optional<PostgresSession>& session, const std::string& sql) {
  const std::string state = session->try_run(sql);
  if (state.empty()) {
    ++transactions_;
  } else if (session->is_lost()) {
    session.reset();
  } else {
    session->try_run("ROLLBACK");
  }
  return state.empty();
}

void PostgresWriters::resume() {
  const std::scoped_lock lock(mutex_);
  is_paused_ = false;
  changed_.notify_all();
}

void PostgresWriters::pause() {
  {
    std::unique_lock lock(mutex_);
    is_paused_ = true;
    changed_.wait(lock, [this] { return paused_ == threads_.size(); });
  }
  // Whoever has lost its session behind PREPARE leaves locks.
  PostgresSession session = server_.session();
  for (const auto& row : session.run("SELECT gid FROM pg_prepared_xacts")) {
    session.try_run("ROLLBACK PREPARED '" + row[0].value_or("") + "'");
  }
}

void PostgresWriters::wait_for_turn(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!is_paused_) {
    return;
  }
  ++paused_;
  changed_.notify_all();
  changed_.wait(lock, stop, [this] { return !is_paused_; });
  --paused_;
}

// --- the follower ---

PostgresShopFollower::PostgresShopFollower(const PostgresServer& server,
                                           GuardedFilters& guarded,
                                           const source::StorageDirectory* storage,
                                           source::postgres::OpenView open_view,
                                           std::chrono::milliseconds max_lag)
    : thread_(make_follower(server, guarded, reports_, {storage, open_view, max_lag}), nullptr) {
  thread_.start();
}

// --- chaos ---

void PostgresChaos::run(const std::string& name, const std::string& sql) {
  bool has_happened = false;
  try {
    PostgresSession session = server_.session();
    has_happened = session.try_run("SET lock_timeout = '1s'; " + sql).empty();
  } catch (const std::runtime_error&) {  // it is not there just now
  }
  counts_[has_happened ? name : name + "_failed"] += 1;
}

bool PostgresChaos::let_write(unsigned transactions) {
  const std::uint64_t enough = writers_.transactions() + transactions;
  writers_.resume();
  return eventually([&] { return writers_.transactions() >= enough; });
}

void PostgresChaos::happen() {
  switch (pick(14)) {
    case 0:
      return restart(true);
    case 1:
      return restart(false);
    case 2:
    case 3:
      return run("connections_cut",
                 "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'guard'" +
                     std::string(pick(2) == 0 ? " AND backend_type = 'walsender'" : ""));
    case 4:
      return run("truncate", "TRUNCATE shop.item, shop.orders");
    case 5:
      return run("truncate",
                 "BEGIN; DELETE FROM shop.event; TRUNCATE shop.event; INSERT INTO "
                 "shop.event VALUES (1, 'a'); COMMIT");
    case 6:
    case 7:
      return change_definition();
    case 8:
    case 9:
      return change_partitions();
    case 10:
      return lose_slots();
    case 11:
      return run(
          "swap",
          "BEGIN; CREATE TABLE shop.item_new (LIKE shop.item INCLUDING ALL); INSERT INTO "
          "shop.item_new SELECT * FROM shop.item WHERE shop > 0; DROP TABLE shop.item; "
          "ALTER TABLE shop.item_new RENAME TO item; ALTER PUBLICATION cuckooguard ADD TABLE "
          "shop.item; COMMIT");
    case 12:
      return run("rewrite", "VACUUM FULL shop.user");
    default:
      return run("large_transaction",
                 "BEGIN; UPDATE shop.user SET note = md5(random()::text); DELETE FROM shop.orders; "
                 "INSERT INTO shop.orders SELECT id, id FROM shop.user; UPDATE shop.orders SET "
                 "user_id = user_id + 1; COMMIT");
  }
}

void PostgresChaos::restart(bool is_killed) {
  if (is_killed) {
    server_.kill();
  } else {
    server_.stop();
  }
  server_.start_again();
  counts_[is_killed ? "server_killed" : "server_restarted"] += 1;
}

void PostgresChaos::change_definition() {
  switch (pick(4)) {
    case 0:
      return run("column", "ALTER TABLE shop.user ADD COLUMN extra int DEFAULT 7");
    case 1:
      return run("column", "ALTER TABLE shop.user DROP COLUMN extra");
    case 2:
      return run("renamed",
                 "ALTER TABLE shop.item RENAME COLUMN price TO cost; ALTER TABLE shop.item RENAME "
                 "COLUMN cost TO price");
    default:
      return run("publication",
                 "ALTER PUBLICATION cuckooguard DROP TABLE shop.orders; INSERT INTO shop.orders "
                 "VALUES (" +
                     std::to_string(1000 + pick(1000)) +
                     ", 5) ON CONFLICT DO NOTHING; ALTER PUBLICATION cuckooguard ADD TABLE "
                     "shop.orders");
  }
}

void PostgresChaos::change_partitions() {
  if (!detached_.empty() && pick(2) == 0) {
    const unsigned number = detached_.back();
    detached_.pop_back();
    // Its rows have gone and come without a word in the log.
    return run("attached",
               "DELETE FROM shop." + partition(number) +
                   " WHERE id % 3 = 0; ALTER TABLE shop.event "
                   "ATTACH PARTITION shop." +
                   partition(number) + " FOR VALUES " + bounds(number));
  }
  if (pick(2) == 0) {
    const unsigned number = next_partition_++;
    const std::string first = std::to_string(number * kPartitionIds);
    return run("attached",
               "CREATE TABLE shop." + partition(number) +
                   " (LIKE shop.event INCLUDING ALL); INSERT "
                   "INTO shop." +
                   partition(number) + " SELECT i, 'x' FROM generate_series(" + first + ", " +
                   first + " + 20) i; ALTER TABLE shop.event ATTACH PARTITION shop." +
                   partition(number) + " FOR VALUES " + bounds(number));
  }
  const unsigned number = pick(4);
  detached_.push_back(number);
  run("detached", "ALTER TABLE shop.event DETACH PARTITION shop." + partition(number));
}

void PostgresChaos::lose_slots() {
  run("slot_lost",
      "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active; SELECT "
      "pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active");
}

}  // namespace cuckooguard::harness
