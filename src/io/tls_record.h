// What one TLS record is made of: many small pieces are worth a copy, since each record costs 22
// bytes or more, and a call.
//
// Threads: free function. Limits: one record, or less.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace cuckooguard::io {

// The front of `pieces`, from where it is or copied to `scratch`, whose size is the most. `bytes`:
// just so many, since OpenSSL wants to see a record again that it could not write, whatever has
// been queued behind it since; 0: as many as are worth it.
std::string_view record_of(std::span<const std::string_view> pieces,
                           std::size_t bytes,
                           std::span<char> scratch);

}  // namespace cuckooguard::io
