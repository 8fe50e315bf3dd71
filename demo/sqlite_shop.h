// The shop in an SQLite database in WAL mode, where a UUID is a text.
//
// Threads, lifetimes, errors: as shop_database.h says.
#pragma once

#include "shop_database.h"

namespace cuckooguard::demo {

class SqliteShop : public ShopDatabase {
 public:
  explicit SqliteShop(std::string path) : path_(std::move(path)) {}

  void create(std::uint64_t users, const Progress& progress) override;
  std::unique_ptr<ShopConnection> connect() const override;
  std::uint64_t largest_user() const override;
  std::string name() const override { return "SQLite"; }
  std::string guard_source() const override;
  std::string order_key() const override { return "order:{id}"; }

 private:
  std::string path_;
};

}  // namespace cuckooguard::demo
