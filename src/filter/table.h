// A table of any layout behind one interface: what CuckooFilter calls and the file reads and
// writes.
//
// Threads:   may_contain and load_* from any thread; the rest from one writer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <boost/core/noncopyable.hpp>

#include "filter/lookup_kernel.h"
#include "filter/shared_cells.h"
#include "filter/sizing.h"

namespace cuckooguard::filter {

// A seam with one implementation per layout (table.cpp): the layout is known only at run time, and
// one indirect call per look-up or batch is cheaper than a layout whose widths are variables.
class FilterTable : boost::noncopyable {
 public:
  explicit FilterTable(std::uint64_t buckets) : cells_(buckets) {}
  virtual ~FilterTable() = default;

  [[nodiscard]] virtual bool may_contain(std::uint64_t hash) const noexcept = 0;
  // At most kBatchMax hashes.
  [[nodiscard]] virtual std::uint64_t may_contain(
      std::span<const std::uint64_t> hashes) const noexcept = 0;

  // Before a look-up some time later: of both buckets, since whether the second one will be asked
  // for only the first one says.
  virtual void prefetch_both(std::uint64_t hash) const noexcept = 0;

  virtual InsertOutcome insert(std::uint64_t hash) = 0;
  virtual InsertOutcome insert_once(std::uint64_t hash) = 0;
  virtual EraseOutcome erase(std::uint64_t hash) = 0;
  [[nodiscard]] virtual std::uint64_t count(std::uint64_t hash) const = 0;
  // Before an insert some time later.
  virtual void prefetch(std::uint64_t hash) const noexcept = 0;
  // A little before it, when what prefetch() asked for has come.
  virtual void prefetch_second(std::uint64_t hash) const noexcept = 0;

  virtual void use_kernel(LookupKernel kernel) = 0;
  // Fingerprints in the buckets from one to before another, counted; overflow bits that are set, as
  // a share of all.
  [[nodiscard]] virtual std::uint64_t count_fingerprints(std::uint64_t from,
                                                         std::uint64_t to) const noexcept = 0;
  [[nodiscard]] virtual double overflow_share() const noexcept = 0;

  [[nodiscard]] SharedCells& cells() noexcept { return cells_; }
  [[nodiscard]] const SharedCells& cells() const noexcept { return cells_; }

 private:
  SharedCells cells_;
};

std::unique_ptr<FilterTable> make_table(const Sizing& sizing);

}  // namespace cuckooguard::filter
