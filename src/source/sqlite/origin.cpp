#include "sqlite/origin.h"

#include <utility>
#include <variant>

#include "source/feeds.h"
#include "sqlite/rows.h"
#include "sqlite/table.h"
#include "text/try.h"

namespace cuckooguard::source::sqlite {
namespace {

class ReadTransaction {
 public:
  static Expected<ReadTransaction> begin(const Database& database) {
    TRY(database.run("BEGIN"));
    return ReadTransaction(database);
  }
  ReadTransaction(ReadTransaction&& other) noexcept
      : database_(std::exchange(other.database_, nullptr)) {}
  ReadTransaction& operator=(ReadTransaction&&) = delete;
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;
  ~ReadTransaction() {
    if (database_ != nullptr) {
      // Nothing was written: should it fail, the next BEGIN does too, and the connection is
      // replaced.
      const auto rolled_back = database_->run("ROLLBACK");
      static_cast<void>(rolled_back);
    }
  }

 private:
  explicit ReadTransaction(const Database& database) : database_(&database) {}

  const Database* database_;
};

Sighting lost(std::string why) {
  return {.kind = Sighting::Kind::lost, .version = 0, .why = std::move(why)};
}

}  // namespace

DatabaseOrigin::DatabaseOrigin(std::string path, At at)
    : path_(std::move(path)), at_(std::move(at)) {}

void DatabaseOrigin::pass(SnapshotPoint point) const {
  if (at_) {
    at_(point);
  }
}

Done DatabaseOrigin::open() {
  open_.reset();
  const auto before = stamp_of_path(path_);
  if (!before) {
    return std::unexpected(Error{.code = SQLITE_CANTOPEN, .what = before.error()});
  }
  auto database = Database::open_read_only(path_);
  if (!database) {
    return std::unexpected(explained(database.error()));
  }
  auto data_version = database->prepare("PRAGMA data_version");
  if (!data_version) {
    return std::unexpected(explained(data_version.error()));
  }
  const auto after = stamp_of_path(path_);
  if (!after || after->identity != before->identity || !database->is_still_at_its_path()) {
    return std::unexpected(Error{.code = SQLITE_CANTOPEN, .what = path_ + " is being replaced"});
  }
  open_ = std::make_unique<Open>(Open{.database = *std::move(database),
                                      .data_version = *std::move(data_version),
                                      .identity = after->identity,
                                      .number = ++opened_});
  return {};
}

Expected<Version> DatabaseOrigin::version() {
  Statement& statement = open_->data_version;
  const auto row = statement.step();
  const auto counter = static_cast<std::uint32_t>(row ? statement.integer(0) : 0);
  statement.reset();
  if (!row) {
    return std::unexpected(explained(row.error()));
  }
  return Version{open_->number} << 32U | counter;
}

Sighting DatabaseOrigin::look() {
  const auto stamp = stamp_of_path(path_);
  if (!stamp) {
    open_.reset();
    return lost(stamp.error());
  }
  if (open_ == nullptr || stamp->identity != open_->identity) {
    if (const auto opened = open(); !opened) {
      return lost(opened.error().what);
    }
  }
  auto seen = version();
  if (seen && *seen == snapshot_version_ && snapshot_stamp_ && snapshot_stamp_ != *stamp) {
    // Written by other means than SQLite's: what this connection has in its cache may be wrong.
    if (const auto opened = open(); !opened) {
      return lost(opened.error().what);
    }
    seen = version();
  }
  if (seen) {
    return {.kind = Sighting::Kind::seen, .version = *seen, .why = ""};
  }
  if (seen.error().is_busy()) {
    return {.kind = Sighting::Kind::unclear, .version = 0, .why = seen.error().what};
  }
  open_.reset();
  return lost(seen.error().what);
}

Snapshot DatabaseOrigin::take(Feeds& feeds, const std::stop_token& stop) {
  const auto read = [&](const Database& database) -> Done {
    TRY(find_tables(feeds));
    SnapshotReader snapshot(database, stop, [this] { pass(SnapshotPoint::row); });
    for (Feed& feed : feeds) {
      TRY(snapshot.read(feed));
    }
    return {};
  };
  return take(read, stop);
}

Snapshot DatabaseOrigin::take(const Read& read, const std::stop_token& stop) {
  if (open_ == nullptr) {
    if (const auto opened = open(); !opened) {
      return {.kind = Snapshot::Kind::lost, .version = 0, .why = opened.error().what};
    }
  }
  pass(SnapshotPoint::before_begin);
  const auto read_all = read_in_transaction(read, stop);
  pass(SnapshotPoint::ended);
  if (stop.stop_requested()) {
    return {.kind = Snapshot::Kind::stopped, .version = 0, .why = ""};
  }
  if (read_all) {
    return {.kind = Snapshot::Kind::taken, .version = snapshot_version_, .why = ""};
  }
  const Error error = explained(read_all.error());
  if (error.is_busy()) {
    return {.kind = Snapshot::Kind::unclear, .version = 0, .why = error.what};
  }
  open_.reset();
  return {.kind = Snapshot::Kind::lost, .version = 0, .why = error.what};
}

Done DatabaseOrigin::read_in_transaction(const Read& read, const std::stop_token& stop) {
  const Database& database = open_->database;
  const std::stop_callback interrupt(stop, [&database] { database.interrupt(); });
  const auto transaction = TRY(ReadTransaction::begin(database));
  pass(SnapshotPoint::begun);
  snapshot_version_ = TRY(version());
  pass(SnapshotPoint::versioned);
  TRY(remember_stamp());
  TRY(read(database));
  pass(SnapshotPoint::read);
  return {};
}

Done DatabaseOrigin::find_tables(Feeds& feeds) const {
  for (const Target& target : feeds.targets()) {
    if (target.settings.source.is_one_table()) {
      continue;
    }
    const auto tables = TRY(list_tables(open_->database, target.settings.source.tables));
    feeds.set_tables(target, tables);
  }
  return {};
}

Done DatabaseOrigin::remember_stamp() {
  snapshot_stamp_.reset();
  auto mode = TRY(open_->database.prepare("PRAGMA journal_mode"));
  const auto row = TRY(mode.step());
  if (row && mode.bytes(0) == "wal") {
    return {};
  }
  if (const auto stamp = stamp_of_path(path_)) {
    snapshot_stamp_ = *stamp;
  }
  return {};
}

std::vector<Refusal> DatabaseOrigin::check(std::span<const Target> targets) {
  if (const auto opened = open(); !opened) {
    return {{.ns = "", .what = opened.error().what}};
  }
  std::vector<Refusal> refusals;
  for (const Target& target : targets) {
    const auto checked = check(target, refusals);
    // A writer in the way is no reason not to start: every snapshot checks again.
    if (!checked && !checked.error().is_busy()) {
      return {{.ns = "", .what = explained(checked.error()).what}};
    }
  }
  return refusals;
}

Done DatabaseOrigin::check(const Target& target, std::vector<Refusal>& refusals) const {
  auto tables = target.settings.source.tables;
  if (!target.settings.source.is_one_table()) {
    tables = TRY(list_tables(open_->database, tables));
  }
  for (const std::string& table : tables) {
    const auto plan = plan_table(open_->database, target, table);
    if (plan) {
      continue;
    }
    if (const auto* const error = std::get_if<Error>(&plan.error())) {
      return std::unexpected(*error);
    }
    refusals.push_back(
        {.ns = target.settings.name, .table = table, .what = std::get<std::string>(plan.error())});
  }
  return {};
}

// The same error in the operator's words.
Error DatabaseOrigin::explained(const Error& error) const {
  Error result = error;
  if (error.what.contains(path_)) {
    return result;
  }
  if (error.code == SQLITE_READONLY_ROLLBACK) {
    result.what = path_ +
                  " is locked by a writer; if this persists, a writer was interrupted: open the "
                  "database once with an application that may write";
  } else if (error.is_busy()) {
    result.what = path_ + " is locked by a writer";
  } else if ((error.code & kPrimaryCode) == SQLITE_NOTADB) {
    result.what = path_ + " is not a SQLite database";
  } else if ((error.code & kPrimaryCode) == SQLITE_CANTOPEN ||
             (error.code & kPrimaryCode) == SQLITE_READONLY) {
    result.what = "cannot open " + path_ + " (" + error.what +
                  "): the guard's user needs read access, and in WAL mode write access to " +
                  path_ + "-shm, or permission to create that file";
  } else {
    result.what = path_ + ": " + error.what;
  }
  return result;
}

}  // namespace cuckooguard::source::sqlite
