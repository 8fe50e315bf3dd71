#include "app/source_list.h"

#include <algorithm>
#include <utility>

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

void SourceList::add(std::string_view name,
                     std::string_view type,
                     source::Source& source,
                     const source::Publication& publication) {
  auto entry = std::ranges::find(entries_, name, &Entry::name);
  if (entry == entries_.end()) {
    entry = entries_.insert(entry, {.name = std::string(name), .type = type});
  }
  entry->running.push_back(&source);
  entry->publications.push_back(&publication);
}

source::RowAnswer SourceList::look_up_row(std::uint32_t ns,
                                          std::string_view identity,
                                          const std::stop_token& stop) const {
  const auto found = fed_.find(ns);
  return found == fed_.end()
             ? source::RowAnswer{.why = "this namespace has no source"}
             : found->second.source->look_up_row(found->second.its_number, identity, stop);
}

source::RowAnswer SourceList::look_up_published(std::uint32_t ns,
                                                std::string_view definition,
                                                std::string_view identity,
                                                const std::stop_token& stop) const {
  const auto found = fed_.find(ns);
  if (found == fed_.end() || found->second.definition.empty()) {
    return {.why = "the guard at the builder's address does not publish this namespace's source"};
  }
  return found->second.definition == definition
             ? look_up_row(ns, identity, stop)
             : source::RowAnswer{
                   .why =
                       "the builder defines this namespace with other keys, tables or conditions"};
}

guard::SourceStatus SourceList::status(std::size_t source) const {
  const Entry& entry = entries_.at(source);
  guard::SourceStatus all = entry.running.front()->status();
  all.type = entry.type;
  for (const source::Publication* const publication : entry.publications) {
    publication->show(all.more);
  }
  for (std::size_t i = 1; i < entry.running.size(); ++i) {
    guard::SourceStatus one = entry.running[i]->status();
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
  return all;
}

std::optional<std::string> SourceList::piece(std::string_view snapshot,
                                             std::uint32_t number) const {
  for (const Entry& entry : entries_) {
    for (const source::Publication* const publication : entry.publications) {
      if (auto bytes = publication->piece(snapshot, number)) {
        return bytes;
      }
    }
  }
  return std::nullopt;
}

// A text that is not a position of one is not a position of the others.
guard::Reached SourceList::reached(std::size_t source, std::string_view position) const {
  guard::Reached all = guard::Reached::yes;
  for (const source::Source* const running : entries_.at(source).running) {
    const guard::Reached one = running->reached(position);
    if (one == guard::Reached::not_a_position || one == guard::Reached::not_followed) {
      return one;
    }
    all = std::max(all, one);
  }
  return all;
}

}  // namespace cuckooguard::app
