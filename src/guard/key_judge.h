// The verdict on one key for one asking client. It changes nothing, so it can be asked for again.
//
// Order of the checks for absent: the filters, no older than max_lag; the overlay and the client's
// own writes; tolerance; and in a strict namespace the filters again, proven since the read
// arrived. Without that proof, each source involved is asked for one.
//
// Threads: its worker's, between Epochs::Reader enter() and leave(). Lifetimes: what it is given
// outlives it, or the next adopt().
#pragma once

#include <algorithm>
#include <bitset>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "filter/live_parts.h"
#include "filter/parts_lookup.h"
#include "guard/counters.h"
#include "guard/guarded_namespace.h"
#include "guard/learner.h"
#include "keyspace/keyspace.h"
#include "redis/command_table.h"
#include "redis/reading.h"

namespace cuckooguard::guard {

// Whether holding reads for a proof pays (guard/guard.h): when half of a namespace's last kHolds
// holds ended without a proof, nothing is held for kPause, so that a slow database is not asked
// even more and its application does not wait in vain.
//
// Holds that end alike within kShared usually waited for the same question and count as one: many
// clients in one slow moment do not end their namespace's protection.
//
// Threads: its worker's. Limits: constant size.
class HoldRecord {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kHolds = 100;
  static constexpr std::chrono::seconds kPause{1};
  static constexpr std::chrono::milliseconds kShared{2};

  void add(bool is_proven, TimePoint now) {
    if (is_proven == last_is_proven_ && now < counted_at_ + kShared) {
      return;
    }
    last_is_proven_ = is_proven;
    counted_at_ = now;
    in_vain_[next_] = !is_proven;
    next_ = (next_ + 1) % kHolds;
    if (in_vain_.count() >= kHolds / 2) {
      in_vain_.reset();
      paused_until_ = now + kPause;
    }
  }
  bool may_hold(TimePoint now) const { return now >= paused_until_; }

 private:
  std::bitset<kHolds> in_vain_;
  std::size_t next_ = 0;
  TimePoint paused_until_{};
  TimePoint counted_at_{};  // the last one
  bool last_is_proven_ = true;
};

// The absent but unproven keys of a command.
struct UnprovenKeys {
  Tolerance::TimePoint hold_until = Tolerance::TimePoint::max();
  std::uint32_t ns = 0;
  bool is_any = false;
  bool may_hold = true;
};

// What a read changes in the guard once it is carried out: counters, tolerance tokens, outcomes of
// holds, and which keys were absent. The verdict itself is pure, so that a waiting command can be
// judged again (guard/guard.h).
//
// Lifetimes: keys are the command's, or the reply's to it. Limits: some entries per key of one
// command; the memory is kept for the next.
struct Effects {
  struct Hold {
    HoldRecord* record;
    bool is_proven;
  };
  // A key without a row.
  struct Absence {
    std::uint32_t ns;
    std::uint64_t hash;
    std::string_view key;
  };

  struct Count {
    Counter* counter;
    std::uint64_t amount;
  };
  std::vector<Count> counts;
  std::vector<std::string_view> unguarded;  // keys
  std::vector<Tolerance*> tolerated;
  std::vector<Hold> holds;
  std::vector<Absence> absences;
  // A key of the sample that Traffic sees.
  struct Seen {
    Traffic& traffic;
    Traffic::Read read;
  };
  std::vector<Seen> seen;

