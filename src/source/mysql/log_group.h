// What one group of a log (a transaction, a definition) is known by: its number, and what tells it
// from another with the same number.
//
// Numbers alone prove nothing of a log that begins anew, or that loses its end, and passes them
// again: after RESET MASTER, a crash with sync_binlog=0, a data folder made anew. So a log is
// resumed one group early, and what comes first must be the group that was applied last.
//
// On the same server all is compared, on another one of its cluster what replication keeps: the
// number, the server that wrote it first, its time stamp, and its rows. A replica that logs rows
// otherwise (binlog_row_image) has other rows.
//
// Threads: plain values; a digest is one thread's. Errors: nothing where a text is no group.
// Limits: of a place the low 32 bits count, as in the log.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "binlog/event.h"
#include "mysql/log_place.h"
#include "mysql/log_position.h"

namespace cuckooguard::source::mysql {

struct LogGroup {
  LogGtid gtid;
  std::optional<LogGtid> previous;  // MariaDB: of its domain, if there is one
  std::uint32_t server_id = 0;      // that wrote it first
  std::uint32_t timestamp = 0;      // seconds since 1970
  std::uint64_t contents = 0;       // GroupDigest
  std::uint64_t log_of = 0;         // a hash of server_identity(): from whose log it was read
  std::string file;                 // where it ends in there
  std::uint32_t end_low32 = 0;

  const LogGtid& id() const { return gtid; }
  bool is_same_as(const LogGroup& other) const;

  // In one line.
  static std::optional<LogGroup> parse(std::string_view text, bool is_mariadb);
  std::string text() const;
};

// Of the rows, statements and definitions of a group, however they are cut into events.
class GroupDigest {
 public:
  GroupDigest();

  void begin();
  void add(const binlog::EventBody& body);
  std::uint64_t value() const;

 private:
  struct Free {
    void operator()(void* state) const noexcept;
  };

  void add_text(std::string_view text);
  void add_rows(const binlog::Rows& rows);

  std::unique_ptr<void, Free> state_;
  std::vector<std::pair<std::uint64_t, std::string>> tables_;  // of the group, by their numbers
  std::string rows_of_;                                        // what came last
};

}  // namespace cuckooguard::source::mysql
