// A place in PostgreSQL's write-ahead log, in bytes from its beginning: "16/B374D848".
//
// Threads: any. Errors: `parse_lsn` gives nothing for what is no such text.
// Source: PostgreSQL's "pg_lsn Type".
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cuckooguard::pgoutput {

struct Lsn {
  std::uint64_t value = 0;  // 0 is no place: PostgreSQL says so where it knows none

  // As PostgreSQL prints it: upper case, no zeros in front.
  std::string text() const;

  auto operator<=>(const Lsn&) const = default;
};

// One to eight hexadecimal digits in either case, a slash, the same again; nothing else, as
// PostgreSQL reads it.
std::optional<Lsn> parse_lsn(std::string_view text);

}  // namespace cuckooguard::pgoutput
