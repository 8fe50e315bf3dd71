#include "filter_bench_machine.h"

#include <algorithm>
#include <ctime>
#include <numeric>
#include <vector>

#include "filter/hashes.h"
#include "filter/page_memory.h"

namespace cuckooguard::bench {
namespace {

constexpr std::uint64_t kWordsPerLine = 8;
constexpr std::uint64_t kReads = 4'000'000;
constexpr int kPasses = 3;
constexpr std::size_t kAhead = 32;

std::uint64_t line_of(std::uint64_t hash, std::uint64_t lines) {
  return ((hash >> 32) * lines) >> 32;
}

// One cycle through all lines in random order (Sattolo 1986).
void link_lines(std::uint64_t* words, std::uint64_t lines) {
  std::vector<std::uint32_t> order(lines);
  std::iota(order.begin(), order.end(), 0U);
  for (std::uint64_t i = lines - 1; i > 0; --i) {
    std::swap(order[i], order[line_of(filter::testing::nth_hash(9, i), i)]);
  }
  for (std::uint64_t i = 0; i < lines; ++i) {
    words[order[i] * kWordsPerLine] = order[(i + 1) % lines];
  }
}

double dependent_ns(const std::uint64_t* words, std::uint64_t reads) {
  const double begin = thread_seconds();
  std::uint64_t line = 0;
  for (std::uint64_t i = 0; i < reads; ++i) {
    line = words[line * kWordsPerLine];
  }
  const double ns = (thread_seconds() - begin) * 1e9 / static_cast<double>(reads);
  return line == ~0ULL ? 0 : ns;
}

double prefetched_ns(const std::uint64_t* words, std::uint64_t lines, std::uint64_t seed) {
  const std::vector<std::uint64_t> hashes = filter::testing::hashes(seed, 4096 + kAhead);
  std::uint64_t sum = 0;
  double seconds = 0;
  std::vector<std::uint64_t> wanted(hashes.size());
  for (std::uint64_t done = 0; done < kReads; done += 4096) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] = line_of(hashes[i] + done * 0x9E3779B97F4A7C15, lines) * kWordsPerLine;
    }
    const double begin = thread_seconds();
    for (std::size_t i = 0; i < 4096; ++i) {
      __builtin_prefetch(&words[wanted[i + kAhead]]);
      sum += words[wanted[i]];
    }
    seconds += thread_seconds() - begin;
  }
  return sum == ~0ULL ? 0 : seconds * 1e9 / static_cast<double>(kReads);
}

}  // namespace

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

MemoryCost measure_memory(std::uint64_t bytes) {
  const std::uint64_t lines = std::max<std::uint64_t>(bytes / 64, 1024);
  const filter::PageMemory memory(lines * kWordsPerLine);
  link_lines(memory.words(), lines);
  MemoryCost best{1e9, 1e9};
  for (int pass = 0; pass < kPasses; ++pass) {
    best.dependent_ns = std::min(best.dependent_ns, dependent_ns(memory.words(), kReads / 4));
    best.line_ns = std::min(best.line_ns,
                            prefetched_ns(memory.words(), lines, static_cast<std::uint64_t>(pass)));
  }
  return best;
}

}  // namespace cuckooguard::bench
