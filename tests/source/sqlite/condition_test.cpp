// Conditions on rows of SQLite: what the guard decides is what SQLite's own WHERE does.
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>

#include "harness/temporary_directory.h"
#include "source/bench.h"
#include "source/sqlite/writer.h"
#include "sqlite/origin.h"
#include "sqlite/rows.h"

namespace cuckooguard::source::sqlite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::uint32_t seed_of_this_run() {
  const char* const wanted = std::getenv("CUCKOOGUARD_SEED");  // NOLINT(concurrency-mt-unsafe)
  const auto seed =
      wanted != nullptr ? static_cast<std::uint32_t>(std::stoul(wanted)) : std::random_device{}();
  testing::Test::RecordProperty("seed", std::to_string(seed));
  return seed;
}

class SqliteCondition : public testing::Test {
 protected:
  void run(const std::string& sql) { writer_.run(sql); }

  std::expected<TablePlan, TableTrouble> plan(const std::string& where) {
    Bench bench({Wanted{.where = where}});
    return plan_table(database_, bench.targets().front(), "users");
  }
  std::string refusal(const std::string& where) {
    const auto planned = plan(where);
    return planned ? "" : std::get<std::string>(planned.error());
  }

  // The ids that are loaded; what keeps them from being loaded, as the only one.
  std::set<std::string> loaded(const std::string& where) {
    const auto planned = plan(where);
    if (!planned) {
      return {std::get<std::string>(planned.error())};
    }
    auto statement = database_.prepare(planned->select_sql()).value();
    Row row(*planned);
    std::set<std::string> ids;
    while (statement.step().value()) {
      if (!row.read(statement)) {
        return {row.refusal()};
      }
      if (row.counts()) {
        ids.emplace(row.values()[0].value());
      }
    }
    return ids;
  }
  std::set<std::string> found_by_sql(const std::string& where) {
    auto statement = database_.prepare("SELECT id FROM users WHERE " + where).value();
    std::set<std::string> ids;
    while (statement.step().value()) {
      ids.insert(std::to_string(statement.integer(0)));
    }
    return ids;
  }

  harness::TemporaryDirectory directory_;
  Writer writer_{directory_.file("app.db")};
  Database database_{Database::open_read_only(directory_.file("app.db")).value()};
};

class RandomCondition {
 public:
  explicit RandomCondition(std::uint32_t seed) : random_(seed) {}

  std::string text() {
    std::string all = term();
    for (unsigned more = pick(3); more > 0; --more) {
      all += " AND " + term();
    }
    return all;
  }
  std::string integer() { return one_of({"0", "1", "-1", "7", "42", "-9223372036854775807"}); }
  std::string text_value() {
    return one_of({"''", "'a'", "'A'", "'a '", "' a'", "'7'", "'07'", "'7.0'", "'it''s'", "'é'"});
  }
  unsigned pick(unsigned count) { return static_cast<unsigned>(random_() % count); }

 private:
  std::string one_of(const std::vector<std::string>& words) {
    return words[pick(static_cast<unsigned>(words.size()))];
  }
  // Of a column that is compared by number: also as a text that SQLite takes for one.
  std::string number() { return pick(3) == 0 ? "'" + integer() + "'" : integer(); }
  // Of one that is compared by bytes: also as a number that SQLite takes for a text.
  std::string word() { return pick(4) == 0 ? integer() : text_value(); }

  std::string term() {
    const bool is_number = pick(2) == 0;
    const std::string column = is_number ? one_of({"i", "n", "id"}) : one_of({"t", "v"});
    const auto literal = [&] { return is_number ? number() : word(); };
    switch (pick(5)) {
      case 0:
        return one_of({"i", "n", "t", "v", "r", "b", "c"}) + " IS NULL";
      case 1:
        return one_of({"i", "n", "t", "v", "r", "b", "c"}) + " IS NOT NULL";
      case 2:
        return column + " = " + literal();
      case 3:
        return column + " <> " + literal();
      default:
        return column + " IN (" + literal() + ", " + literal() + ", " + literal() + ")";
    }
  }

  std::minstd_rand random_;
};

constexpr const char* kUsers =
    "CREATE TABLE users(id INTEGER PRIMARY KEY, i INT, n NUMERIC, t TEXT, v VARCHAR(9), r REAL, b "
    "BLOB, c TEXT COLLATE NOCASE)";

