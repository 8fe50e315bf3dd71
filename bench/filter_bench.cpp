// filter_bench [--keys N] [--layout NAME] [--full] [--json FILE] [--churn LOOKUPS]
//
// Times every operation of every layout, beside what the machine's memory can do, and churns a
// small filter for false negatives. Without --keys: 1 and 10 million keys, with --full also 100
// million (2 GB of memory at most, some minutes). The last line is for machines.

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

#include "filter/churn.h"
#include "filter_bench_machine.h"
#include "filter_bench_measure.h"

namespace cuckooguard::bench {
namespace {

struct Options {
  std::vector<std::uint64_t> keys{1'000'000, 10'000'000};
  std::vector<filter::Layout> layouts{filter::kLayouts.begin(), filter::kLayouts.end()};
  std::string json;
  std::uint64_t churn = 100'000'000;
};

struct Row {
  LayoutTimes times;
  MemoryCost memory;
};

const char* const kUsage =
    "usage: filter_bench [--keys N] [--layout NAME] [--full] [--json FILE] [--churn LOOKUPS]\n";

// W12 is what the last line reports: it is always measured, last.
bool choose_layout(const std::string& name, Options& options) {
  for (const filter::Layout layout : filter::kLayouts) {
    if (name == filter::shape_of(layout).name) {
      options.layouts = {layout};
      if (layout != filter::Layout::w12) {
        options.layouts.push_back(filter::Layout::w12);
      }
      return true;
    }
  }
  return false;
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--full") {
      options.keys = {1'000'000, 10'000'000, 100'000'000};
      options.churn = 1'000'000'000;
      continue;
    }
    if (i + 1 == argc) {
      return false;
    }
    const char* const value = argv[++i];
    if (argument == "--keys") {
      options.keys = {std::strtoull(value, nullptr, 10)};
    } else if (argument == "--layout") {
      if (!choose_layout(value, options)) {
        return false;
      }
    } else if (argument == "--json") {
      options.json = value;
    } else if (argument == "--churn") {
      options.churn = std::strtoull(value, nullptr, 10);
    } else {
      return false;
    }
  }
  return options.keys.front() != 0;
}

void print_head(std::uint64_t keys) {
  std::printf(
      "\n%llu keys, ns per key; batches of 16 and 64 with %s (b), with scalar code (s).\n"
      "dep, line: one random cache line read dependent on the last one, and prefetched\n"
      "file: written to disk, and read back verified, in seconds\n"
      "      load insert erase build/s write  read | absent: 1   b16   b64   s16   s64 | present: "
      "1   b16   "
      "b64 |"
      "   dep  line 1/dep b64/line s16/line | bits/key   rate %% predicted\n",
      static_cast<unsigned long long>(keys),
      filter::kernel_name(filter::best_kernel()));
}

void print_row(const Row& row) {
  const LayoutTimes& t = row.times;
  std::printf(
      "%-4s %.3f %6.1f %5.1f %7.2f %5.2f %5.2f | %9.1f %5.1f %5.1f %5.1f %5.1f | %10.1f %5.1f "
      "%5.1f | %5.1f "
      "%5.1f "
      "%5.2f %8.2f %8.2f | %8.2f %8.5f %9.5f\n",
      std::string(filter::shape_of(t.layout).name).c_str(),
      t.load,
      t.insert_ns,
      t.erase_ns,
      t.build_seconds,
      t.file_write_seconds,
      t.file_read_seconds,
      t.negative.single,
      t.negative.batch16,
      t.negative.batch64,
      t.negative.batch16_scalar,
      t.negative.batch64_scalar,
      t.positive.single,
      t.positive.batch16,
      t.positive.batch64,
      row.memory.dependent_ns,
      row.memory.line_ns,
      t.negative.single / row.memory.dependent_ns,
      t.negative.batch64 / row.memory.line_ns,
      t.negative.batch16_scalar / row.memory.line_ns,
      t.bits_per_key,
      t.false_positive_rate * 100,
      t.predicted_rate * 100);
  std::fflush(stdout);
}

void write_times(std::FILE* file, const char* name, const LookupTimes& times) {
  std::fprintf(file,
               "\"%s\":{\"single\":%.2f,\"batch16\":%.2f,\"batch64\":%.2f,\"batch16_scalar\":%.2f,"
               "\"batch64_scalar\":%.2f},",
               name,
               times.single,
               times.batch16,
               times.batch64,
               times.batch16_scalar,
               times.batch64_scalar);
}

