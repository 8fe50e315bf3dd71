#include "source/table_loader.h"

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "source/chosen_deletes.h"
#include "source/mysql_tables.h"
#include "source/server_probe.h"
#include "source/table_listing.h"
#include "source/xa_commits.h"

namespace cuckooguard::source {
namespace {

constexpr std::uint64_t kRowsPerStopCheck = 4096;

// A row that counts; those for which the log has the last word are left to it.
bool is_wanted(const TableRows& table, const PendingChanges* settled, MysqlRow row) {
  const bool is_left_to_log = settled != nullptr && settled->is_settled(table.table.name_of(row));
  return !is_left_to_log && table.feed.counts(row);
}

}  // namespace

TableLoader::TableLoader(Settings settings, TableSet& tables, std::vector<TableSet::Index> chosen)
    : settings_(std::move(settings)),
      tables_(tables),
      chosen_(std::move(chosen)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void TableLoader::run(const std::stop_token& stop) {
  std::string why;
  try {
    auto connection = open_same_server(settings_.login, settings_.identity);
    if (!connection) {
      why = connection.error().what;
      tables_.listing_failed(why);
    } else {
      const std::stop_callback wake(stop, [&connection] { connection->interrupt(); });
      if (const auto done = load(*connection, stop); !done) {
        why = done.error().what;
      }
    }
  } catch (const std::exception& trouble) {  // no memory, say
    why = trouble.what();
    tables_.listing_failed(why);
  }
  for (const TableSet::Index index : chosen_) {
    tables_.fail(index, why);
  }
  has_ended_ = true;
}

TableLoader::Done TableLoader::load(MysqlConnection& connection, const std::stop_token& stop) {
  if (auto listed = list_tables(tables_, connection); !listed) {
    return listed;
  }
  std::erase_if(chosen_, [this](TableSet::Index index) { return tables_.is_gone(index); });
  if (auto done = plan(connection); !done || chosen_.empty()) {
    return done;
  }
  const auto collected_from = tables_.wait_until_collecting(chosen_, stop);
  if (!collected_from) {
    return failed("the log is not being read");
  }
  if (auto done = wait_for_xa_commits(connection, tables_, settings_.clock, stop); !done) {
    return done;
  }
  const auto view = open_current_view(connection, *collected_from);
  if (!view) {
    return std::unexpected(view.error());
  }
  if (auto same = check_plans(connection); !same) {
    return same;
  }
  if (auto done = settle(*view, stop); !done) {
    return done;
  }
  for (const Planned& planned : planned_) {
    if (auto done = read(planned, connection, stop); !done) {
      return done;
    }
    std::erase(chosen_, planned.index);
  }
  return close_view(connection);
}

TableLoader::Done TableLoader::plan(MysqlConnection& connection) {
  for (const TableSet::Index index : std::vector(chosen_)) {
    auto plan = plan_mysql_table(connection, tables_.target(index), tables_.table(index));
    if (plan) {
      planned_.push_back({.index = index, .rows = &tables_.collect(index, *std::move(plan))});
    } else if (const auto* const why = std::get_if<std::string>(&plan.error())) {
      tables_.refuse(index, *why);
      std::erase(chosen_, index);
    } else {
      return std::unexpected(std::get<MysqlError>(plan.error()));
    }
  }
  return {};
}

// One that shows all that the log had said before its word was kept: the log may be ahead of what is
// visible for as long as a commit takes.
std::expected<ReadView, MysqlError> TableLoader::open_current_view(
    MysqlConnection& connection, const LogPosition& collected_from) const {
  for (int i = 0; i < kViewsMax; ++i) {
    auto view = settings_.open_view(connection);
    if (!view) {
      return std::unexpected(view.error());
    }
    if (view->covered.covers(collected_from)) {
      return view;
    }
    if (auto closed = close_view(connection); !closed) {
      return std::unexpected(closed.error());
    }
  }
  return failed("the server does not show what its log has");
}

// A definition that has changed before the log's word was kept is one that nobody would speak of.
TableLoader::Done TableLoader::check_plans(MysqlConnection& connection) {
  for (const Planned& planned : planned_) {
    const auto now =
        plan_mysql_table(connection, tables_.target(planned.index), tables_.table(planned.index));
    if (!now || *now != planned.rows->plan) {
      return failed("the definition of table `" + planned.rows->plan.name + "` has just changed");
    }
  }
  return {};
}

TableLoader::Done TableLoader::settle(const ReadView& view, const std::stop_token& stop) {
  for (const Planned& planned : planned_) {
    if (!tables_.view_is(planned.index, view, settings_.clock())) {
      return failed("too many rows were changed while a view was opened");
    }
  }
  if (!tables_.wait_until_past(view, stop)) {
    return failed("the log is not being read");
  }
  for (const Planned& planned : planned_) {
    tables_.settle(planned.index);
    if (planned.rows->feed.pending().has_settled() && !planned.rows->plan.key_is_readable) {
      return failed("rows of table `" + planned.rows->plan.name +
                    "` were changed while a view was opened");
    }
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
    tables_.refuse(planned.index, load.why_refused());
    return {};
  }
  if (auto published = tables_.publish(planned.index, std::move(load)); !published) {
    tables_.fail(planned.index, published.error());
  }
  return {};
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
  const PendingChanges* const settled =
      table.feed.pending().has_settled() ? &table.feed.pending() : nullptr;
  for (std::uint64_t n = 1;; ++n) {
    const auto next = rows->next();
    if (!next) {
      return std::unexpected(next.error());
    }
    const std::optional<MysqlRow>& row = *next;
    if (!row) {
      return load.complete();
    }
    const auto intake = is_wanted(table, settled, *row)
                            ? load.add(LogFeed::identity(table.plan, *row))
                            : Intake::taken;
    if (intake != Intake::taken) {
      return intake;
    }
    if (n % kRowsPerStopCheck == 0) {
      if (stop.stop_requested()) {
        return failed("stopped");
      }
      if (tables_.is_outdated(planned.index)) {
        return failed("table `" + table.plan.name + "` has changed while it was read");
      }
    }
  }
}

}  // namespace cuckooguard::source
