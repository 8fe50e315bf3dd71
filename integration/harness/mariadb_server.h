// MariaDB as Debian has it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/sql_server.h"

namespace cuckooguard::harness {

class MariaDbServer final : public SqlServer {
 public:
  // What is to be installed for it; nothing, if it is.
  static std::optional<std::string> missing();

  // It keeps all that it has in `directory`. Throws what is missing().
  explicit MariaDbServer(const std::vector<std::string>& arguments = {},
                         TemporaryDirectory directory = TemporaryDirectory());

  bool is_mariadb() const override { return true; }
};

}  // namespace cuckooguard::harness
