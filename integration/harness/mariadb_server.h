// MariaDB as Debian has it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/sql_server.h"

namespace cuckooguard::harness {

class MariaDbServer final : public SqlServer {
 public:
  // Nothing that tests could use is installed, and why.
  static std::optional<std::string> missing();

  explicit MariaDbServer(const std::vector<std::string>& arguments = {});

  bool is_mariadb() const override { return true; }
};

}  // namespace cuckooguard::harness
