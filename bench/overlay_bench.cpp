// overlay_bench: what the overlay costs an absent GET, in nanoseconds, beside a filter of ten
// million rows.
//
// The same look-ups of keys that are neither in the filter nor in the overlay, while the overlay is
// out of use, has a thousand keys, and has as many as it was made for: interleaved, medians of the
// rounds. The last line is for machines.

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "guard/guarded_shop.h"
#include "statistics.h"

namespace cuckooguard::bench {
namespace {

using guard::GuardedShop;
using guard::Overlay;

constexpr std::uint64_t kMaxKeys = 1'000'000;  // the default
constexpr std::size_t kLookups = 1'000'000;
constexpr std::uint64_t kRows = 10'000'000;
constexpr int kRounds = 11;

struct Variant {
  const char* name;
  std::uint64_t keys;
  std::unique_ptr<Overlay> overlay{};
  std::vector<double> holds{};
  std::vector<double> get{};
};

// All of one length, side by side: reading them costs next to nothing.
std::vector<std::string> absent_keys() {
  std::vector<std::string> keys;
  keys.reserve(kLookups);
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < kLookups; ++i) {
    keys.push_back("user:" + std::to_string(1'000'000'000 + random() % 1'000'000'000));
  }
  return keys;
}

template <class Work>
double nanoseconds_each(const std::vector<std::string>& keys, const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string& key : keys) {
    work(key);
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  return took.count() / static_cast<double>(keys.size());
}

void measure(GuardedShop& shop, Variant& variant, const std::vector<std::string>& keys) {
  const auto hash = [&users = *shop.parts[GuardedShop::kUsers]](std::string_view identity) {
    return users.hash(identity);
  };
  std::uint64_t held = 0;
  variant.holds.push_back(nanoseconds_each(keys, [&](const std::string& key) {
    held += variant.overlay->holds(hash(std::string_view(key).substr(5)), shop.now) ? 1 : 0;
  }));
  shop.spaces[GuardedShop::kUsers].overlay = variant.overlay.get();
  std::uint64_t answered = 0;
  variant.get.push_back(nanoseconds_each(
      keys, [&](const std::string& key) { answered += shop.answers({"GET", key}) ? 1 : 0; }));
  if (held > kLookups / 10 || answered < kLookups / 2) {
    std::printf("%s: %zu held, %zu answered: this measures something else\n",
                variant.name,
                static_cast<std::size_t>(held),
                static_cast<std::size_t>(answered));
  }
}

void fill_filter(GuardedShop& shop) {
  auto filter = std::make_unique<filter::CuckooFilter>(
      filter::sizing_for(filter::Layout::w12, kRows, filter::DeleteMode::deferred),
      guard::fixed_secret(GuardedShop::kUsers));
  std::mt19937_64 random(2);
  for (std::uint64_t i = 0; i < kRows; ++i) {
    filter->insert(random());
  }
  shop.filters[GuardedShop::kUsers]->publish(std::move(filter));
}

int run() {
  GuardedShop shop;
  fill_filter(shop);
  std::array<Variant, 3> variants{{{.name = "unused", .keys = 0},
                                   {.name = "few", .keys = 1000},
                                   {.name = "full", .keys = kMaxKeys}}};
  for (Variant& variant : variants) {
    variant.overlay = std::make_unique<Overlay>(
        Overlay::Limits{.max_keys = kMaxKeys, .ttl = std::chrono::hours(1)});
    for (std::uint64_t i = 0; i < variant.keys; ++i) {
      variant.overlay->add(shop.parts[GuardedShop::kUsers]->hash(std::to_string(i)), shop.now);
    }
  }
  const std::vector<std::string> keys = absent_keys();
  for (int round = 0; round < kRounds; ++round) {
    for (Variant& variant : variants) {
      measure(shop, variant, keys);
    }
  }
  std::printf("%-8s %10s %14s %14s\n", "overlay", "keys in it", "holds(), ns", "absent GET, ns");
  for (const Variant& variant : variants) {
    std::printf("%-8s %10zu %14.1f %14.1f\n",
                variant.name,
                static_cast<std::size_t>(variant.keys),
                median(variant.holds),
                median(variant.get));
  }
  std::array<std::vector<double>, 3> more;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    for (std::size_t round = 0; round < kRounds; ++round) {
      more.at(i).push_back(variants.at(i).get[round] - variants.front().get[round]);
    }
  }
  std::printf("bench-overlay: unused_ns=%.1f few_more_ns=%.1f full_more_ns=%.1f\n",
              median(variants.front().holds),
              median(more[1]),
              median(more[2]));
  return 0;
}

}  // namespace
}  // namespace cuckooguard::bench

int main() {
  return cuckooguard::bench::run();
}
