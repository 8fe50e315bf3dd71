// The outcome of an insert or an erase. See the delete modes in cuckoo_filter.h.
#pragma once

#include <cstdint>

namespace cuckooguard::filter {

// From best to worst.
enum class InsertOutcome : std::uint8_t {
  inserted,       // in the table
  already_there,  // nothing needed to be stored (deferred, exact, or a saturated pair)
  stashed,        // no room in its buckets: found all the same, but rebuild soon
  full            // not stored: from now on every look-up answers "may exist" until a rebuild
};

enum class EraseOutcome : std::uint8_t {
  erased,    // one row less; the fingerprint is gone unless other rows still need it
  kept,      // stays until the next rebuild (deferred, saturated, full)
  not_found  // trusted, exact: there was no such key. The source and the filter disagree
};

}  // namespace cuckooguard::filter
