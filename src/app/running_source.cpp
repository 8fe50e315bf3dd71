#include <algorithm>
#include <stdexcept>
#include <utility>

#include "app/generation.h"
#include "app/source_kinds.h"
#include "guard/passing.h"
#include "io/clock.h"

namespace cuckooguard::app {
namespace {

// Progress and states are told by table: "users/user_3".
std::string_view namespace_of(std::string_view told) {
  return told.substr(0, told.find('/'));
}

}  // namespace

std::expected<std::shared_ptr<RunningSource>, std::vector<source::Refusal>> RunningSource::make(
    const Parts& parts) {
  std::shared_ptr<RunningSource> running(new RunningSource(parts));
  const Ground& ground = *running->ground_;
  std::vector<source::Target> targets;
  for (const Fed& fed : running->fed_) {
    targets.push_back({ground.keyspace, fed.ns, ground.config.namespaces[fed.ns], *fed.filter});
  }
  const source::SourceKind& kind = kind_of(parts.settings);
  const bool keeps_nothing = parts.is_beside && kind.beside != nullptr;
  const config::Source settings = keeps_nothing ? kind.beside(parts.settings) : parts.settings;
  if (parts.must_be_readable) {
    if (auto refusals = kind.check(settings, targets, io::now_since_boot); !refusals.empty()) {
      return std::unexpected(std::move(refusals));
    }
  }
  auto made = source::make_source(kind,
                                  {.settings = settings,
                                   .targets = targets,
                                   .observer = running->report_,
                                   .clock = io::now_since_boot,
                                   .storage = keeps_nothing ? source::Storage{} : parts.storage,
                                   .redis = parts.redis,
                                   .questions = &running->questions_});
  if (!made) {
    return std::unexpected(std::move(made.error()));
  }
  running->source_ = std::move(*made);
  return running;
}

std::uint32_t RunningSource::number_of(std::string_view ns) const {
  const auto found = std::ranges::find_if(
      fed_, [this, ns](const Fed& fed) { return ground_->config.namespaces[fed.ns].name == ns; });
  if (found == fed_.end()) {
    throw std::logic_error("a namespace is looked for in the source of another one");
  }
  return found->ns;
}

void RunningSource::Report::abandon(std::string_view ns) {
  const std::lock_guard lock(mutex_);
  abandoned_.emplace(ns);
}

bool RunningSource::Report::is_abandoned(std::string_view ns) {
  const std::lock_guard lock(mutex_);
  return abandoned_.contains(namespace_of(ns));
}

void RunningSource::Report::on_progress(const source::Progress& progress) {
  if (!is_abandoned(progress.ns)) {
    report_.on_progress(progress);
  }
}

void RunningSource::Report::on_state(std::string_view ns,
                                     filter::State state,
                                     std::string_view why) {
  if (is_abandoned(ns)) {
    return;
  }
  const auto overlay = overlays_.find(namespace_of(ns));
  // A strict namespace hides no row for want of what was written before the start.
  if (state == filter::State::ready && lifts_holds_ && overlay != overlays_.end() &&
      is_strict(overlay->first)) {
    const auto held = overlay->second->holds_all(io::now_since_boot());
    if (held && held->because == guard::Overlay::Hold::begun) {
      overlay->second->hold_all_no_more();
    }
  }
  if (state == filter::State::ready && overlay != overlays_.end()) {
    report_.on_state(ns, state, guard::why_all_are_held(*overlay->second, io::now_since_boot()));
  } else {
    report_.on_state(ns, state, why);
  }
}

bool RunningSource::Report::is_strict(std::string_view ns) const {
  const auto& all = ground_->config.namespaces;
  const auto found = std::ranges::find(all, ns, &config::Namespace::name);
  const std::optional<config::AbsentReply>& reply = found->absent_reply;
  const bool has_marker = reply && !reply->nil;
  return found->consistency == config::Consistency::strict ||
         (found->consistency == config::Consistency::automatic && has_marker &&
          questions_.serves_strict());
}

void RunningSource::Report::on_restored(std::string_view ns) {
  if (!is_abandoned(ns)) {
    report_.on_restored(ns);
  }
}

void RunningSource::Report::on_trouble(std::string_view source, std::string_view what) {
  report_.on_trouble(source, what);
}

void RunningSource::Report::on_resumed(std::string_view ns) {
  if (const auto overlay = overlays_.find(ns); lifts_holds_ && overlay != overlays_.end()) {
    overlay->second->hold_all_no_more();
  }
}

}  // namespace cuckooguard::app
