// The shop in a database of MariaDB or MySQL.
//
// Threads, lifetimes, errors: as shop_database.h says.
#pragma once

#include "harness/sql_server.h"
#include "shop_database.h"

namespace cuckooguard::demo {

class MysqlShop : public ShopDatabase {
 public:
  // `guard_source` is that of a guard that the demo starts.
  explicit MysqlShop(harness::SqlLogin application, std::string guard_source = {});

  void create(std::uint64_t users, const Progress& progress) override;
  std::unique_ptr<ShopConnection> connect() const override;
  std::uint64_t largest_user() const override;
  std::string name() const override { return server_; }
  std::string guard_source() const override { return guard_source_; }

 private:
  harness::SqlLogin application_;
  std::string guard_source_;
  std::string server_;  // "MariaDB 10.11.6", "MySQL 8.4.0"
};

}  // namespace cuckooguard::demo
