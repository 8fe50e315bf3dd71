#include "harness/configuration.h"

#include <cstdlib>

namespace cuckooguard::harness {
namespace {

std::string quoted(const std::string& text) {
  return '"' + text + '"';
}

}  // namespace

std::string mysql_source(const std::string& addresses,
                         milliseconds max_lag,
                         const std::string& more) {
  return "type: mysql, addresses: [ " + addresses +
         " ], user: guard, password: word, database: shop, max_lag: " +
         std::to_string(max_lag.count()) + "ms" + more;
}

std::string postgres_source(const std::string& addresses,
                            milliseconds max_lag,
                            const std::string& more) {
  return "type: postgres, addresses: [ " + addresses +
         " ], user: guard, password: word, database: shop, max_lag: " +
         std::to_string(max_lag.count()) + "ms" + more;
}

std::string sqlite_source(const std::filesystem::path& path, const std::string& more) {
  return "type: sqlite, path: " + quoted(path.string()) + more;
}

std::string unix_address(const SqlServer& server) {
  return quoted("unix:" + server.unix_path().string());
}

std::string unix_address(const PostgresServer& server) {
  return quoted(
      "unix:" +
      (server.socket_directory() / (".s.PGSQL." + std::to_string(server.port()))).string());
}

std::string port_address(std::uint16_t port) {
  return quoted("127.0.0.1:" + std::to_string(port));
}

std::string consistency() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets it
  const char* const chosen = std::getenv("CUCKOOGUARD_CONSISTENCY");
  return chosen == nullptr ? "max_lag" : chosen;
}

milliseconds hidden_at_most(milliseconds max_lag) {
  return consistency() == "strict" ? milliseconds(0) : max_lag;
}

std::string Guarded::yaml() const {
  std::string all = "  " + name + ": { keys: " + (keys.starts_with('[') ? keys : quoted(keys)) +
                    ", source: { from: shop, table: " + table + " }";
  const auto add = [&all](const char* setting, const std::string& value) {
    all += value.empty() ? "" : std::string(", ") + setting + ": " + value;
  };
  add("mode", mode);
  add("fresh_ids", fresh_ids);
  add("overlay", overlay);
  add("absent_reply", absent_reply.empty() ? "" : quoted(absent_reply));
  add("filter", filter);
  add("consistency", consistency);
  return all + more + " }\n";
}

std::string Configuration::yaml() const {
  return "upstream: " + upstream + "\nworkers: " + workers + "\nsources:\n  shop: { " + source +
         " }\nnamespaces:\n" + namespaces + more;
}

std::string storage(const std::filesystem::path& directory, const std::string& checkpoint_every) {
  return "storage: { directory: " + quoted(directory.string()) +
         ", checkpoint_every: " + checkpoint_every + " }\n";
}

}  // namespace cuckooguard::harness