TEST_F(SqliteCondition, decides_as_sqlite_does) {
  const std::uint32_t seed = seed_of_this_run();
  SCOPED_TRACE("CUCKOOGUARD_SEED=" + std::to_string(seed));
  RandomCondition random(seed);
  run(kUsers);
  run("BEGIN");
  for (int id = 0; id < 300; ++id) {
    const auto value = [&random](const std::string& text) {
      return random.pick(4) == 0 ? "NULL" : text;
    };
    run("INSERT INTO users VALUES(" + std::to_string(id) + ", " + value(random.integer()) + ", " +
        value(random.integer()) + ", " + value(random.text_value()) + ", " +
        value(random.text_value()) + ", " + value("1.5") + ", " + value("x'00'") + ", " +
        value(random.text_value()) + ")");
  }
  run("COMMIT");
  std::size_t rows = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string where = random.text();
    const auto ids = loaded(where);
    ASSERT_EQ(ids, found_by_sql(where)) << where;
    rows += ids.size();
  }
  EXPECT_GT(rows, 1000U) << "the conditions were too hard to tell anything";
}

TEST_F(SqliteCondition, is_refused_where_sqlite_compares_otherwise_than_by_bytes) {
  run(kUsers);
  EXPECT_THAT(refusal("c = 'a'"),
              HasSubstr("where: column \"c\" of table \"users\" has the "
                        "collation NOCASE"));
  EXPECT_THAT(refusal("r = 1"), HasSubstr("is REAL, whose values have no unambiguous text"));
  EXPECT_THAT(refusal("b <> 'a'"), HasSubstr("is BLOB, whose values"));
  EXPECT_THAT(refusal("i = '007'"), HasSubstr("'007' is not written as SQLite prints numbers"));
  EXPECT_THAT(refusal("n IN (1, '1.0')"),
              HasSubstr("'1.0' is not written as SQLite prints numbers"));
  EXPECT_THAT(refusal("i = 9223372036854775808"),
              HasSubstr("is not written as SQLite prints numbers"));
  EXPECT_THAT(refusal("tt = 'a'"), HasSubstr("has no column \"tt\""));
  EXPECT_EQ(refusal("c <> 'a'"), "");
  EXPECT_EQ(refusal("T = 'a' AND c IS NULL AND r IS NOT NULL AND B IS NULL"), "");
}

// Of what type a value is, SQLite leaves to the row.
TEST_F(SqliteCondition, refuses_a_row_whose_value_is_of_another_type) {
  run(kUsers);
  run("INSERT INTO users(id, t, i) VALUES(1, x'61', 1.5)");
  EXPECT_THAT(loaded("t = 'a'"),
              ElementsAre(HasSubstr("has a in column \"t\": a value whose type differs")));
  EXPECT_THAT(loaded("i <> 1"), ElementsAre(HasSubstr("has 1.5 in column \"i\"")));
  EXPECT_THAT(loaded("t IS NOT NULL AND i IS NOT NULL"), ElementsAre("1"));
}

TEST_F(SqliteCondition, looks_no_further_into_rows_that_do_not_count) {
  run("CREATE TABLE users(id, kind TEXT); INSERT INTO users VALUES(1.5, 'draft'), (7, 'live')");
  EXPECT_THAT(loaded("kind <> 'draft'"), ElementsAre("7"));
  EXPECT_THAT(loaded("kind = 'draft'"), ElementsAre(HasSubstr("floating point")));
  EXPECT_THAT(loaded("kind = 'gone'"), IsEmpty());
}

// The next row has an id above it, whether this one counts or not.
TEST_F(SqliteCondition, leaves_ids_to_be_new_above_all_rows) {
  run("CREATE TABLE users(id INTEGER PRIMARY KEY, kind TEXT)");
  run("INSERT INTO users VALUES(1, 'live'), (5000, 'draft')");
  Bench bench({Wanted{.where = "kind = 'live'"}});
  auto feeds = bench.feeds();
  DatabaseOrigin origin(directory_.file("app.db"));
  ASSERT_EQ(origin.take(feeds, bench.never).kind, Snapshot::Kind::taken);
  EXPECT_TRUE(bench.lives[0].is_fresh_id(5001));
  EXPECT_FALSE(bench.lives[0].is_fresh_id(5000));
}

TEST_F(SqliteCondition, chooses_the_rows_of_a_snapshot) {
  run("CREATE TABLE users(id INTEGER PRIMARY KEY, deleted_at DATETIME)");
  run("INSERT INTO users VALUES(1, NULL), (2, '2024-01-01'), (3, NULL), (4, 0)");
  Bench bench({Wanted{.where = "deleted_at IS NULL"}});
  auto feeds = bench.feeds();
  DatabaseOrigin origin(directory_.file("app.db"));
  ASSERT_EQ(origin.take(feeds, bench.never).kind, Snapshot::Kind::taken);
  EXPECT_TRUE(bench.has("user:1"));
  EXPECT_TRUE(bench.has("user:3"));
  EXPECT_EQ(bench.lives[0].current()->stats().items, 2U);
}

}  // namespace
}  // namespace cuckooguard::source::sqlite
