#include "app/generation.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "app/start_report.h"
#include "guard/trouble.h"
#include "io/clock.h"
#include "text/try.h"

namespace cuckooguard::app {
namespace {

using config::Mode;
using Hold = guard::Overlay::Hold;

std::shared_ptr<const Ground> ground_of(config::Config config) {
  keyspace::Keyspace keyspace = keyspace_of(config);
  return std::make_shared<const Ground>(
      Ground{.config = std::move(config), .keyspace = std::move(keyspace)});
}

bool is_rival_of(const config::Namespace& space, std::string_view prefix) {
  return std::ranges::any_of(space.keys, [prefix](const keyspace::KeyTemplate& key) {
    return prefix.starts_with(key.literal_prefix()) || key.literal_prefix().starts_with(prefix);
  });
}

// Progress and states are told by table: "users/user_3".
std::string_view namespace_of(std::string_view told) {
  return told.substr(0, told.find('/'));
}

}  // namespace

Generation::Result Generation::make(const Environment& environment,
                                    config::Config config,
                                    const Generation* before) {
  std::unique_ptr<Generation> made(new Generation(environment, std::move(config), before));
  RefusedSources refused;
  for (const config::Source& settings : made->config().sources) {
    made->make_source(environment, settings, before == nullptr, refused);
    if (before != nullptr) {
      made->check_what_becomes_strict(settings, *before, refused);
    }
  }
  if (!refused.empty()) {
    return std::unexpected(Refusals::sentences(refused));
  }
  made->describe(environment);
  return made;
}

Generation::Generation(const Environment& environment,
                       config::Config config,
                       const Generation* before)
    : guests_(environment.guests),
      ground_(ground_of(std::move(config))),
      process_(environment.process),
      report_(environment.report),
      status_(environment.status),
      log_(environment.log) {
  make_spaces(environment, before);
  if (before != nullptr) {
    numbering_ = before->numbering_ + (are_numbered_as(*before) ? 0 : 1);
  }
  contradictions_ = std::make_unique<guard::Contradictions>(spaces_.size());
  if (auto complaint = guards_nothing(ground_->config)) {
    process_.complaints.emplace_back([complaint] { return complaint; });
  }
}

guard::Guard::Parts Generation::guarded(std::size_t worker, redis::Facts& facts) const {
  return {.keyspace = ground_->keyspace,
          .namespaces = namespaces_,
          .facts = facts,
          .process = &process_,
          .wall_time = io::wall_time,
          .worker = worker,
          .numbering = numbering_};
}

const Generation::Space* Generation::find(std::string_view name) const {
  const auto found = std::ranges::find_if(
      spaces_, [name](const Space& space) { return space.definition.name == name; });
  return found == spaces_.end() ? nullptr : &*found;
}

bool Generation::are_numbered_as(const Generation& before) const {
  return std::ranges::equal(spaces_, before.spaces_, [](const Space& here, const Space& there) {
    return here.definition.name == there.definition.name &&
           here.definition.keys == there.definition.keys;
  });
}

void Generation::make_spaces(const Environment& environment, const Generation* before) {
  const guard::TimePoint now = io::now_since_boot();
  for (std::size_t ns = 0; ns < config().namespaces.size(); ++ns) {
    spaces_.push_back({.definition = definition_of(config(), ns), .since = now});
  }
  for (std::size_t ns = 0; ns < spaces_.size(); ++ns) {
    Space& space = spaces_[ns];
    const Space* const known = before != nullptr ? before->find(space.definition.name) : nullptr;
    const bool is_kept = known != nullptr && known->definition == space.definition &&
                         !must_be_read_anew(space.definition.source, *before);
    const config::Overlay& overlay = config().namespaces[ns].overlay;
    const bool is_its_overlay = known != nullptr &&
                                known->definition.has_the_keys_of(space.definition) &&
                                known->overlay->max_keys() == overlay.max_keys;
    if (is_kept) {
      space = *known;
    } else {
      space.tolerance = std::make_shared<guard::Tolerance>();
      space.filter = std::make_shared<filter::LiveParts>(environment.epochs, environment.secret);
      space.counts = std::make_shared<guard::NamespaceCounts>(environment.workers);
      if (guests_.traffic != nullptr) {
        space.counts->traffic = guests_.traffic->make(environment.workers);
      }
    }
    space.tolerance->set_rate(config().namespaces[ns].tolerate);
    space.loads = loads_of(environment, ns, before);
    space.overlay = is_its_overlay ? known->overlay
                                   : std::make_shared<guard::Overlay>(guard::Overlay::Limits{
                                         .max_keys = overlay.max_keys, .ttl = overlay.ttl});
  }
}

// One that waits must not be let go by a reload that changes nothing for it.
std::shared_ptr<guard::Loads> Generation::loads_of(const Environment& environment,
                                                   std::size_t ns,
                                                   const Generation* before) const {
  const config::Breakdown& settings = config().namespaces[ns].breakdown;
  if (!settings.is_on()) {
    return nullptr;
  }
  std::shared_ptr<guard::Loads> sibling;
  for (const auto* const all : {before != nullptr ? &before->spaces_ : &spaces_, &spaces_}) {
    for (const Space& space : *all) {
      const auto number = static_cast<std::size_t>(&space - all->data());
      if (all != &spaces_ && space.loads &&
          space.definition.has_the_keys_of(spaces_[ns].definition) &&
          space.definition.name == spaces_[ns].definition.name &&
          before->config().namespaces[number].breakdown == settings &&
          before->config().namespaces[number].db == config().namespaces[ns].db) {
        return space.loads;
      }
      sibling = space.loads ? space.loads : sibling;
    }
  }
  return guests_.make_loads({.settings = settings,
                             .db = config().namespaces[ns].db,
                             .sibling = sibling,
                             .redis_of = environment.redis_of,
                             .tls = environment.tls,
                             .log = environment.log});
}

bool Generation::must_be_read_anew(const config::Source& settings, const Generation& before) const {
  // What is published is all that the one source has.
  if (!guests_.kind_of(settings).runs_alone(settings) && settings.publish == config::Publish::off) {
    return false;
  }
  std::size_t members = 0;
  const RunningSource* source = nullptr;
  for (const Space& space : spaces_) {
    if (space.definition.rows.from != settings.name) {
      continue;
    }
    const Space* const known = before.find(space.definition.name);
    if (known == nullptr || known->definition != space.definition) {
      return true;
    }
    ++members;
    source = known->source.get();
  }
  return source == nullptr || source->size() != members;
}

void Generation::make_source(const Environment& environment,
                             const config::Source& settings,
                             bool is_first,
                             RefusedSources& refused) {
  std::vector<RunningSource::Fed> fed;
  bool is_used = false;
  for (std::uint32_t ns = 0; ns < spaces_.size(); ++ns) {
    const bool is_its_own = spaces_[ns].definition.source.name == settings.name;
    is_used = is_used || is_its_own;
    if (is_its_own && !spaces_[ns].source) {
      fed.push_back({.ns = ns, .filter = spaces_[ns].filter, .overlay = spaces_[ns].overlay});
    }
  }
  if (!is_used) {
    environment.log.warning("unused_source", {{"source", settings.name}});
  }
  if (fed.empty()) {
    return;
  }
  auto made =
      RunningSource::make({.guests = guests_,
                           .log = environment.log,
                           .settings = settings,
                           .ground = ground_,
                           .fed = fed,
                           .report = environment.status,
                           .lifts_holds = is_first,
                           .storage = {.directory = environment.storage,
                                       .checkpoint_every = config().storage.checkpoint_every},
                           .redis = environment.redis,
                           .on_proven = environment.on_proven,
                           .must_be_readable = environment.starts_strictly || !is_first,
                           .is_beside = has_one_that_goes_on(settings.name)});
  if (!made) {
    refused.emplace_back(settings.name, Refusals(made.error()));
    return;
  }
  for (const RunningSource::Fed& each : fed) {
    spaces_[each.ns].source = *made;
  }
  new_sources_.push_back(std::move(*made));
}

bool Generation::is_strict(const Space& space) const {
  return config().namespaces[static_cast<std::size_t>(&space - spaces_.data())].consistency ==
         config::Consistency::strict;
}

// Those whose source goes on although it has nothing that strict reads could rest on.
void Generation::check_what_becomes_strict(const config::Source& settings,
                                           const Generation& before,
                                           RefusedSources& refused) const {
  std::vector<source::Target> targets;
  for (const Space& space : spaces_) {
    const Space* const known = before.find(space.definition.name);
    if (space.definition.source.name == settings.name && known != nullptr &&
        space.source == known->source && is_strict(space) && !before.is_strict(*known) &&
        space.source->questions().refuses_strict()) {
      const auto ns = static_cast<std::uint32_t>(&space - spaces_.data());
      targets.push_back({ground_->keyspace, ns, config().namespaces[ns], *space.filter});
    }
  }
  if (!targets.empty()) {
    const Refusals found(guests_.kind_of(settings).check(settings, targets, io::now_since_boot));
    if (!found.is_empty()) {
      refused.emplace_back(settings.name, found);
    }
  }
}

// Of its running sources the one that has what there can be once.
bool Generation::has_one_that_goes_on(std::string_view source) const {
  return std::ranges::any_of(spaces_, [source](const Space& space) {
    return space.source && space.source->name() == source && !space.source->is_beside();
  });
}

// For the guards; complete, and as it is from then on.
void Generation::describe(const Environment& environment) {
  std::vector<const RunningSource*> listed;
  const std::vector<config::Source>& sources = config().sources;
  for (std::uint32_t ns = 0; ns < spaces_.size(); ++ns) {
    const Space& space = spaces_[ns];
    const config::Namespace& settings = config().namespaces[ns];
    const auto& source = *std::ranges::find(sources, settings.source.from, &config::Source::name);
    namespaces_.push_back({.mode = settings.mode,
                           .order = settings.order,
                           .verify_sample = settings.verify_sample,
                           .may_enforce = settings.absent_reply.has_value(),
                           .db = settings.db,
                           .filter_key = settings.commands.key,
                           .absent_reply = guard::AbsentReplyBytes(
                               settings.absent_reply.value_or(config::AbsentReply{})),
                           .filter = space.filter.get(),
                           .overlay = space.overlay.get(),
                           .max_lag = space.definition.source.max_lag,
                           .consistency = settings.consistency,
                           .questions = &space.source->questions(),
                           .strict_hold = source.strict_hold,
                           .tolerance = space.tolerance,
                           .counts = space.counts,
                           .loads = space.loads});
    process_.origins.push_back({.source = space.definition.source.name,
                                .max_lag = space.definition.source.max_lag,
                                .since = space.since});
    const bool is_published = &space.source->publication() != &source::Publication::none();
    source_list_.feeds(ns,
                       space.source->source(),
                       space.source->number_of(space.definition.name),
                       is_published ? source::published_definition(
                                          {ground_->keyspace, ns, settings, *space.filter})
                                    : std::string());
  }
  for (const config::Source& settings : config().sources) {
    for (const Space& space : spaces_) {
      if (space.definition.source.name == settings.name &&
          std::ranges::find(listed, space.source.get()) == listed.end()) {
        listed.push_back(space.source.get());
        source_list_.add(settings.name,
                         guests_.kind_of(settings).name,
                         space.source->source(),
                         space.source->publication());
      }
    }
  }
  process_.sources = &source_list_;
  process_.shows_keys = config().log.keys == config::LogKeys::plain;
  process_.contradictions = contradictions_.get();
  process_.operators = {.users = config().admin.operators,
                        .on_change = environment.process.operators.on_change};
}

void Generation::let_pass(const Generation* before) {
  const guard::TimePoint now = io::now_since_boot();
  for (std::uint32_t ns = 0; ns < spaces_.size(); ++ns) {
    guard::Overlay& overlay = *spaces_[ns].overlay;
    const config::Overlay& settings = config().namespaces[ns].overlay;
    const Space* const known =
        before != nullptr ? before->find(spaces_[ns].definition.name) : nullptr;
    const bool is_known =
        known != nullptr && known->definition.has_the_keys_of(spaces_[ns].definition);
    if (!is_known) {
      if (settings.pass_at_start) {
        overlay.hold_all_until(now + settings.ttl,
                               before == nullptr ? Hold::begun : Hold::reloaded);
      }
      continue;
    }
    overlay.set_ttl(settings.ttl);
    const auto& was = before->namespaces_[static_cast<std::size_t>(known - before->spaces_.data())];
    if (was.mode == Mode::bypass && namespaces_[ns].mode != Mode::bypass) {
      overlay.hold_all_until(now + settings.ttl, Hold::bypassed);
    }
    if (was.overlay != &overlay) {
      overlay.hold_all_until(std::max(was.overlay->holds_until(), now + settings.ttl),
                             Hold::reloaded);
    }
  }
}

std::optional<std::uint32_t> Generation::number_of_kept(const Space& there) const {
  const Space* const here = find(there.definition.name);
  return here != nullptr && here->filter == there.filter
             ? std::optional(static_cast<std::uint32_t>(here - spaces_.data()))
             : std::nullopt;
}

void Generation::take_over(Generation& before) {
  std::vector<std::optional<guard::Contradictions::Heir>> heirs;
  for (std::uint32_t ns = 0; ns < before.spaces_.size(); ++ns) {
    const Space& there = before.spaces_[ns];
    if (const auto here = number_of_kept(there)) {
      heirs.push_back({{.ns = *here,
                        .forgets_values = config().namespaces[*here].absent_reply !=
                                          before.config().namespaces[ns].absent_reply}});
    } else {
      heirs.emplace_back();
      there.source->abandon(there.definition.name);
    }
    const Mode mode = before.namespaces_[ns].mode;
    if (mode != before.config().namespaces[ns].mode) {
      log_.warning("mode_reset",
                   {{"namespace", there.definition.name},
                    {"was", config::name_of(mode)},
                    {"why", "the configuration was reloaded"}});
    }
  }
  contradictions_->take_over(*before.contradictions_, heirs);
  for (const Space& there : before.spaces_) {
    if (there.loads && std::ranges::find(spaces_, there.loads, &Space::loads) == spaces_.end()) {
      there.loads->close();
    }
  }
  for (const Space& there : before.spaces_) {
    if (!there.source->is_beside() && !has_one_that_goes_on(there.source->name())) {
      there.source->let_go();
    }
  }
}

std::vector<KeptOverlays::Named> Generation::overlays() const {
  std::vector<KeptOverlays::Named> all;
  all.reserve(spaces_.size());
  for (const Space& space : spaces_) {
    all.push_back({.ns = space.definition.name, .overlay = space.overlay});
  }
  return all;
}

bool Generation::has_kept_filter_of(std::string_view ns) const {
  return std::ranges::find(new_sources_, find(ns)->source) == new_sources_.end();
}

void Generation::start_sources() {
  for (const Space& space : spaces_) {
    space.source->questions().set_must_serve_strict(std::ranges::any_of(
        spaces_,
        [&](const Space& other) { return other.source == space.source && is_strict(other); }));
  }
  for (const Space& space : spaces_) {
    if (!has_kept_filter_of(space.definition.name)) {
      report_.forget(space.definition.name);
      status_.forget(space.definition.name);
    }
  }
  for (const auto& source : new_sources_) {
    source->start();
  }
}

void Generation::stop_sources() {
  for (const Space& space : spaces_) {
    if (space.loads) {
      space.loads->close();
    }
    space.source->stop();
  }
}

Definition definition_of(const config::Config& config, std::size_t ns) {
  const config::Namespace& space = config.namespaces.at(ns);
  Definition all{
      .name = space.name,
      .canonical_keys = space.canonical_keys,
      .rows = space.source,
      .source = *std::ranges::find(config.sources, space.source.from, &config::Source::name),
      .fresh_ids = space.fresh_ids,
      .filter = space.filter};
  // For how long readers wait, which no source knows of.
  all.source.strict_hold = config::Source{}.strict_hold;
  for (const keyspace::KeyTemplate& key : space.keys) {
    all.keys.push_back(key.text());
  }
  for (const config::Namespace& other : config.namespaces) {
    for (const keyspace::KeyTemplate& key : other.keys) {
      if (&other != &space && is_rival_of(space, key.literal_prefix())) {
        all.rivals.push_back((other.canonical_keys ? "canonical " : "") + key.text());
      }
    }
  }
  std::ranges::sort(all.rivals);  // the order of the file is of no matter
  return all;
}

std::expected<std::shared_ptr<RunningSource>, std::vector<source::Refusal>> RunningSource::make(
    const Parts& parts) {
  std::shared_ptr<RunningSource> running(new RunningSource(parts));
  const Ground& ground = *running->ground_;
  std::vector<source::Target> targets;
  for (const Fed& fed : running->fed_) {
    targets.push_back({ground.keyspace, fed.ns, ground.config.namespaces[fed.ns], *fed.filter});
  }
  const source::SourceKind& kind = parts.guests.kind_of(parts.settings);
  const bool keeps_nothing = parts.is_beside && kind.beside != nullptr;
  const config::Source settings = keeps_nothing ? kind.beside(parts.settings) : parts.settings;
  if (parts.must_be_readable) {
    if (auto refusals = kind.check(settings, targets, io::now_since_boot); !refusals.empty()) {
      return std::unexpected(std::move(refusals));
    }
  }
  if (settings.publish == config::Publish::redis && !parts.is_beside) {
    auto made = parts.guests.make_publication({.settings = settings,
                                               .kind = kind,
                                               .questions = running->questions_,
                                               .observer = running->report_,
                                               .redis = parts.redis,
                                               .storage = parts.storage.directory,
                                               .clock = io::now_since_boot,
                                               .log = parts.log});
    if (!made) {
      return std::unexpected(std::vector{source::Refusal{.what = "fleet: " + made.error()}});
    }
    running->published_ = *std::move(made);
  }
  running->source_ =
      TRY(source::make_source(kind,
                              {.settings = settings,
                               .targets = targets,
                               .observer = running->report_,
                               .clock = io::now_since_boot,
                               .storage = keeps_nothing ? source::Storage{} : parts.storage,
                               .redis = parts.redis,
                               .questions = &running->questions_,
                               .publication = running->publication(),
                               .kinds = parts.guests.kinds}));
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
