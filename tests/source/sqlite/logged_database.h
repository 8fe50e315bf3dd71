// A database with a trigger log, and a follower whose steps the test takes.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "harness/temporary_directory.h"
#include "source/bench.h"
#include "source/sqlite/writer.h"
#include "sqlite/log_follower.h"
#include "sqlite/trigger_log.h"

namespace cuckooguard::source::sqlite {

// Whether it could be done: a constraint may say no, as an application has it. What fails has
// changed nothing, or what came before it.
inline bool try_to(Writer& writer, const std::string& sql) {
  try {
    writer.run(sql);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

class LoggedDatabase {
 public:
  LoggedDatabase(const std::string& schema,
                 const std::vector<Wanted>& wanted,
                 const std::string& journal = "WAL")
      : bench(wanted), writer(path()) {
    writer.run("PRAGMA journal_mode=" + journal +
               "; PRAGMA synchronous=OFF; PRAGMA foreign_keys=ON;" + schema);
    const auto targets = bench.targets();
    // As the operator does. By its own connection, which does not wait for the disk.
    writer.run(trigger_log_sql(path(), targets).value());
    restart();
  }

  std::string path() const { return directory.file("app.db"); }

  void restart(DatabaseOrigin::At at = {}, bool install_triggers = false) {
    follower = std::make_unique<LogFollower>(
        LogFollowerSettings{.path = path(),
                            .install_triggers = install_triggers,
                            .poll_every = milliseconds(1),
                            .asking = Asking(&questions, milliseconds(1))},
        bench.feeds(),
        [this] {
          if (on_clock) {
            on_clock();
          }
          return bench.clock.now();
        },
        std::move(at));
  }

  // The news is read, or a whole table, and then nothing is left to do.
  void settle() {
    step();
    step();
  }
  nanoseconds step() {
    bench.clock.advance(milliseconds(1));
    return follower->step(bench.never);
  }

  // How often a namespace was read as a whole.
  std::ptrdiff_t loads() const {
    return std::ranges::count_if(bench.witness.progress(),
                                 [](const Progress& progress) { return progress.complete; });
  }
  std::uint64_t items(std::uint32_t ns = 0) const {
    const filter::CuckooFilter* current = bench.lives[ns].current();
    return current == nullptr ? 0 : current->stats().items;
  }

  // The filter is the table: one copy of each row with a key, and nothing else. `keys_sql` selects
  // the rows' keys.
  void expect_exact(const std::string& keys_sql, std::uint32_t ns = 0) {
    EXPECT_TRUE(bench.is_fresh(ns)) << bench.witness.last().why;
    const std::vector<std::string> keys = texts(keys_sql);
    EXPECT_EQ(items(ns), keys.size());
    for (const std::string& key : keys) {
      EXPECT_TRUE(bench.has(key)) << key << " is hidden";
    }
  }

  std::vector<std::string> texts(const std::string& sql) const {
    const auto database = Database::open_read_only(path()).value();
    auto statement = database.prepare(sql).value();
    std::vector<std::string> result;
    for (auto row = statement.step(); row.value(); row = statement.step()) {
      result.emplace_back(statement.bytes(0));
    }
    return result;
  }

  harness::TemporaryDirectory directory;
  Bench bench;
  int told = 0;  // of proofs
  filter::Questions questions{[this] { ++told; }};
  std::function<void()> on_clock;
  Writer writer;
  std::unique_ptr<LogFollower> follower;
};

}  // namespace cuckooguard::source::sqlite
