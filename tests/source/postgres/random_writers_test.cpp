// Tables that are read and followed while transactions become visible in another order than the log
// has them in: no visible row is ever hidden, and in the end the filter has the rows that there
// are.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "follow/table_set.h"
#include "postgres/log_applier.h"
#include "source/bench.h"
#include "source/postgres/made_server.h"

namespace cuckooguard::source::postgres {
namespace {

// What is done wrongly, to see that it is noticed.
struct Wrong {
  bool views_go_by_the_log = false;  // all that is in the log counts as shown
  bool erases_at_once = false;       // without waiting until it is seen
  bool asks_unseen_late = false;     // behind the view's opening, and not before
  bool forgets_unseen = false;       // any view will do
};

struct Load {
  bool is_collecting = false;
  std::vector<Xid> unseen;
  bool has_view = false;
  ReadView view;
  MadeServer::Rows rows;
};

class World {
 public:
  World(std::uint32_t seed, const Wrong& wrong) : server_(seed), wrong_(wrong) {
    for (std::size_t i = server_.any(100); i > 0; --i) {
      server_.step();
    }
    begin();
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      step();
    }
  }
  void step() {
    bench_.clock.advance(milliseconds(5));
    switch (server_.any(12)) {
      case 0:
        probe();
        return;
      case 1:
        load();
        return;
      case 2:
        if (server_.any(20) == 0) {
          reconnect();
        } else if (server_.any(10) == 0) {
          bench_.lives[0].ask_for_rebuild();
        }
        return;
      case 3:
      case 4:
      case 5:
      case 6:
        apply_one();
        return;
      default:
        server_.step();
    }
  }
  // Nobody writes any more, all is visible, applied, and loaded.
  void settle() {
    server_.settle();
    for (int i = 0; i < 400; ++i) {
      bench_.clock.advance(milliseconds(50));
      apply_all();
      load();
      probe();
    }
  }

  int hidden() const { return hidden_; }
  int proofs() const { return proofs_; }
  int loads() const { return loads_; }
  bool is_fresh() { return bench_.is_fresh(); }
  std::size_t items() const { return bench_.lives[0].writable()->stats().items; }
  const MadeServer& server() const { return server_; }

 private:
  void begin() {
    const auto begins = server_.end();
    const XidSnapshot now = server_.snapshot();
    std::vector<Xid> unseen;  // what the slot begins behind, and nobody sees yet
    for (const Xid xid : now.running) {
      if (server_.snapshot_by_log().shows(xid)) {
        unseen.push_back(xid);
      }
    }
    tables_.log.begin_at(LogPosition(begins), {{.last = {begins}, .unseen = unseen}});
    reconnect();
  }
  // It goes on with the last that was applied; now and then more of it comes again.
  void reconnect() {
    tables_.log.reconnected({.near = server_.snapshot().xmax}, "db1");
    const std::uint64_t back = server_.any(3) * 10;
    const std::uint64_t from = tables_.log.resume_position().lsn().value;
    const auto begins = std::ranges::find_if(
        server_.sent(), [&](const MadeServer::Sent& sent) { return sent.end + back > from; });
    next_ = static_cast<std::size_t>(begins - server_.sent().begin());
    has_relation_ = false;
  }

  void tell(std::string_view message, pgoutput::Lsn end) {
    const auto applied = tables_.log.apply({.message = message, .end = end}, never_);
    ASSERT_TRUE(applied) << applied.error();
    if (wrong_.erases_at_once) {
      tables_.log.see_committed({.snapshot = server_.snapshot_by_log()});
    }
  }
  void apply_one() {
    if (next_ == server_.sent().size()) {
      tell({}, server_.end());
      return;
    }
    const std::string& message = server_.sent()[next_++].message;
    if (!has_relation_ && message.front() != 'B') {
      tell(MadeServer::relation(), {});
      has_relation_ = true;
    }
    tell(message, {});
  }
  void apply_all() {
    while (next_ < server_.sent().size()) {
      apply_one();
    }
    apply_one();
  }

  void probe() {
    const TimePoint at = bench_.clock.now();
    const LogPosition end(server_.end());
    tables_.log.see_committed({.snapshot = server_.snapshot()});
    tables_.log.prove(at, end);
    if (server_.any(3) == 0) {
      apply_all();
    }
    tables_.loads.tend();
    if (bench_.is_fresh() && tables_.log.position().covers(end)) {
      ++proofs_;
      hidden_ += static_cast<int>(std::ranges::count_if(server_.visible(), [&](std::uint64_t id) {
        return !bench_.has("user:" + std::to_string(id));
      }));
    }
  }

