// A dump that somebody has made up, all checksums right, is loaded as a client does it, and put
// into what is kept of all filters; then the filter is used. It is refused, or it works: nothing
// throws, and what was added and not erased is there.
//
// Byte 0: shape. Byte 1: items. Then, up to a byte 0, four bytes per edit of the first layer: what,
// where (two), by what. The rest are operations: what, and which of 64 items.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "filled/dump.h"
#include "filled/filters.h"
#include "filled/forged_dump.h"
#include "filled/hashes.h"

namespace {

using namespace cuckooguard::filled;
using testing::ForgedLayer;
using testing::hash_of;
using enum Operation::Kind;

const cuckooguard::filter::HashSecret kSecret{};

void require(bool holds) {
  if (!holds) {
    __builtin_trap();
  }
}

Shape shape_of(std::uint8_t byte) {
  const auto kind = static_cast<Kind>(byte % 3);
  return {.kind = kind,
          .capacity = 1U + byte / 16U,
          .false_positive_rate = (byte & 8U) != 0 ? 0.01 : 0.000'01,
          .scales = (byte & 4U) != 0,
          .exact = kind == Kind::cuckoo && (byte & 16U) != 0};
}

class Input {
 public:
  explicit Input(std::span<const std::uint8_t> left) : left_(left) {}
  bool is_at_end() const { return left_.empty(); }
  std::uint8_t take() {
    const std::uint8_t byte = is_at_end() ? 0 : left_.front();
    left_ = left_.subspan(is_at_end() ? 0 : 1);
    return byte;
  }

 private:
  std::span<const std::uint8_t> left_;
};

void edit(ForgedLayer& layer, Input& input) {
  for (std::uint8_t what = input.take(); what != 0; what = input.take()) {
    const std::size_t high = input.take();
    const std::size_t where = high * 256U + input.take();
    const auto by = static_cast<char>(input.take());
    cuckooguard::filter::FileHeader& header = layer.header;
    const std::array<std::uint64_t*, 8> numbers{&header.items,
                                                &header.fingerprints,
                                                &header.stale,
                                                &header.stash_mask,
                                                &header.stash.at(where % header.stash.size()),
                                                &header.buckets,
                                                &header.count_slots,
                                                &header.large_counts};
    const std::uint64_t end = layer.payload.size();
    if (what < 128) {
      layer.payload[where % end] = by;
    } else if (what < 160) {  // a count, or a hash
      layer.payload[end - 1 - where % end] = by;
    } else if (what < 192) {  // eight bytes that are there, somewhere else
      const std::size_t from = where % (end - 7);
      layer.payload.replace((from + static_cast<std::uint8_t>(by) * 8U) % (end - 7),
                            8,
                            layer.payload.substr(from, 8));
    } else if (what < 224) {
      layer.payload.resize(end + static_cast<std::uint8_t>(by) % 32U, by);
      header.large_counts += static_cast<std::uint8_t>(by) % 32U / 16U;
    } else {
      *numbers.at(what % numbers.size()) ^= std::uint64_t{1} << (where % 64);
    }
  }
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity): an operation after the other
void use(Filters& filters, const std::string& name, const Shape& shape, Input input) {
  std::array<std::uint64_t, 64> added{};
  std::uint64_t more = 0;
  while (!input.is_at_end()) {
    const std::uint8_t what = input.take();
    const std::size_t item = input.take() % added.size();
    const std::uint64_t hash = hash_of(item);
    const bool is_large = what >= 240;  // enough to grow
    Operation operation{.kind = is_large        ? add
                                : what % 4 == 0 ? add_if_new
                                : what % 4 == 1 ? add
                                : what % 4 == 2 ? erase
                                                : count,
                        .filter = name,
                        .shape = shape,
                        .hashes = {hash},
                        .bytes_max = 1U << 20U};
    for (int i = 0; is_large && i < 300; ++i) {
      operation.hashes.push_back(hash_of(10'000 + more++));
    }
    if (operation.kind == erase && added.at(item) == 0) {
      continue;  // that it must not be, filled_filter.h says
    }
    const Outcome outcome = filters.apply(operation);
    require(outcome.status == Outcome::Status::done);
    const bool is_done = !outcome.items.empty() && outcome.items.front() == ItemOutcome::done;
    if (operation.kind == erase) {
      require(is_done || !shape.exact);
      added.at(item) -= is_done ? 1 : 0;
    } else if (operation.kind == add || operation.kind == add_if_new) {
      added.at(item) += is_done ? 1 : 0;
    }
    const Directory& all = *filters.directory();
    require(added.at(item) == 0 || all.find(name)->second.filter->may_contain(hash));
  }
  require(filters.apply({.kind = dump, .filter = name, .shape = shape}).status ==
          Outcome::Status::done);
  const std::string all = filters.dump();
  require(filters.restore(all).has_value());
  require(filters.totals().unsure == 0);
  require(filters.dump() == all);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  Input input(std::span(bytes, size));
  const Shape shape = shape_of(input.take());
  auto filter = std::make_shared<FilledFilter>(shape, kSecret);
  const std::uint64_t items = input.take();
  for (std::uint64_t i = 0; i < items; ++i) {
    if (filter->is_full() && filter->bytes_to_grow()) {
      filter = filter->grown();
    }
    filter->add(hash_of(2000 + i * i % 97));
  }
  const std::string made_up =
      testing::forged(dump_of(*filter), [&](ForgedLayer& layer) { edit(layer, input); });
  Filters filters(kSecret);
  const Outcome loaded = filters.apply(
      {.kind = load, .filter = "a", .shape = {.kind = shape.kind}, .piece = 1, .blob = made_up});
  if (loaded.status == Outcome::Status::done) {
    use(filters, "a", shape, input);
  } else {
    require(loaded.status == Outcome::Status::bad_dump && filters.totals().bytes == 0);
  }
  return 0;
}
