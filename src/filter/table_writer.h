// The writer of a table: every store it makes keeps the rules W1 to W4 of table_reader.h.
//
// Copies. What a table holds is a multiset: two keys with the same fingerprint and the same pair of
// buckets have two equal copies, and neither knows which is its own. Once a pair holds kCopiesMax
// copies of one fingerprint it is saturated, for good: further inserts of it store nothing (a copy
// is there) and erases take nothing out, so that no later erase can take the last copy of a key
// whose insert was skipped. This is what bounds the space of a key inserted again and again, and of
// keys crafted to collide. By chance it happens to 2 of 100,000 keys with W8 and to next to none
// with W12.
//
// Threads:   one writer.
// Errors:    outcomes; a failed insert has changed no bucket.
#pragma once

#include <cstdint>

#include "filter/addressing.h"
#include "filter/path_search.h"
#include "filter/sizing.h"
#include "filter/stash.h"

namespace cuckooguard::filter {

inline constexpr unsigned kCopiesMax = 4;

template <class Bucket, class Cells>
class TableWriter {
 public:
  TableWriter(Cells& cells, const Addressing& addressing) noexcept
      : cells_(cells), addressing_(addressing) {}

  // One more copy, to be taken out by one erase(): for filters with live deletes. There is no
  // "insert unless it looks present" here: what looks present may be another key's copy, to be
  // erased soon.
  InsertOutcome insert(std::uint64_t hash) {
    const Place place = place_of(hash);
    const std::uint64_t word = cells_.load_bucket(place.first);
    if (Bucket::contains(word, place.fingerprint)) [[unlikely]] {
      const std::uint64_t other = cells_.load_bucket(second_bucket(place));
      if (copies(word, other, place.fingerprint) >= kCopiesMax) {
        return InsertOutcome::already_there;
      }
    }
    return store(hash, place, word);
  }

  // At least one copy, never to be erased: for filters whose deletes are deferred. Another key's
  // copy serves as well, because none ever goes.
  InsertOutcome insert_once(std::uint64_t hash) {
    const Place place = place_of(hash);
    const std::uint64_t word = cells_.load_bucket(place.first);
    if (Bucket::contains(word, place.fingerprint)) {
      return InsertOutcome::already_there;
    }
    if (Bucket::overflowed(word, place.fingerprint) &&
        Bucket::contains(cells_.load_bucket(second_bucket(place)), place.fingerprint)) {
      return InsertOutcome::already_there;
    }
    if (stash_contains(cells_, cells_.load_stash_mask(), hash)) {
      return stash_spilled(cells_) ? InsertOutcome::full : InsertOutcome::already_there;
    }
    return store(hash, place, word);
  }

  // Equal fingerprints in its buckets, and itself in the stash.
  [[nodiscard]] std::uint64_t count(std::uint64_t hash) const {
    const Place place = place_of(hash);
    return copies(cells_.load_bucket(place.first),
                  cells_.load_bucket(second_bucket(place)),
                  place.fingerprint) +
           stash_count(cells_, hash);
  }

  // Asks for the bucket that insert() will need, unless the first has room now.
  void prefetch_second(std::uint64_t hash) const noexcept {
    const Place place = place_of(hash);
    if (Bucket::find_free(cells_.load_bucket(place.first)) == Bucket::kSlots) {
      cells_.prefetch_bucket(second_bucket(place));
    }
  }

  EraseOutcome erase(std::uint64_t hash) {
    if (stash_spilled(cells_)) {
      return EraseOutcome::kept;  // may be the key that could not be stored
    }
    if (stash_erase(cells_, hash)) {
      return EraseOutcome::erased;
    }
    const Place place = place_of(hash);
    const std::uint64_t word = cells_.load_bucket(place.first);
    const bool in_first = Bucket::contains(word, place.fingerprint);
    if (!in_first && !Bucket::overflowed(word, place.fingerprint)) {
      return EraseOutcome::not_found;
    }
    const std::uint64_t second = second_bucket(place);
    const std::uint64_t other = cells_.load_bucket(second);
    const unsigned held = copies(word, other, place.fingerprint);
    if (held == 0) {
      return EraseOutcome::not_found;
    }
    if (held >= kCopiesMax) {
      return EraseOutcome::kept;
    }
    if (in_first) {
      take_out(place.first, word, place.fingerprint);
    } else {
      take_out(second, other, place.fingerprint);
    }
    return EraseOutcome::erased;
  }

