#include "filter/table.h"

#include <bit>

#include "filter/addressing.h"
#include "filter/bucket.h"
#include "filter/lanes_avx2.h"
#include "filter/lanes_avx512.h"
#include "filter/lanes_scalar.h"
#include "filter/table_reader.h"
#include "filter/table_writer.h"

namespace cuckooguard::filter {
namespace {

using BatchLookup = std::uint64_t (*)(const SharedCells&,
                                      const Addressing&,
                                      std::span<const std::uint64_t>);

template <class Bucket>
BatchLookup batch_lookup_of(LookupKernel kernel) {
#if defined(__x86_64__)
  if (kernel == LookupKernel::avx512 && kernel_supported(kernel)) {
    return &lookup_batch<Bucket, Avx512Lanes, SharedCells>;
  }
  if (kernel == LookupKernel::avx2 && kernel_supported(kernel)) {
    return &lookup_batch<Bucket, Avx2Lanes, SharedCells>;
  }
#endif
  return &lookup_batch<Bucket, ScalarLanes, SharedCells>;
}

template <class Bucket>
class TableOf final : public FilterTable {
 public:
  explicit TableOf(std::uint64_t buckets)
      : FilterTable(buckets),
        addressing_(buckets),
        writer_(cells(), addressing_),
        batch_lookup_(batch_lookup_of<Bucket>(best_kernel())) {}

  [[nodiscard]] bool may_contain(std::uint64_t hash) const noexcept override {
    return lookup<Bucket>(cells(), addressing_, hash);
  }
  [[nodiscard]] std::uint64_t may_contain(
      std::span<const std::uint64_t> hashes) const noexcept override {
    return batch_lookup_(cells(), addressing_, hashes);
  }

  void prefetch_both(std::uint64_t hash) const noexcept override {
    const std::uint64_t first = addressing_.first_bucket(hash);
    cells().prefetch_bucket(first);
    cells().prefetch_bucket(
        addressing_.other_bucket(first, Addressing::fingerprint(hash, Bucket::kFingerprintMax)));
  }

  InsertOutcome insert(std::uint64_t hash) override { return writer_.insert(hash); }
  InsertOutcome insert_once(std::uint64_t hash) override { return writer_.insert_once(hash); }
  EraseOutcome erase(std::uint64_t hash) override { return writer_.erase(hash); }
  std::uint64_t count(std::uint64_t hash) const override { return writer_.count(hash); }
  void prefetch(std::uint64_t hash) const noexcept override {
    cells().prefetch_bucket(addressing_.first_bucket(hash));
  }
  void prefetch_second(std::uint64_t hash) const noexcept override {
    writer_.prefetch_second(hash);
  }

  void use_kernel(LookupKernel kernel) override { batch_lookup_ = batch_lookup_of<Bucket>(kernel); }

  [[nodiscard]] std::uint64_t count_fingerprints(std::uint64_t from,
                                                 std::uint64_t to) const noexcept override {
    std::uint64_t fingerprints = 0;
    for (std::uint64_t bucket = from; bucket < to; ++bucket) {
      fingerprints += Bucket::used(cells().load_bucket(bucket));
    }
    return fingerprints;
  }

  [[nodiscard]] double overflow_share() const noexcept override {
    if constexpr (Bucket::kOverflowBits == 0) {
      return 1;
    } else {
      std::uint64_t set = 0;
      for (std::uint64_t bucket = 0; bucket < addressing_.buckets(); ++bucket) {
        set += static_cast<std::uint64_t>(
            std::popcount(cells().load_bucket(bucket) >> Bucket::kOverflowShift));
      }
      return static_cast<double>(set) /
             (static_cast<double>(addressing_.buckets()) * Bucket::kOverflowBits);
    }
  }

 private:
  Addressing addressing_;
  TableWriter<Bucket, SharedCells> writer_;
  BatchLookup batch_lookup_;
};

}  // namespace

std::unique_ptr<FilterTable> make_table(const Sizing& sizing) {
  return with_bucket(sizing.layout, [&](auto bucket) -> std::unique_ptr<FilterTable> {
    return std::make_unique<TableOf<decltype(bucket)>>(sizing.buckets);
  });
}

}  // namespace cuckooguard::filter
