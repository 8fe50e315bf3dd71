#include "views/filter_probe.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace cuckooguard::views {

void FilterProbe::look(std::span<const guard::GuardedNamespace> namespaces, guard::TimePoint now) {
  if (now < due_) {
    return;
  }
  due_ = now + kEvery;
  results_.resize(namespaces.size());
  for (std::size_t ns = 0; ns < namespaces.size(); ++ns) {
    look_into(*namespaces[ns].filter, results_[ns], now);
  }
}

void FilterProbe::look_into(const filter::LiveParts& live, Result& result, guard::TimePoint now) {
  std::uint64_t tables = 0;
  bool is_foreign = false;
  live.for_each([&](std::string_view, const filter::LiveFilter& part) {
    ++tables;
    is_foreign = is_foreign || part.foreign() != nullptr;
  });
  const std::uint64_t lookups = kLookups / std::clamp<std::uint64_t>(tables, 1, kLookups);
  for (std::uint64_t i = 0; i < lookups; ++i) {
    // 128 bits by chance are no row's: not a number, and not a word of any column.
    const std::array<std::uint64_t, 2> chance{random_(), random_()};
    std::array<char, sizeof chance> identity{};
    std::memcpy(identity.data(), chance.data(), identity.size());
    // One that has longs lets pass whatever is none.
    const std::string number = is_foreign ? std::to_string(chance[0] >> 1U) : std::string();
    const filter::Finding found =
        live.find(is_foreign ? number : std::string_view(identity.data(), identity.size()), now);
    if (found == filter::Finding::not_fresh) {
      return;
    }
    ++result.asked;
    result.passed += found == filter::Finding::absent ? 0 : 1;
  }
  if (result.asked > kRemembered) {
    result.asked /= 2;
    result.passed /= 2;
  }
}

}  // namespace cuckooguard::views
