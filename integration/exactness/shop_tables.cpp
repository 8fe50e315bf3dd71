#include "exactness/shop_tables.h"

#include <stdexcept>

#include "harness/configuration.h"

namespace cuckooguard::harness {
namespace {

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
  session.run("CREATE TABLE nobodys (commits INT NOT NULL)");
  session.run("INSERT INTO nobodys VALUES (0)");
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

// One in a million keys that are not there passes: of these, none.
std::vector<std::string> ShopFilters::differences(SqlSession& session) {
  session.run("SET character_set_results = NULL");
  // MariaDB shows that a transaction which has filled a file of its log is committed only by those
  // that follow, and until then what that has deleted stays.
  session.run("UPDATE nobodys SET commits = commits + 1");
  auto found =
      GuardedFilters::differences([&](const std::string& sql) { return session.run(sql); });
  std::vector<bool> is_there(kIds);
  for (const auto& row : session.run("SELECT id FROM user WHERE id < " + std::to_string(kIds))) {
    is_there.at(std::stoul(row[0].value_or("0"))) = true;
  }
  for (unsigned id = 0; id < kIds; ++id) {
    if (!is_there[id] && passes(0, "user:" + std::to_string(id))) {
      found.push_back("users: a key passes that no row has: " + std::to_string(id));
    }
  }
  return found;
}

}  // namespace cuckooguard::harness
