#include "filled/filled_filter.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "filter/exact_counts.h"

namespace cuckooguard::filled {
namespace {

using filter::CuckooFilter;
using filter::DeleteMode;

// One writer: whoever reads sees whole numbers.
void add_to(std::atomic<std::uint64_t>& number, std::int64_t change) {
  number.store(number.load(std::memory_order_relaxed) + static_cast<std::uint64_t>(change),
               std::memory_order_relaxed);
}

}  // namespace

DeleteMode FilledFilter::deletes_of(const Shape& shape) {
  if (shape.kind != Kind::cuckoo) {
    return DeleteMode::deferred;
  }
  return shape.exact ? DeleteMode::exact : DeleteMode::trusted;
}

std::uint64_t FilledFilter::capacity_of(const Shape& shape, std::size_t layer) {
  const double times = std::pow(static_cast<double>(shape.growth()), static_cast<double>(layer));
  return static_cast<std::uint64_t>(
      std::min(static_cast<double>(shape.capacity) * times, static_cast<double>(kItemsMax)));
}

double FilledFilter::rate_of(const Shape& shape, std::size_t layer) {
  const bool is_alone = !shape.scales || (shape.kind == Kind::cuckoo && shape.exact);
  return is_alone ? shape.false_positive_rate
                  : std::ldexp(shape.false_positive_rate, -static_cast<int>(layer) - 1);
}

filter::Sizing FilledFilter::sizing_of(const Shape& shape, std::size_t layer) {
  return filter::choose_sizing(rate_of(shape, layer), capacity_of(shape, layer), deletes_of(shape));
}

FilledFilter::FilledFilter(const Shape& shape, const filter::HashSecret& secret)
    : shape_(shape), layers_{std::make_shared<CuckooFilter>(sizing_of(shape, 0), secret)} {}

FilledFilter::FilledFilter(const Shape& shape,
                           Layers layers,
                           std::uint64_t items,
                           std::uint64_t erased)
    : shape_(shape), layers_(std::move(layers)), items_(items), erased_(erased) {}

FilledFilter::FilledFilter(const Shape& shape, std::uint64_t bytes, std::string why)
    : shape_(shape), unsure_bytes_(bytes), why_unsure_(std::move(why)) {}

// A little less room than is made for a layer may be that of another version's.
std::optional<std::string> FilledFilter::misfit() const {
  constexpr double kLeast = 0.9;
  constexpr std::uint64_t kItemsToldMax = std::uint64_t{1} << 56U;
  const bool is_alone = !shape_.scales;
  if (layers_.empty() || layers_.size() > (is_alone ? 1 : kLayersMax)) {
    return "it has no layers, or too many";
  }
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const auto wanted = static_cast<double>(sizing_of(shape_, i).capacity());
    if (layers_[i]->sizing().deletes != deletes_of(shape_) ||
        static_cast<double>(layers_[i]->sizing().capacity()) < kLeast * wanted) {
      return "its layers do not fit this kind of filter";
    }
  }
  const Facts now = facts();
  std::uint64_t counted = 0;
  for (const auto& layer : layers_) {
    counted += layer->stats().items;
  }
  if (now.items > kItemsToldMax || now.erased > kItemsToldMax ||
      (shape_.exact && now.items != counted)) {
    return "its number of items does not match its contents";
  }
  return std::nullopt;
}

// With what an exact one counts.
std::uint64_t FilledFilter::bytes_of(const filter::Sizing& sizing) {
  const bool counts = sizing.deletes == DeleteMode::exact;
  return sizing.bytes() + (counts ? filter::ExactCounts::bytes_for(sizing.capacity()) : 0);
}

std::uint64_t FilledFilter::bytes_for(const Shape& shape) {
  return bytes_of(sizing_of(shape, 0));
}

std::uint64_t FilledFilter::bytes() const {
  std::uint64_t bytes = unsure_bytes_;
  for (const auto& layer : layers_) {
    bytes = (is_exact() ? 0 : bytes) + bytes_of(layer->sizing());
  }
  return bytes;
}

bool FilledFilter::may_contain(std::uint64_t hash) const noexcept {
  return is_unsure() ||
         std::ranges::any_of(layers_, [&](const auto& layer) { return layer->may_contain(hash); });
}

FilledFilter::Facts FilledFilter::facts() const noexcept {
  Facts facts{.layers = layers_.size(),
              .items = items_.load(std::memory_order_relaxed),
              .erased = erased_.load(std::memory_order_relaxed)};
  for (const auto& layer : layers_) {
    const filter::FilterStats stats = layer->stats();
    // Of an exact one all goes into the last.
    const std::uint64_t before = is_exact() ? 0 : facts.capacity;
    facts.capacity = shape_.scales ? before + layer->sizing().capacity() : shape_.capacity;
    facts.bytes += stats.bytes;
    facts.buckets += stats.buckets;
  }
  return facts;
}

