// What most tests need: a Redis, a database of users, and a guard between, that answers for
// `user:{id:uint64}` and `tag:{name}`.
//
// The rows are users 1 to kUsers, and ids from kAbsent on are nobody's. `max_lag` is long where a
// test is not about it: the guard then answers even on a machine that is too busy to poll.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/configuration.h"
#include "harness/database.h"
#include "harness/guard_process.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {

inline constexpr std::uint64_t kUsers = 1000;
inline constexpr std::uint64_t kAbsent = 1'000'000;

// Of the environment (CUCKOOGUARD_UPSTREAM_MODE), or "pinned": every test of a Shop is one of both.
std::string upstream_mode();

// Of the environment (CUCKOOGUARD_TLS): clients and Redis are spoken to over TLS.
bool is_over_tls();

struct ShopSettings {
  std::string max_lag = "10m";
  std::string absent_reply = Guarded{}.absent_reply;
  std::string upstream{};  // else Redis's TCP address
  std::string mode = upstream_mode();
  std::string upstream_settings{};   // what else stands in upstream: "connect_timeout: 1s"
  std::string guarding = "enforce";  // the namespaces' mode
  std::string verify_sample = "0%";  // else one in so many absent keys reaches Redis
  std::string acl = "ask";           // upstream.acl
  std::string control{};             // what stands in upstream.control: "password: word"
  std::string source{};              // what else stands in the source: "follow: triggers"
  std::string more_namespace{};      // of the namespace `users`, as Guarded::more
  std::string overlay = Guarded{}.overlay;
  std::string more{};  // lines of the top level
  Journal journal = Journal::wal;
  std::vector<std::string> redis_arguments{};
  std::string password{};  // of Redis's default user
  bool on_unix_socket = false;
  // Both sides, but those that are Unix sockets or an upstream of one's own.
  bool over_tls = is_over_tls();
  std::string more_listen_tls{};    // what else stands in listen.tls: "client_ca: file"
  std::string more_upstream_tls{};  // and in upstream.tls
};

class Shop {
 public:
  explicit Shop(ShopSettings settings = {});

  RedisServer& redis() { return redis_; }
  const RedisServer& redis() const { return redis_; }
  Database& database() { return *database_; }
  GuardProcess& guard() { return *guard_; }
  const GuardProcess& guard() const { return *guard_; }

  std::filesystem::path database_path() const { return directory_ / "shop.db"; }
  void open_database() { database_.emplace(database_path(), settings_.journal); }
  void close_database() { database_.reset(); }

  RawClient client() const { return guard_->client(); }

  std::string yaml() const;

  // ca.crt, server.crt, client.crt, and their keys (certificates.h), if it is over_tls.
  std::string certificate_file(std::string_view name) const { return directory_ / name; }
  std::uint16_t redis_tls_port() const { return redis_tls_port_; }

  // A GET of an absent user, on this client, does not reach Redis. Until then: see eventually().
  bool answers_absent(RawClient& client) const;
  bool answers_absent() const;
  // Keys of absent users that this guard's filter does not take for present ones: what of them
  // reaches Redis has not been answered for another reason. While the database does not change.
  std::vector<std::string> find_absent_users(std::size_t count) const;
  // The filter is loaded, the default user known. Throws at the deadline.
  void wait_until_it_answers() const;

 private:
  std::vector<std::string> redis_arguments() const;
  GuardProcess start_guard() const;

  ShopSettings settings_;
  TemporaryDirectory directory_;
  std::uint16_t redis_tls_port_ = 0;
  RedisServer redis_;
  std::optional<Database> database_;
  std::optional<GuardProcess> guard_;
};

std::string user(std::uint64_t id);            // user:<id>
std::string absent_user(std::uint64_t n = 0);  // of kAbsent + n
std::string get_absent();                      // the command, of absent_user()
std::string absent_reply();                    // the RESP of kAbsentText

}  // namespace cuckooguard::harness
