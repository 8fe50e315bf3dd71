#include "source/sqlite_origin.h"

#include <algorithm>
#include <stop_token>
#include <utility>
#include <variant>

#include "source/feed.h"
#include "source/sqlite_rows.h"

namespace cuckooguard::source {
namespace {

class ReadTransaction {
 public:
  static std::expected<ReadTransaction, SqliteError> begin(const SqliteDatabase& database) {
    if (auto begun = database.run("BEGIN"); !begun) {
      return std::unexpected(begun.error());
    }
    return ReadTransaction(database);
  }
  ReadTransaction(ReadTransaction&& other) noexcept
      : database_(std::exchange(other.database_, nullptr)) {}
  ReadTransaction& operator=(ReadTransaction&&) = delete;
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;
  ~ReadTransaction() {
    if (database_ != nullptr) {
      // Nothing was written: should it fail, the next BEGIN does too, and the connection is replaced.
      static_cast<void>(database_->run("ROLLBACK"));
    }
  }

 private:
  explicit ReadTransaction(const SqliteDatabase& database) : database_(&database) {}

  const SqliteDatabase* database_;
};

SqliteError interrupted() {
  return {.code = SQLITE_INTERRUPT, .what = "interrupted"};
}

}  // namespace

SqliteOrigin::SqliteOrigin(std::string path, At at) : path_(std::move(path)), at_(std::move(at)) {}

void SqliteOrigin::pass(SnapshotPoint point) const {
  if (at_) {
    at_(point);
  }
}

std::expected<void, SqliteError> SqliteOrigin::open() {
  open_.reset();
  const auto before = stamp_of_path(path_);
  if (!before) {
    return std::unexpected(SqliteError{.code = SQLITE_CANTOPEN, .what = before.error()});
  }
  auto database = SqliteDatabase::open_read_only(path_);
  if (!database) {
    return std::unexpected(
        SqliteError{.code = database.error().code, .what = explained(database.error())});
  }
  auto data_version = database->prepare("PRAGMA data_version");
  if (!data_version) {
    return std::unexpected(data_version.error());
  }
  const auto after = stamp_of_path(path_);
  if (!after || after->identity != before->identity || !database->is_still_at_its_path()) {
    return std::unexpected(
        SqliteError{.code = SQLITE_CANTOPEN, .what = path_ + " is being replaced"});
  }
  open_.emplace(*std::move(database), *std::move(data_version), after->identity);
  ++incarnation_;
  return {};
}

std::expected<Version, SqliteError> SqliteOrigin::version() {
  const auto row = open_->data_version.step();
  if (!row) {
    open_->data_version.reset();
    return std::unexpected(row.error());
  }
  const auto counter = static_cast<std::uint32_t>(open_->data_version.integer(0));
  open_->data_version.reset();
  return Version{incarnation_} << 32U | counter;
}

Sighting SqliteOrigin::look() {
  const auto stamp = stamp_of_path(path_);
  if (!stamp) {
    open_.reset();
    return {.kind = Sighting::Kind::lost, .version = 0, .why = stamp.error()};
  }
  if (!open_ || stamp->identity != open_->identity) {
    if (const auto opened = open(); !opened) {
      return {.kind = Sighting::Kind::lost, .version = 0, .why = opened.error().what};
    }
  }
  auto seen = version();
  if (seen && *seen == snapshot_version_ && stamp_ && *stamp_ != *stamp) {
    // Written by other means than SQLite's: what this connection has in its cache may be wrong.
    if (const auto opened = open(); !opened) {
      return {.kind = Sighting::Kind::lost, .version = 0, .why = opened.error().what};
    }
    seen = version();
  }
  if (seen) {
    return {.kind = Sighting::Kind::seen, .version = *seen, .why = ""};
  }
  const std::string why = explained(seen.error());
  if (seen.error().is_busy()) {
    return {.kind = Sighting::Kind::unclear, .version = 0, .why = why};
  }
  open_.reset();
  return {.kind = Sighting::Kind::lost, .version = 0, .why = why};
}

Snapshot SqliteOrigin::take(std::span<Feed> feeds, const std::stop_token& stop) {
  if (!open_) {
    if (const auto opened = open(); !opened) {
      return {.kind = Snapshot::Kind::lost, .version = 0, .why = opened.error().what};
    }
  }
  pass(SnapshotPoint::before_begin);
  const auto read_all = read(feeds, stop);
  pass(SnapshotPoint::ended);
  if (!read_all) {
    return failed(read_all.error(), stop);
  }
  return {.kind = Snapshot::Kind::taken, .version = snapshot_version_, .why = ""};
}

Snapshot SqliteOrigin::failed(const SqliteError& error, const std::stop_token& stop) {
  if (stop.stop_requested()) {
    return {.kind = Snapshot::Kind::stopped, .version = 0, .why = ""};
  }
  const std::string why = explained(error);
  if (error.is_busy()) {
    return {.kind = Snapshot::Kind::unclear, .version = 0, .why = why};
  }
  open_.reset();
  return {.kind = Snapshot::Kind::lost, .version = 0, .why = why};
}

std::expected<void, SqliteError> SqliteOrigin::read(std::span<Feed> feeds,
                                                    const std::stop_token& stop) {
  const SqliteDatabase& database = open_->database;
  const std::stop_callback interrupt(stop, [&database] { database.interrupt(); });
  const auto transaction = ReadTransaction::begin(database);
  if (!transaction) {
    return std::unexpected(transaction.error());
  }
  pass(SnapshotPoint::begun);
  const auto version_read = version();
  if (!version_read) {
    return std::unexpected(version_read.error());
  }
  snapshot_version_ = *version_read;
  pass(SnapshotPoint::versioned);
  if (auto remembered = remember_stamp(); !remembered) {
    return remembered;
  }
  for (Feed& feed : feeds) {
    const auto plan = plan_table(database, feed.target());
    if (plan) {
      if (auto table_read = read_table(feed, *plan, stop); !table_read) {
        return table_read;
      }
    } else if (const auto* why = std::get_if<std::string>(&plan.error())) {
      feed.refuse(*why);
    } else {
      return std::unexpected(std::get<SqliteError>(plan.error()));
    }
  }
  pass(SnapshotPoint::read);
  return {};
}

std::expected<void, SqliteError> SqliteOrigin::remember_stamp() {
  auto mode = open_->database.prepare("PRAGMA journal_mode");
  if (!mode) {
    return std::unexpected(mode.error());
  }
  const auto row = mode->step();
  if (!row) {
    return std::unexpected(row.error());
  }
  stamp_.reset();
  if (*row && mode->bytes(0) == "wal") {
    return {};
  }
  if (const auto stamp = stamp_of_path(path_)) {
    stamp_ = *stamp;
  }
  return {};
}

std::expected<void, SqliteError> SqliteOrigin::read_table(Feed& feed,
                                                          const TablePlan& plan,
                                                          const std::stop_token& stop) {
  for (;;) {
    if (stop.stop_requested()) {
      return std::unexpected(interrupted());
    }
    const auto finished = read_rows(feed, plan, stop);
    if (finished && *finished) {
      return {};
    }
    if (!finished && (finished.error().code & 0xff) == SQLITE_ERROR) {
      feed.refuse(finished.error().what);  // this table's fault, not the database's
      return {};
    }
    if (!finished) {
      return std::unexpected(finished.error());
    }
  }
}

// False: the filter was too small, and the rows must be read again.
std::expected<bool, SqliteError> SqliteOrigin::read_rows(Feed& feed,
                                                         const TablePlan& plan,
                                                         const std::stop_token& stop) {
  // Counting takes a tenth of the time of reading, and the filter then has its right size at once.
  const auto rows = number(plan.count_sql(), "");
  const auto used = plan.is_autoincrement
                        ? number("SELECT seq FROM sqlite_sequence WHERE name = ?1", plan.table)
                        : 0;
  auto statement = open_->database.prepare(plan.select_sql());
  if (!rows || !used || !statement) {
    return std::unexpected(!rows ? rows.error() : !used ? used.error() : statement.error());
  }
  if (feed.begin(static_cast<std::uint64_t>(*rows)) == Feed::Intake::refused) {
    return true;
  }
  if (plan.grows) {
    feed.ids_grow(static_cast<std::uint64_t>(std::max<std::int64_t>(0, *used)));
  }
  SqliteRow row(plan);
  for (std::uint64_t count = 1;; ++count) {
    const auto has_row = statement->step();
    if (!has_row) {
      return std::unexpected(has_row.error());
    }
    if (!*has_row) {
      return feed.complete() != Feed::Intake::too_small;
    }
    if (!row.read(*statement)) {
      feed.refuse(row.refusal());
      return true;
    }
    const auto intake = feed.add(row.values());
    if (intake != Feed::Intake::taken) {
      return intake == Feed::Intake::refused;
    }
    if (count % kRowsPerCheck == 0) {
      pass(SnapshotPoint::row);
      if (stop.stop_requested()) {
        return std::unexpected(interrupted());
      }
    }
  }
}

// The first column of the first row, or 0 if there is none.
std::expected<std::int64_t, SqliteError> SqliteOrigin::number(const std::string& sql,
                                                              const std::string& parameter) const {
  auto statement = open_->database.prepare(sql);
  if (!statement) {
    return std::unexpected(statement.error());
  }
  if (!parameter.empty()) {
    statement->bind(1, parameter);
  }
  const auto row = statement->step();
  if (!row) {
    return std::unexpected(row.error());
  }
  return *row ? statement->integer(0) : 0;
}

std::vector<Refusal> SqliteOrigin::check(std::span<const Target> targets) {
  if (const auto opened = open(); !opened) {
    return {{.ns = "", .what = opened.error().what}};
  }
  std::vector<Refusal> refusals;
  for (const Target& target : targets) {
    const auto plan = plan_table(open_->database, target);
    if (plan) {
      continue;
    }
    if (const auto* why = std::get_if<std::string>(&plan.error())) {
      refusals.push_back({.ns = target.settings.name, .what = *why});
      continue;
    }
    const auto& error = std::get<SqliteError>(plan.error());
    if (!error
             .is_busy()) {  // a writer in the way is no reason not to start: every snapshot checks again
      return {{.ns = "", .what = explained(error)}};
    }
  }
  return refusals;
}

std::string SqliteOrigin::explained(const SqliteError& error) const {
  if (error.is_busy()) {
    return path_ + " is locked by a writer";
  }
  if (error.code == SQLITE_READONLY_ROLLBACK) {
    return path_ +
           " was left by an interrupted writer; open it once with an application that may write";
  }
  switch (error.code & 0xff) {
    case SQLITE_NOTADB:
      return path_ + " is not a SQLite database";
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
      return "cannot open " + path_ + " (" + error.what +
             "): the guard's user must be able to read it, and in WAL " + "mode also to write " +
             path_ + "-shm or to create it";
    default:
      return path_ + ": " + error.what;
  }
}

}  // namespace cuckooguard::source
