// One look-up in the parts of a namespace, while the writer changes, adds and removes parts.
//
// Why no reader misses a new part while it trusts a later proof. It reads the set of parts, then
// each part's proof, then the set again, and goes on only if it is the same. A proof given after a
// part was added was stored after the new set was; who sees that proof (release, acquire) sees the
// new set, or a later one, at its second look. So the set it goes on with is no older than any
// proof it trusts. It cannot be an older set that has come again: while a reader is inside, no set
// is freed, so no two have one address. That the set is in doubt is a new set, too.
// Within a part the order is that of live_filter.h: its proof before its filter, its largest id
// before the filter's buckets.
//
// Why no row is missed between two parts. A row may leave one table for another; if each part were
// merely right when it was read, a reader could ask the second before the row came and the first
// after it went. So `removals` counts everything that is taken out of any part (erases, filters),
// each time before it is, and a reader of several parts reads it before and after: if it has
// changed, the key passes. As in table_reader.h, everything that was read is then as it was at one
// moment. The writer's part: insert first and erase last, also across tables. The same holds within
// a part that has isolated rows (isolated_rows.h), where a row that changes moves between the
// filter's hashes and these.
//
// A look-up in several namespaces, whose rows can all have the key, does the same with all their
// counts (guard/key_judge.h).
//
// Threads:   readers between Epochs::Reader enter() and leave(). `step` is for tests: called
//            between any two things that are read (tests/filter/live_parts_interleaving_test.cpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "filter/live_filter.h"

namespace cuckooguard::filter {

enum class Finding : std::uint8_t { not_fresh, fresh_id, may_exist, absent };

// How current a part must be to say that a key is absent.
struct Freshness {
  enum class Kind : std::uint8_t {
    lag,    // proven no longer than its lag before `at`, which is now
    since,  // proven by a question that began after `at`, when the read arrived
  };
  TimePoint at;
  Kind kind = Kind::lag;

  static Freshness since(TimePoint read_at) noexcept { return {read_at, Kind::since}; }
  [[nodiscard]] bool has(const LiveFilter& live) const noexcept {
    return kind == Kind::lag ? live.is_fresh(at) : live.is_proven_since(at);
  }
};

struct Part {
  Part(std::string_view table, Epochs& epochs, PartsBond& bond) : name(table), live(epochs, bond) {}

  const std::string name;
  LiveFilter live;
};

// Never changed once readers can see it.
struct PartSet {
  bool is_complete = false;
  std::vector<const Part*> parts;
  const Part* sole = nullptr;  // of a complete set
};

struct SoughtKey {
  std::uint64_t hash;                   // of `identity`
  std::optional<std::uint64_t> number;  // the identity as an integer, if it is one
  std::string_view identity;            // of isolated rows, and of filters of other libraries
  bool may_be_any_isolated = false;     // whatever the identity is
};

template <class Step>
class PartsLookup {
 public:
  PartsLookup(const std::atomic<const PartSet*>& current, const PartsBond& bond, const Step& step)
      : current_(current), bond_(bond), step_(step) {}

  [[nodiscard]] Finding find(const SoughtKey& key, Freshness freshness) const noexcept {
    const PartSet* const set = current_.load(std::memory_order_seq_cst);  // see epochs.h
    step_();
    if (set->sole == nullptr) [[unlikely]] {
      return find_in_all(*set, key, freshness);
    }
    if (!freshness.has(set->sole->live) || !is_still(*set)) {
      return Finding::not_fresh;
    }
    return find_in(set->sole->live, key);
  }

  // Of up to kBatchMax keys at once, of each what find() says, unless there are several parts,
  // isolated rows or a filter of another library's: then false, and each is to be asked for by
  // itself. `numbers` as SoughtKey::number. Of each key everything is read in the order of find();
  // what is read once for all of them is read behind their arrival and before their buckets, or
  // behind these, as it is there.
  [[nodiscard]] bool find_many(std::span<const std::uint64_t> hashes,
                               std::span<const std::optional<std::uint64_t>> numbers,
                               Freshness freshness,
                               std::span<Finding> findings) const noexcept {
    const PartSet* const set = current_.load(std::memory_order_seq_cst);  // see epochs.h
    step_();
    if (set->sole == nullptr) {
      return false;
    }
    const LiveFilter& live = set->sole->live;
    if (!freshness.has(live) || !is_still(*set)) {
      std::ranges::fill(findings, Finding::not_fresh);
      return true;
    }
    step_();
    const CuckooFilter* const filter = live.current();
    if (filter == nullptr) {
      return false;
    }
    step_();
    for (std::size_t i = 0; i < findings.size(); ++i) {
      const std::optional<std::uint64_t>& number = numbers[i];
      const bool is_fresh_id = number && live.is_fresh_id(*number);
      findings[i] = is_fresh_id ? Finding::fresh_id : Finding::absent;
    }
    step_();
    std::uint64_t found = filter->may_contain(hashes);
    step_();
    if (live.isolated() != nullptr) {
      return false;
    }
    for (; found != 0; found &= found - 1) {
      Finding& finding = findings[static_cast<std::size_t>(std::countr_zero(found))];
      finding = finding == Finding::absent ? Finding::may_exist : finding;
    }
    return true;
  }

