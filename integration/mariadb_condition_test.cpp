// Conditions on rows of a real MariaDB: what the guard decides is what the server's own WHERE does,
// of rows in a snapshot and in the log alike.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "filter/epochs.h"
#include "fixtures/on_sql_server.h"
#include "follow/log_feed.h"
#include "harness/random_items.h"
#include "harness/seed.h"
#include "mysql/log_applier.h"
#include "mysql/log_follower.h"
#include "mysql/read_view.h"

namespace cuckooguard::harness {
namespace {

using source::Transaction;
using source::mysql::Connection;
using source::mysql::LogPosition;

using Ids = std::set<std::string>;

struct Silent final : source::Observer {
  void on_progress(const source::Progress&) override {}
  void on_state(std::string_view, filter::State, std::string_view) override {}
  void on_trouble(std::string_view, std::string_view) override {}
};

// A namespace `item:{id}` with a condition: its rows are the ids of those that count.
class Chosen final : public source::RowTarget<source::mysql::Log> {
 public:
  Chosen(const std::string& where, Connection& connection)
      : settings_(settings(where)), plan_(plan(connection)), rows_(feed_, plan_, proofs_) {}

  const std::string& refusal() const { return refusal_; }
  const source::mysql::TablePlan& plan() const { return plan_; }
  Ids ids() const {
    Ids all;
    for (const std::uint64_t hash : hashes_) {
      all.insert(names_.at(hash));
    }
    return all.size() == hashes_.size() ? all : Ids{"a row is there twice"};
  }

  void add(source::RowValues values) {
    if (const auto hash = image(values).value()) {
      hashes_.insert(*hash);
    }
  }

  std::expected<Transaction::Image, std::string> image(source::RowValues values) override {
    auto found = rows_.image(values);
    if (found && *found) {
      names_[**found] = *values[0];
    }
    return found;
  }
  std::expected<void, std::string> insert(const source::mysql::CommitMark&,
                                          const Transaction& transaction) override {
    transaction.for_each_insert([this](std::uint64_t hash) { hashes_.insert(hash); });
    return {};
  }
  std::expected<void, std::string> erase(const source::mysql::CommitMark&,
                                         const Transaction& transaction) override {
    transaction.for_each_erase([this](std::uint64_t hash) {
      const auto found = hashes_.find(hash);
      ASSERT_NE(found, hashes_.end()) << "a row went that was never there";
      hashes_.erase(found);
    });
    return {};
  }

 private:
  static config::Namespace settings(const std::string& where) {
    config::Namespace settings;
    settings.name = "items";
    settings.keys = {keyspace::KeyTemplate::parse("item:{id:uint64}").value()};
    settings.source.tables = {"item"};
    settings.source.where = keyspace::RowCondition::parse(where).value();
    return settings;
  }
  source::mysql::TablePlan plan(Connection& connection) {
    auto planned = source::mysql::plan_table(connection, target_, settings_.source.tables.front());
    if (planned) {
      return *std::move(planned);
    }
    const auto* const why = std::get_if<std::string>(&planned.error());
    refusal_ = why != nullptr ? *why : std::get<source::mysql::Error>(planned.error()).what;
    return {};
  }

  config::Namespace settings_;
  keyspace::Keyspace keyspace_ =
      keyspace::Keyspace::build({{settings_.name, settings_.keys, false}}).value();
  filter::Epochs epochs_{1};
  filter::LiveParts parts_{epochs_, filter::random_secret()};
  Silent silent_;
  source::Target target_{keyspace_, 0, settings_, parts_};
  source::Feed feed_{target_,
                     *parts_.add("item"),
                     "item",
                     silent_,
                     [] { return source::TimePoint{}; },
                     std::chrono::seconds(1)};
  std::string refusal_;
  source::mysql::TablePlan plan_;
  source::PositionProofs<source::mysql::LogPosition, source::mysql::LogPlace> proofs_;
  source::LogFeed<source::mysql::Log> rows_;
  std::multiset<std::uint64_t> hashes_;
  std::map<std::uint64_t, std::string> names_;
};

class MariaDbCondition : public OnMariaDb {
 protected:
  void prepare() override {
    run("SET NAMES utf8mb4");
    run(RandomItems::kCreateTable);
  }

  Ids found_by_sql(const std::string& where) {
    Ids ids;
    for (const auto& row : session_->run("SELECT id FROM item WHERE " + where)) {
      ids.insert(row[0].value());
    }
    return ids;
  }

  Connection connect() const {
    auto connection = Connection::open({.unix_path = server_->unix_path(),
                                        .user = "root",
                                        .database = MariaDbServer::kDatabase,
                                        .timeout = std::chrono::seconds(30)});
    EXPECT_TRUE(connection) << connection.error().what;
    return std::move(*connection);
  }
  std::string refusal(const std::string& where) {
    Connection connection = connect();
    return Chosen(where, connection).refusal();
  }

