// A MariaDB and a guard that follows it: what the tests of the two have in common.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "harness/guard_process.h"
#include "harness/mariadb_server.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {

inline constexpr milliseconds kMaxLag{500};  // of the source below
// To an absent key, of namespaces with `absent_reply: "bytes:__ABSENT__"`.
inline constexpr std::string_view kAnswer = "$10\r\n__ABSENT__\r\n";

// guard@localhost, with the rights that following a MariaDB needs.
void create_guard_user(SqlSession& session);
// As a source's addresses have it.
std::string unix_address(const SqlServer& server);
// The section `sources`: `shop`, as that user, with kMaxLag and what `more` says (", key: value").
std::string shop_source(const std::string& addresses, const std::string& more = "");

// Servers of the test's own. Tests are skipped, with the reason, where there is no MariaDB.
// Lifetimes: the guard ends before the servers, but after the members of derived fixtures.
class GuardedMariaDb : public testing::Test {
 protected:
  void SetUp() final;
  // When the servers run, with the guard's user: tables, rows, perhaps a guard.
  virtual void prepare() = 0;

  void run(const std::string& sql) { session_->run(sql); }
  // All that comes before the namespaces.
  std::string upstream_and_source() const;

  bool is_absent(const std::string& key) const;
  bool becomes_absent(const std::string& key) const;
  bool becomes_present(const std::string& key) const;
  // Whether the checkpoint in this file comes to have all that the server has logged by now.
  bool becomes_kept(const std::filesystem::path& file);

  TemporaryDirectory folder_;  // outlives the guard, which may write there until it ends
  std::optional<MariaDbServer> server_;
  std::optional<SqlSession> session_;
  std::optional<RedisServer> redis_;
  std::optional<GuardProcess> guard_;
};

}  // namespace cuckooguard::harness