bool write_json(const std::string& path, const std::vector<Row>& rows) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::fprintf(stderr,
                 "filter_bench: %s: %s\n",
                 path.c_str(),
                 std::generic_category().message(errno).c_str());
    return false;
  }
  std::fprintf(file, "[");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const LayoutTimes& t = rows[i].times;
    std::fprintf(file,
                 "%s\n{\"layout\":\"%s\",\"keys\":%llu,\"load\":%.4f,\"insert_ns\":%.2f,"
                 "\"erase_ns\":%.2f,\"build_seconds\":%.3f,\"file_write_seconds\":%.3f,"
                 "\"file_read_seconds\":%.3f,",
                 i == 0 ? "" : ",",
                 std::string(filter::shape_of(t.layout).name).c_str(),
                 static_cast<unsigned long long>(t.keys),
                 t.load,
                 t.insert_ns,
                 t.erase_ns,
                 t.build_seconds,
                 t.file_write_seconds,
                 t.file_read_seconds);
    write_times(file, "negative_ns", t.negative);
    write_times(file, "positive_ns", t.positive);
    std::fprintf(file,
                 "\"dependent_line_ns\":%.2f,\"prefetched_line_ns\":%.2f,\"bits_per_key\":%.3f,"
                 "\"false_positive_rate\":%.8f,\"predicted_rate\":%.8f,\"false_negatives\":%llu}",
                 rows[i].memory.dependent_ns,
                 rows[i].memory.line_ns,
                 t.bits_per_key,
                 t.false_positive_rate,
                 t.predicted_rate,
                 static_cast<unsigned long long>(t.false_negatives));
  }
  std::fprintf(file, "\n]\n");
  return std::fclose(file) == 0;
}

std::uint64_t run_churn(std::uint64_t lookups) {
  const auto churn = filter::testing::run_churn({.lookups = lookups, .readers = 4});
  std::printf(
      "\nchurn, W12 at 0.95, 20,000 keys, 4 readers: %llu look-ups, %llu changes, %llu moves: %llu "
      "hidden%s\n",
      static_cast<unsigned long long>(churn.lookups),
      static_cast<unsigned long long>(churn.changes),
      static_cast<unsigned long long>(churn.moves),
      static_cast<unsigned long long>(churn.hidden),
      churn.full ? " (overfilled: proves nothing)" : "");
  return churn.hidden + (churn.full ? 1 : 0);
}

// The machine is measured right behind each layout, in as much memory: what else runs on it
// changes.
std::vector<Row> measure(const Options& options) {
  std::vector<Row> rows;
  for (const std::uint64_t keys : options.keys) {
    print_head(keys);
    for (const filter::Layout layout : options.layouts) {
      const LayoutTimes times = measure_layout(layout, keys);
      const auto bytes = sizing_for(layout, keys, filter::DeleteMode::trusted).bytes();
      rows.push_back({times, measure_memory(bytes)});
      print_row(rows.back());
    }
  }
  return rows;
}

int run(const Options& options) {
  const std::vector<Row> rows = measure(options);
  std::uint64_t false_negatives = run_churn(options.churn);
  const Row* last = nullptr;
  for (const Row& row : rows) {
    false_negatives += row.times.false_negatives;
    last = row.times.layout == filter::Layout::w12 ? &row : last;
  }
  if (!options.json.empty() && !write_json(options.json, rows)) {
    return 1;
  }
  std::printf(
      "bench-filter: keys=%llu layout=W12 neg64_over_line=%.2f neg1_over_dependent=%.3f "
      "insert_ns=%.1f "
      "bits_per_key=%.2f fpr=%.6f false_negatives=%llu\n",
      static_cast<unsigned long long>(last->times.keys),
      last->times.negative.batch64 / last->memory.line_ns,
      last->times.negative.single / last->memory.dependent_ns,
      last->times.insert_ns,
      last->times.bits_per_key,
      last->times.false_positive_rate,
      static_cast<unsigned long long>(false_negatives));
  return false_negatives == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cuckooguard::bench

int main(int argc, char** argv) {
  cuckooguard::bench::Options options;
  if (!cuckooguard::bench::parse(argc, argv, options)) {
    std::fputs(cuckooguard::bench::kUsage, stderr);
    return 64;
  }
  return cuckooguard::bench::run(options);
}