  void count(Counter& counter, std::uint64_t amount = 1) {
    counts.push_back({.counter = &counter, .amount = amount});
  }
  void apply_counts() const {
    for (const Count& count : counts) {
      count.counter->add(count.amount);
    }
  }
  void note_hold(HoldRecord& record, bool is_proven) {
    const auto known = std::ranges::find(holds, &record, &Hold::record);
    if (known == holds.end()) {
      holds.push_back({.record = &record, .is_proven = is_proven});
    } else {
      known->is_proven = known->is_proven && is_proven;
    }
  }
  // Keys of this command that take of it.
  std::uint32_t takes_of(const Tolerance& tolerance) const {
    return static_cast<std::uint32_t>(std::ranges::count(tolerated, &tolerance));
  }
  void clear() {
    counts.clear();
    unguarded.clear();
    tolerated.clear();
    holds.clear();
    absences.clear();
    seen.clear();
  }
};

// Keys that rows of several templates can have: `page:draft:42` matches `page:draft:{id}`, and is
// also the key of row `draft:42` by `page:{slug}`. It is absent only if no template's namespace has
// it (keyspace/keyspace.h). A row with text in place of an integer is ruled out while that
// namespace's filters are fresh: such a row keeps them from being so.
//
// Must: no row is missed between two namespaces. A row may move from one to another, so `removals`
// is read before and after, as in filter/parts_lookup.h.
//
// Threads: between Epochs::Reader enter() and leave(). Cost: a look-up for each other template that
// could have made the key.
struct SharedFinding {
  filter::Finding finding = filter::Finding::absent;
  std::optional<std::uint32_t> other;  // the namespace that has it, if not the key's own
};

struct SharedKey {
  const keyspace::Keyspace& keyspace;
  std::span<const GuardedNamespace> namespaces;  // in the keyspace's order
  const keyspace::Lookup& found;                 // what match() says of the key
  std::string_view key;
};
// `scratch`: another than was given to match().
SharedFinding find_shared(const SharedKey& asked,
                          filter::Freshness freshness,
                          keyspace::IdentityBuffer& scratch) noexcept;

// The client that reads a key, and its command.
struct Reader {
  int db = 0;
  const redis::UserAccess& access;
  TimePoint now{};
  TimePoint read_at = TimePoint::max();    // ProofNeed; by default nothing is proven since
  const WritesInFlight* writes = nullptr;  // in flight; null: none
  bool is_tolerated = false;               // a few look-ups may be forwarded
  std::size_t command = redis::command_index(redis::find_command("get"));
};

struct Inspection {
  keyspace::Lookup found{};
  Verdict verdict = Verdict::unguarded;
  Held held = Held::no;                  // if overlaid
  std::optional<std::uint32_t> other{};  // the namespace that lets it pass, if it is another
};

struct KeyVerdict {
  Verdict verdict = Verdict::unguarded;
  std::uint32_t ns = 0;
};

// Keys that one template claims, to be judged together: of each what is known of it without the
// key itself.
struct KeyRun {
  static constexpr std::size_t kMax = filter::kBatchMax;

  bool is_guarded = false;  // false: no namespace's keys, of which only `size` counts
  std::uint32_t ns = 0;
  std::size_t size = 0;
  std::array<std::uint64_t, kMax> hashes;  // as filter::LiveParts::hash()
  std::array<std::optional<std::uint64_t>, kMax> numbers;
  std::array<Overlay::Search, kMax> overlaid;
  std::array<Verdict, kMax> verdicts;
};

class KeyJudge {
 public:
  // `effects`: of the command at hand, which also has what it takes of tolerances so far.
  KeyJudge(const Learner& learner, Effects& effects, Counter& share_filled)
      : learner_(learner), effects_(effects), share_filled_(share_filled) {}

  void adopt(const keyspace::Keyspace& keyspace, std::span<const GuardedNamespace> namespaces) {
    keyspace_ = &keyspace;
    namespaces_ = namespaces;
  }

  struct Sought {
    const keyspace::Lookup& found;  // what match() says of the key; guarded
    std::string_view key;
  };
  // `other`, if not null: the namespace that lets it pass, if it is another.
  Verdict verdict(const Sought& sought,
                  const Reader& reader,
                  std::optional<std::uint32_t>* other = nullptr);
  // Whether such keys may be judged together: then each verdict is that of verdict(), and one of
  // not_fresh, fresh_id, may_exist, overlaid and absent.
  bool may_judge_together(const keyspace::Lookup& found, const Reader& reader) const;
  // Of each key everything is read in the order of verdict(): the overlay's set is begun before the
  // filter is asked, whose freshness is known by then, and looked into behind it. False: each is to
  // be judged by itself, after all.
  bool judge_together(KeyRun& keys, const Reader& reader) const;
  // By filters that are proven since then, whatever else is known of the key. `hash`: of its
  // identity, by its namespace.
  filter::Finding find_proven(const Sought& sought,
                              std::uint64_t hash,
                              TimePoint since,
                              std::optional<std::uint32_t>* other = nullptr);
  // A question that begins from now on, of every source whose filters are asked.
  void want_proof(const keyspace::Lookup& found) const;
  // Of one that is overlaid.
  Held why_held(const keyspace::Lookup& found, const Reader& reader) const;

 private:
  filter::Finding find(const Sought& sought,
                       std::uint64_t hash,
                       filter::Freshness freshness,
                       std::optional<std::uint32_t>* other);
  bool are_proven(KeyRun& keys, const Reader& reader) const;
  bool may_tolerate(const GuardedNamespace& space, Tolerance::Use use, const Reader& reader) const;
  void note_observed(const Effects::Absence& absence, const Reader& reader);
  bool passes_for_client(std::uint64_t hash, const WritesInFlight& writes, TimePoint now);

  const keyspace::Keyspace* keyspace_ = nullptr;
  std::span<const GuardedNamespace> namespaces_;
  const Learner& learner_;
  Effects& effects_;
  Counter& share_filled_;
  keyspace::IdentityBuffer other_identity_;  // by another template
};

}  // namespace cuckooguard::guard
