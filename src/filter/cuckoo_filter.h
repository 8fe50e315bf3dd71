// Cuckoo filter: answers "is this key surely absent?" from one or two cache lines, and can delete.
//
// How a cuckoo filter works [1]. A key is hashed; of the hash we keep a *fingerprint* of a few bits
// in one *slot* of one of two *buckets*. The first bucket comes from the hash, the second from the
// first and the fingerprint alone, so that either can be computed from the other without the key. A
// look-up reads the two buckets: no equal fingerprint, no such key. Another key's equal fingerprint
// is a false positive; a false negative cannot happen. If both buckets are full, an insert makes
// room by moving fingerprints to their other buckets. A delete removes one equal fingerprint.
//
// Here, and where it differs from [1]:
//   bucket.h        a bucket is one 64-bit word, so that every change of it is one atomic store;
//                   overflow bits [2] let most absent look-ups end after the first bucket
//   addressing.h    any even number of buckets, not only powers of two
//   path_search.h   room is made by first finding a whole path of moves [3], then moving from the
//                   hole backward: nothing is ever in flight; a failed insert has changed nothing
//   table_reader.h  look-ups run while the writer works, without locks; with the argument why
//   stash.h         a key that finds no path goes to a stash of 63 whole hashes; if that is full
//                   too, the filter answers "may exist" to everything. Nothing is ever lost
//   batch_lookup.h  16 to 64 look-ups at once hide the cache misses behind each other
//
// Deletes. Deleting what was never inserted would remove another key's equal fingerprint, so a
// filter must know what it may believe about the changes it is given (DeleteMode):
//   trusted   each erase() matches one earlier insert(). The same hash inserted again is stored
//             again, up to kCopiesMax equal fingerprints in a pair of buckets; from then on that
//             pair is *saturated*: inserts store nothing more and erases remove nothing until a
//             rebuild. An erase of a key that was never inserted hides an existing one with a
//             probability of the false positive rate: `not_found` is the sign that the promise was
//             broken.
//   deferred  erases change nothing; the stale entries go with the next rebuild. A hash already
//             found is not stored again: any number of inserts of one key uses one slot.
//   exact     the writer also counts each 64-bit hash (exact_counts.h, 11 to 17 bytes per key).
//             Only the first insert and the last erase of a hash change the table, so any order of
//             rows is right, erases of unknown keys change nothing, identities need not be unique,
//             and a larger filter can take them over without asking the database (give()).
// In no mode does inserting one identity many times fill buckets or ask for growth.
//
// Threads:   may_contain(), hash(), stats() from any thread at any time; all else from one writer.
// Errors:    none thrown after construction, which throws std::bad_alloc and std::invalid_argument.
// Limits:    fewer than 2^32 buckets; batches of kBatchMax hashes.
// Source:    [1] Fan, Andersen, Kaminsky, Mitzenmacher, "Cuckoo Filter: Practically Better Than
//                Bloom", CoNEXT 2014. [2] Breslow & Jayasena, "Morton filters", VLDB 2018.
//            [3] Li, Andersen, Kaminsky, Freedman, "Algorithmic Improvements for Fast Concurrent
//                Cuckoo Hashing", EuroSys 2014, section 4.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "filter/key_hash.h"
#include "filter/lookup_kernel.h"
#include "filter/sizing.h"

namespace cuckooguard::filter {

struct FilterStats {
  std::uint64_t buckets, slots, bytes;
  std::uint64_t items;            // inserts accepted minus erases accepted
  std::uint64_t fingerprints;     // slots in use
  std::uint64_t stashed;          // of 63
  std::uint64_t stale;            // fingerprints kept although their rows are gone, at most
  std::uint64_t missing_deletes;  // erases that found nothing
  std::uint64_t moves;            // fingerprints moved or removed since the start
  double load;                    // fingerprints / slots
  bool rebuild_needed;            // load, stash or stale entries say so
  bool full;                      // every look-up answers "may exist"
};

// What a filter has been given, whatever it makes of it: how many hashes, and their sum modulo
// 2^128, in which order does not matter. Two filters of the same rows have the same.
struct Digest {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t sum_high = 0;

