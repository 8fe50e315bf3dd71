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

bool Trials::judge(Publisher& publisher, const Asks& asks, TimePoint now) {
  const std::uint64_t compared = asks.compared();
  std::map<TableId, Trial> all;
  for (const auto& [table, state] : publisher.published().tables) {
    if (state.is_on_trial && state.version != 0) {
      const auto known = all_.find(table);
      all[table] =
          known == all_.end() ? Trial{.began_at = now, .compared_before = compared} : known->second;
    }
  }
  all_ = std::move(all);
  publisher.set_trial_below(
      all_.empty() ? 0 : std::max(asks.trial_below(), publisher.published().trial_below));
  const bool hides = !all_.empty() && asks.hidden() > 0;
  const bool is_news = hides && !is_hiding_;
  is_hiding_ = hides;
  if (hides) {
    return is_news;
  }
  for (const auto& [table, trial] : all_) {
    const bool is_tried =
        now - trial.began_at >= canary_ && compared >= trial.compared_before + kComparedMin;
    if (is_tried || canary_ == std::chrono::nanoseconds::zero()) {
      publisher.promote(table);
    }
  }
  return false;
}

}  // namespace cuckooguard::fleet
