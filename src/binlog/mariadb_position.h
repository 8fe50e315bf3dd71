// Where MariaDB's log has been followed to: per domain the last GTID that was applied.
//
//     0-1-75,1-2-3        domain-server-sequence
//
// Threads: one, or many that only read.
// Errors: `parse` gives nothing for what is no such text; `decode` a DecodeError; `add` false at
//   the limit.
// Limits: kDomainsMax domains. `covers` compares sequence numbers within a domain. They only grow
//   if gtid_strict_mode is on, or if there is one writer at a time (MariaDB's own condition): a
//   reader of a log asks `is_disordered_by` for each transaction, which detects the opposite.
// Source: MariaDB's "Global Transaction ID" page; the bytes are those of GTID_LIST.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "binlog/event_header.h"
#include "binlog/gtid.h"

namespace cuckooguard::binlog {

class MariaDbPosition {
 public:
  static constexpr std::size_t kDomainsMax = 4096;

  // As @@gtid_current_pos prints it; a domain may be there once.
  static std::optional<MariaDbPosition> parse(std::string_view text);
  // A GTID_LIST may name a domain's servers one by one: the last one is where it stands.
  static std::expected<MariaDbPosition, DecodeError> decode(std::string_view bytes);

  std::string to_string() const;

  // The domain's position is this one from now on. False: too many domains.
  bool add(const MariaDbGtid& gtid);

  // The domain stands nowhere any more.
  void forget(std::uint32_t domain) { domains_.erase(domain); }

  // Where the domain stands.
  std::optional<MariaDbGtid> last_of(std::uint32_t domain) const;
  // Where the only domain stands, if there is just one.
  std::optional<MariaDbGtid> only() const;
  // Whether it was applied: the domain stands there or behind.
  bool covers(const MariaDbGtid& gtid) const;
  // Its number is not above the domain's last one, which is another server's: no number of this
  // domain tells what was applied.
  bool is_disordered_by(const MariaDbGtid& gtid) const;
  bool covers(const MariaDbPosition& other) const;
  bool is_empty() const { return domains_.empty(); }
  // The largest last sequence number of all domains; 0 without domains.
  std::uint64_t largest_number() const;

  bool operator==(const MariaDbPosition&) const = default;

 private:
  std::map<std::uint32_t, MariaDbGtid> domains_;
};

}  // namespace cuckooguard::binlog
