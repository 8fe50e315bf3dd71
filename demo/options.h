// What the demo was asked for.
#pragma once

#include <optional>
#include <string>

#include "endpoint.h"
#include "phase.h"

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
  bool mysql = false;
  bool postgres = false;
  bool cluster = false;
  bool framework = false;
  std::string application = "integration/frameworks/django_redis/attack.py";
  bool keep = false;
  std::string pictures;  // the folder of those of the page; empty: none are taken
  bool without_only = false;
  std::optional<GivenServers> given;
  Mix mix;
};

}  // namespace cuckooguard::demo
