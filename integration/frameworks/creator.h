// A program of integration/frameworks that creates rows with a framework's ORM and reads each one's
// key from the framework's cache at once:
//
//   PROGRAM PORT DATABASE TABLE PROCESSES ROWS WHEN INTERVAL
//
// PORT is the guard's, DATABASE is RowStore::url(). Each process creates ROWS rows of TABLE
// (`visit` or `letter`) and reads the key TABLE:ID of each, `after` its COMMIT has returned or
// `inside` the transaction; then it pauses for INTERVAL ms. The program prints "ready" when it has
// started; each process prints "rows=57 absent=0" at its end: how many rows it has created, and how
// many reads returned the guard's absent reply. After any error the exit code is not 0.
//
// Threads: the test's main thread. Errors: a program that fails fails the test.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cuckooguard::harness {

struct Creator {
  const char* name;
  const char* key_prefix;    // of the framework, before TABLE:ID
  std::string absent_reply;  // one that the program can tell from a miss
  std::vector<std::string> program;
};

enum class Framework : std::uint8_t { django, rails, laravel, node };
const char* name_of(Framework framework);
// Debian packages or node modules; `database`: "mariadb", "postgres" or "sqlite".
std::optional<std::string> missing_for(Framework framework, const std::string& database);
Creator creator_on(Framework framework);  // if nothing is missing

struct Work {
  std::string table;
  std::uint64_t processes = 1;
  std::uint64_t rows = 1;  // of each process
  const char* when = "after";
  std::uint64_t interval_ms = 0;
};

struct Created {
  std::uint64_t rows = 0;
  std::uint64_t absent = 0;
};

// `on_ready` runs when the program has started.
Created create_and_read(
    const Creator& creator,
    std::uint16_t port,
    const std::string& url,
    const Work& work,
    const std::function<void()>& on_ready = [] {});

}  // namespace cuckooguard::harness
