// A connection to a database server, by a session of the harness: its statements are the same for
// each.
#pragma once

#include <optional>
#include <string>

#include <fmt/format.h>

#include "shop_database.h"

namespace cuckooguard::demo {

// `Session::run(sql)` returns rows of optional texts.
template <class Session>
class SqlConnection final : public ShopConnection {
 public:
  explicit SqlConnection(const auto& login) : session_(login) {}

  std::optional<std::string> find(const Item& item) override {
    const auto rows =
        session_.run(fmt::format("SELECT {} WHERE id = '{}'",
                                 item.is_order ? "text FROM orders" : "name FROM users",
                                 item.id));
    return rows.empty() ? std::nullopt : rows.front().front();
  }
  void insert(const Item& item) override {
    session_.run(fmt::format("INSERT INTO {} VALUES ('{}', '{}')",
                             item.is_order ? "orders(id, text)" : "users(id, name)",
                             item.id,
                             item.content()));
  }

 private:
  Session session_;
};

}  // namespace cuckooguard::demo