  static void read(Connection& connection, Chosen& chosen) {
    auto rows = connection.stream(chosen.plan().select_sql());
    ASSERT_TRUE(rows) << rows.error().what;
    for (;;) {
      const auto row = rows->next();
      ASSERT_TRUE(row) << row.error().what;
      if (!*row) {
        return;
      }
      chosen.add(**row);
    }
  }
  // Applies the log from `position` to its end.
  void follow(const LogPosition& position, Chosen& chosen) {
    source::mysql::FollowedTable table(chosen.plan(), chosen);
    source::mysql::LogApplier applier(
        position, {.on_out_of_step = [this](source::mysql::FollowedTable&, std::string_view why) {
          out_of_step_ = why;
        }});
    applier.join(table);
    auto stream = source::mysql::LogStream::begin(
        connect(), position, {.server_id = 77, .ends_at_last = true});
    ASSERT_TRUE(stream) << stream.error().what;
    applier.reconnected({.checksum = stream->checksum()}, 1);
    for (;;) {
      const auto event = stream->next();
      ASSERT_TRUE(event) << event.error().what;
      if (!*event) {
        return;
      }
      ASSERT_TRUE(applier.apply(**event));
    }
  }
  // The ids that count after `write`, as the log tells from a snapshot before it.
  Ids followed(const std::string& where, const std::vector<std::string>& writes) {
    Connection connection = connect();
    Chosen chosen(where, connection);
    EXPECT_EQ(chosen.refusal(), "");
    const LogPosition position = source::mysql::open_view(connection).value().covered;
    read(connection, chosen);
    for (const std::string& write : writes) {
      run(write);
    }
    follow(position, chosen);
    return chosen.ids();
  }

  std::string out_of_step_;
};

TEST_F(MariaDbCondition, decides_as_the_server_does_in_a_snapshot_and_in_the_log) {
  RandomItems random(seed_of_this_run());
  constexpr unsigned kRows = 150;
  const auto insert = [&](unsigned id) { run("REPLACE INTO item VALUES " + random.row(id)); };
  for (unsigned id = 1; id <= kRows; ++id) {
    insert(id);
  }
  std::vector<std::pair<std::string, std::unique_ptr<Chosen>>> all;
  Connection connection = connect();
  for (int i = 0; i < 200; ++i) {
    const std::string where = random.condition();
    all.emplace_back(where, std::make_unique<Chosen>(where, connection));
    ASSERT_EQ(all.back().second->refusal(), "") << where;
  }
  const LogPosition position = source::mysql::open_view(connection).value().covered;
  std::size_t rows = 0;
  for (auto& [where, chosen] : all) {
    read(connection, *chosen);
    ASSERT_EQ(chosen->ids(), found_by_sql(where)) << where;
    rows += chosen->ids().size();
  }
  EXPECT_GT(rows, 200U) << "the conditions were too hard to tell anything";
  for (int i = 0; i < 300; ++i) {
    const unsigned id = 1 + random.pick(kRows * 2);
    const std::string column =
        random.one_of({"i", "u", "t", "b", "z", "c", "d", "s", "f", "e", "o", "w"});
    switch (random.pick(4)) {
      case 0:
        insert(id);
        break;
      case 1:
        run("DELETE FROM item WHERE id = " + std::to_string(id));
        break;
      default:
        run("UPDATE item SET " + column + " = " + random.value(column[0]) + " WHERE id BETWEEN " +
            std::to_string(id) + " AND " + std::to_string(id + 3));
    }
  }
  for (auto& [where, chosen] : all) {
    follow(position, *chosen);
    ASSERT_EQ(out_of_step_, "") << where;
    ASSERT_EQ(chosen->ids(), found_by_sql(where)) << where;
  }
}

TEST_F(MariaDbCondition, is_refused_where_the_server_compares_otherwise_than_by_bytes) {
  run("ALTER TABLE item ADD ci VARCHAR(9) COLLATE utf8mb4_general_ci, ADD bin VARCHAR(9) COLLATE "
      "utf8mb4_bin, ADD n DECIMAL(9,1), ADD day DATE, ADD zf INT ZEROFILL, ADD must INT NOT NULL");
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"ci = 'a'", "where: column `ci` (varchar(9)) has the collation utf8mb4_general_ci"},
      {"ci <> 'a' AND ci = 'b'", "MODIFY it to utf8mb4_nopad_bin"},
      {"bin IN ('a')", "has the collation utf8mb4_bin"},
      {"n = 1", "allows several spellings of one value"},
      {"day <> '2024-01-01'", "allows several spellings of one value"},
      {"zf = 7", "is ZEROFILL"},
      {"i = '007'", "'007' is not written as the server prints numbers"},
      {"u IN (7, 'x')", "'x' is not written as the server prints numbers"},
      {"t = 7", "which SQL compares with 7 as a number; quote the value"},
      {"t = 'a\\b'", "backslash"},
      {"d = '2024-01-01'", "a condition can test it only with IS NULL or IS NOT NULL"},
      {"s <> 'x'", "a condition can test it only with IS NULL or IS NOT NULL"},
      {"w IN (1, 'x')", "'x' is not written as the server prints numbers"},
      {"must IS NULL", "is NOT NULL, so IS NULL never matches"},
      {"tt = 'a'", "where: table `item` has no column `tt`"},
  };
  for (const auto& [where, words] : expected) {
    EXPECT_NE(refusal(where).find(words), std::string::npos) << where << ": " << refusal(where);
  }
  EXPECT_EQ(refusal("ci IS NULL AND n IS NOT NULL AND zf IS NULL AND must IS NOT NULL AND D IS "
                    "NULL AND must = 7 AND T <> ''"),
            "");
}

