#include "builder/asks.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace cuckooguard::fleet {

Asks::News Asks::see(const resp::Value& asked, source::TimePoint now) {
  News news;
  std::map<std::string, Seen> there;
  for (std::size_t i = 0; i + 1 < asked.list.size(); i += 2) {
    const std::string& name = asked.list[i].text;
    const auto ask =
        name.size() <= kNameMax ? read_ask(asked.list[i + 1].text) : std::optional<Ask>();
    const auto known = all_.find(name);
    if (ask && ask->lacks != 0) {
      news.lacks.insert(ask->lacks);
    }
    if (ask && (known == all_.end() || known->second.ask.nonce != ask->nonce)) {
      news.waiting += ask->is_waiting ? 1 : 0;
      news.questions.push_back({.name = name, .nonce = ask->nonce});
      there[name] = {.ask = *ask, .at = now};
    } else if (ask && now - known->second.at <= kStays) {
      there[name] = known->second;
    } else {
      news.gone.push_back(name);
    }
  }
  all_ = std::move(there);
  return news;
}

std::vector<std::string> Asks::behind(std::uint64_t seq) const {
  using Each = std::pair<const std::string*, const Ask*>;
  std::vector<Each> all;
  for (const auto& [name, seen] : all_) {
    if (!seen.ask.why.empty()) {
      all.emplace_back(&name, &seen.ask);
    }
  }
  std::ranges::sort(all, std::ranges::greater(), [](const Each& each) {
    return each.second->lag.value_or(std::chrono::milliseconds::max());
  });
  std::vector<std::string> lines;
  lines.reserve(all.size());
  for (const auto& [name, ask] : all) {
    lines.push_back(*name + ": " + words_of(*ask, seq));
  }
  return lines;
}

std::uint64_t Asks::trial_below() const {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(all_.size());
  for (const auto& [name, seen] : all_) {
    numbers.push_back(trial_number(name));
  }
  if (numbers.empty()) {
    return 0;
  }
  const auto last =
      numbers.begin() + static_cast<std::ptrdiff_t>((numbers.size() - 1) / kTryingShare);
  std::ranges::nth_element(numbers, last);
  return *last + 1;
}

std::uint64_t Asks::compared() const {
  std::uint64_t sum = 0;
  for (const auto& [name, seen] : all_) {
    sum += seen.ask.compared;
  }
  return sum;
}

std::uint64_t Asks::hidden() const {
  std::uint64_t sum = 0;
  for (const auto& [name, seen] : all_) {
    sum += seen.ask.hidden;
  }
  return sum;
}

}  // namespace cuckooguard::fleet
