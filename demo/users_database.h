// The application's database, whichever it is: a table `users` with an integer `id` that the
// database counts up, a `name` and an `email`. The rows 1 to Mix::users are there before the first
// phase; bursts add more.
//
// Threads: a reader and a writer are one connection and one thread's each; the database itself is
// the main thread's. Lifetimes: readers and writers outlive nothing. Errors: std::runtime_error
// with the database's words.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace cuckooguard::demo {

inline constexpr std::chrono::milliseconds kMaxLag{1000};  // of the guard's source

// What the row of this id holds, so that a value read anywhere can be checked.
inline std::string user_name(std::uint64_t id) {
  return "user number " + std::to_string(id);
}

class UserReader {
 public:
  UserReader() = default;
  UserReader(const UserReader&) = delete;
  UserReader& operator=(const UserReader&) = delete;
  virtual ~UserReader() = default;

  virtual std::optional<std::string> name_of(std::uint64_t id) = 0;
};

class UserWriter {
 public:
  UserWriter() = default;
  UserWriter(const UserWriter&) = delete;
  UserWriter& operator=(const UserWriter&) = delete;
  virtual ~UserWriter() = default;

  virtual std::uint64_t insert_next() = 0;  // committed when it returns; its id
};

class UsersDatabase {
 public:
  using Progress = std::function<void(std::uint64_t rows)>;

  UsersDatabase() = default;
  UsersDatabase(const UsersDatabase&) = delete;
  UsersDatabase& operator=(const UsersDatabase&) = delete;
  virtual ~UsersDatabase() = default;

  // The table and the rows 1 to `rows`; `progress` is told how many there are.
  virtual void create(std::uint64_t rows, const Progress& progress) = 0;

  virtual std::unique_ptr<UserReader> reader() const = 0;
  virtual std::unique_ptr<UserWriter> writer() const = 0;

  virtual std::string name() const = 0;  // in a sentence: "a SQLite database"
  virtual bool is_followed() const = 0;  // by the guard, by a log of its changes
  // As harness::Configuration::source.
  virtual std::string guard_source() const = 0;
};

}  // namespace cuckooguard::demo
