#include "filter_races/filter_history.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

namespace cuckooguard::harness {
namespace {

using std::chrono::nanoseconds;
using What = Request::What;
using Reply = Request::Reply;

bool is_change(const Request& request) {
  return request.what != What::look;
}

// That the item was there at a moment within it; and that it was not.
bool says_there(const Request& request) {
  return request.reply == (request.what == What::add ? Reply::no : Reply::yes);
}
bool says_absent(const Request& request) {
  return request.reply == (request.what == What::add ? Reply::yes : Reply::no);
}

bool may_have_done(const Request& request, What what) {
  return request.what == what && request.reply != Reply::no;
}

std::string text_of(const Request& request) {
  constexpr const char* kWhat[] = {"add", "remove", "look"};
  constexpr const char* kReply[] = {"1", "0", "unknown"};
  const auto microseconds = [](nanoseconds time) { return std::to_string(time.count() / 1000); };
  return std::string(kWhat[static_cast<unsigned>(request.what)]) + " by client " +
         std::to_string(request.client) + " at guard " + std::to_string(request.guard) + ": " +
         kReply[static_cast<unsigned>(request.reply)] + " [" + microseconds(request.begin) + ", " +
         microseconds(request.end) + "]";
}

// What a guard must have by what it has acknowledged: its log has an order.
class Acknowledged {
 public:
  explicit Acknowledged(std::span<const Request> history) {
    for (const Request& request : history) {
      if (is_change(request) && request.reply != Reply::unknown) {
        of_guard_[request.guard].emplace_back(request.end, request.begin);
      }
    }
    for (auto& [guard, changes] : of_guard_) {
      std::ranges::sort(changes);
      nanoseconds latest{nanoseconds::min()};
      for (auto& [end, begin] : changes) {
        begin = latest = std::max(latest, begin);
      }
    }
  }

  // Before the look began the guard had all that was acknowledged up to then.
  nanoseconds has_all_until(const Request& look) const {
    const auto found = of_guard_.find(look.guard);
    if (found == of_guard_.end()) {
      return nanoseconds::min();
    }
    const auto& changes = found->second;
    const auto next = std::ranges::upper_bound(
        changes, look.begin, {}, [](const auto& change) { return change.first; });
    return next == changes.begin() ? nanoseconds::min() : std::prev(next)->second;
  }

 private:
  // By its end, the latest begin of it and those before.
  std::map<std::uint32_t, std::vector<std::pair<nanoseconds, nanoseconds>>> of_guard_;
};

class ItemJudge {
 public:
  ItemJudge(std::span<const Request> requests, const Acknowledged& acknowledged, nanoseconds lag)
      : requests_(requests), acknowledged_(acknowledged), lag_(lag) {}

  std::vector<std::string> wrong() {
    const auto count = [&](What what, bool is_sure) {
      return std::ranges::count_if(requests_, [&](const Request& each) {
        return may_have_done(each, what) && (!is_sure || each.reply == Reply::yes);
      });
    };
    if (count(What::add, true) > 1 + count(What::remove, false)) {
      complain("more than one was told 1 who added it");
    }
    if (count(What::remove, true) > count(What::add, false)) {
      complain("more were told 1 who removed it than can have added it");
    }
    for (const Request& request : requests_) {
      judge(request);
    }
    if (!wrong_.empty()) {
      tell_all();
    }
    return std::move(wrong_);
  }

 private:
  // `before` is done and known where `request` is judged.
  bool sees(const Request& request, const Request& before) const {
    if (is_change(request) || before.guard == request.guard) {
      return before.end <= request.begin;
    }
    return before.end <= std::max(request.begin - lag_, acknowledged_.has_all_until(request));
  }

  void judge(const Request& request) {
    if (says_there(request)) {
      const auto added = std::ranges::count_if(requests_, [&](const Request& each) {
        return may_have_done(each, What::add) && each.begin < request.end;
      });
      const auto removed = std::ranges::count_if(requests_, [&](const Request& each) {
        return each.what == What::remove && each.reply == Reply::yes && sees(request, each);
      });
      if (added <= removed) {
        complain((removed == 0 ? "it was there before anybody can have added it: "
                               : "it was there although it had been removed: ") +
                 text_of(request));
      }
    } else if (says_absent(request)) {
      const auto lost = std::ranges::find_if(requests_, [&](const Request& each) {
        return each.what == What::add && each.reply != Reply::unknown && sees(request, each) &&
               !may_be_removed_between(each, request);
      });
      if (lost != requests_.end()) {
        complain("it was lost: " + text_of(request) + " after " + text_of(*lost));
      }
    }
  }

  bool may_be_removed_between(const Request& added, const Request& request) const {
    return std::ranges::any_of(requests_, [&](const Request& each) {
      return &each != &request && may_have_done(each, What::remove) && each.begin < request.end &&
             (each.reply == Reply::unknown || each.end > added.begin);
    });
  }

  void complain(const std::string& what) {
    const Request& first = requests_.front();
    wrong_.push_back("filter " + std::to_string(first.filter) + ", item " +
                     std::to_string(first.item) + ": " + what);
  }

  void tell_all() {
    for (const Request& request : requests_) {
      wrong_.back() += "\n    " + text_of(request);
    }
  }

  std::span<const Request> requests_;
  const Acknowledged& acknowledged_;
  nanoseconds lag_;
  std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> wrong_in(std::span<const Request> history, nanoseconds may_lag) {
  const auto item_of = [](const Request& each) { return std::tuple(each.filter, each.item); };
  std::vector<Request> sorted(history.begin(), history.end());
  std::ranges::sort(sorted, {}, [](const Request& each) {
    return std::tuple(each.filter, each.item, each.begin);
  });
  const Acknowledged acknowledged(history);
  std::vector<std::string> wrong;
  for (auto rest = std::span(std::as_const(sorted)); !rest.empty();) {
    const auto other = std::ranges::find_if(
        rest, [&](const Request& each) { return item_of(each) != item_of(rest.front()); });
    const auto length = static_cast<std::size_t>(other - rest.begin());
    std::ranges::move(ItemJudge(rest.first(length), acknowledged, may_lag).wrong(),
                      std::back_inserter(wrong));
    rest = rest.subspan(length);
  }
  return wrong;
}

}  // namespace cuckooguard::harness
