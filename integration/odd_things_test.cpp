// Odd things that databases do to tables that are followed: whatever it is, no key of a row that is
// there is hidden, and in the end the filters are the tables, or the guard says why they are not.
//
// A thing is data (odd_things/). They are many, so many are done at once, each in a database of its
// own; those that befall the whole server are done one after the other. CUCKOOGUARD_ODD names the
// one to be done alone; with CUCKOOGUARD_MYSQL_ROOT all is done to MySQL.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/on_sql_server.h"
#include "odd_things/odd_run.h"

namespace cuckooguard::harness {
namespace {

constexpr unsigned kAtOnce = 24;

OddThings all_of(std::initializer_list<OddThings (*)()> lists) {
  OddThings all;
  for (const auto list : lists) {
    std::ranges::move(list(), std::back_inserter(all));
  }
  return all;
}

class OddThingsTest : public OnSqlServer {
 protected:
  void prepare() override {
    run("SET GLOBAL event_scheduler = ON, max_connections = 1000");
    create_guard_user(*server_, "`odd\\_%`.*");
  }

  void hide_nothing_and_end_well(const OddThings& things, unsigned at_once) {
    std::atomic<std::size_t> next = 0;
    std::atomic<std::size_t> done = 0;
    {
      KeyWatch watch;
      std::vector<std::jthread> threads;
      threads.reserve(at_once);
      for (unsigned i = 0; i < at_once; ++i) {
        threads.emplace_back([&] {
          for (std::size_t n = next++; n < things.size(); n = next++) {
            done += is_wanted(things[n]) ? try_out(things[n], n, watch) : 0;
          }
        });
      }
    }
    std::printf("odd things: %zu\n", done.load());
    EXPECT_GT(done, 0U) << "there is none of that name";
  }

 private:
  bool is_wanted(const OddThing& thing) const {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment
    const char* const only = std::getenv("CUCKOOGUARD_ODD");
    return (thing.on == On::both || (thing.on == On::mariadb) == server_->is_mariadb()) &&
           (only == nullptr || thing.name == only);
  }
  std::size_t try_out(const OddThing& thing, std::size_t number, KeyWatch& watch) {
    std::string wrong;
    try {
      for (const std::string& each : run_odd_thing(*server_, thing, number, watch)) {
        wrong += "\n  " + each;
      }
    } catch (const std::exception& error) {
      wrong = std::string("\n  ") + error.what();
    }
    if (!wrong.empty()) {
      ADD_FAILURE() << "CUCKOOGUARD_ODD='" << thing.name << "'" << wrong;
    }
    return 1;
  }
};

TEST_F(OddThingsTest, that_befall_definitions_hide_nothing_and_end_well) {
  hide_nothing_and_end_well(all_of({odd_definitions, odd_tables, odd_names}), kAtOnce);
}

TEST_F(OddThingsTest, that_befall_rows_hide_nothing_and_end_well) {
  hide_nothing_and_end_well(all_of({odd_rows, odd_values, odd_sessions}), kAtOnce);
}

TEST_F(OddThingsTest, that_befall_servers_hide_nothing_and_end_well) {
  hide_nothing_and_end_well(odd_servers(), 1);
}

}  // namespace
}  // namespace cuckooguard::harness
