// Writers that do anything, while the follower reads and follows: whenever they rest, the filter is
// the table.
#include <atomic>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "source/sqlite/logged_database.h"

namespace cuckooguard::source::sqlite {
namespace {

const std::string kUsers =
    "CREATE TABLE users(id INTEGER PRIMARY KEY, mail TEXT UNIQUE, note TEXT);"
    "INSERT INTO users(id, mail) VALUES (1, 'm1'), (2, 'm2'), (3, 'm3')";
const std::string kKeys = "SELECT 'user:' || id FROM users";

struct Random {
  explicit Random(unsigned seed) : engine(seed) {}
  int below(int n) { return static_cast<int>(engine() % static_cast<unsigned>(n)); }
  std::string id() { return std::to_string(1 + below(60)); }
  std::string mail() { return "'m" + std::to_string(1 + below(60)) + "'"; }

  std::minstd_rand engine;
};

std::string random_statement(Random& random) {
  const std::string id = random.id();
  const std::string mail = random.mail();
  const std::string values = "users(id, mail) VALUES (" + id + ", " + mail + ")";
  switch (random.below(14)) {
    case 0:
      return "INSERT INTO " + values;
    case 1:
      return "INSERT OR IGNORE INTO " + values;
    case 2:
      return "REPLACE INTO " + values;
    case 3:
      return "INSERT INTO " + values + " ON CONFLICT(id) DO UPDATE SET mail = excluded.mail";
    case 4:
      return "INSERT INTO " + values + " ON CONFLICT(mail) DO UPDATE SET id = excluded.id";
    case 5:
      return "UPDATE users SET id = " + id + " WHERE mail = " + mail;
    case 6:
      return "UPDATE OR REPLACE users SET id = " + id + " WHERE mail = " + mail;
    case 7:
      return "UPDATE OR IGNORE users SET id = id + 1 WHERE id > " + id;
    case 8:
      return "DELETE FROM users WHERE id = " + id;
    case 9:
      return "DELETE FROM users WHERE id BETWEEN " + id + " AND " + id + " + 5";
    case 10:
      return "INSERT OR REPLACE INTO users(id, mail) SELECT id + 3, mail FROM users WHERE id > " +
             id;
    case 11:
      return "UPDATE users SET note = 'n' WHERE id > " + id;
    case 12:
      return "INSERT INTO users(mail) VALUES (" + mail + ")";
    default:
      return "INSERT OR FAIL INTO users(id) VALUES (" + id + "), (" + random.id() + ")";
  }
}

void write_randomly(const std::string& path, unsigned seed, bool is_recursive, int transactions) {
  Random random(seed);
  Writer writer(path);
  writer.be_patient(seconds(60));
  writer.run("PRAGMA synchronous=OFF; PRAGMA recursive_triggers=" + std::to_string(is_recursive));
  for (int i = 0; i < transactions; ++i) {
    writer.run("BEGIN IMMEDIATE");
    const int statements = 1 + random.below(5);
    for (int s = 0; s < statements; ++s) {
      const bool is_nested = random.below(6) == 0;
      try_to(writer, is_nested ? "SAVEPOINT inner" : "SELECT 1");
      try_to(writer, random_statement(random));
      if (is_nested) {
        try_to(writer, random.below(2) == 0 ? "ROLLBACK TO inner" : "RELEASE inner");
      }
    }
    writer.run(random.below(8) == 0 ? "ROLLBACK" : "COMMIT");
  }
}

class LoggedWriters : public testing::TestWithParam<std::tuple<const char*, bool>> {};
// NOLINTNEXTLINE(readability-identifier-naming): the macro's own name
INSTANTIATE_TEST_SUITE_P(Journal,
                         LoggedWriters,
                         testing::Combine(testing::Values("WAL", "DELETE"), testing::Bool()),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param)) +
                                  (std::get<1>(each.param) ? "_recursive" : "");
                         });

TEST_P(LoggedWriters, leave_the_filter_equal_to_the_table_whenever_they_rest) {
  const auto [journal, is_recursive] = GetParam();
  constexpr int kRounds = 6;
  constexpr int kTransactions = 40;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the writers' threads begin later, and nothing sets it
  const char* const chosen = std::getenv("CUCKOOGUARD_SEED");
  const unsigned seed = chosen != nullptr ? static_cast<unsigned>(std::stoul(chosen))
                                          : std::random_device{}() % 1'000'000;
  SCOPED_TRACE("CUCKOOGUARD_SEED=" + std::to_string(seed));
  LoggedDatabase database(kUsers, {Wanted{}}, journal);
  for (int round = 0; round < kRounds; ++round) {
    if (round % 2 == 0) {
      database.restart();  // a snapshot in the middle of it all
    }
    std::atomic<int> writing = 2;
    std::vector<std::thread> writers;
    writers.reserve(2);
    for (unsigned n = 0; n < 2; ++n) {
      writers.emplace_back([&, n] {
        write_randomly(database.path(), seed * 100 + round * 2 + n, is_recursive, kTransactions);
        --writing;
      });
    }
    while (writing > 0) {
      database.step();
    }
    for (std::thread& writer : writers) {
      writer.join();
    }
    database.settle();
    database.expect_exact(kKeys);
  }
  EXPECT_GE(database.loads(), 3);  // and one when the filter is worn
  for (const Witness::Report& report : database.bench.witness.reports()) {
    EXPECT_THAT(report.why,
                testing::AnyOf(testing::IsEmpty(),
                               testing::HasSubstr("the database was opened"),
                               testing::HasSubstr("is locked by a writer"),
                               testing::HasSubstr("no proof within max_lag")));
  }
}

}  // namespace
}  // namespace cuckooguard::source::sqlite
