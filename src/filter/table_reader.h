// One look-up in a table that may be changing: no locks, no waiting, never a false "absent".
//
// Writer's rules (table_writer.h, stash.h). There is one writer.
//   W1  To move a fingerprint it first stores the copy in the other bucket, and only then
//       overwrites the original; the copy is there before the original goes.
//   W2  Before every store that takes a fingerprint out of a bucket, or a hash out of the stash,
//       and directly before it, it adds one to `moves`. All other stores only add.
//   W3  A store that takes a fingerprint out of a bucket to move it sets the overflow bit of its
//       class in the same word. A key that goes to its second bucket at once gets the bit in its
//       first bucket before the insert returns. Overflow bits are never cleared.
//   W4  An erase takes the copy out of the key's first bucket if there is one there, from the
//       second only otherwise; and out of the stash before either, if the whole hash is there.
//
// Reader: moves, stash mask, first bucket, [second bucket, stash entries], moves again.
//
// Claim: a key that is in the filter during the whole look-up is not reported absent.
//
// (a) Both buckets (and the stash) read, `moves` unchanged at v. Seeing any store made after the
//     bump to v+1 would (release, acquire) have shown the reader v+1 at its last load; and its
//     first load showed it all that came before the bump to v. So everything it read is as it was
//     at some moment between those two bumps. By W2 only the first store of that span takes
//     something out, and what it takes is still elsewhere: the copy of W1, or the other copies that
//     the key, being in the filter throughout, must still have. That other place has its copy since
//     before the span and loses nothing during it. The reader has read that place, so it found the
//     copy.
// (b) Only the first bucket read: no equal fingerprint, overflow bit clear, stash mask 0 before it.
//     Let n be the equal fingerprints in the bucket and k the keys with this first bucket and
//     fingerprint that live in the table. While the bit is clear, n >= k: by W3 no copy has left or
//     bypassed the bucket, and by W4 an erase that lowers n lowers k, or was made for a key of the
//     other bucket whose copy must have been here, and then n was k+1 or more. (A saturated
//     fingerprint may have n < k, but then n >= 1 for good: table_writer.h.) One atomic word
//     shows n and the bit together, so n = 0 means k = 0. A key that is not in the stash when the
//     mask is read stays in the table while it lives (W4: later copies leave the stash first).
//
// Without `moves`, (a) fails: the reader reads bucket A (copy still in B), the writer moves B to A,
// the reader reads B. Without the bump before an erase it fails too: K2 is in B; the reader reads
// A; K1, same fingerprint, buckets swapped, is inserted into A; erasing K1 takes the copy in its
// own first bucket B; the reader reads B. tests/filter/interleaving_test.cpp runs every
// interleaving, and shows that it catches both.
//
// Threads:  any number of readers.
// Limits:   kLookupAttempts tries; a reader disturbed that often answers "may exist".
// Source:   the move counter after Li et al., EuroSys 2014, section 4.2; argument: ours.
#pragma once

#include <cstdint>

#include "filter/addressing.h"
#include "filter/stash.h"

namespace cuckooguard::filter {

inline constexpr int kLookupAttempts = 8;

enum class LookupAttempt : std::uint8_t { found, absent, disturbed };

template <class Bucket, class Cells>
LookupAttempt attempt_lookup(const Cells& cells, const Addressing& addressing, std::uint64_t hash) {
  const std::uint64_t moves = cells.load_moves();
  const std::uint64_t stash_mask = cells.load_stash_mask();
  const std::uint64_t fingerprint = Addressing::fingerprint(hash, Bucket::kFingerprintMax);
  const std::uint64_t first = addressing.first_bucket(hash);
  const std::uint64_t second = addressing.other_bucket(first, fingerprint);
  // One absent look-up in six goes on to the second bucket, and the processor guesses that it does
  // not: fetched beforehand, a wrong guess costs no second wait for memory (48.9 -> 40.2 ns at 100
  // M keys).
  cells.prefetch_bucket(second);
  const std::uint64_t word = cells.load_bucket(first);
  if (Bucket::contains(word, fingerprint)) {
    return LookupAttempt::found;
  }
  const bool may_be_in_second = Bucket::overflowed(word, fingerprint);
  if (!may_be_in_second && stash_mask == 0) [[likely]] {
    return LookupAttempt::absent;
  }
  if (may_be_in_second) {
    if (Bucket::contains(cells.load_bucket(second), fingerprint)) {
      return LookupAttempt::found;
    }
  }
  if (stash_mask != 0 && stash_contains(cells, stash_mask, hash)) [[unlikely]] {
    return LookupAttempt::found;
  }
  return cells.recheck_moves() == moves ? LookupAttempt::absent : LookupAttempt::disturbed;
}

// Out of line, as is the stash's part: what is hardly ever run would cost every look-up its
// registers, and so the processor some of the look-ups it could have had in flight.
template <class Bucket, class Cells>
[[gnu::noinline, gnu::cold]] bool lookup_again(const Cells& cells,
                                               const Addressing& addressing,
                                               std::uint64_t hash) {
  for (int attempt = 1; attempt < kLookupAttempts; ++attempt) {
    const LookupAttempt outcome = attempt_lookup<Bucket>(cells, addressing, hash);
    if (outcome != LookupAttempt::disturbed) {
      return outcome == LookupAttempt::found;
    }
  }
  return true;
}

template <class Bucket, class Cells>
bool lookup(const Cells& cells, const Addressing& addressing, std::uint64_t hash) {
  const LookupAttempt outcome = attempt_lookup<Bucket>(cells, addressing, hash);
  if (outcome == LookupAttempt::disturbed) [[unlikely]] {
    return lookup_again<Bucket>(cells, addressing, hash);
  }
  return outcome == LookupAttempt::found;
}

}  // namespace cuckooguard::filter
