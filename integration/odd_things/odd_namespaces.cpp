#include "odd_things/odd_namespaces.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "config/parse.h"
#include "harness/configuration.h"
#include "harness/redis_command.h"
#include "mysql/log_follower.h"
#include "source/feeds.h"

namespace cuckooguard::harness {
namespace {

using filter::Finding;
using filter::State;

constexpr std::size_t kCase = 0;
constexpr std::size_t kWatch = 1;
constexpr const char* kNever = "987654321";  // of no row

source::TimePoint now() {
  return std::chrono::steady_clock::now();
}

std::string doubled(std::string_view text, char quote) {
  std::string result(1, quote);
  for (const char byte : text) {
    result += byte == quote ? std::string(2, quote) : std::string(1, byte);
  }
  return result + quote;
}

State state_of(End end) {
  return end == End::refused ? State::refused : State::unsynced;
}

}  // namespace

config::Config OddNamespaces::parsed(const OddThing& thing) {
  std::string namespaces;
  const auto add = [&](const std::string& name, const std::string& key, const std::string& table) {
    if (key.empty() || table.empty()) {
      return;
    }
    namespaces += Guarded{.name = name,
                          .keys = "[ " + doubled(name + ":" + key, '\'') + " ]",
                          .table = doubled(table, '\''),
                          .absent_reply = "nil",
                          .filter = std::string("{ false_positive_rate: 0.0001%, deletes: ") +
                                    (name.ends_with("groups") ? "exact" : "auto") + " }"}
                      .yaml();
  };
  add("ids", thing.id, thing.table);
  add("all_ids", thing.id, thing.pattern);
  add("groups", thing.group, thing.table);
  add("all_groups", thing.group, thing.pattern);
  return config::testing::config_of(Configuration{.namespaces = namespaces}.yaml());
}

OddNamespaces::OddNamespaces(const SqlServer& server, const OddThing& thing, std::string database)
    : server_(server),
      thing_(thing),
      database_(std::move(database)),
      config_(parsed(thing)),
      keyspace_([this] {
        std::vector<keyspace::NamespaceTemplates> all;
        all.reserve(config_.namespaces.size());
        for (const config::Namespace& ns : config_.namespaces) {
          all.push_back(
              {.name = ns.name, .templates = ns.keys, .canonical_keys = ns.canonical_keys});
        }
        return keyspace::Keyspace::build(std::move(all)).value();
      }()) {
  reconnect();
  std::vector<source::Target> targets;
  for (std::uint32_t ns = 0; ns < config_.namespaces.size(); ++ns) {
    const config::Namespace& each = config_.namespaces[ns];
    parts_.emplace_back(epochs_, filter::random_secret());
    parts_.back().set_complete(true);
    targets.push_back({keyspace_, ns, each, parts_.back()});
    namespaces_.push_back({.name = each.name,
                           .is_of_all_tables = each.name.starts_with("all"),
                           .is_of_groups = each.name.ends_with("groups")});
  }
  source::mysql::LogFollowerSettings settings{.max_lag = kMaxLag};
  settings.logins.push_back({.unix_path = server.unix_path(),
                             .user = "guard",
                             .password = "word",
                             .database = database_,
                             .timeout = std::chrono::seconds(30)});
  source::Feeds feeds(targets, *this, now, kMaxLag);
  follower_ = std::make_unique<source::SourceThread>(
      std::make_unique<source::mysql::LogFollower>(std::move(settings), std::move(feeds), now),
      nullptr);
  follower_->start();
}

void OddNamespaces::reconnect() {
  session_.emplace(server_.login(database_));
  session_->run("SET character_set_results = NULL, lock_wait_timeout = 0");
}

OddNamespaces::~OddNamespaces() {
  follower_.reset();
}

// --- what SQL finds ---

std::vector<std::string> OddNamespaces::tables_of(const Namespace& each) {
  if (!each.is_of_all_tables) {
    return {thing_.table};
  }
  std::vector<std::string> tables;
  const std::string_view begins =
      std::string_view(thing_.pattern).substr(0, thing_.pattern.size() - 1);
  for (const auto& row : session_->run("SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'")) {
    if (row[0].value_or("").starts_with(begins)) {
      tables.push_back(*row[0]);
    }
  }
  return tables;
}

OddNamespaces::Identities OddNamespaces::identities(std::size_t ns, std::uint64_t& rows) {
  std::string columns;
  for (const std::string& column : keyspace_.identity_columns(static_cast<std::uint32_t>(ns))) {
    columns += (columns.empty() ? "" : ", ") + doubled(column, '`');
  }
  Identities all;
  keyspace::IdentityBuffer scratch;
  std::vector<std::optional<std::string_view>> values;
  rows = 0;
  for (const std::string& table : tables_of(namespaces_[ns])) {
    for (const auto& row : session_->run("SELECT " + columns + " FROM " + doubled(table, '`'))) {
      values.assign(row.begin(), row.end());
      const auto identity =
          keyspace_.identity_of_row(static_cast<std::uint32_t>(ns), values, scratch);
      if (identity && *identity) {
        all.emplace((**identity).identity);
        ++rows;
      }
    }
  }
  return all;
}

std::vector<std::string> OddNamespaces::see_rows() {
  std::vector<std::string> hidden;
  for (std::size_t ns = 0; ns < namespaces_.size(); ++ns) {
    const source::TimePoint at = now();
    std::uint64_t rows = 0;
    Identities seen;
    try {
      seen = identities(ns, rows);
    } catch (const std::runtime_error&) {
      seen.clear();
    }
    const source::TimePoint until = now();
    const std::scoped_lock lock(asked_);
    Namespace& each = namespaces_[ns];
    std::erase_if(absent_, [&](const Absent& absent) {
      if (absent.ns != ns || absent.at > at) {
        return false;
      }
      const auto known = each.since.find(absent.identity);
      if (known != each.since.end() && seen.contains(absent.identity) &&
          absent.at > known->second + kMaxLag) {
        hidden.push_back(each.name + ": HIDDEN: " + shown(absent.identity));
      }
      return true;
    });
    remember(each, seen, until);
    each.rows = rows;
  }
  std::ranges::sort(hidden);
  hidden.erase(std::ranges::unique(hidden).begin(), hidden.end());
  return hidden;
}

void OddNamespaces::remember(Namespace& each, const Identities& seen, source::TimePoint at) {
  std::map<std::string, source::TimePoint> since;
  for (const std::string& identity : seen) {
    const auto known = each.since.find(identity);
    since.emplace(identity, known == each.since.end() ? at : known->second);
    each.gone.erase(identity);
  }
  for (const auto& [identity, unused] : each.since) {
    if (!seen.contains(identity)) {
      each.gone.insert(identity);
    }
  }
  each.since = std::move(since);
}

// --- what look-ups find ---

Finding OddNamespaces::find(std::size_t ns, std::string_view identity, std::size_t reader) {
  const filter::EpochScope inside(epochs_.reader(reader));
  return parts_[ns].find(identity, now());
}

void OddNamespaces::ask() {
  const std::scoped_lock lock(asked_);
  for (std::size_t ns = 0; ns < namespaces_.size(); ++ns) {
    for (const auto& [identity, unused] : namespaces_[ns].since) {
      const source::TimePoint at = now();
      if (find(ns, identity, kWatch) == Finding::absent) {
        absent_.push_back({.ns = ns, .identity = identity, .at = at});
      }
    }
  }
}

std::vector<std::string> OddNamespaces::hidden_now() {
  std::vector<std::string> hidden;
  for (std::size_t ns = 0; ns < namespaces_.size(); ++ns) {
    for (const auto& [identity, unused] : namespaces_[ns].since) {
      if (find(ns, identity, kCase) == Finding::absent) {
        hidden.push_back(namespaces_[ns].name + ": HIDDEN when all is proven: " + shown(identity));
      }
    }
  }
  return hidden;
}

bool OddNamespaces::are_settled_since(source::TimePoint at) const {
  return std::ranges::all_of(parts_, [at](const filter::LiveParts& parts) {
    const State state = parts.state();
    return (parts.fresh_until() != source::TimePoint::min() &&
            parts.fresh_until() - kMaxLag >= at) ||
           state == State::refused || state == State::unsynced;
  });
}

// --- the end ---

bool OddNamespaces::is_meant(const Namespace& each) const {
  switch (thing_.whose) {
    case Whose::all:
      return true;
    case Whose::ids:
      return !each.is_of_groups;
    case Whose::groups:
      return each.is_of_groups;
    case Whose::named:
      return !each.is_of_all_tables;
    case Whose::matched:
      return each.is_of_all_tables;
  }
  return true;
}

std::uint64_t OddNamespaces::entries(std::size_t ns) const {
  std::uint64_t all = 0;
  parts_[ns].for_each([&all](std::string_view, const filter::LiveFilter& live) {
    all += live.current() == nullptr ? 0 : live.current()->stats().items;
  });
  return all;
}

bool OddNamespaces::was_said(const Namespace& each, const std::string& words) const {
  const std::scoped_lock lock(reported_);
  return std::ranges::any_of(reports_, [&](const Report& report) {
    return report.ns.substr(0, report.ns.find('/')) == each.name && report.why.contains(words);
  });
}

OddNamespaces::Verdict OddNamespaces::compare_state(std::size_t ns,
                                                    std::vector<std::string>& wrong) {
  const Namespace& each = namespaces_[ns];
  const State wanted = state_of(thing_.end);
  if (find(ns, kNever, kCase) == Finding::absent || parts_[ns].state() != wanted) {
    wrong.push_back(each.name + " is " + filter::state_name(parts_[ns].state()) + ", not " +
                    filter::state_name(wanted));
    return Verdict::not_yet;
  }
  return Verdict::as_expected;
}

// While nothing is written.
OddNamespaces::Verdict OddNamespaces::compare(std::size_t ns, std::vector<std::string>& wrong) {
  const Namespace& each = namespaces_[ns];
  for (const auto& [identity, unused] : each.since) {
    if (find(ns, identity, kCase) == Finding::absent) {
      wrong.push_back(each.name + ": HIDDEN in the end: " + shown(identity));
    }
  }
  const bool counts = thing_.is_unique || each.is_of_groups;
  for (const std::string& identity : each.gone) {
    const Finding finding = find(ns, identity, kCase);
    if (finding == Finding::not_fresh) {
      return Verdict::not_yet;
    }
    if (counts && finding != Finding::absent) {
      left_over_ = each.name + ": passes although no row has it: " + shown(identity);
      return Verdict::not_yet;
    }
  }
  if (find(ns, kNever, kCase) != Finding::absent) {
    return Verdict::not_yet;
  }
  const std::uint64_t entries = this->entries(ns);
  if (thing_.is_unique && !each.is_of_groups && entries != each.rows) {
    const std::string found = std::to_string(each.rows) + " rows, and " + std::to_string(entries) +
                              " entries in the filter";
    if (entries > each.rows) {
      left_over_ = each.name + ": " + found;
      return Verdict::not_yet;
    }
    wrong.push_back(each.name + ": " + found);
  }
  return wrong.empty() ? Verdict::as_expected : Verdict::wrong;
}

std::optional<std::vector<std::string>> OddNamespaces::differences(source::TimePoint since) {
  left_over_.clear();
  std::vector<std::string> all;
  for (std::size_t ns = 0; ns < namespaces_.size(); ++ns) {
    const Namespace& each = namespaces_[ns];
    std::vector<std::string> wrong;
    if (thing_.end != End::exact && is_meant(each)) {
      if (compare_state(ns, wrong) != Verdict::as_expected) {
        return std::nullopt;
      }
    } else {
      const source::TimePoint until = parts_[ns].fresh_until();
      if (until == source::TimePoint::min() || until - kMaxLag < since ||
          compare(ns, wrong) == Verdict::not_yet) {
        return std::nullopt;
      }
    }
    if (is_meant(each) && !was_said(each, thing_.words)) {
      wrong.push_back(each.name + ": nobody said \"" + thing_.words + "\"");
    }
    all.insert(all.end(), wrong.begin(), wrong.end());
  }
  return all;
}

void OddNamespaces::on_state(std::string_view ns, State state, std::string_view why) {
  const std::scoped_lock lock(reported_);
  reports_.push_back({.ns = std::string(ns), .state = state, .why = std::string(why)});
}

std::string OddNamespaces::reports() const {
  constexpr std::size_t kShown = 24;
  const std::scoped_lock lock(reported_);
  std::string text;
  for (std::size_t i = reports_.size() - std::min(kShown, reports_.size()); i < reports_.size();
       ++i) {
    text += "    " + reports_[i].ns + ": " + filter::state_name(reports_[i].state) + " " +
            reports_[i].why + "\n";
  }
  return text;
}

}  // namespace cuckooguard::harness
