#include "exactness/catalogue_changes.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "harness/configuration.h"

namespace cuckooguard::harness {
namespace {

constexpr unsigned kNumbers = 12;  // so few that rows meet again
constexpr milliseconds kIsQuick{500};
constexpr milliseconds kForgotten{1000};    // what was deleted
constexpr milliseconds kComesBack{45'000};  // what is refused is looked at every 10 s

void replace(std::string& text, std::string_view name, const std::string& value) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    text.replace(at, name.size(), value);
  }
}

}  // namespace

CatalogueChanges::CatalogueChanges(const Catalogue& catalogue,
                                   ChangedServer& server,
                                   GuardedFilters& guarded,
                                   std::uint32_t seed)
    : catalogue_(catalogue), server_(server), guarded_(guarded), random_(seed) {}

std::vector<std::string> CatalogueChanges::round() {
  steps_.clear();
  wrong_.clear();
  const unsigned steps = 3 + pick(10);
  for (unsigned i = 0; i < steps && wrong_.empty(); ++i) {
    step();
    look();
  }
  if (wrong_.empty()) {
    wrong_ = end_of_round();
  }
  if (!wrong_.empty()) {
    wrong_.push_back("behind\n" + steps_ + server_.reports());
  }
  return std::exchange(wrong_, {});
}