  [[nodiscard]] bool is_fresh(Freshness freshness) const noexcept {
    const PartSet* const set = current_.load(std::memory_order_seq_cst);
    return are_fresh(*set, freshness) && std::ranges::all_of(set->parts, [](const Part* part) {
             return part->live.current() != nullptr || part->live.foreign() != nullptr;
           });
  }

 private:
  bool are_fresh(const PartSet& set, Freshness freshness) const noexcept {
    return set.is_complete && !set.parts.empty() &&
           std::ranges::all_of(set.parts,
                               [this, freshness](const Part* part) {
                                 step_();
                                 return freshness.has(part->live);
                               }) &&
           is_still(set);
  }

  // Asked behind the proofs it is to confirm: they are acquires.
  bool is_still(const PartSet& set) const noexcept {
    step_();
    return current_.load(std::memory_order_relaxed) == &set;
  }

  Finding find_in(const LiveFilter& live, const SoughtKey& key) const noexcept {
    step_();
    const CuckooFilter* const filter = live.current();
    if (filter == nullptr) [[unlikely]] {
      return find_in_foreign(live, key);
    }
    step_();
    if (key.number && live.is_fresh_id(*key.number)) {
      return Finding::fresh_id;
    }
    step_();
    if (filter->may_contain(key.hash)) {
      return Finding::may_exist;
    }
    step_();
    return live.isolated() == nullptr ? Finding::absent : find_isolated(live, key);
  }

  [[gnu::noinline]] Finding find_in_foreign(const LiveFilter& live,
                                            const SoughtKey& key) const noexcept {
    step_();
    const foreign::Filter* const filter = live.foreign();
    if (filter == nullptr) {
      return Finding::not_fresh;
    }
    return filter->may_contain(key.identity) ? Finding::may_exist : Finding::absent;
  }

  // A row may become isolated, or no longer be: between two parts of one filter that is as between
  // two parts. So everything is read again after the count: what has been isolated since it was
  // read is not in what was read before.
  [[gnu::noinline]] Finding find_isolated(const LiveFilter& live,
                                          const SoughtKey& key) const noexcept {
    const std::uint64_t removals = bond_.removals.load(std::memory_order_acquire);
    step_();
    const CuckooFilter& filter = *live.current();
    step_();
    const IsolatedRows& isolated = *live.isolated();
    step_();
    if (filter.may_contain(key.hash)) {
      return Finding::may_exist;
    }
    step_();
    if (isolated.may_be(key.identity, filter, key.may_be_any_isolated)) {
      return Finding::may_exist;
    }
    step_();
    const bool undisturbed = bond_.removals.load(std::memory_order_relaxed) == removals;
    return undisturbed ? Finding::absent : Finding::may_exist;
  }

  [[gnu::noinline]] Finding find_in_all(const PartSet& set,
                                        const SoughtKey& key,
                                        Freshness freshness) const noexcept {
    const std::uint64_t removals = bond_.removals.load(std::memory_order_acquire);
    step_();
    if (!are_fresh(set, freshness)) {
      return Finding::not_fresh;
    }
    for (const Part* const part : set.parts) {
      const Finding finding = find_in(part->live, key);
      if (finding != Finding::absent) {
        return finding;
      }
    }
    step_();
    // Behind the loads it is to confirm: they are acquires.
    const bool undisturbed = bond_.removals.load(std::memory_order_relaxed) == removals;
    return undisturbed ? Finding::absent : Finding::may_exist;
  }

  const std::atomic<const PartSet*>& current_;
  const PartsBond& bond_;
  const Step& step_;
};

}  // namespace cuckooguard::filter
