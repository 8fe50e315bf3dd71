// What a snapshot of PostgreSQL shows, transaction by transaction: pg_current_snapshot().
//
// It says so of every transaction by its number alone, so that a log's transactions, which have
// theirs (pgoutput's Begin), need no place in the log to be told apart: PostgreSQL writes a commit
// into its log before others see it, by microseconds, or by as long as a synchronous standby is
// silent.
//
// Threads: values. Errors: nothing, of text that is no snapshot.
// Source: PostgreSQL's documentation, 9.27.11 (pg_snapshot); transactions of numbers that were
// taken back are shown, too: they have no rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cuckooguard::source::postgres {

// With its epoch, so that it never comes again (xid8).
using Xid = std::uint64_t;

// The number that the log writes with 32 bits: the one next to `near`, which is less than 2^31
// transactions away.
Xid whole_xid(std::uint32_t low, Xid near);

struct XidSnapshot {
  Xid xmin = 0;              // all before it are shown
  Xid xmax = 0;              // it, and what comes behind it, is not, unless it is before xmin
  std::vector<Xid> running;  // in between, in order: not shown

  static std::optional<XidSnapshot> parse(std::string_view text);  // "xmin:xmax:a,b,c"
  std::string text() const;
  bool shows(Xid xid) const;
  // Those of its own that the other one does not show. Limits: of ids between the other's and its
  // own end, kMissingMax; nothing if there are more.
  static constexpr std::size_t kMissingMax = 1'000'000;
  std::optional<std::vector<Xid>> missing_from(const XidSnapshot& other) const;
  bool operator==(const XidSnapshot&) const = default;
};

}  // namespace cuckooguard::source::postgres
