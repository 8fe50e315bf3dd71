#include "filter_bench_measure.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include "filter/filter_file.h"
#include "filter/hashes.h"
#include "filter_bench_machine.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::bench {
namespace {

using filter::CuckooFilter;
using filter::LookupKernel;
using filter::testing::nth_hash;

constexpr std::size_t kChunk = 4096;  // hashes computed at a time, outside the clock
constexpr std::uint64_t kQueries = 4'000'000;
constexpr std::uint64_t kErases = 500'000;
constexpr int kPasses = 3;
constexpr std::uint64_t kPresentSeed = 1;
constexpr std::uint64_t kAbsentSeed = 2;

using Chunk = std::array<std::uint64_t, kChunk>;

std::uint64_t random_present(std::uint64_t query, std::uint64_t keys) {
  return nth_hash(kPresentSeed, nth_hash(5, query) % keys);
}

// Calls work(span of present hashes) for all keys, in chunks; returns the seconds inside it.
template <class Work>
double over_all_keys(std::uint64_t keys, const Work& work) {
  double seconds = 0;
  Chunk chunk;
  for (std::uint64_t done = 0; done < keys; done += kChunk) {
    const std::size_t count = std::min<std::uint64_t>(kChunk, keys - done);
    for (std::size_t i = 0; i < count; ++i) {
      chunk[i] = nth_hash(kPresentSeed, done + i);
    }
    const double begin = thread_seconds();
    work(std::span<const std::uint64_t>(chunk.data(), count));
    seconds += thread_seconds() - begin;
  }
  return seconds;
}

struct Lookups {
  double ns;
  std::uint64_t found;
  std::uint64_t asked;
};

// found(chunk) -> how many were found.
template <class Found>
Lookups best_pass(std::uint64_t keys, bool present, const Found& found) {
  Lookups best{1e9, 0, 0};
  for (int pass = 0; pass < kPasses; ++pass) {
    Lookups now{0, 0, 0};
    Chunk chunk;
    while (now.asked < kQueries) {
      for (std::size_t i = 0; i < kChunk; ++i) {
        const std::uint64_t query = now.asked + i;
        chunk[i] = present ? random_present(query, keys) : nth_hash(kAbsentSeed, query);
      }
      const double begin = thread_seconds();
      now.found += found(chunk);
      now.ns += thread_seconds() - begin;
      now.asked += kChunk;
    }
    now.ns *= 1e9 / static_cast<double>(now.asked);
    best = {std::min(best.ns, now.ns), now.found, now.asked};
  }
  return best;
}

Lookups single(const CuckooFilter& filter, std::uint64_t keys, bool present) {
  return best_pass(keys, present, [&filter](const Chunk& chunk) {
    std::uint64_t found = 0;
    for (const std::uint64_t hash : chunk) {
      found += filter.may_contain(hash) ? 1 : 0;
    }
    return found;
  });
}

Lookups batched(const CuckooFilter& filter, std::uint64_t keys, bool present, std::size_t size) {
  return best_pass(keys, present, [&filter, size](const Chunk& chunk) {
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < kChunk; i += size) {
      const std::span<const std::uint64_t> batch(chunk.data() + i, size);
      found += static_cast<std::uint64_t>(std::popcount(filter.may_contain(batch)));
    }
    return found;
  });
}

// Every pass of present keys must find all it asks for; what is missing is added to `missed`.
LookupTimes measure_lookups(CuckooFilter& filter,
                            std::uint64_t keys,
                            bool present,
                            std::uint64_t& missed) {
  const auto time = [&missed, present](const Lookups& lookups) {
    missed += present ? lookups.asked - lookups.found : 0;
    return lookups.ns;
  };
  LookupTimes times;
  filter.use_kernel(filter::best_kernel());
  times.single = time(single(filter, keys, present));
  times.batch16 = time(batched(filter, keys, present, 16));
  times.batch64 = time(batched(filter, keys, present, 64));
  filter.use_kernel(LookupKernel::scalar);
  times.batch16_scalar = time(batched(filter, keys, present, 16));
  times.batch64_scalar = time(batched(filter, keys, present, 64));
  filter.use_kernel(filter::best_kernel());
  return times;
}

double measure_insert(const filter::Sizing& sizing, std::uint64_t keys) {
  CuckooFilter filter(sizing, filter::testing::fixed_secret(1));
  const double seconds = over_all_keys(keys, [&filter](std::span<const std::uint64_t> chunk) {
    for (const std::uint64_t hash : chunk) {
      filter.insert(hash);
    }
  });
  return seconds * 1e9 / static_cast<double>(keys);
}

void measure_file(const CuckooFilter& filter, LayoutTimes& times) {
  const harness::TemporaryDirectory folder;
  const std::string path = folder.file("bench.filter");
  const auto timed = [](auto&& work) {  // not CPU time: a start waits for the disk, too
    const auto begin = std::chrono::steady_clock::now();
    if (!work()) {
      throw std::runtime_error("filter_bench: the filter file");
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  times.file_write_seconds =
      timed([&] { return filter::write_filter_file(path, filter, {}).has_value(); });
  std::expected<filter::FilterFile, filter::FilterFileError> read;
  times.file_read_seconds = timed([&] {
    read = filter::read_filter_file(path, filter::testing::fixed_secret(1));
    return read.has_value();
  });
  times.false_negatives += read->filter->may_contain(nth_hash(kPresentSeed, 0)) ? 0 : 1;
}

}  // namespace

LayoutTimes measure_layout(filter::Layout layout, std::uint64_t keys) {
  const filter::Sizing sizing = sizing_for(layout, keys, filter::DeleteMode::trusted);
  LayoutTimes times{.layout = layout, .keys = keys};
  times.insert_ns = measure_insert(sizing, keys);

  CuckooFilter filter(sizing, filter::testing::fixed_secret(1));
  times.build_seconds = over_all_keys(
      keys, [&filter](std::span<const std::uint64_t> chunk) { filter.insert(chunk); });
  times.load = filter.stats().load;
  times.bits_per_key = static_cast<double>(sizing.bytes()) * 8 / static_cast<double>(keys);
  times.predicted_rate = filter::predicted_false_positive_rate(layout, times.load);

  const Lookups absent = single(filter, keys, false);
  times.false_positive_rate = static_cast<double>(absent.found) / static_cast<double>(absent.asked);
  times.negative = measure_lookups(filter, keys, false, times.false_negatives);
  times.positive = measure_lookups(filter, keys, true, times.false_negatives);
  measure_file(filter, times);

  const std::uint64_t erases = std::min(kErases, keys);
  const double erasing = over_all_keys(erases, [&filter](std::span<const std::uint64_t> chunk) {
    for (const std::uint64_t hash : chunk) {
      filter.erase(hash);
    }
  });
  times.erase_ns = erasing * 1e9 / static_cast<double>(erases);
  return times;
}

}  // namespace cuckooguard::bench
