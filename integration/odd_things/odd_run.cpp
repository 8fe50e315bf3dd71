#include "odd_things/odd_run.h"

#include <algorithm>
#include <future>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <poll.h>

#include "harness/deadline.h"

namespace cuckooguard::harness {
namespace {

constexpr milliseconds kSettles{5'000};  // before a step; without it is no error
constexpr milliseconds kEnds{40'000};    // what is refused is looked at every 10 s

void replace_all(std::string& text, std::string_view name, std::string_view value) {
  for (std::size_t at = text.find(name); at != std::string::npos;
       at = text.find(name, at + value.size())) {
    text.replace(at, name.size(), value);
  }
}

struct Names {
  std::string table;
  std::string database;
  std::string far;
  std::string collation;

  std::string in(std::string text) const {
    replace_all(text, "{t}", table);
    replace_all(text, "{db}", database);
    replace_all(text, "{far}", far);
    replace_all(text, "{bin}", collation);
    return text;
  }
};

Names names_of(const SqlServer& server, std::size_t number) {
  const std::string digits = std::to_string(1000 + number);
  return {.table = "t" + digits,
          .database = "odd_" + digits,
          .far = "far_" + digits,
          .collation = server.is_mariadb() ? "utf8mb4_nopad_bin" : "utf8mb4_0900_bin"};
}

OddThing named(OddThing thing, const Names& names) {
  for (std::string* const text : {&thing.table, &thing.pattern}) {
    *text = names.in(std::move(*text));
  }
  for (auto* const texts : {&thing.before, &thing.steps}) {
    for (std::string& text : *texts) {
      text = names.in(std::move(text));
    }
  }
  return thing;
}

struct Step {
  std::string session = "a";
  bool is_awaited = true;
  bool must_fail = false;
  std::string sql;
};

Step parsed(std::string_view text) {
  Step step;
  const std::size_t colon = text.find(": ");
  const std::string_view prefix = text.substr(0, colon == std::string_view::npos ? 0 : colon);
  if (prefix == "server" || prefix.size() == 1 || (prefix.size() == 2 && prefix[1] == '&')) {
    step.is_awaited = !prefix.ends_with('&');
    step.session = prefix.substr(0, prefix.size() - (step.is_awaited ? 0 : 1));
    text.remove_prefix(colon + 2);
  }
  if (text.starts_with("! ")) {
    step.must_fail = true;
    text.remove_prefix(2);
  }
  step.sql = text;
  return step;
}

// The sessions of one case.
class Sessions {
 public:
  Sessions(SqlServer& server, std::string database)
      : server_(server), database_(std::move(database)) {}

  void run(const std::string& text) {
    const Step step = parsed(text);
    if (step.session == "server") {
      return restart(step.sql == "kill");
    }
    wait_for(step.session);
    if (step.sql == "leave") {
      sessions_.erase(step.session);
      return;
    }
    SqlSession& session = session_of(step.session);
    if (!step.is_awaited) {
      pending_[step.session] =
          std::async(std::launch::async, [&session, sql = step.sql] { session.run(sql); });
    } else if (!step.must_fail) {
      session.run(step.sql);
    } else if (session.try_run(step.sql) == 0) {
      throw std::runtime_error("it should have failed: " + step.sql);
    }
  }
  bool is_any_under_way() const { return !pending_.empty(); }
  void wait_for_all() {
    for (const auto& [name, session] : sessions_) {
      wait_for(name);
    }
  }

 private:
  SqlSession& session_of(const std::string& name) {
    const auto [found, is_new] = sessions_.try_emplace(name, server_.login(database_));
    if (is_new) {  // one that waits for another for ever would never end
      found->second.run("SET SESSION lock_wait_timeout = 20");
    }
    return found->second;
  }
  void wait_for(const std::string& session) {
    if (const auto found = pending_.find(session); found != pending_.end()) {
      found->second.get();
      pending_.erase(found);
    }
  }
  void restart(bool is_killed) {
    sessions_.clear();
    is_killed ? server_.kill() : server_.stop();
    server_.start_again();
  }

  SqlServer& server_;
  std::string database_;
  std::map<std::string, SqlSession> sessions_;
  std::map<std::string, std::future<void>> pending_;  // ends before them
};

class Watched {
 public:
  Watched(KeyWatch& watch, OddNamespaces& namespaces) : watch_(watch), namespaces_(namespaces) {
    watch_.add(namespaces_);
  }
  ~Watched() { watch_.remove(namespaces_); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  KeyWatch& watch_;
  OddNamespaces& namespaces_;
};

void append(std::vector<std::string>& all,
            std::vector<std::string> more,
            const std::string& where) {
  for (std::string& each : more) {
    all.push_back(std::move(each) + where);
  }
}

std::vector<std::string> end_of(OddNamespaces& namespaces, Sessions& sessions) {
  sessions.wait_for_all();
  std::vector<std::string> wrong = namespaces.see_rows();
  const auto since = SteadyClock::now();
  std::optional<std::vector<std::string>> differences;
  const bool has_ended = eventually(
      [&] {
        differences = namespaces.differences(since);
        return differences.has_value();
      },
      kEnds);
  append(wrong, namespaces.see_rows(), " (while nothing happened)");
  if (!has_ended) {
    wrong.push_back("the end does not come; left over: " + namespaces.left_over());
  } else {
    append(wrong, *std::move(differences), "");
  }
  return wrong;
}

}  // namespace

KeyWatch::KeyWatch()
    : thread_([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          {
            const std::scoped_lock lock(mutex_);
            for (OddNamespaces* const each : watched_) {
              each->ask();
            }
          }
          constexpr timespec kNap{.tv_sec = 0,
                                  .tv_nsec = 100'000};  // what it asks about needs the core as well
          ::ppoll(nullptr, 0, &kNap, nullptr);
        }
      }) {}

void KeyWatch::add(OddNamespaces& watched) {
  const std::scoped_lock lock(mutex_);
  watched_.push_back(&watched);
}

void KeyWatch::remove(OddNamespaces& watched) {
  const std::scoped_lock lock(mutex_);
  std::erase(watched_, &watched);
}

std::vector<std::string> run_odd_thing(SqlServer& server,
                                       const OddThing& thing,
                                       std::size_t number,
                                       KeyWatch& watch) {
  const Names names = names_of(server, number);
  const OddThing here = named(thing, names);
  server.session().run("CREATE DATABASE " + names.database);
  Sessions sessions(server, names.database);
  for (const std::string& sql : here.before) {
    sessions.run(sql);
  }
  OddNamespaces namespaces(server, here, names.database);
  std::vector<std::string> wrong;
  const auto settle = [&](const std::string& step) {
    const auto since = SteadyClock::now();
    if (eventually([&] { return namespaces.are_settled_since(since); }, kSettles) &&
        !sessions.is_any_under_way()) {
      append(wrong, namespaces.hidden_now(), ", by " + step);
    }
  };
  {
    const Watched watched(watch, namespaces);
    append(wrong, namespaces.see_rows(), "");
    settle("the load");
    std::vector<std::string> steps = here.steps;
    if (here.goes_on) {
      steps.push_back("z: INSERT INTO " + here.table +
                      " (id, g) VALUES (901, 91), (902, NULL); UPDATE " + here.table +
                      " SET id = id + 2, g = 92 WHERE id > 900; DELETE FROM " + here.table +
                      " WHERE id = 904");
    }
    try {
      for (const std::string& step : steps) {
        sessions.run(step);
        if (step.starts_with("server: ")) {
          namespaces.reconnect();
        }
        append(wrong, namespaces.see_rows(), ", by " + step);
        settle(step);
      }
      append(wrong, end_of(namespaces, sessions), "");
    } catch (const std::runtime_error& error) {
      wrong.emplace_back(error.what());
    }
  }
  if (!wrong.empty()) {
    wrong.push_back("reports:\n" + namespaces.reports());
  }
  return wrong;
}

}  // namespace cuckooguard::harness
