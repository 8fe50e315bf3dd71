// The shop in a database of PostgreSQL.
//
// Threads, lifetimes, errors: as shop_database.h says.
#pragma once

#include "shop_database.h"

namespace cuckooguard::demo {

class PostgresShop : public ShopDatabase {
 public:
  // `application` is a login as libpq takes it; `guard_source` that of a guard that the demo
  // starts.
  explicit PostgresShop(std::string application, std::string guard_source = {});

  void create(std::uint64_t users, const Progress& progress) override;
  std::unique_ptr<ShopConnection> connect() const override;
  std::uint64_t largest_user() const override;
  std::string name() const override { return "PostgreSQL " + version_; }
  std::string guard_source() const override { return guard_source_; }

 private:
  std::string application_;
  std::string guard_source_;
  std::string version_;  // "15.14"
};

}  // namespace cuckooguard::demo
