// The most frequent things of a stream, in fixed memory, without knowing them before.
//
// "Space-Saving" [1] in buckets: a thing that has no slot takes the one of its bucket with the
// smallest count, and goes on counting from there; `error` is what it took over. A thing with more
// than 1 / kWays of its bucket's stream, which is about one of kSlots of the whole, always has a
// slot. Things that come once push each other out, and count for no more than they are: what is
// shown is `count - error`, which is never too much.
//
// Threads: none of its own. Limits: kSlots things. Whoever cannot predict hashes cannot choose
// whose bucket is crowded.
// Source: [1] Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and Top-k Elements
// in Data Streams, 2005.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cuckooguard::traffic {

template <class Label>
class Top {
 public:
  static constexpr std::size_t kWays = 8;
  static constexpr std::size_t kBuckets = 16;
  static constexpr std::size_t kSlots = kWays * kBuckets;

  // `hash`: its name; the label is taken with the first.
  template <class MakeLabel>
  void add(std::uint64_t hash, MakeLabel label) {
    Bucket& bucket = buckets_[hash % kBuckets];
    std::size_t least = 0;
    for (std::size_t i = 0; i < kWays; ++i) {
      if (bucket.hashes[i] == hash && bucket.counts[i] != 0) {
        ++bucket.counts[i];
        return;
      }
      least = bucket.counts[i] < bucket.counts[least] ? i : least;
    }
    bucket.hashes[least] = hash;
    bucket.errors[least] = bucket.counts[least]++;
    bucket.labels[least] = label();
  }

  // So that it tells of the last minutes.
  void halve() {
    for (Bucket& bucket : buckets_) {
      for (std::size_t i = 0; i < kWays; ++i) {
        bucket.counts[i] /= 2;
        bucket.errors[i] /= 2;
      }
    }
  }

  // visit(hash, label, count) for each.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Bucket& bucket : buckets_) {
      for (std::size_t i = 0; i < kWays; ++i) {
        if (bucket.counts[i] > bucket.errors[i]) {
          visit(bucket.hashes[i], bucket.labels[i], bucket.counts[i] - bucket.errors[i]);
        }
      }
    }
  }

 private:
  struct Bucket {
    std::array<std::uint64_t, kWays> hashes{};
    std::array<std::uint32_t, kWays> counts{};  // 0: a free slot
    std::array<std::uint32_t, kWays> errors{};
    std::array<Label, kWays> labels{};
  };

  std::array<Bucket, kBuckets> buckets_{};
};

}  // namespace cuckooguard::traffic
