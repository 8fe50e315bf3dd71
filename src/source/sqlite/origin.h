// A SQLite database as an Origin: versions from PRAGMA data_version, snapshots from one read
// transaction.
//
// Why no commit is missed. data_version is a counter of this connection: "the integer values
// returned by two invocations from the same connection will be different if changes were committed
// to the database by any other connection in the interim" (sqlite.org/pragma.html). We never write,
// so every commit is another connection's.
//   take():  BEGIN; v = data_version; the tables; ROLLBACK.   The first read of a deferred
//                                                             transaction fixes what all
//            of it sees, and that first read is the data_version itself: v is the version of
//            exactly these rows, not of a moment before or after. A commit before it is in the rows
//            and in v, one after it is in neither.
//   look():  w = data_version, outside a transaction: it opens a read transaction of its own and so
//            sees every commit that was complete when it began. w == v: no commit between the
//            snapshot and this look.
// WAL: a read transaction begins by comparing the wal-index header, in shared memory, with the copy
// of the last one;
//      each commit changes that header (frames, checksum, salt). A checkpoint does not. Writers are
//      never held up.
// Rollback journal: it takes the SHARED lock and compares the change counter in the file's header,
// which each commit
//      increments before it drops its EXCLUSIVE lock. While that lock is held look() is `unclear`,
//      never "the same".
//      Note what the lock costs there: writers wait while a snapshot is read, and a moment for each
//      look. WAL is advised.
// Tables that match a namespace's patterns are looked for inside the same transaction. CREATE, DROP
// and ALTER TABLE are commits like any other: data_version moves, everything passes, and the next
// snapshot has the new table's rows.
// The path is checked first: after a rename over it, data_version on the old file would stand still
// for ever. The inode of an open file is not given to another, so (device, inode) of the path
// tells. Without WAL, a copy written over the file in place may repeat the change counter; size,
// mtime and ctime then tell, taken while the snapshot's SHARED lock keeps every writer of SQLite's
// out. (With WAL they move at checkpoints, and a copy in place corrupts it anyway.)
//
// cost of a look: 4 us with WAL (2.5 data_version + 1.4 stat), 10 us without, on 2 cores at 2.x
// GHz.
// Threads: the source's. Errors: values. Limit: it holds the database open, so the last application
// to close it does not remove the -wal file.
// Source: sqlite.org/isolation.html, fileformat2.html 1.3.6 (change counter), walformat.html 2.1.1.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "source/follower.h"
#include "source/input_file.h"
#include "source/source.h"
#include "sqlite/database.h"

namespace cuckooguard::source::sqlite {

// Where tests can do something to the database. `row` comes every SnapshotReader::kRowsPerCheck
// rows.
enum class SnapshotPoint : std::uint8_t { before_begin, begun, versioned, row, read, ended };

class DatabaseOrigin final : public Origin {
 public:
  using At = std::function<void(SnapshotPoint)>;

  explicit DatabaseOrigin(std::string path, At at = {});

  // Before the start: everything that keeps the targets from being read, with the fix.
  std::vector<Refusal> check(std::span<const Target> targets);

  Sighting look() override;
  Snapshot take(Feeds& feeds, const std::stop_token& stop) override;
  // Whatever `read` reads, of one moment: the version's.
  using Read = std::function<Done(const Database&)>;
  Snapshot take(const Read& read, const std::stop_token& stop);
  // How often the database was opened: another number is perhaps another database.
  std::uint32_t connection() const { return opened_; }

 private:
  struct Open {
    Database database;
    Statement data_version;  // finalized before the database is closed
    FileIdentity identity;
    std::uint32_t number;  // versions of different connections never compare equal
  };

  Done open();
  Expected<Version> version();  // of the open connection
  Done read_in_transaction(const Read& read, const std::stop_token& stop);
  Done find_tables(Feeds& feeds) const;
  Done check(const Target& target, std::vector<Refusal>& refusals) const;
  Done remember_stamp();
  Error explained(const Error& error) const;
  void pass(SnapshotPoint point) const;

  std::string path_;
  At at_;
  std::unique_ptr<Open> open_;  // null: could not be opened, or is to be opened anew
  std::uint32_t opened_ = 0;    // how often
  Version snapshot_version_ = 0;
  std::optional<FileStamp> snapshot_stamp_;  // none with WAL
};

}  // namespace cuckooguard::source::sqlite