// Rows that SQL leaves out, too, may count; what it finds always does.
TEST_F(MariaDbCondition, leaves_out_by_any_collation_what_is_equal_byte_for_byte) {
  run("ALTER TABLE item ADD ci VARCHAR(9) COLLATE utf8mb4_general_ci");
  run("INSERT INTO item (id, ci) VALUES (1, 'draft'), (2, 'Draft'), (3, 'live'), (4, NULL), (5, "
      "'draft')");
  EXPECT_EQ(followed("ci <> 'draft'",
                     {"UPDATE item SET ci = 'live' WHERE id = 5",
                      "UPDATE item SET ci = 'draft' WHERE id = 2",
                      "INSERT INTO item (id, ci) VALUES (6, 'DRAFT')"}),
            (Ids{"3", "5", "6"}));
  EXPECT_EQ(out_of_step_, "");
  EXPECT_EQ(found_by_sql("ci <> 'draft'"), (Ids{"3", "5"}));
}

TEST_F(MariaDbCondition, follows_rows_that_begin_and_cease_to_count) {
  run("INSERT INTO item (id, d) VALUES (1, NULL), (2, NOW()), (3, NULL)");
  EXPECT_EQ(followed("d IS NULL",
                     {"UPDATE item SET d = NOW() WHERE id = 1",
                      "UPDATE item SET d = NULL WHERE id = 2",
                      "UPDATE item SET d = NOW() WHERE id = 3",
                      "UPDATE item SET d = NULL WHERE id = 3",
                      "INSERT INTO item (id, d) VALUES (4, NOW()), (5, NULL)"}),
            (Ids{"2", "3", "5"}));
  EXPECT_EQ(out_of_step_, "");
}

TEST_F(MariaDbCondition, follows_a_change_of_key_and_condition_in_one_transaction) {
  run("INSERT INTO item (id, i) VALUES (1, 7), (2, 7), (3, 0)");
  EXPECT_EQ(followed("i = 7",
                     {"BEGIN; UPDATE item SET id = 10 WHERE id = 1; UPDATE item SET i = 0 WHERE id "
                      "= 10; UPDATE item SET id = 20, i = 0 WHERE id = 2; UPDATE item SET i = 7 "
                      "WHERE id = 20; UPDATE item SET id = 30, i = 7 WHERE id = 3; COMMIT",
                      "BEGIN; UPDATE item SET i = 0; ROLLBACK"}),
            (Ids{"20", "30"}));
  EXPECT_EQ(out_of_step_, "");
}

TEST_F(MariaDbCondition, needs_of_minimal_row_images_no_more_than_the_primary_key) {
  run("SET SESSION binlog_row_image = MINIMAL");
  run("INSERT INTO item (id, i) VALUES (1, 7), (2, 7)");
  EXPECT_EQ(followed("id <> 3",
                     {"UPDATE item SET id = 3 WHERE id = 1",
                      "UPDATE item SET i = 8 WHERE id = 2",
                      "INSERT INTO item (id) VALUES (4)",
                      "DELETE FROM item WHERE id = 4"}),
            (Ids{"2"}));
  EXPECT_EQ(out_of_step_, "");
  followed("i = 8", {"UPDATE item SET i = 7 WHERE id = 2"});
  EXPECT_NE(out_of_step_.find("without column `i`"), std::string::npos) << out_of_step_;
}

TEST_F(MariaDbCondition, takes_generated_columns_like_any_other) {
  run("ALTER TABLE item ADD g INT AS (i + 1) VIRTUAL, ADD h INT AS (i + 1) STORED");
  for (const std::string where : {"g = 8", "h <> 8", "g IS NULL"}) {
    run("REPLACE INTO item (id, i) VALUES (1, 7), (2, 8), (3, 9), (4, NULL)");
    const auto ids = followed(where,
                              {"UPDATE item SET i = 15 - i WHERE id < 3",
                               "UPDATE item SET t = 'x'",
                               "UPDATE item SET i = IF(i IS NULL, 7, NULL) WHERE id > 2"});
    EXPECT_EQ(ids, found_by_sql(where)) << where;
  }
}

}  // namespace
}  // namespace cuckooguard::harness