std::vector<FilledFilter::LayerFacts> FilledFilter::layer_facts() const {
  std::vector<LayerFacts> all;
  for (const auto& layer : layers_) {
    const filter::FilterStats stats = layer->stats();
    all.push_back({.capacity = capacity_of(shape_, all.size()),
                   .false_positive_rate = rate_of(shape_, all.size()),
                   .bytes = stats.bytes,
                   .items = stats.items});
  }
  return all;
}

bool FilledFilter::is_full() const noexcept {
  if (!shape_.scales) {
    return items_.load(std::memory_order_relaxed) >= shape_.capacity;
  }
  const CuckooFilter& last = *layers_.back();
  const filter::FilterStats stats = last.stats();
  return stats.fingerprints >= last.sizing().capacity() || stats.stashed != 0 || stats.full;
}

filter::Sizing FilledFilter::next_sizing() const {
  if (!is_exact()) {
    return sizing_of(shape_, layers_.size());
  }
  Shape larger = shape_;
  larger.capacity = std::min(layers_.back()->sizing().capacity() * shape_.growth(), kItemsMax);
  return sizing_of(larger, 0);
}

std::optional<std::uint64_t> FilledFilter::bytes_to_grow() const {
  const bool has_most = layers_.size() == kLayersMax ||
                        (is_exact() && layers_.back()->sizing().capacity() >= kItemsMax);
  return !shape_.scales || has_most ? std::nullopt : std::optional(bytes_of(next_sizing()));
}

std::uint64_t FilledFilter::bytes_when_grown() const {
  return bytes_of(next_sizing()) + (is_exact() ? 0 : bytes());
}

std::unique_ptr<FilledFilter> FilledFilter::grown() const {
  Layers layers = layers_;
  layers.push_back(std::make_shared<CuckooFilter>(next_sizing(), layers_.back()->secret()));
  return std::make_unique<FilledFilter>(shape_,
                                        std::move(layers),
                                        items_.load(std::memory_order_relaxed),
                                        erased_.load(std::memory_order_relaxed));
}

bool FilledFilter::is_moved() const {
  return is_exact() && layers_.size() > 1 && layers_.front()->stats().items == 0;
}

std::unique_ptr<FilledFilter> FilledFilter::moved() const {
  return std::make_unique<FilledFilter>(shape_,
                                        Layers(layers_.begin() + 1, layers_.end()),
                                        items_.load(std::memory_order_relaxed),
                                        erased_.load(std::memory_order_relaxed));
}

bool FilledFilter::is_known(std::uint64_t hash) const {
  return is_exact() ? layers_.back()->may_contain(hash) || count(hash) != 0 : may_contain(hash);
}

// Also this one, if it is there: all of a hash is counted in one layer.
void FilledFilter::move_some(std::uint64_t hash) {
  if (!is_exact() || layers_.size() == 1) {
    return;
  }
  CuckooFilter& last = *layers_.back();
  const std::span<const std::shared_ptr<CuckooFilter>> old(layers_.begin(), layers_.end() - 1);
  for (const auto& layer : old) {
    layer->give(hash, last);
  }
  const auto next =
      std::ranges::find_if(old, [](const auto& layer) { return layer->stats().items != 0; });
  if (next != old.end()) {
    (*next)->give_some(kMovesPerItem, last);
  }
}

void FilledFilter::add(std::uint64_t hash) {
  move_some(hash);
  layers_.back()->insert(hash);
  add_to(items_, 1);
}

bool FilledFilter::erase(std::uint64_t hash) {
  move_some(hash);
  CuckooFilter* only = nullptr;
  std::size_t holding = 0;
  for (const auto& layer : layers_) {
    if (is_exact() ? layer->count(hash) != 0 : layer->may_contain(hash)) {
      only = layer.get();
      ++holding;
    }
  }
  if (holding == 0 || (holding == 1 && only->erase(hash) == filter::EraseOutcome::not_found)) {
    return false;
  }
  add_to(items_, items_.load(std::memory_order_relaxed) == 0 ? 0 : -1);
  add_to(erased_, 1);
  return true;
}

std::uint64_t FilledFilter::count(std::uint64_t hash) const {
  std::uint64_t count = 0;
  for (const auto& layer : layers_) {
    count += layer->count(hash);
  }
  return count;
}

}  // namespace cuckooguard::filled
