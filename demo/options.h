// What the demo was asked for.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "endpoint.h"
#include "load.h"

namespace cuckooguard::demo {

// Servers that are there already: nothing is started.
struct GivenServers {
  Endpoint database;
  std::string database_kind = "mysql";  // MariaDB as well; or "postgres"
  std::string database_name = "shop";
  std::string database_user = "shop";
  std::string database_password;
  Endpoint redis;
  bool may_empty_redis = false;
  Endpoint guard;  // in front of that Redis, with the table `users` of that database
};

struct Options {
  std::string guard;  // the binary
  bool mariadb = false;
  bool sqlite = false;
  bool cluster = false;
  bool framework = false;
  bool breakdown = false;  // these two parts alone
  std::string application = "integration/frameworks/django_redis/attack.py";
  bool keep = false;
  std::string pictures;  // their folder; empty: none are taken
  std::optional<GivenServers> given;
  std::chrono::milliseconds length{5'000};   // of a calm phase
  std::uint64_t framework_lookups = 20'000;  // one after the other, by Python
  Mix mix;
};

}  // namespace cuckooguard::demo
