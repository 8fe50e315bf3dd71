// Readers that look for keys that are always there, while one writer inserts and erases others.
//
// The table is small, so that every store of the writer is near some reader, and full to its sizing
// load, so that inserts move fingerprints. Shared by the churn test (short) and the benchmark
// (1e9).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "filter/cuckoo_filter.h"
#include "filter/hashes.h"

namespace cuckooguard::filter::testing {

struct ChurnWish {
  Layout layout = Layout::w12;
  DeleteMode deletes = DeleteMode::trusted;
  std::uint64_t keys = 20'000;
  std::uint64_t lookups = 1'000'000;  // of all readers together, at least
  unsigned readers = 2;
};

struct ChurnOutcome {
  std::uint64_t lookups = 0;
  std::uint64_t hidden = 0;  // keys that were there and were called absent
  std::uint64_t changes = 0;
  std::uint64_t moves = 0;
  bool full = false;  // the writer overfilled the filter: hidden = 0 means nothing then
};

namespace churn_detail {

// Alternates batches and single look-ups over the keys that stay.
inline std::uint64_t count_hidden(const CuckooFilter& filter,
                                  const std::vector<std::uint64_t>& staying,
                                  std::uint64_t round) {
  std::uint64_t hidden = 0;
  std::array<std::uint64_t, kBatchMax> batch{};
  for (std::size_t i = 0; i < batch.size(); ++i) {
    batch[i] = staying[nth_hash(round, i) % staying.size()];
  }
  hidden += static_cast<std::uint64_t>(__builtin_popcountll(~filter.may_contain(batch)));
  for (const std::uint64_t hash : batch) {
    hidden += filter.may_contain(hash) ? 0 : 1;
  }
  return hidden;
}

}  // namespace churn_detail

inline ChurnOutcome run_churn(const ChurnWish& wish) {
  CuckooFilter filter(sizing_for(wish.layout, wish.keys, wish.deletes), fixed_secret(3));
  const std::vector<std::uint64_t> staying = hashes(21, wish.keys / 2);
  std::vector<std::uint64_t> coming_and_going = hashes(22, wish.keys - staying.size());
  filter.insert(staying);
  filter.insert(coming_and_going);

  std::atomic<std::uint64_t> lookups{0};
  std::atomic<std::uint64_t> hidden{0};
  std::vector<std::thread> readers;
  readers.reserve(wish.readers);
  for (unsigned reader = 0; reader < wish.readers; ++reader) {
    readers.emplace_back([&, reader] {
      for (std::uint64_t round = reader; lookups.load(std::memory_order_relaxed) < wish.lookups;
           round += wish.readers) {
        hidden += churn_detail::count_hidden(filter, staying, round);
        lookups += 2 * kBatchMax;
      }
    });
  }
  ChurnOutcome outcome;
  for (; lookups.load(std::memory_order_relaxed) < wish.lookups; ++outcome.changes) {
    std::uint64_t& slot = coming_and_going[outcome.changes % coming_and_going.size()];
    filter.erase(slot);
    slot = nth_hash(23, outcome.changes);
    filter.insert(slot);
  }
  for (std::thread& reader : readers) {
    reader.join();
  }
  outcome.lookups = lookups;
  outcome.hidden = hidden;
  outcome.moves = filter.stats().moves;
  outcome.full = filter.stats().full;
  return outcome;
}

}  // namespace cuckooguard::filter::testing
