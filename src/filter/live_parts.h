// LiveParts: what look-ups see of one namespace: its parts, one live filter per table, while its
// source changes them, adds some and takes some away.
//
// A key is absent only if every part is fresh, it is a fresh id of none, and none has it. While the
// set of tables is not known, or is empty, everything passes.
//
// Must: the writer calls set_fresh_until(t + lag) for any part only if, at t, no table belonged to
//       the namespace without having its part here; a part that is added is not fresh until its
//       rows are in. Then a row committed more than the lag ago is never found absent.
//
// Why no reader misses a new part while it trusts a later proof. find() reads the set of parts,
// then each part's proof, then the set again, and goes on only if it is the same. A proof given
// after add() was stored after the new set was; who sees that proof (release, acquire) sees the new
// set, or a later one, at its second look. So the set it goes on with is no older than any proof it
// trusts. It cannot be an older set that has come again: while a reader is inside, no set is freed,
// so no two have one address. set_complete(false) is a new set, too.
// Within a part the order is that of live_filter.h: its proof before its filter, its largest id
// before the filter's buckets.
//
// Why no reader falls between two parts. A row may leave one table for another; if each part were
// merely right when it was read, a reader could ask the second before the row came and the first
// after it went. So `removals` counts whatever is taken out of any part (an erase, a replaced
// filter), each time before it is, and who reads several parts reads it before and after: if it
// has moved, the key passes. As in table_reader.h, all that was read is then as it was at one
// moment. The writer's part of it: insert first, and erase last, also across tables.
//
// Called by: one writer thread (the namespace's source). Any number of readers (workers).
// Threads:   as in live_filter.h: a reader is between Epochs::Reader enter() and leave(). Readers
//            never wait.
// Lifetimes: the Epochs outlives this. What add() gives lives until remove(), and after that until
//            no reader can hold it. Destroy this after the readers have stopped.
// Secrets:   one for all parts, so that a key is hashed once.
// Cost:      a look-up asks every part. One part costs two loads more than its filter alone.
// Limits:    kPartsMax parts; of one more, add() says so.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filter/epochs.h"
#include "filter/live_filter.h"

namespace cuckooguard::filter {

enum class Finding : std::uint8_t { not_fresh, fresh_id, may_exist, absent };

class LiveParts {
 public:
  static constexpr std::size_t kPartsMax = 1024;

  LiveParts(Epochs& epochs, const HashSecret& secret);
  ~LiveParts();
  LiveParts(const LiveParts&) = delete;
  LiveParts& operator=(const LiveParts&) = delete;

  // --- readers ---
  // `number`: the identity as an integer, if it is one.
  [[nodiscard]] Finding find(std::string_view identity,
                             std::optional<std::uint64_t> number,
                             TimePoint now) const noexcept;
  // The same; `step` is for tests: called between any two things that it reads.
  [[nodiscard]] Finding find_in_steps(std::string_view identity,
                                      std::optional<std::uint64_t> number,
                                      TimePoint now,
                                      const std::function<void()>& step) const noexcept;
  // Whether an absent verdict that needs no look-up would be right: all is known, now.
  [[nodiscard]] bool is_fresh(TimePoint now) const noexcept;

  // The gravest of the parts' states; `loading` while the set of tables is not known, or empty.
  [[nodiscard]] State state() const noexcept;
  // The earliest of the parts'; TimePoint::min() if is_fresh() could not be true.
  [[nodiscard]] TimePoint fresh_until() const noexcept;
  // take(name, live filter) of every part.
  template <typename Take>
  void for_each(Take take) const {
    for (const Part* const part : set_.load(std::memory_order_seq_cst)->parts) {
      take(std::string_view(part->name), part->live);
    }
  }

  // Any thread.
  [[nodiscard]] std::uint64_t hash(std::string_view identity) const noexcept {
    return bond_.hash(identity);
  }
  [[nodiscard]] const HashSecret& secret() const noexcept { return bond_.hash.secret(); }

  // --- the writer ---
  // The part of this table; made if there is none. Null at the limit: the set is then not complete,
  // and must not be said to be so before a table less is wanted.
  LiveFilter* add(std::string_view name);
  // Its table is no more, or is not the namespace's any more.
  void remove(std::string_view name);
  // False, as in the beginning: which tables there are is not known, or in doubt; everything passes.
  void set_complete(bool is_complete);
  // As many as look-ups ask.
  [[nodiscard]] std::size_t size() const noexcept { return set_owned_->parts.size(); }
  // Frees what was removed and no reader can hold any more; true if none is left.
  bool reclaim();

 private:
  struct Part {
    Part(std::string_view table, Epochs& epochs, PartsBond& bond)
        : name(table), live(epochs, bond) {}

    const std::string name;
    LiveFilter live;
  };
  // Never changed once readers can see it.
  struct Set {
    bool is_complete = false;
    std::vector<const Part*> parts;

    template <typename Step>
    [[nodiscard]] bool is_fresh(TimePoint now, const Step& step) const noexcept;
  };
  struct Withdrawn {
    std::unique_ptr<const Set> set;
    std::unique_ptr<Part> part;  // or null
    std::uint64_t epoch;
  };

  // The set of parts, if it and all of them may be trusted now; else null.
  template <typename Step>
  [[nodiscard]] const Set* trusted(TimePoint now, const Step& step) const noexcept;
  template <typename Step>
  [[nodiscard]] Finding look_up(std::string_view identity,
                                std::optional<std::uint64_t> number,
                                TimePoint now,
                                const Step& step) const noexcept;
  std::vector<std::unique_ptr<Part>>::iterator find_part(std::string_view name) noexcept;
  std::unique_ptr<Set> copy_of_set();
  void replace_set(std::unique_ptr<Set> next, std::unique_ptr<Part> removed) noexcept;

  Epochs& epochs_;
  PartsBond bond_;
  std::atomic<const Set*> set_;
  // The writer's own:
  std::vector<std::unique_ptr<Part>> owned_;
  std::unique_ptr<const Set> set_owned_;
  std::vector<Withdrawn> withdrawn_;
};

}  // namespace cuckooguard::filter
