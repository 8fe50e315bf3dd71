#include "cli/source_list.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cuckooguard::cli {
namespace {

// In the order of config::Source::kind.
constexpr std::array<std::string_view, 3> kTypes{"sqlite", "mysql", "file"};
static_assert(std::variant_size_v<decltype(config::Source::kind)> == kTypes.size());

std::string_view state_name(source::SourceState state) {
  switch (state) {
    case source::SourceState::loading:
      return "loading";
    case source::SourceState::following:
      return "following";
    case source::SourceState::down:
      break;
  }
  return "down";
}

}  // namespace

void SourceList::add(const config::Source& settings, source::Source& source) {
  entries_.push_back(
      {.name = settings.name, .type = kTypes.at(settings.kind.index()), .source = &source});
}

source::RowAnswer SourceList::look_up_row(std::string_view name,
                                          std::uint32_t ns,
                                          std::string_view identity,
                                          const std::stop_token& stop) const {
  const auto entry = std::ranges::find(entries_, name, &Entry::name);
  return entry == entries_.end() ? source::RowAnswer{.why = "there is no source of this name"}
                                 : entry->source->look_up_row(ns, identity, stop);
}

guard::SourceStatus SourceList::status(std::size_t source) const {
  const Entry& entry = entries_.at(source);
  source::SourceStatus status = entry.source->status();
  return {.type = entry.type,
          .state = state_name(status.state),
          .why = std::move(status.why),
          .position = std::move(status.position),
          .proven_at = status.proven_at,
          .losses = status.losses};
}

guard::Reached SourceList::reached(std::size_t source, std::string_view position) const {
  switch (entries_.at(source).source->reached(position)) {
    case source::Reached::yes:
      return guard::Reached::yes;
    case source::Reached::not_a_position:
      return guard::Reached::not_a_position;
    case source::Reached::not_followed:
      return guard::Reached::not_followed;
    case source::Reached::not_yet:
      break;
  }
  return guard::Reached::not_yet;
}

}  // namespace cuckooguard::cli
