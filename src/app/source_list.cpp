#include "app/source_list.h"

#include <algorithm>
#include <utility>

#include "app/source_kinds.h"
#include "filter/reported_state.h"

namespace cuckooguard::app {
namespace {

int severity(filter::SourceState state) {
  switch (state) {
    case filter::SourceState::following:
      return 0;
    case filter::SourceState::loading:
      return 1;
    case filter::SourceState::down:
      return 2;
    case filter::SourceState::refused:
      break;
  }
  return 3;
}

}  // namespace

void SourceList::add(const config::Source& settings, source::Source& source) {
  const auto known = std::ranges::find(entries_, settings.name, &Entry::name);
  if (known != entries_.end()) {
    known->running.push_back(&source);
    return;
  }
  entries_.push_back({.name = settings.name, .type = kind_of(settings).name, .running = {&source}});
}

source::RowAnswer SourceList::look_up_row(std::uint32_t ns,
                                          std::string_view identity,
                                          const std::stop_token& stop) const {
  const auto found = fed_.find(ns);
  return found == fed_.end()
             ? source::RowAnswer{.why = "there is no source of this namespace"}
             : found->second.source->look_up_row(found->second.its_number, identity, stop);
}

guard::SourceStatus SourceList::status(std::size_t source) const {
  const Entry& entry = entries_.at(source);
  source::SourceStatus all = entry.running.front()->status();
  for (std::size_t i = 1; i < entry.running.size(); ++i) {
    source::SourceStatus one = entry.running[i]->status();
    const bool is_as_grave = severity(one.state) == severity(all.state);
    if (severity(one.state) > severity(all.state) || (is_as_grave && all.why.empty())) {
      all.state = one.state;
      all.why = std::move(one.why);
    }
    all.proven_at = all.proven_at && one.proven_at
                        ? std::optional(std::min(*all.proven_at, *one.proven_at))
                        : std::nullopt;
    all.losses += one.losses;
    if (one.log_retained) {
      all.log_retained = all.log_retained.value_or(0) + *one.log_retained;
    }
    if (one.flush_transactions) {
      all.flush_transactions = all.flush_transactions.value_or(0) + *one.flush_transactions;
      all.flush_transactions_per_hour += one.flush_transactions_per_hour;
    }
  }
  return {.type = entry.type,
          .state = all.state,
          .why = std::move(all.why),
          .position = std::move(all.position),
          .proven_at = all.proven_at,
          .losses = all.losses,
          .log_retained = all.log_retained,
          .flush_transactions = all.flush_transactions,
          .flush_transactions_per_hour = all.flush_transactions_per_hour};
}

// A text that is not a position of one is not a position of the others.
guard::Reached SourceList::reached(std::size_t source, std::string_view position) const {
  bool is_reached = true;
  for (const source::Source* const running : entries_.at(source).running) {
    switch (running->reached(position)) {
      case source::Reached::yes:
        break;
      case source::Reached::not_a_position:
        return guard::Reached::not_a_position;
      case source::Reached::not_followed:
        return guard::Reached::not_followed;
      case source::Reached::not_yet:
        is_reached = false;
        break;
    }
  }
  return is_reached ? guard::Reached::yes : guard::Reached::not_yet;
}

}  // namespace cuckooguard::app
