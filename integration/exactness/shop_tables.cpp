#include "exactness/shop_tables.h"

#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

#include "config/parse.h"
#include "harness/configuration.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

config::Config parsed() {
  return config::testing::config_of(Configuration{.namespaces = namespaces_yaml()}.yaml());
}

keyspace::Keyspace keyspace_of(const config::Config& config) {
  std::vector<keyspace::NamespaceTemplates> all;
  all.reserve(config.namespaces.size());
  for (const config::Namespace& ns : config.namespaces) {
    all.push_back({.name = ns.name, .templates = ns.keys, .strict = ns.strict});
  }
  return keyspace::Keyspace::build(std::move(all)).value();
}

std::string insert_stable_users() {
  std::string rows;
  for (unsigned id = kStableFrom; id < kStableFrom + kStableRows; ++id) {
    const std::string number = std::to_string(id);
    rows += rows.empty() ? "(" : ", (";
    rows += number;
    rows += ", 'stable";
    rows += number;
    rows += "', 'x')";
  }
  return "INSERT INTO user (id, name, note) VALUES " + rows;
}

}  // namespace

void create_tables(const SqlServer& server) {
  // The only collations by which nothing but equal bytes is equal.
  const std::string text = std::string("CHARACTER SET utf8mb4 COLLATE ") +
                           (server.is_mariadb() ? "utf8mb4_nopad_bin" : "utf8mb4_0900_bin");
  SqlSession session = server.session();
  session.run("CREATE TABLE user (id BIGINT UNSIGNED PRIMARY KEY, name VARCHAR(40) " + text +
              " NOT NULL, note TEXT, UNIQUE (name))");
  session.run(
      "CREATE TABLE item (shop INT NOT NULL, code VARBINARY(12) NOT NULL, price DECIMAL(8,2), "
      "PRIMARY KEY (shop, code))");
  session.run("CREATE TABLE tag (tag BINARY(3) PRIMARY KEY, uses INT)");
  session.run("CREATE TABLE orders (id INT PRIMARY KEY, user_id BIGINT UNSIGNED)");
  session.run(insert_stable_users());
  create_guard_user(server);
}

std::string namespaces_yaml() {
  const auto line = [](const std::string& name, const std::string& key, const std::string& table) {
    return Guarded{.name = name, .keys = key, .table = table}.yaml();
  };
  return line("users", "user:{id:uint64}", "user") + line("names", "name:{name}", "user") +
         line("items", "item:{shop:int64}:{code:rest}", "item") +
         line("tags", "tag:{tag:rest}", "tag") +
         line("orders", "orders:{user_id:uint64}", "orders");
}

const std::vector<GuardedTable>& guarded_tables() {
  static const std::vector<GuardedTable> kTables{
      {.ns = "users", .prefix = "user", .table = "user", .columns = "id", .is_unique = true},
      {.ns = "names", .prefix = "name", .table = "user", .columns = "name", .is_unique = true},
      {.ns = "items",
       .prefix = "item",
       .table = "item",
       .columns = "shop, code",
       .is_unique = true},
      {.ns = "tags", .prefix = "tag", .table = "tag", .columns = "tag", .is_unique = true},
      {.ns = "orders",
       .prefix = "orders",
       .table = "orders",
       .columns = "user_id",
       .is_unique = false}};
  return kTables;
}

ShopFilters::ShopFilters() : config_(parsed()), keyspace_(keyspace_of(config_)) {
  lives_.reserve(config_.namespaces.size());
  for (const config::Namespace& ns : config_.namespaces) {
    parts_.emplace_back(epochs_, filter::random_secret());
    lives_.push_back(parts_.back().add(ns.source.tables.front()));
    parts_.back().set_complete(true);
  }
}

std::vector<source::Target> ShopFilters::targets() {
  std::vector<source::Target> all;
  all.reserve(parts_.size());
  for (std::uint32_t ns = 0; ns < parts_.size(); ++ns) {
    all.push_back({keyspace_, ns, config_.namespaces[ns], parts_[ns]});
  }
  return all;
}

bool ShopFilters::has(std::size_t ns, std::string_view identity) {
  const filter::CuckooFilter* const current = lives_[ns]->current();
  return current == nullptr || current->may_contain(current->hash(identity));
}

bool ShopFilters::is_answered_absent(std::uint32_t ns, std::string_view identity) {
  const auto now = std::chrono::steady_clock::now();
  const filter::EpochScope inside(epochs_.reader(1));
  return parts_[ns].find(identity, now) == filter::Finding::absent;
}

void ShopFilters::compare(std::size_t ns,
                          const SqlSession::Rows& rows,
                          std::vector<std::string>& found) {
  keyspace::IdentityBuffer scratch;
  std::vector<std::optional<std::string_view>> values;
  const std::string& name = guarded_tables()[ns].ns;
  for (const auto& row : rows) {
    values.assign(row.begin(), row.end());
    const auto identity =
        keyspace_.identity_of_row(static_cast<std::uint32_t>(ns), values, scratch);
    if (!identity) {
      found.push_back(name + ": " + identity.error().what);
    } else if (*identity && !has(ns, (**identity).identity)) {
      found.push_back(name + ": a row is not in the filter: " + shown((**identity).identity));
    }
  }
  const filter::CuckooFilter* const current = lives_[ns]->current();
  const std::uint64_t items = current == nullptr ? 0 : current->stats().items;
  if (guarded_tables()[ns].is_unique && items != rows.size()) {
    found.push_back(name + ": " + std::to_string(rows.size()) + " rows, and " +
                    std::to_string(items) + " entries in the filter");
  }
}

std::vector<std::string> ShopFilters::keys(SqlSession& session) const {
  std::vector<std::string> all;
  session.run("SET character_set_results = NULL");
  for (const GuardedTable& guarded : guarded_tables()) {
    for (const auto& row : session.run("SELECT " + guarded.columns + " FROM " + guarded.table)) {
      std::string key = guarded.prefix;
      bool has_key = true;
      for (const auto& value : row) {
        has_key = has_key && value;
        key += ":" + value.value_or("");
      }
      if (has_key) {
        all.push_back(std::move(key));
      }
    }
  }
  return all;
}

std::vector<std::string> ShopFilters::differences(SqlSession& session) {
  const filter::EpochScope inside(epochs_.reader(0));
  std::vector<std::string> found;
  session.run("SET character_set_results = NULL");
  for (std::size_t ns = 0; ns < guarded_tables().size(); ++ns) {
    const GuardedTable& guarded = guarded_tables()[ns];
    compare(ns, session.run("SELECT " + guarded.columns + " FROM " + guarded.table), found);
  }
  look_for_deleted_users(session, found);
  return found;
}

// One in a million keys that are not there passes: of these, none.
void ShopFilters::look_for_deleted_users(SqlSession& session, std::vector<std::string>& found) {
  std::vector<bool> is_there(kIds);
  for (const auto& row : session.run("SELECT id FROM user WHERE id < " + std::to_string(kIds))) {
    is_there.at(std::stoul(row[0].value_or("0"))) = true;
  }
  keyspace::IdentityBuffer scratch;
  for (unsigned id = 0; id < kIds; ++id) {
    const std::string text = "user:" + std::to_string(id);
    const auto key = keyspace_.match(text, scratch);  // a view of it
    if (!is_there[id] && has(0, key.identity)) {
      found.push_back("users: a key passes that no row has: " + std::to_string(id));
    }
  }
}

}  // namespace cuckooguard::harness
