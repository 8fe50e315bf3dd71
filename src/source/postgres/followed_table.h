// One table of PostgreSQL's log: tuples become changes (follow/table_changes.h).
//
//   relation(Relation) ─▶ insert | update | erase … ─▶ what a TableChanges does with them
//
// Of a row before its change the log has what the replica identity says: the key, where that has
// changed, or the whole row. So either all that is needed lies in the key, and an update without an
// old row changes nothing of it; or every update has its old row. Rows of a partition come under
// the name of the whole, with the whole's columns, but with what the partition's own replica
// identity leaves of them: so each partition's Relation, which comes before its rows, is looked at.
//
// Threads: the source's. Errors: a sentence, after which the table is not to be trusted: the log
// was not understood, and the table must be read again.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "follow/table_changes.h"
#include "pgoutput/message.h"
#include "postgres/log.h"

namespace cuckooguard::source {

class PostgresFollowedTable final : public TableChanges<PostgresLog> {
 public:
  using TableChanges::TableChanges;

  bool is(std::string_view schema, std::string_view table) const {
    return plan().schema == schema && plan().name == table;
  }
  // It is the table itself, or a partition that it was planned with.
  bool has(pgoutput::Oid oid) const;

  // Its tuples are these from now on. `is_news`: the table's snapshot does not show the transaction
  // that has brought it. Of an older one the names may be outdated, and a partitioned table's
  // replica identity: it comes again only before rows that it would be wrong of.
  Done relation(const pgoutput::Relation& relation, bool is_news = true);
  // One that comes before rows of this table, and is another one's: a partition's.
  Done part(const pgoutput::Relation& relation) const;
  Done insert(const pgoutput::Insert& insert);
  Done update(const pgoutput::Update& update);
  Done erase(const pgoutput::Delete& erase);

 private:
  using Values = std::vector<std::optional<std::string_view>>;

  std::unexpected<std::string> changed(const std::string& how) const;
  std::unexpected<std::string> not_understood(const std::string& what) const;
  Done compare_identity(const pgoutput::Relation& relation) const;
  std::optional<std::string> difference(const PostgresColumn& planned,
                                        const pgoutput::RelationColumn& logged,
                                        bool is_news) const;
  bool is_as_planned(pgoutput::OldRow old_row_is) const {
    return old_row_is == (plan().has_full_rows ? pgoutput::OldRow::whole : pgoutput::OldRow::key);
  }
  // `before`: has what the row leaves out since it has not changed; may be empty.
  std::expected<RowValues, std::string> read(pgoutput::Row row,
                                             pgoutput::Row before,
                                             Values& values) const;

  bool is_described_ = false;  // a Relation has come
  Values before_;
  Values after_;
};

}  // namespace cuckooguard::source