 private:
  struct Place {
    std::uint64_t first;
    std::uint64_t fingerprint;
  };

  [[nodiscard]] Place place_of(std::uint64_t hash) const {
    return {addressing_.first_bucket(hash), Addressing::fingerprint(hash, Bucket::kFingerprintMax)};
  }
  [[nodiscard]] std::uint64_t second_bucket(const Place& place) const {
    return addressing_.other_bucket(place.first, place.fingerprint);
  }
  static unsigned copies(std::uint64_t word, std::uint64_t other, std::uint64_t fingerprint) {
    return Bucket::count(word, fingerprint) + Bucket::count(other, fingerprint);
  }

  // The first bucket is preferred: it keeps overflow bits clear, and those make look-ups fast.
  InsertOutcome store(std::uint64_t hash, const Place& place, std::uint64_t word) {
    if (stash_spilled(cells_)) [[unlikely]] {
      return InsertOutcome::full;
    }
    if (const unsigned slot = Bucket::find_free(word); slot != Bucket::kSlots) [[likely]] {
      cells_.store_bucket(place.first, Bucket::with(word, slot, place.fingerprint));
      return InsertOutcome::inserted;
    }
    const std::uint64_t second = second_bucket(place);
    const std::uint64_t other = cells_.load_bucket(second);
    if (const unsigned slot = Bucket::find_free(other); slot != Bucket::kSlots) {
      cells_.store_bucket(second, Bucket::with(other, slot, place.fingerprint));
      mark_turned_away(place);
      return InsertOutcome::inserted;
    }
    const auto end = search_.template find<Bucket>(cells_, addressing_, place.first, second);
    if (!end) {
      return stash_insert(cells_, hash) ? InsertOutcome::stashed : InsertOutcome::full;
    }
    if (make_moves(*end, place.fingerprint) != place.first) {
      mark_turned_away(place);
    }
    return InsertOutcome::inserted;
  }

  // From the hole backward. Each store puts a fingerprint where the one just copied away was, so it
  // is at once the end of one move and the copy of the next. Returns the bucket that got
  // `fingerprint`.
  std::uint64_t make_moves(std::uint16_t end, std::uint64_t fingerprint) {
    PathSearch::Node node = search_.node(end);
    std::uint64_t word = cells_.load_bucket(node.bucket);
    unsigned hole = Bucket::find_free(word);
    while (node.parent != PathSearch::kNoParent) {
      const PathSearch::Node parent = search_.node(node.parent);
      const std::uint64_t source = cells_.load_bucket(parent.bucket);
      const std::uint64_t moved = Bucket::get(source, node.slot);
      cells_.store_bucket(node.bucket, Bucket::with(word, hole, moved));  // W1
      bump();                                                             // W2
      word = source | Bucket::overflow_bit(moved);                        // W3
      hole = node.slot;
      node = parent;
    }
    cells_.store_bucket(node.bucket, Bucket::with(word, hole, fingerprint));
    return node.bucket;
  }

  void mark_turned_away(const Place& place) {
    const std::uint64_t word = cells_.load_bucket(place.first);
    if (!Bucket::overflowed(word, place.fingerprint)) {
      cells_.store_bucket(place.first, word | Bucket::overflow_bit(place.fingerprint));
    }
  }

  void take_out(std::uint64_t bucket, std::uint64_t word, std::uint64_t fingerprint) {
    bump();
    cells_.store_bucket(bucket, Bucket::with(word, Bucket::find(word, fingerprint), 0));
  }

  void bump() { cells_.store_moves(cells_.load_moves() + 1); }

  Cells& cells_;
  Addressing addressing_;
  PathSearch search_;
};

}  // namespace cuckooguard::filter
