// What befalls a database server and whoever follows it, at random, from a seed.
//
// Threads: the test's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "exactness/shop_writer.h"
#include "harness/deadline.h"
#include "harness/sql_server.h"

namespace cuckooguard::harness {

class ShopChaos {
 public:
  static constexpr milliseconds kStuck{20'000};

  ShopChaos(SqlServer& server, Writers& writers, std::uint32_t seed)
      : server_(server), writers_(writers), random_(seed) {}

  // One thing that happens. Not all of them succeed: a definition may have to wait for locks for
  // too long.
  void happen();
  // The writers, so many transactions. If that takes too long, they first end what is prepared and
  // nobody's; then the server is restarted. False: neither helps.
  [[nodiscard]] bool let_write(unsigned transactions, milliseconds too_long = kStuck);
  const std::map<std::string, unsigned>& counts() const { return counts_; }
  unsigned pick(unsigned choices) { return static_cast<unsigned>(random_() % choices); }

 private:
  SqlSession& session();
  void adopt_prepared(const std::string& name);
  void run(const std::string& name, std::string_view sql);
  void note(const std::string& name, bool has_happened);
  void restart(bool is_killed);
  void kill_connections(bool purges);
  void swap_user_table();
  void rotate();
  void change_definition();

  SqlServer& server_;
  Writers& writers_;
  std::mt19937 random_;
  std::optional<SqlSession> session_;
  std::map<std::string, unsigned> counts_;
  bool has_column_ = false;
};

}  // namespace cuckooguard::harness
