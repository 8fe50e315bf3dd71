// Any sequence of inserts, erases, look-ups and rebuilds, against a model that counts rows: a row
// the model has must be found, alone and in a batch, whatever came before.
//
// Byte 0: layout and delete mode. Byte 1: bucket count. Then two bytes per operation: what, and
// which of 256 keys. Half of the keys are crafted to share fingerprints and buckets.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>

#include "filter/bucket.h"
#include "filter/cuckoo_filter.h"
#include "filter/hashes.h"

namespace {

using namespace cuckooguard::filter;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

std::uint64_t hash_of(const Sizing& sizing, std::uint8_t key) {
  if (key % 2 == 0) {
    return testing::nth_hash(1, key);
  }
  const std::uint64_t max = (1ULL << shape_of(sizing.layout).bits) - 1;
  return testing::crafted_hash(sizing.buckets, (key / 2) % 4 % sizing.buckets, max, 1 + key / 32);
}

class Run {
 public:
  explicit Run(const Sizing& sizing)
      : filter_(std::make_unique<CuckooFilter>(sizing, testing::fixed_secret(1))) {}

  void apply(std::uint8_t what, std::uint8_t key) {
    const std::uint64_t hash = hash_of(filter_->sizing(), key);
    if (what % 8 < 5) {
      filter_->insert(hash);
      ++rows_[hash];
    } else if (what % 8 < 7) {
      erase(hash);
    } else if (filter_->sizing().deletes == DeleteMode::exact) {
      auto next = std::make_unique<CuckooFilter>(filter_->sizing(), testing::fixed_secret(1));
      filter_->give(hash, *next);
      while (filter_->give_some(3, *next)) {
      }
      filter_ = std::move(next);
    }
  }

  void look_for_all() const {
    std::array<std::uint64_t, kBatchMax> batch{};
    std::size_t count = 0;
    for (const auto& [hash, rows] : rows_) {
      require(filter_->may_contain(hash));
      batch[count++ % kBatchMax] = hash;
    }
    const std::span<const std::uint64_t> last(batch.data(), count < kBatchMax ? count : kBatchMax);
    const std::uint64_t all = last.size() == kBatchMax ? ~0ULL : (1ULL << last.size()) - 1;
    for (const LookupKernel kernel :
         {LookupKernel::scalar, LookupKernel::avx2, LookupKernel::avx512}) {
      filter_->use_kernel(kernel);
      require(filter_->may_contain(last) == all);
    }
  }

 private:
  void erase(std::uint64_t hash) {
    const auto row = rows_.find(hash);
    if (row == rows_.end()) {
      // A stranger. Only exact must shrug it off; trusted is promised that it does not happen.
      require(filter_->sizing().deletes != DeleteMode::exact ||
              filter_->erase(hash) == EraseOutcome::not_found);
      return;
    }
    require(filter_->erase(hash) != EraseOutcome::not_found);
    if (--row->second == 0) {
      rows_.erase(row);
    }
  }

  std::unique_ptr<CuckooFilter> filter_;
  std::map<std::uint64_t, std::uint64_t> rows_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 2) {
    return 0;
  }
  Run run({.layout = kLayouts[bytes[0] % kLayouts.size()],
           .buckets = 2 + 2 * (bytes[1] % 16ULL),
           .deletes = static_cast<DeleteMode>(bytes[0] / 8 % 3)});
  for (std::size_t i = 2; i + 1 < size; i += 2) {
    run.apply(bytes[i], bytes[i + 1]);
    if (i % 64 == 2) {
      run.look_for_all();
    }
  }
  run.look_for_all();
  return 0;
}
