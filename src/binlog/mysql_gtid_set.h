// A set of MySQL's GTIDs: which transactions have been applied, and from where a dump is to begin.
//
//     3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:7,64caee36-e5cc-11f1-b04e-02fc00000001:1:blue:1-2
//
// Threads: one, or many that only read.
// Errors: `parse` gives nothing for what is no such text; `decode` a DecodeError; `add` false at
//   the limit.
// Limits: kIntervalsMax intervals in all; a server that counts without holes needs one per source.
// Source: MySQL's "GTID Sets" pages. The bytes are those of COM_BINLOG_DUMP_GTID and of
//   PREVIOUS_GTIDS:
//
//     sources u64 | per source: uuid 16, intervals u64 | per interval: first u64, last + 1 u64
//
//   and with tags, MySQL 8.3+:
//
//     1 | sources u48 | 1 | per source: uuid 16, tag's length varlen, tag, intervals u64 | ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "binlog/event_header.h"
#include "binlog/gtid.h"

namespace cuckooguard::binlog {

class MySqlGtidSet {
 public:
  static constexpr std::size_t kIntervalsMax = 1'000'000;

  // As @@gtid_executed prints it, with blanks and line ends between the items if need be.
  static std::optional<MySqlGtidSet> parse(std::string_view text);
  static std::expected<MySqlGtidSet, DecodeError> decode(std::string_view bytes);

  std::string to_string() const;
  std::string encode() const;

  bool add(const MySqlGtid& gtid) { return add(gtid.source, gtid.number, gtid.number); }
  // All numbers from `first` to `last`, which is not smaller. False: full, or no such numbers.
  bool add(const MySqlGtidSource& source, std::uint64_t first, std::uint64_t last);

  // False: full, where what is left are two intervals. Nothing is changed if it is not there.
  bool remove(const MySqlGtid& gtid);

  // The largest number of a source; nothing if there is none of it.
  std::optional<MySqlGtid> last_of(const MySqlGtidSource& source) const;
  // The largest number of the only source, if there is just one.
  std::optional<MySqlGtid> last_of_only() const;
  bool contains(const MySqlGtid& gtid) const;
  bool covers(const MySqlGtidSet& other) const;
  bool is_empty() const { return intervals_.empty(); }

  bool operator==(const MySqlGtidSet&) const = default;

 private:
  struct Interval {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    bool operator==(const Interval&) const = default;
  };
  using Intervals = std::vector<Interval>;  // sorted, neither overlapping nor touching

  static bool has(const Intervals& intervals, const Interval& wanted);
  bool parse_item(std::string_view item);

  std::map<MySqlGtidSource, Intervals> intervals_;
  std::size_t interval_count_ = 0;
};

}  // namespace cuckooguard::binlog