void CatalogueChanges::step() {
  switch (pick(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      return go_there();
    case 5:
    case 6:
      return come_back(applied_.empty() ? 0 : pick(static_cast<unsigned>(applied_.size())));
    case 7:
    case 8:
      return write();
    case 9:
      return begin_or_end(pick(3) == 0 ? 1 : 0);
    case 10:
    case 11:
      return stop_or_follow();
    case 12:
      return pick(3) == 0 ? restart() : write();
    default:
      return there_and_back();
  }
}

void CatalogueChanges::note(const std::string& name, bool has_happened, const std::string& sql) {
  counts_[has_happened ? name : name + "_refused"] += 1;
  steps_ += (has_happened ? "  " : "  (refused) ") + sql + "\n";
}

bool CatalogueChanges::change(std::size_t session,
                              const std::string& name,
                              const std::string& sql) {
  const bool has_happened = server_.run(session, sql);
  note(name, has_happened, std::to_string(session) + ": " + sql);
  return has_happened;
}

void CatalogueChanges::go_there() {
  const Change& chosen = catalogue_.changes[pick(static_cast<unsigned>(catalogue_.changes.size()))];
  if (std::ranges::find(applied_, &chosen) == applied_.end() &&
      change(0, chosen.name, chosen.there)) {
    applied_.push_back(&chosen);
  }
}

void CatalogueChanges::come_back(std::size_t which) {
  if (!applied_.empty() && change(0, "back", applied_[which]->back)) {
    applied_.erase(applied_.begin() + static_cast<std::ptrdiff_t>(which));
  }
}

// Between two looks at the catalog: in one transaction, or as fast as it goes.
void CatalogueChanges::there_and_back() {
  const bool is_inside = open_[0].has_value() || pick(2) == 0;
  if (is_inside && !open_[0]) {
    begin_or_end(0);
  }
  const std::size_t before = applied_.size();
  go_there();
  write();
  write();
  if (applied_.size() > before) {
    come_back(before);
  }
  if (is_inside) {
    end(0, true);
  }
}

// Names that are not there just now are refused.
void CatalogueChanges::write() {
  const std::size_t session = pick(4) == 0 ? 1 : 0;
  const int tries = session == 0 ? 8 : 1;  // the other one may have to wait for locks
  for (int i = 0; i < tries; ++i) {
    std::string sql = catalogue_.rows[pick(static_cast<unsigned>(catalogue_.rows.size()))];
    replace(sql, "{n}", std::to_string(pick(kNumbers)));
    replace(sql, "{m}", std::to_string(pick(kNumbers)));
    if (change(session, "row", sql)) {
      return;
    }
  }
}

void CatalogueChanges::begin_or_end(std::size_t session) {
  if (open_[session]) {
    return end(session, pick(4) > 0);
  }
  if (change(session, "transaction", "BEGIN")) {
    open_[session] = Transaction{.applied = applied_};
  }
}

// What its transaction has changed is as it was before.
void CatalogueChanges::forget_rolled_back() {
  if (open_[0] && catalogue_.rolls_back) {
    applied_ = std::move(open_[0]->applied);
  }
}

void CatalogueChanges::end(std::size_t session, bool commits) {
  if (!open_[session]) {
    return;
  }
  const bool has_ended = change(session, "ended", commits ? "COMMIT" : "ROLLBACK");
  if (session == 0 && (!commits || !has_ended)) {
    forget_rolled_back();
  }
  open_[session].reset();
}

void CatalogueChanges::stop_or_follow() {
  if (is_followed_) {
    server_.stop_following();
  } else {
    server_.follow();
  }
  is_followed_ = !is_followed_;
  note(is_followed_ ? "followed" : "stopped", true, is_followed_ ? "(followed)" : "(not followed)");
}

void CatalogueChanges::restart() {
  const bool is_killed = pick(2) == 0;
  forget_rolled_back();
  std::ranges::fill(open_, std::nullopt);
  server_.restart(is_killed);
  note(is_killed ? "killed" : "restarted", true, is_killed ? "(killed)" : "(restarted)");
}

// Whoever asks later than max_lag, or when it is proven, finds what was there before.
void CatalogueChanges::look() {
  const auto since = SteadyClock::now();
  std::vector<std::optional<GuardedFilters::Rows>> rows;
  for (const GuardedTable& table : guarded_.tables()) {
    rows.push_back(server_.ask("SELECT " + table.columns + " FROM " + table.table));
  }
  (void)eventually([&] { return guarded_.is_proven_since(since, ChangedServer::kMaxLag); },
                   ChangedServer::kMaxLag);
  for (std::uint32_t ns = 0; ns < rows.size(); ++ns) {
    for (const auto& row : rows[ns].value_or(GuardedFilters::Rows{})) {
      if (row[0] && guarded_.is_answered_absent(ns, *row[0])) {
        wrong_.push_back(guarded_.tables()[ns].ns + ": hidden: " + *row[0]);
      }
    }
  }
}

// The last first. Some do not come back: rows are in the way by now.
void CatalogueChanges::undo_all() {
  for (std::size_t session = 0; session < open_.size(); ++session) {
    end(session, true);
  }
  const auto undo = applied_;
  for (const Change* const each : undo | std::views::reverse) {
    if (change(0, "back", each->back)) {
      std::erase(applied_, each);
    }
  }
  if (!applied_.empty()) {
    for (const std::string& sql : catalogue_.create) {
      (void)change(0, "made_anew", sql);
    }
    applied_.clear();
  }
  for (const std::string& sql : catalogue_.mend) {
    (void)change(0, "mended", sql);
  }
}

bool CatalogueChanges::is_current(SteadyClock::time_point since) {
  if (!catalogue_.commit.empty()) {
    (void)server_.run(0, catalogue_.commit);
  }
  return guarded_.is_proven_since(since, ChangedServer::kMaxLag);
}

std::vector<std::string> CatalogueChanges::end_of_round() {
  undo_all();
  if (!is_followed_) {
    stop_or_follow();
  }
  look();
  const auto since = SteadyClock::now();
  const auto is_there = [&] { return is_current(since); };
  if (wrong_.empty() && pick(4) > 0 && !eventually(is_there, kIsQuick)) {
    stop_or_follow();  // what is refused is looked at at once by who begins
    stop_or_follow();
  }
  if (wrong_.empty() && !eventually(is_there, kComesBack)) {
    return {"the follower does not become current"};
  }
  std::vector<std::string> wrong = std::exchange(wrong_, {});
  std::vector<std::string> differences;
  const auto ask = [this](const std::string& sql) {
    return server_.ask(sql).value_or(GuardedFilters::Rows{});
  };
  (void)eventually(
      [&] { return is_current(since) && (differences = guarded_.differences(ask)).empty(); },
      kForgotten);
  wrong.insert(wrong.end(), differences.begin(), differences.end());
  return wrong;
}

std::string CatalogueChanges::counts() const {
  std::string text;
  for (const auto& [name, count] : counts_) {
    text += " " + name + "=" + std::to_string(count);
  }
  return text;
}

std::vector<GuardedTable> catalogue_tables(bool has_parts_of_life) {
  return {
      {.ns = "users",
       .prefix = "user",
       .table = "shop.account",
       .columns = "id",
       .is_unique = true},
      {.ns = "numbers",
       .prefix = "number",
       .table = "shop.account",
       .columns = "number",
       .is_unique = true},
      {.ns = "moods", .prefix = "mood", .table = "shop.mood", .columns = "name", .is_unique = true},
      {.ns = "orders",
       .prefix = "orders",
       .table = "shop.orders",
       .columns = "number",
       .is_unique = false},
      {.ns = "visits",
       .prefix = "visit",
       .table = "shop.visit",
       .columns = "id",
       .is_unique = false},
      {.ns = "living",
       .prefix = "life",
       .table = "shop.life WHERE gone IS NULL",
       .columns = "id",
       .is_unique = !has_parts_of_life}};
}

std::string catalogue_yaml() {
  const auto line = [](const std::string& name, const std::string& key, const std::string& table) {
    return Guarded{.name = name,
                   .keys = key,
                   .table = table,
                   .filter = "{ false_positive_rate: 0.0001%, deletes: exact }"}
        .yaml();
  };
  return line("users", "user:{id:int64}", "account") +
         line("numbers", "number:{number:int64}", "account") +
         line("moods", "mood:{name}", "mood") + line("orders", "orders:{number:int64}", "orders") +
         line("visits", "visit:{id:int64}", "visit") +
         line("living", "life:{id:int64}", "life, where: \"gone IS NULL\"");
}

}  // namespace cuckooguard::harness