  std::vector<Xid> unseen() const {
    return tables_.loads.ask_applier([](const LogApplier& applier) { return applier.unseen(); });
  }
  // What a TableLoader does, a part of it each time.
  void load() {
    if (!load_) {
      if (!tables_.loads.take_due().empty()) {
        tables_.loads.collect(0, planned());
        load_.emplace();
      }
    } else if (!load_->is_collecting) {
      collect();
    } else if (!load_->has_view) {
      open_view();
    } else {
      publish();
    }
  }
  void collect() {
    while (
        !tables_.loads.ask_applier([](const LogApplier& applier) { return applier.is_idle(); })) {
      apply_one();
    }
    ASSERT_TRUE(tables_.loads.wait_until_collecting(std::vector<TableIndex>{0}, never_));
    load_->unseen = unseen();
    load_->is_collecting = true;
  }
  void open_view() {
    load_->view.snapshot = server_.snapshot();
    load_->rows = server_.visible();
    for (std::size_t i = server_.any(20); i > 0; --i) {
      server_.step();
    }
    load_->view.end = LogPosition(server_.end());
    if (wrong_.views_go_by_the_log) {
      load_->view.snapshot = server_.snapshot_by_log();
    }
    if (wrong_.asks_unseen_late) {
      tables_.log.see_committed({.snapshot = server_.snapshot()});
      load_->unseen = unseen();
    }
    load_->has_view = wrong_.forgets_unseen || std::ranges::all_of(load_->unseen, [&](Xid xid) {
                        return load_->view.snapshot.shows(xid);
                      });
    if (load_->has_view) {
      ASSERT_TRUE(tables_.loads.view_is(0, load_->view, bench_.clock.now()));
    }
  }
  void publish() {
    while (!tables_.log.position().covers(load_->view.end)) {
      apply_one();
    }
    ASSERT_TRUE(tables_.loads.wait_until_past(load_->view, never_));
    tables_.loads.settle(0);
    FilterLoad load = tables_.loads.load(0);
    ASSERT_EQ(load.begin(load_->rows.size(), filter::DeleteMode::trusted), Intake::taken);
    for (const std::uint64_t id : load_->rows) {
      const std::string text = std::to_string(id);
      ASSERT_EQ(load.add(std::vector<std::optional<std::string_view>>{text}), Intake::taken);
    }
    ASSERT_EQ(load.complete(), Intake::taken);
    if (const auto published = tables_.loads.publish(0, std::move(load)); !published) {
      tables_.loads.fail(0, published.error());
    } else {
      ++loads_;
    }
    load_.reset();
  }

  MadeServer server_;
  Wrong wrong_;
  std::stop_token never_;
  Bench bench_{{{.name = "users", .keys = {"user:{id:uint64}"}, .table = "user"}}};
  TableSet<Log> tables_{bench_.feeds(seconds(1)), bench_.clock.clock(), "public"};
  std::size_t next_ = 0;  // of the server's messages
  bool has_relation_ = false;
  std::optional<Load> load_;
  int hidden_ = 0;
  int proofs_ = 0;
  int loads_ = 0;
};

constexpr std::uint32_t kSeeds = 40;
constexpr int kSteps = 3000;

int hidden_with(const Wrong& wrong) {
  int hidden = 0;
  for (std::uint32_t seed = 1; seed <= kSeeds && hidden == 0; ++seed) {
    World world(seed, wrong);
    world.run(kSteps);
    hidden += world.hidden();
  }
  return hidden;
}

TEST(PostgresRandomWriters, hide_no_row_and_leave_none) {
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed, {});
    world.run(kSteps);
    EXPECT_EQ(world.hidden(), 0);
    EXPECT_GT(world.proofs(), 20);
    EXPECT_GT(world.loads(), 3);
    world.settle();
    ASSERT_TRUE(world.is_fresh());
    EXPECT_EQ(world.hidden(), 0);
    EXPECT_EQ(world.items(), world.server().visible().size());
  }
}

TEST(PostgresRandomWriters, a_view_that_went_by_the_log_would_hide_rows) {
  EXPECT_GT(hidden_with({.views_go_by_the_log = true}), 0);
}

TEST(PostgresRandomWriters, a_row_that_was_erased_before_it_is_seen_to_be_gone_would_be_hidden) {
  EXPECT_GT(hidden_with({.erases_at_once = true}), 0);
}

TEST(PostgresRandomWriters, a_view_that_does_not_show_what_was_applied_would_hide_rows) {
  EXPECT_GT(hidden_with({.forgets_unseen = true}), 0);
  EXPECT_GT(hidden_with({.asks_unseen_late = true}), 0);
}

}  // namespace
}  // namespace cuckooguard::source::postgres