  void add(std::uint64_t hash) noexcept {
    ++count;
    sum += hash;
    sum_high += sum < hash ? 1U : 0U;
  }
  void remove(std::uint64_t hash) noexcept {
    --count;
    sum_high -= sum < hash ? 1U : 0U;
    sum -= hash;
  }
  bool operator==(const Digest&) const = default;
};

// The name other rooms use.
class CuckooFilter;
using Filter = CuckooFilter;

class FilterTable;
class ExactCounts;

class CuckooFilter {
 public:
  CuckooFilter(const Sizing& sizing, const HashSecret& secret);
  ~CuckooFilter();
  CuckooFilter(const CuckooFilter&) = delete;
  CuckooFilter& operator=(const CuckooFilter&) = delete;

  // --- any thread ---
  [[nodiscard]] std::uint64_t hash(std::string_view identity) const noexcept {
    return hash_(identity);
  }
  // False: no key with this hash was inserted and not erased.
  [[nodiscard]] bool may_contain(std::uint64_t hash) const noexcept;
  // Up to kBatchMax hashes at once; bit i of the result answers for hashes[i].
  [[nodiscard]] std::uint64_t may_contain(std::span<const std::uint64_t> hashes) const noexcept;
  // Any number of hashes; out.size() >= hashes.size().
  void may_contain(std::span<const std::uint64_t> hashes, std::span<bool> out) const noexcept;

  // For a hash that is looked up some time later.
  void prefetch(std::uint64_t hash) const noexcept;

  [[nodiscard]] FilterStats stats() const noexcept;
  [[nodiscard]] const Sizing& sizing() const noexcept { return sizing_; }
  [[nodiscard]] const HashSecret& secret() const noexcept { return hash_.secret(); }

  // --- the writer ---
  InsertOutcome insert(std::uint64_t hash);
  EraseOutcome erase(std::uint64_t hash);
  // Of all that was inserted and not erased, in every mode; an erase that is `not_found` does not
  // count. Of filters that give() it means nothing.
  [[nodiscard]] const Digest& digest() const noexcept { return digest_; }
  // How often it was inserted and not erased: exact in mode `exact`; otherwise the number of equal
  // fingerprints, at most kCopiesMax but for those in the stash.
  [[nodiscard]] std::uint64_t count(std::uint64_t hash) const;
  // Inserts all, reading ahead: about twice as fast as one by one in a table larger than the cache.
  // The worst of the outcomes.
  InsertOutcome insert(std::span<const std::uint64_t> hashes);

  // From now on every look-up answers "may exist". For filters that cannot be kept up to date.
  void fail_open() noexcept;

  // Both are `exact` and have the same secret: `next` counts this hash, as often, in place of this
  // filter. The table stays as it is: look-ups here find what they found before. False: it is not
  // counted here.
  bool give(std::uint64_t hash, CuckooFilter& next);
  // The same for up to `most` hashes. False: none is counted here any more.
  bool give_some(std::size_t most, CuckooFilter& next);

  // Which of the batch look-ups is used; the best this machine has unless a test says otherwise.
  void use_kernel(LookupKernel kernel);

 private:
  friend class FilterFileAccess;  // filter_file.h: the table's words, stash and counts

  InsertOutcome insert_fetched(std::uint64_t hash);
  EraseOutcome erase_from_table(std::uint64_t hash);

  Sizing sizing_;
  KeyHash hash_;
  std::unique_ptr<FilterTable> table_;
  std::unique_ptr<ExactCounts> counts_;  // exact only
  // Written by the writer, read by stats(); apart from the line that each look-up reads:
  alignas(64) std::atomic<std::uint64_t> items_{0};
  std::atomic<std::uint64_t> fingerprints_{0};
  std::atomic<std::uint64_t> stale_{0};
  std::atomic<std::uint64_t> missing_deletes_{0};
  std::atomic<std::uint64_t> counts_bytes_{0};
  Digest digest_;  // the writer's
};

}  // namespace cuckooguard::filter
