#include "views/totals.h"

#include <boost/json.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace cuckooguard::views {

namespace json = boost::json;

Totals totals_of(const Model& model) {
  Totals all{.at = model.now};
  all.unguarded = guard::sum(model.process.guards, &guard::GuardCounters::unguarded_keys);
  for (std::size_t i = 0; i < all.reply_times.size(); ++i) {
    all.reply_times.at(i) = guard::sum(
        model.process.guards, [i](const guard::GuardCounters& counters) -> const guard::Counter& {
          return counters.reply_times.count(i);
        });
  }
  for (const guard::GuardedNamespace& space : model.guarded.namespaces) {
    for (std::size_t i = 0; i < guard::kVerdicts; ++i) {
      const auto verdict = static_cast<guard::Verdict>(i);
      (verdict == guard::Verdict::absent ? all.absent : all.passed) += space.counts->sum(verdict);
    }
  }
  const guard::SourceView* const sources = model.process.sources;
  for (std::size_t i = 0; sources != nullptr && i < sources->size(); ++i) {
    const auto proven = sources->status(i).proven_at;
    all.lag.push_back(proven ? std::optional<std::chrono::nanoseconds>(model.now - *proven)
                             : std::nullopt);
  }
  return all;
}

json::value json_of(const Totals& totals) {
  const auto seconds = [](std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
  };
  json::array lag;
  for (const auto& age : totals.lag) {
    lag.push_back(age ? json::value(seconds(*age)) : json::value(nullptr));
  }
  return json::object{
      {"at", seconds(totals.at.time_since_epoch())},
      {"absent", totals.absent},
      {"passed", totals.passed},
      {"unguarded", totals.unguarded},
      {"reply_times", json::array(totals.reply_times.begin(), totals.reply_times.end())},
      {"lag", std::move(lag)}};
}

std::string History::json() const {
  boost::json::array lines;
  for (const Totals& totals : lines_) {
    lines.push_back(json_of(totals));
  }
  return boost::json::serialize(lines) + "\n";
}

}  // namespace cuckooguard::views
