// LiveParts: what look-ups see of one namespace. Its parts, one live filter per table, are changed,
// added and removed by its source at the same time.
//
// A key is absent only if every part is fresh, none has the key, and it is a fresh id of none.
// While the set of tables is unknown, or empty, everything passes.
//
// Must: the writer calls prove(t, lag) for any part only if, at t, no table belonged to the
//       namespace without having its part here; a part that is added is not fresh until its rows
//       are in. Then a row committed more than the lag ago is never found absent, nor one that was
//       committed before a read arrived, if all parts are proven since then.
//
// parts_lookup.h shows that look-ups keep this: no reader misses a new part while trusting a later
// proof of another, and no row is missed between two parts.
//
// Threads:   as in live_filter.h: a reader is between Epochs::Reader enter() and leave(). Readers
//            never wait.
// Lifetimes: the Epochs outlives this. What add() gives lives until remove(), and after that until
//            no reader can hold it. Destroy this after the readers have stopped.
// Secrets:   one for all parts, so that a key is hashed once.
// Cost:      a look-up asks every part.
// Limits:    kPartsMax parts; add() reports it when there is one more.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "filter/epochs.h"
#include "filter/parts_lookup.h"

namespace cuckooguard::filter {

class LiveParts {
 public:
  static constexpr std::size_t kPartsMax = 1024;

  LiveParts(Epochs& epochs, const HashSecret& secret);
  ~LiveParts();
  LiveParts(const LiveParts&) = delete;
  LiveParts& operator=(const LiveParts&) = delete;

  // --- readers ---
  // `key.hash`: of the identity, by hash().
  [[nodiscard]] Finding find(const SoughtKey& key, Freshness freshness) const noexcept {
    return PartsLookup(set_, bond_, kNoStep).find(key, freshness);
  }
  [[nodiscard]] Finding find(const SoughtKey& key, TimePoint now) const noexcept {
    return find(key, Freshness{now});
  }
  [[nodiscard]] Finding find(std::string_view identity, TimePoint now) const noexcept {
    return find({.hash = hash(identity), .number = std::nullopt, .identity = identity}, now);
  }
  [[nodiscard]] bool find_many(std::span<const std::uint64_t> hashes,
                               std::span<const std::optional<std::uint64_t>> numbers,
                               Freshness freshness,
                               std::span<Finding> findings) const noexcept {
    return PartsLookup(set_, bond_, kNoStep).find_many(hashes, numbers, freshness, findings);
  }
  // For a key that is looked up some time later; if there are several parts, for the first ones.
  void prefetch(std::uint64_t hash) const noexcept;
  // For look-ups in several namespaces (parts_lookup.h): how often something was taken out.
  [[nodiscard]] std::uint64_t removals() const noexcept {
    return bond_.removals.load(std::memory_order_acquire);
  }
  // Whether an absent verdict without a look-up would be right now: everything is known.
  [[nodiscard]] bool is_fresh(Freshness freshness) const noexcept {
    return PartsLookup(set_, bond_, kNoStep).is_fresh(freshness);
  }
  [[nodiscard]] bool is_fresh(TimePoint now) const noexcept { return is_fresh(Freshness{now}); }
  // For tests: what find() does.
  template <class Step>
  [[nodiscard]] Finding find_in_steps(std::string_view identity,
                                      TimePoint now,
                                      const Step& step) const {
    return PartsLookup(set_, bond_, step)
        .find({hash(identity), std::nullopt, identity}, Freshness{now});
  }
  template <class Step>
  [[nodiscard]] bool find_many_in_steps(std::span<const std::uint64_t> hashes,
                                        std::span<const std::optional<std::uint64_t>> numbers,
                                        TimePoint now,
                                        std::span<Finding> findings,
                                        const Step& step) const {
    return PartsLookup(set_, bond_, step).find_many(hashes, numbers, Freshness{now}, findings);
  }

  // The gravest of the parts' states; while the set of tables is not known, or empty, what
  // set_state_without_tables() said.
  [[nodiscard]] State state() const noexcept;
  // Why it is in that state, in its source's words, with several tables after the table's name;
  // empty: no reason was given.
  [[nodiscard]] std::string why() const;
  // The earliest of the parts'; TimePoint::min() if is_fresh() could not be true.
  [[nodiscard]] TimePoint fresh_until() const noexcept;
  // take(name, live filter) of every part.
  template <typename Take>
  void for_each(Take take) const {
    for (const Part* const part : set_.load(std::memory_order_seq_cst)->parts) {
      take(std::string_view(part->name), part->live);
    }
  }

  // A read that arrived then was, or would have been, told that its key has no row.
  void note_absent(std::uint64_t hash,
                   TimePoint read_at,
                   std::string_view key,
                   AbsentReads::Kind kind) const noexcept {
    bond_.absent_reads.add(hash, read_at, key, kind);
  }
  // Whose row has come since.
  [[nodiscard]] AbsentReads::Findings absent_reads() const { return bond_.absent_reads.findings(); }

  // Of all parts: LiveFilter.
  void ask_for_rebuild() const noexcept {
    for_each([](std::string_view, const LiveFilter& live) { live.ask_for_rebuild(); });
  }

  // Any thread.
  [[nodiscard]] std::uint64_t hash(std::string_view identity) const noexcept {
    return bond_.hash(identity);
  }
  [[nodiscard]] const HashSecret& secret() const noexcept { return bond_.hash.secret(); }

  // --- the writer ---
  // The part of this table, made if it does not exist. Null at the limit: the set is then
  // incomplete, and must not be called complete before the source wants fewer tables.
  LiveFilter* add(std::string_view name);
  // Its table no longer exists, or no longer belongs to the namespace.
  void remove(std::string_view name);
  // False, as at the beginning: it is unknown or in doubt which tables there are; everything
  // passes.
  void set_complete(bool is_complete);
  // For people, as LiveFilter::set_state(); `loading` in the beginning.
  void set_state_without_tables(State state, std::string_view why = {}) {
    state_without_tables_.set(state, why);
  }
  // As many as look-ups ask.
  [[nodiscard]] std::size_t size() const noexcept { return set_owned_->parts.size(); }
  // Frees what was removed and no reader can hold any more; true if none is left.
  bool reclaim();

 private:
  static constexpr auto kNoStep = [] {};

  struct Withdrawn {
    std::unique_ptr<const PartSet> set;
    std::unique_ptr<Part> part;  // or null
    std::uint64_t epoch;
  };

  std::vector<std::unique_ptr<Part>>::iterator find_part(std::string_view name) noexcept;
  std::unique_ptr<PartSet> copy_of_set();
  void replace_set(std::unique_ptr<PartSet> next, std::unique_ptr<Part> removed) noexcept;

  Epochs& epochs_;
  PartsBond bond_;
  std::atomic<const PartSet*> set_;
  ReportedState state_without_tables_;
  // The writer's own:
  std::vector<std::unique_ptr<Part>> owned_;
  std::unique_ptr<const PartSet> set_owned_;
  std::vector<Withdrawn> withdrawn_;
};

}  // namespace cuckooguard::filter
