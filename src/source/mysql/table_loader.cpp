#include "mysql/table_loader.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "mysql/server_probe.h"
#include "mysql/table_listing.h"
#include "mysql/tables.h"
#include "mysql/xa_commits.h"
#include "source/chosen_deletes.h"

namespace cuckooguard::source {
namespace {

constexpr std::uint64_t kRowsPerStopCheck = 4096;
constexpr const char* kLogIsNotRead = "the log is not being read";

// A row that counts; those for which the log has the last word are left to it.
bool is_wanted(const TableRows& table, const PendingChanges* settled, MysqlRow row) {
  const bool is_left_to_log = settled != nullptr && settled->is_settled(table.table.name_of(row));
  return !is_left_to_log && table.feed.counts(row);
}

}  // namespace

std::expected<void, MysqlError> check_unchanged(
    const MysqlTable& planned, const std::expected<MysqlTable, MysqlTrouble>& now) {
  if (!now || *now != planned) {
    return failed("the definition of table `" + planned.name + "` has just changed");
  }
  return {};
}

TableLoader::TableLoader(Settings settings, TableSet& tables, std::vector<TableSet::Index> chosen)
    : settings_(std::move(settings)),
      tables_(tables),
      chosen_(std::move(chosen)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void TableLoader::run(const std::stop_token& stop) {
  std::optional<MysqlError> error;
  try {
    auto connection = open_same_server(settings_.login, settings_.identity);
    if (!connection) {
      error = connection.error();
      tables_.listing_failed(error->what, error->is_refusal());
    } else {
      const std::stop_callback wake(stop, [&connection] { connection->interrupt(); });
      if (const auto done = load(*connection, stop); !done) {
        error = done.error();
      }
    }
  } catch (const std::exception& trouble) {  // no memory, say
    error = MysqlError{.code = 0, .what = trouble.what()};
    tables_.listing_failed(error->what, false);
  }
  for (const TableSet::Index index : chosen_) {
    if (error) {
      fail(index, *error);
    } else {
      tables_.give_back(index);
    }
  }
  has_ended_ = true;
}

void TableLoader::fail(TableSet::Index index, const MysqlError& error) {
  tables_.fail(
      index, error.what, error.is_refusal() ? filter::State::refused : filter::State::loading);
}

TableLoader::Done TableLoader::load(MysqlConnection& connection, const std::stop_token& stop) {
  if (auto listed = list_tables(tables_, connection); !listed) {
    return listed;
  }
  std::erase_if(chosen_, [this](TableSet::Index index) { return tables_.is_gone(index); });
  while (!chosen_.empty() && !stop.stop_requested()) {
    const TableSet::Index index = chosen_.front();
    const auto done = load(index, connection, stop);
    if (stop.stop_requested()) {
      return {};
    }
    if (!done && done.error().what == kLogIsNotRead) {
      return done;
    }
    if (!done) {
      fail(index, done.error());
    }
    std::erase(chosen_, index);
    if (!close_view(connection)) {
      return {};  // it was given up: the next loader has another one for the rest
    }
  }
  return {};
}

TableLoader::Done TableLoader::load(TableSet::Index index,
                                    MysqlConnection& connection,
                                    const std::stop_token& stop) {
  auto plan = plan_mysql_table(connection, tables_.target(index), tables_.table(index));
  if (!plan) {
    if (const auto* const why = std::get_if<std::string>(&plan.error())) {
      tables_.refuse(index, filter::State::refused, *why);
      return {};
    }
    return std::unexpected(std::get<MysqlError>(plan.error()));
  }
  const Planned planned{.index = index, .rows = &tables_.collect(index, *std::move(plan))};
  const std::vector<TableSet::Index> indexes{index};
  const TimePoint began = settings_.clock();
  const auto collected_from = tables_.wait_until_collecting(indexes, stop, prepared_wait_);
  if (!collected_from) {
    return failed(kLogIsNotRead);
  }
  prepared_wait_ = std::max(prepared_wait_ - (settings_.clock() - began), {});
  if (auto done = wait_for_xa_commits(connection, tables_, settings_.clock, stop); !done) {
    return done;
  }
  const auto view = open_current_view(
      *collected_from,
      [&] { return settings_.open_view(connection); },
      [&] { return close_view(connection); });
  if (!view) {
    return std::unexpected(view.error());
  }
  if (auto same = check_plan(planned, connection); !same) {
    return same;
  }
  if (auto done = settle(planned, *view, stop); !done) {
    return done;
  }
  return read(planned, connection, stop);
}

TableLoader::Done TableLoader::check_plan(const Planned& planned, MysqlConnection& connection) {
  return check_unchanged(
      planned.rows->plan,
      plan_mysql_table(connection, tables_.target(planned.index), tables_.table(planned.index)));
}

TableLoader::Done TableLoader::settle(const Planned& planned,
                                      const ReadView& view,
                                      const std::stop_token& stop) {
  if (!tables_.view_is(planned.index, view, settings_.clock())) {
    return failed("too many rows were changed while a view was opened");
  }
  if (!tables_.wait_until_past(view, stop)) {
    return failed(kLogIsNotRead);
  }
  tables_.settle(planned.index);
  const MysqlTable& plan = planned.rows->plan;
  if (planned.rows->feed.pending().has_settled() && !plan.key_is_readable) {
    return failed("rows of table `" + plan.name +
                  "` were changed while a view was opened, and its primary key has a column of a "
                  "type by which they cannot be told in it (FLOAT, DOUBLE, UUID, say)");
  }
  return {};
}

TableLoader::Done TableLoader::read(const Planned& planned,
                                    MysqlConnection& connection,
                                    const std::stop_token& stop) {
  const MysqlTable& plan = planned.rows->plan;
  const auto size = size_of_mysql_table(connection, plan.name);
  if (!size) {
    return std::unexpected(size.error());
  }
  const auto deletes = chosen_deletes(tables_.target(planned.index).settings.filter.deletes,
                                      plan.identity_is_unique);
  FilterLoad load = tables_.load(planned.index);
  auto intake = Intake::too_small;
  while (intake == Intake::too_small) {
    intake = load.begin(size->rows, deletes);
    if (intake == Intake::taken) {
      if (plan.grows) {
        load.ids_grow(size->next_id > 0 ? size->next_id - 1 : 0);
      }
      const auto read = read_rows(planned, load, connection, stop);
      if (!read) {
        return std::unexpected(read.error());
      }
      intake = *read;
    }
  }
  if (intake == Intake::refused) {
    tables_.refuse(planned.index, filter::State::unsynced, load.why_refused());
    return {};
  }
  if (auto published = tables_.publish(planned.index, std::move(load)); !published) {
    tables_.fail(planned.index, published.error());
  }
  return {};
}

std::expected<Intake, MysqlError> TableLoader::complete(FilterLoad& load,
                                                        const MysqlTable& plan,
                                                        std::uint64_t rows,
                                                        MysqlConnection& connection) {
  if (rows <= kRowsCounted) {
    const auto count = connection.value(plan.count_sql());
    if (!count) {
      return std::unexpected(count.error());
    }
    const std::string read = std::to_string(rows);
    if (*count != read) {
      return failed("the server counts " + count->value_or("no") + " rows of table `" + plan.name +
                    "` and gave " + read);
    }
  }
  return load.complete();
}

std::expected<Intake, MysqlError> TableLoader::read_rows(const Planned& planned,
                                                         FilterLoad& load,
                                                         MysqlConnection& connection,
                                                         const std::stop_token& stop) {
  const TableRows& table = *planned.rows;
  auto rows = connection.stream(table.plan.select_sql());
  if (!rows) {
    return std::unexpected(rows.error());
  }
  LockProbe locks(settings_.login, settings_.identity, settings_.clock);
  const PendingChanges* const settled =
      table.feed.pending().has_settled() ? &table.feed.pending() : nullptr;
  for (std::uint64_t n = 1;; ++n) {
    const auto next = rows->next();
    if (!next) {
      return std::unexpected(next.error());
    }
    const std::optional<MysqlRow>& row = *next;
    if (!row) {
      return complete(load, table.plan, n - 1, connection);
    }
    const auto intake = is_wanted(table, settled, *row)
                            ? load.add(LogFeed::identity(table.plan, *row))
                            : Intake::taken;
    if (intake != Intake::taken) {
      if (intake == Intake::refused) {
        connection.interrupt();  // or all rows that are left would be read, with the lock held
      }
      return intake;
    }
    if (n % kRowsPerStopCheck != 0) {
      continue;
    }
    if (auto why = why_to_stop(planned, locks, stop)) {
      connection.interrupt();  // or all rows that are left would be read, with the lock held
      return failed(*std::move(why));
    }
  }
}

std::optional<std::string> TableLoader::why_to_stop(const Planned& planned,
                                                    LockProbe& locks,
                                                    const std::stop_token& stop) {
  const MysqlTable& plan = planned.rows->plan;
  if (stop.stop_requested()) {
    return "stopped";
  }
  if (tables_.is_outdated(planned.index)) {
    return "table `" + plan.name + "` has changed while it was read";
  }
  if (locks.is_due() && locks.is_somebody_waiting(plan)) {
    return "somebody waits for a lock on table `" + plan.name +
           "` that is held while it is read (to ALTER it, say): it is let go, and read again";
  }
  return std::nullopt;
}

}  // namespace cuckooguard::source
