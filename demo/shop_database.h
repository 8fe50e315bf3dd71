// The application's database, whichever server it is: users by number, orders by UUID.
//
//   users   id, an integer; name; email     1 to rows exist before the first phase
//   orders  id, a UUID; text                1 to kOrders exist, as uuid_of(number)
//
// Threads: a connection is one thread's at a time; the database itself is the main thread's.
// Lifetimes: connections outlive nothing. Errors: std::runtime_error with the database's words.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace cuckooguard::demo {

inline constexpr std::chrono::milliseconds kMaxLag{1000};  // of the guard's source
inline constexpr std::uint64_t kOrders = 100'000;

// Of an order that exists before the first phase.
inline std::string uuid_of(std::uint64_t number) {
  return fmt::format("00000000-0000-4000-8000-{:012x}", number);
}

// A row, whether it exists or not.
struct Item {
  bool is_order = false;
  std::string id;

  std::string key() const { return (is_order ? "order:" : "user:") + id; }
  // The column that the application reads, so that a value read anywhere can be checked.
  std::string content() const { return (is_order ? "order " : "user number ") + id; }
};

class ShopConnection {
 public:
  ShopConnection() = default;
  ShopConnection(const ShopConnection&) = delete;
  ShopConnection& operator=(const ShopConnection&) = delete;
  virtual ~ShopConnection() = default;

  virtual std::optional<std::string> find(const Item& item) = 0;
  virtual void insert(const Item& item) = 0;  // committed when it returns
};

class ShopDatabase {
 public:
  using Progress = std::function<void(std::uint64_t rows)>;

  ShopDatabase() = default;
  ShopDatabase(const ShopDatabase&) = delete;
  ShopDatabase& operator=(const ShopDatabase&) = delete;
  virtual ~ShopDatabase() = default;

  // Both tables; `progress` is told how many users there are.
  virtual void create(std::uint64_t users, const Progress& progress) = 0;
  virtual std::unique_ptr<ShopConnection> connect() const = 0;
  virtual std::uint64_t largest_user() const = 0;
  virtual std::string name() const = 0;  // "PostgreSQL 15.14"
  // As harness::Configuration::source.
  virtual std::string guard_source() const = 0;
  virtual std::string order_key() const { return "order:{id:uuid}"; }  // the guard's template
};

}  // namespace cuckooguard::demo
