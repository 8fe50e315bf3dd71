#include "guard/key_judge.h"

namespace cuckooguard::guard {
namespace {

keyspace::Lookup without_number(keyspace::Lookup found) {
  found.number.reset();
  return found;
}

// Of a key that may exist.
Verdict verdict_of(filter::Finding finding) {
  switch (finding) {
    case filter::Finding::not_fresh:
      return Verdict::not_fresh;
    case filter::Finding::fresh_id:
      return Verdict::fresh_id;
    default:
      return Verdict::may_exist;
  }
}

}  // namespace

using filter::Finding;

SharedFinding find_shared(const SharedKey& asked,
                          filter::Freshness freshness,
                          keyspace::IdentityBuffer& scratch) noexcept {
  const keyspace::Keyspace& keyspace = asked.keyspace;
  const std::span<const GuardedNamespace> namespaces = asked.namespaces;
  const keyspace::Lookup& found = asked.found;
  const int db = namespaces[found.ns].db;
  for (const std::uint32_t maker : keyspace.text_makers_of(found)) {
    const std::uint32_t ns = keyspace.namespace_of(maker);
    if (namespaces[ns].db == db && keyspace.template_at(maker).may_have_made(asked.key) &&
        !namespaces[ns].filter->is_fresh(freshness)) {
      return {.finding = Finding::not_fresh, .other = ns};
    }
  }
  const std::span<const std::uint32_t> makers = keyspace.makers_of(found);
  if (std::ranges::none_of(makers, [&](std::uint32_t maker) {
        return keyspace.template_at(maker).may_have_made(asked.key);
      })) {
    return {};
  }
  const filter::LiveParts& own = *namespaces[found.ns].filter;
  const auto removals = [&] {
    std::uint64_t sum = own.removals();
    for (const std::uint32_t maker : makers) {
      sum += namespaces[keyspace.namespace_of(maker)].filter->removals();
    }
    return sum;
  };
  const std::uint64_t before = removals();
  if (const Finding finding =
          own.find({own.hash(found.identity), found.number, found.identity}, freshness);
      finding != Finding::absent) {
    return {.finding = finding};
  }
  for (const std::uint32_t maker : makers) {
    const keyspace::Reading row = keyspace.read(maker, asked.key, scratch);
    const GuardedNamespace& space = namespaces[row.ns];
    if (row.kind == keyspace::Reading::Kind::none || space.db != db) {
      continue;
    }
    const Finding finding =
        row.kind == keyspace::Reading::Kind::unsure
            ? Finding::may_exist
            : space.filter->find({.hash = space.filter->hash(row.identity),
                                  .number = row.number,
                                  .identity = row.identity,
                                  .may_be_any_isolated = row.may_be_any_isolated},
                                 freshness);
    if (finding != Finding::absent) {
      return {.finding = finding,
              .other = row.ns == found.ns ? std::nullopt : std::optional(row.ns)};
    }
  }
  return {.finding = removals() == before ? Finding::absent : Finding::may_exist};
}

Held KeyJudge::why_held(const keyspace::Lookup& found, const Reader& reader) const {
  const GuardedNamespace& space = namespaces_[found.ns];
  const Held held = space.overlay->why_held(space.filter->hash(found.identity), reader.now);
  if (held != Held::no || reader.writes == nullptr) {
    return held;
  }
  return reader.now < learner_.reads_pass_until(*reader.writes) ? Held::share_filled
                                                                : Held::in_flight;
}

Verdict KeyJudge::verdict(const Sought& sought,
                          const Reader& reader,
                          std::optional<std::uint32_t>* other) {
  const keyspace::Lookup& found = sought.found;
  const GuardedNamespace& space = namespaces_[found.ns];
  const TimePoint now = reader.now;
  if (space.mode == config::Mode::bypass) {
    return Verdict::bypassed;
  }
  if (space.db != reader.db) {
    return Verdict::other_db;
  }
  if (!reader.access.may(reader.command, found.ns)) {
    return Verdict::not_allowed;
  }
  const std::uint64_t hash = space.filter->hash(found.identity);
  const Overlay::Search overlaid = space.overlay->begin(hash, now);
  filter::Finding finding = find(sought, hash, filter::Freshness{now}, other);
  if (finding == filter::Finding::fresh_id && space.is_strict() &&
      !may_tolerate(space, Tolerance::Use::fresh_id, reader)) {
    finding = find({without_number(found), sought.key}, hash, filter::Freshness{now}, other);
  }
  if (finding != filter::Finding::absent) {
    return verdict_of(finding);
  }
  if (space.overlay->holds(overlaid) ||
      (reader.writes != nullptr && passes_for_client(hash, *reader.writes, now))) {
    return Verdict::overlaid;
  }
  if (!space.enforces()) {
    note_observed({.ns = found.ns, .hash = hash, .key = sought.key}, reader);
    return Verdict::observed;
  }
  if (may_tolerate(space, Tolerance::Use::absent_key, reader)) {
    return Verdict::tolerated;
  }
  if (space.is_strict()) {
    finding = find_proven(sought, hash, reader.read_at, other);
    if (space.refuses_strict()) [[unlikely]] {  // behind it, since that may be whose proof it is
      return Verdict::unproven;
    }
    if (finding == filter::Finding::not_fresh) {
      want_proof(found);
      return Verdict::unproven;
    }
    if (finding != filter::Finding::absent) {
      return verdict_of(finding);
    }
  }
  if (space.order == config::Order::redis_first) {
    return Verdict::redis_first;
  }
  effects_.absences.push_back({.ns = found.ns, .hash = hash, .key = sought.key});
  return Verdict::absent;
}

bool KeyJudge::may_judge_together(const keyspace::Lookup& found, const Reader& reader) const {
  const GuardedNamespace& space = namespaces_[found.ns];
  const WritesInFlight* const writes = reader.writes;
  const bool has_writes = writes != nullptr && (writes->is_in_flight() ||
                                                reader.now < learner_.reads_pass_until(*writes));
  return space.enforces() && space.order == config::Order::guard_first && space.db == reader.db &&
         reader.access.may(reader.command, found.ns) && !has_writes &&
         !keyspace_->may_share(found) && !may_tolerate(space, Tolerance::Use::absent_key, reader);
}

bool KeyJudge::judge_together(KeyRun& keys, const Reader& reader) const {
  const GuardedNamespace& space = namespaces_[keys.ns];
  std::array<Finding, KeyRun::kMax> findings;
  for (std::size_t i = 0; i < keys.size; ++i) {
    keys.overlaid[i] = space.overlay->begin(keys.hashes[i], reader.now);
  }
  if (!space.filter->find_many(std::span(keys.hashes).first(keys.size),
                               std::span(keys.numbers).first(keys.size),
                               filter::Freshness{reader.now},
                               std::span(findings).first(keys.size))) {
    return false;
  }
  for (std::size_t i = 0; i < keys.size; ++i) {
    keys.verdicts[i] = findings[i] != Finding::absent           ? verdict_of(findings[i])
                       : space.overlay->holds(keys.overlaid[i]) ? Verdict::overlaid
                                                                : Verdict::absent;
  }
  return !space.is_strict() || are_proven(keys, reader);
}

// False: an absent one is not, or an id is so new that it may take a token.
bool KeyJudge::are_proven(KeyRun& keys, const Reader& reader) const {
  static constexpr std::array<std::optional<std::uint64_t>, KeyRun::kMax> kNoNumbers;
  const auto verdicts = std::span(keys.verdicts).first(keys.size);
  if (std::ranges::count(verdicts, Verdict::fresh_id) > 0) {
    return false;
  }
  if (std::ranges::count(verdicts, Verdict::absent) == 0) {
    return true;
  }
  const GuardedNamespace& space = namespaces_[keys.ns];
  std::array<Finding, KeyRun::kMax> findings;
  if (!space.filter->find_many(std::span(keys.hashes).first(keys.size),
                               std::span(kNoNumbers).first(keys.size),
                               filter::Freshness::since(reader.read_at),
                               std::span(findings).first(keys.size)) ||
      findings.front() == Finding::not_fresh || space.refuses_strict()) {
    return false;
  }
  for (std::size_t i = 0; i < keys.size; ++i) {
    if (verdicts[i] == Verdict::absent && findings[i] != Finding::absent) {
      verdicts[i] = verdict_of(findings[i]);
    }
  }
  return true;
}

// As if it were enforced.
void KeyJudge::note_observed(const Effects::Absence& absence, const Reader& reader) {
  const GuardedNamespace& space = namespaces_[absence.ns];
  if (may_tolerate(space, Tolerance::Use::absent_key, reader)) {
    effects_.tolerated.push_back(space.tolerance.get());
  } else if (space.order != config::Order::redis_first) {
    effects_.absences.push_back(absence);
  }
}

filter::Finding KeyJudge::find_proven(const Sought& sought,
                                      std::uint64_t hash,
                                      TimePoint since,
                                      std::optional<std::uint32_t>* other) {
  return find(
      {without_number(sought.found), sought.key}, hash, filter::Freshness::since(since), other);
}

filter::Finding KeyJudge::find(const Sought& sought,
                               std::uint64_t hash,
                               filter::Freshness freshness,
                               std::optional<std::uint32_t>* other) {
  const auto& [found, key] = sought;
  const filter::Finding finding =
      namespaces_[found.ns].filter->find({hash, found.number, found.identity}, freshness);
  if (finding != filter::Finding::absent || !keyspace_->may_share(found)) [[likely]] {
    return finding;
  }
  const SharedFinding shared =
      find_shared({*keyspace_, namespaces_, found, key}, freshness, other_identity_);
  if (other != nullptr) {
    *other = shared.other;
  }
  return shared.finding;
}

bool KeyJudge::may_tolerate(const GuardedNamespace& space,
                            Tolerance::Use use,
                            const Reader& reader) const {
  if (!reader.is_tolerated) {
    return false;
  }
  space.tolerance->share(space.sharers());
  return space.tolerance->has_room(reader.now, use, effects_.takes_of(*space.tolerance));
}

void KeyJudge::want_proof(const keyspace::Lookup& found) const {
  const auto want = [this](std::uint32_t ns) {
    if (namespaces_[ns].questions != nullptr) {
      namespaces_[ns].questions->want();
    }
  };
  want(found.ns);
  if (keyspace_->may_share(found)) [[unlikely]] {
    for (const auto makers : {keyspace_->makers_of(found), keyspace_->text_makers_of(found)}) {
      for (const std::uint32_t maker : makers) {
        want(keyspace_->namespace_of(maker));
      }
    }
  }
}

// What it has written itself, and nobody else can know of yet; or may have forgotten again.
bool KeyJudge::passes_for_client(std::uint64_t hash, const WritesInFlight& writes, TimePoint now) {
  if (now < learner_.reads_pass_until(writes)) {
    effects_.count(share_filled_);
    return true;
  }
  return writes.is_in_flight() && writes.holds(hash);
}

}  // namespace cuckooguard::guard
