// A set of tables on a log made by hand; what a loader does to it is done by the test.
#pragma once

#include <functional>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "follow/table_set.h"
#include "mysql/log_applier.h"
#include "source/bench.h"
#include "source/mysql/made_log.h"
#include "source/publication.h"

namespace cuckooguard::source::mysql {

using Numbers = std::vector<std::uint32_t>;

inline constexpr seconds kMaxLag{1};

// What is told of tables, which at each mark must lead to the filters that there are.
class ToldRows final : public Publication {
 public:
  using FilterOf = std::function<const filter::CuckooFilter*(Table)>;

  struct Told {
    filter::Digest digest{};
    std::multiset<std::uint64_t> deleted{};  // and not erased
  };

  explicit ToldRows(FilterOf filter_of) : filter_of_(std::move(filter_of)) {}

  void inserted(Table table, Hashes hashes) override {
    for (const std::uint64_t hash : hashes) {
      told[table].digest.add(hash);
    }
  }
  void deleted(Table table, std::uint64_t hash) override { told[table].deleted.insert(hash); }
  void erased(Table table, std::uint64_t hash) override {
    std::multiset<std::uint64_t>& deleted = told[table].deleted;
    ASSERT_TRUE(deleted.contains(hash)) << "erased, and not deleted";
    deleted.erase(deleted.find(hash));
    told[table].digest.remove(hash);
  }
  void anew(Table table, std::uint64_t definition) override {
    definitions.insert(definition);
    told[table] = {.digest = filter_of_(table)->digest()};
    ++begun;
  }
  void lost(Table table) override { told.erase(table); }
  void rebuilt(Table table) override {
    EXPECT_TRUE(told.contains(table));
    ++rebuilds;
  }
  void set_facts(Table table, const PublishedFacts& facts) override {
    ready[table] = facts.is_ready;
  }
  void mark(const std::string& position, const std::string& end) override {
    ends.push_back(end);
    marks.push_back(position);
    for (const auto& [table, rows] : told) {
      EXPECT_EQ(rows.digest, filter_of_(table)->digest()) << "at " << position;
    }
  }
  void proven(TimePoint at) override { proven_at = at; }
  bool wants_cut(Table /*table*/) const override { return wants_cuts; }
  void cut(Table table, const filter::Digest& digest) override {
    EXPECT_EQ(told.at(table).digest, digest);
    EXPECT_TRUE(told.at(table).deleted.empty());
    cuts.push_back(table);
  }

  std::map<Table, Told> told;  // of which all is
  std::map<Table, bool> ready;
  std::vector<std::string> marks;
  std::vector<std::string> ends;
  std::optional<TimePoint> proven_at;
  std::vector<Table> cuts;
  int begun = 0;
  std::set<std::uint64_t> definitions;
  int rebuilds = 0;
  bool wants_cuts = false;

 private:
  FilterOf filter_of_;
};

class TableSetTest : public testing::Test {
 protected:
  void begin(const std::string& position = "") {
    tables_.log.begin_at(at(position));
    tables_.log.reconnected({}, "db1");
    apply({binlog::make_format(binlog::Brand::mariadb)});
  }
  void apply(const std::vector<std::string>& events) {
    for (const std::string& event : events) {
      const auto applied = tables_.log.apply(event, never_);
      ASSERT_TRUE(applied) << applied.error();
    }
  }
  void insert(std::uint32_t id) {
    apply({log_.begin(), MadeLog::map(1, "user"), MadeLog::insert(1, id), MadeLog::commit()});
  }
  std::vector<std::string> erasing(std::uint32_t id) {
    return {log_.begin(), MadeLog::map(1, "user"), MadeLog::erase(1, id), MadeLog::commit()};
  }

  // --- a loader ---
  // Of `view` all but what it covers counts.
  void open_view(TableIndex index, ReadView view = {}) {
    tables_.loads.collect(index, planned("user"));
    const std::vector<TableIndex> indexes{index};
    const auto collected_from = tables_.loads.wait_until_collecting(indexes, never_);
    ASSERT_TRUE(collected_from);
    view.covered = *collected_from;
    ASSERT_TRUE(tables_.loads.view_is(index, view, bench_.clock.now()));
    ASSERT_TRUE(tables_.loads.wait_until_past(view, never_));
    tables_.loads.settle(index);
  }
  std::expected<void, std::string> read(TableIndex index, const Numbers& rows) {
    FilterLoad load = tables_.loads.load(index);
    EXPECT_EQ(load.begin(rows.size(), filter::DeleteMode::trusted), Intake::taken);
    for (const std::uint32_t id : rows) {
      const std::string text = std::to_string(id);
      EXPECT_EQ(load.add(std::vector<std::optional<std::string_view>>{text}), Intake::taken);
    }
    EXPECT_EQ(load.complete(), Intake::taken);
    return tables_.loads.publish(index, std::move(load));
  }
  void load_all(const Numbers& rows) {
    for (const TableIndex index : tables_.loads.take_due()) {
      open_view(index);
      ASSERT_TRUE(read(index, rows));
    }
  }

  // Until a table is due again: `due_`.
  seconds pause() {
    const TimePoint before = bench_.clock.now();
    for (due_ = tables_.loads.take_due(); due_.empty(); due_ = tables_.loads.take_due()) {
      bench_.clock.advance(milliseconds(50));
    }
    return std::chrono::duration_cast<seconds>(bench_.clock.now() - before);
  }

  void prove() { tables_.log.prove(bench_.clock.now(), tables_.log.position()); }
  // All that the log has.
  void commit() { tables_.log.see_committed({}); }
  static Committed committed(std::uint64_t place) {
    return {.position = {}, .place = {.file = "", .position = place}};
  }
  static LogPosition at(const std::string& position) {
    return LogPosition::parse(position, true).value();
  }
  bool is_fresh(std::uint32_t ns = 0) { return bench_.is_fresh(ns); }

  std::stop_token never_;
  std::vector<TableIndex> due_;
  MadeLog log_;
  Bench bench_{{{.name = "users", .keys = {"user:{id:uint64}"}, .table = "user"},
                {.name = "again", .keys = {"again:{id:uint64}"}, .table = "user"}}};
  int proofs_told_ = 0;
  bool was_fresh_when_told_ = false;
  filter::Questions questions_{[this] {
    ++proofs_told_;
    was_fresh_when_told_ = is_fresh();
  }};
  bool has_memory_ = true;
  const Publication::Table users_ = published_number(bench_.targets()[0], "user");
  ToldRows told_{[this](Publication::Table table) {
    return bench_.lives[table == users_ ? 0 : 1].writable();
  }};
  TableSet<Log> tables_{bench_.feeds(kMaxLag, told_),
                        [this] {
                          if (!has_memory_) {
                            throw std::bad_alloc();
                          }
                          return bench_.clock.now();
                        },
                        "shop",
                        Asking(&questions_, {})};
};

}  // namespace cuckooguard::source::mysql
